"""Each number and word that a result file states is changed: the exact program sees it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_attacks import CASES, solved
from thorough import first

import sparseopt
from sparseopt import exact

UNCHECKED = frozenset(
    [
        *(
            "names",
            "notes",
            "versions",
            "check_messages",
            "backend",
            "raw_status",
            "verdict",
            "gap",
        ),
        *("build_time", "solve_time", "check_time", "iterations", "nodes", "trace", "options"),
    ]
)
"""What no proof is about; and the gap, which may be smaller where both ends are next to nothing."""
FREE = (
    ("params",),  # another question may have the same answer
    ("path", "certified"),  # a proof by a multiplier need not be claimed
    ("path", "changes", "count"),  # a count may be changed again in the same place
    ("path", "nu"),  # other multipliers may prove the same
    ("path", "theta", "ptr"),  # the first of them
    ("path", "changes", "ptr"),
    ("path", "columns"),  # the same of columns, and where the first segment ends
    ("certificate",),  # evidence may have room
    ("duals",),
)


def fields(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield where each number or word of a tree is, and what it is."""
    if isinstance(node, dict | list):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in items:
            if path or key not in UNCHECKED:
                yield from fields(value, (*path, key))
    elif not {"names", "shape", "coordinates"} & set(path):
        yield path, node


def changed(value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else 1.5 * value + 1.0
    return 1.0 if value is None else "elsewhere"


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize("name", first(6, CASES))
def test_no_statement_is_overlooked(tmp_path, name):
    problem, result = solved(name)
    sparseopt.save(problem, tmp_path / "p.npz")
    sparseopt.save(result, tmp_path / "r.json")
    tree = json.loads((tmp_path / "r.json").read_text())
    given = [pair for pair in fields(tree) if pair[0][0] != "certificate"]
    if exact.check(tmp_path / "p.npz", tmp_path / "r.json")[0] != "proven":
        pytest.skip("not covered by the exact program")
    chosen = np.random.default_rng(0).permutation(len(given))[:40]
    assert len(chosen) >= 10
    for path, value in (given[k] for k in chosen):
        words = tuple(key for key in path if isinstance(key, str))
        if any(words[: len(free)] == free for free in FREE):
            continue
        other = copy.deepcopy(tree)
        place = other
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = changed(value)
        (tmp_path / "q.json").write_text(json.dumps(other))
        try:
            said = exact.check(tmp_path / "p.npz", tmp_path / "q.json")
        except (exact.Unreadable, exact.Unproven):
            continue
        assert said[0] != "proven", (path, value, said)

"""Proofs in units far from one: what floating point cannot guess is never a refutation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from second_opinion import second_opinion
from thorough import first

import sparseopt
from sparseopt import Certificate, Result, SolveParams, Status
from sparseopt.problems import (
    MISDP,
    STRS,
    BudgetTables,
    CompressedSensing,
    EmbeddingFit,
    ParametricLP,
    RobustSubspace,
    SparseComponent,
    SparseRegression,
)

SIZES = (-780, 780, -700, 740, -600, 700, -500, 600, -400, 500, 400)
"""Exponents of units. Problems refuse entries whose own products vanish or overflow."""
WITHIN = {"sensing": 390, "costs": 290, "sides": 290}


def drawn(kind):
    """Return a problem, a question, and the power of the unit that each part of it has.

    The last table is that of the result: its objective and bound, its point, its certificate.
    """
    rng = np.random.default_rng(3)
    X, M = rng.normal(size=(9, 5)), rng.normal(size=(5, 5))
    y = X[:, 0] + rng.normal(size=9)
    if kind == "strs":
        # The bounds of rows take part where the linear term is large.
        M[0] *= 4.0
        own = {"mu": 1, "pair_l": 1, "pair_L": 1}
        return STRS(M + M.T, 5.0 * M[0], d=2), {}, {"A": 1, "a": 1}, {"objective": 1, **own}
    if kind == "component":
        own = {f"{word}{end}": 1 for word in ("mu", "pair_L", "bounds") for end in ("", "_1", "_2")}
        return SparseComponent(X, d=2), {}, {"X": 0.5}, {"objective": 1, **own}
    if kind == "subset":
        problem = SparseRegression(X, y, k=2, ridge=0.5)
        return problem, {}, {"y": 0.5}, {"objective": 1, "x": 0.5, "w_value": 0.5}
    if kind == "subspace":
        plane = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 4))
        points = np.vstack([plane, 3.0 * rng.normal(size=(4, 4))])
        return RobustSubspace(points, 2), {}, {"X": 1}, {"objective": 1}
    if kind == "embedding":
        problem = EmbeddingFit(rng.normal(size=(8, 4)), rng.normal(size=4))
        return problem, {}, {"Phi": 0.5, "mu": 0.5}, {"objective": 1}
    if kind == "tables":
        values = np.concatenate([np.sort(rng.normal(size=4))[::-1] for _ in range(5)])
        problem = BudgetTables(values, 4 * np.arange(6))
        return problem, {}, {"values": 1}, {"objective": 1, "multiplier": 1}
    if kind == "misdp":
        A = rng.integers(1, 9, (3, 6)).astype(float)
        ends = {"lower": [0.0] * 6, "upper": [3.0] * 6, "integer": range(4)}
        problem = MISDP(-rng.uniform(1.0, 2.0, 6), A=A, row_upper=A.sum(axis=1), **ends)
        own = {"rows": 1, "cones": 1, "psd": 1}
        return problem, {}, {"c": 1}, {"objective": 1, **own}
    if kind == "sensing":
        sizes = {"objective": 1, "x": 1}
        return CompressedSensing(X.T, X.T @ y), {"lam": 0.0}, {"y": 1}, sizes
    A, b, c = rng.uniform(0.2, 2.0, (4, 6)), rng.uniform(1.0, 2.0, 4), rng.uniform(1.0, 2.0, 6)
    problem = ParametricLP(A, b, 0.5 * b, c, -0.5 * c)
    if kind == "costs":
        own = {"objective": 1, "nu": 1, "rows": 1}
        return problem, {"lam": 0.5}, {"c": 1, "c_bar": 1}, own
    return problem, {"lam": 0.5}, {"b": 1, "b_bar": 1}, {"objective": 1, "x": 1}


def in_units(arrays: Mapping[str, Any], powers: Mapping[str, float], size: int) -> dict[str, Any]:
    """Return arrays of which some are multiplied by a power of two."""
    return {
        name: np.ldexp(np.asarray(array, dtype=float), int(powers[name] * size))
        for name, array in arrays.items()
        if name in powers
    }


def rescaled(problem: Any, result: Result, sizes: Any, powers: Any, size: int) -> tuple[Any, Any]:
    """Return a problem and its result in another unit of the objective."""
    given = {name: getattr(problem, name) for name in sizes}
    other = problem.with_changes(**in_units(given, sizes, size))
    old = result.certificate or Certificate("none")
    arrays = {**old.arrays, **in_units(old.arrays, powers, size)}
    changes: dict[str, Any] = {
        "objective": float(np.ldexp(result.objective, size)),
        "bound": float(np.ldexp(result.bound, size)),
        "certificate": result.certificate and Certificate(old.kind, arrays, old.values),
        "duals": {**result.duals, **in_units(result.duals, powers, size)},
    }
    if "x" in powers:
        changes["x"] = np.ldexp(result.x, int(powers["x"] * size))
    if result.path is not None:
        lines = {
            name: np.ldexp(getattr(result.path, name), size) for name in ("objective", "bound")
        }
        changes["path"] = replace(result.path, **lines)
    return other, result.with_changes(problem=other, fingerprint=None, trace=(), **changes)


KINDS = (
    "strs",
    "component",
    "subset",
    "subspace",
    "embedding",
    "tables",
    "misdp",
    "sensing",
    "costs",
    "sides",
)


@cache
def answered(kind):
    problem, question, *powers = drawn(kind)
    result = sparseopt.solve(problem, params=SolveParams(**question))
    assert result.status is Status.OPTIMAL
    return problem, result, *powers


@pytest.mark.parametrize("size", first(2, SIZES))
@pytest.mark.parametrize("kind", KINDS)
def test_a_proof_holds_in_all_units(tmp_path, kind, size):
    problem, result, sizes, powers = answered(kind)
    most = WITHIN.get(kind, 780)
    other, claim = rescaled(problem, result, sizes, powers, 2 * (size * most // 780 // 2))
    found = second_opinion(tmp_path, other, claim)
    assert found[0] == "proven", found[1]
    better = abs(claim.objective) * (1.0 if problem.sense == "min" else -1.0)
    worse = claim.with_changes(bound=claim.objective + 0.25 * better)
    assert second_opinion(tmp_path, other, worse)[0] != "proven"

"""What the program in rational arithmetic says of a problem and a result, by way of their files."""

from __future__ import annotations

from pathlib import Path

import sparseopt
from sparseopt import exact
from sparseopt.problems.base import Problem
from sparseopt.result import Result

_WRITTEN: dict[Path, str] = {}
"""Fingerprints of the problems that were written last."""


def second_opinion(folder: Path, problem: Problem, result: Result) -> tuple[str, str]:
    """Return the verdict and its reason.

    Parameters
    ----------
    folder : Path
        Gets p.npz, which is written once, and r.json.
    problem : Problem
    result : Result
        One that names no problem is taken for one of this problem.
    """
    files = folder / "p.npz", folder / "r.json"
    if _WRITTEN.get(files[0]) != problem.fingerprint():
        sparseopt.save(problem, files[0])
        _WRITTEN[files[0]] = problem.fingerprint()
    if result.problem is None:
        result = result.with_changes(problem=problem, kind=problem.kind)
    sparseopt.save(result, files[1])
    verdict, reason = exact.check(*files, 60.0)[:2]
    return verdict, reason

"""A small solve before the clock starts: imports and compilation are not timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from sparseopt.families import families

if TYPE_CHECKING:
    from sparseopt.backend import Backend
    from sparseopt.params import SolveParams
    from sparseopt.problems.base import Problem

__all__ = ["warm_up"]

_BRIEF = 0.1
"""Seconds of the warm-up where the instance itself has to serve."""


def warm_up(
    path: str | PathLike[str],
    kind: str,
    backend: str | Backend,
    params: SolveParams,
    options: Mapping[str, Any],
) -> str:
    """Solve a small problem of the same kind, and return why where that failed ("" if it did not).

    Of a kind without a small relative here, the instance itself is solved for a tenth of a second.

    Parameters
    ----------
    path : path
        Of the instance.
    kind : str
        Of the problem.
    backend : str or Backend
    params : SolveParams
        Of the solve that is to be timed.
    options : mapping
        Of the backend.

    Returns
    -------
    str
        At most 300 characters.
    """
    from sparseopt.api import solve
    from sparseopt.errors import SparseOptError

    try:
        problem, asked = _small(path, kind, params)
        solve(problem, backend=backend, params=asked, options=options, check=False)
    except SparseOptError as error:
        # The real solve will fail with it again, and is what counts.
        return str(error)[:300]
    return ""


def _small(
    path: str | PathLike[str], kind: str, params: SolveParams
) -> tuple[Problem, SolveParams]:
    from sparseopt import generators

    small = {key: made for one in families().values() for key, made in one.small.items()}
    if kind not in small:
        limit = _BRIEF if params.time_limit is None else min(_BRIEF, params.time_limit)
        from sparseopt.api import load

        return load(path), replace(params, time_limit=limit)
    name, settings = small[kind]
    problem = generators.generate(name, seed=0, **settings)
    # Values of lam and K belong to the instance; what is asked (a value, a grid, a path) stays.
    lam: Any = params.lam
    if isinstance(lam, tuple):
        lam = (1.0, 0.5)
    elif lam is not None:
        lam = 1.0
    budget = None if params.budget is None else 4
    size = params.size if params.size is None else (2 if isinstance(params.size, int) else (1, 2))
    question = {"lam": lam, "lam_min": None, "max_nonzeros": None, "budget": budget, "size": size}
    return problem, replace(params, **question)

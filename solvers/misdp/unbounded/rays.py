"""Proof that a problem is unbounded: a ray that keeps integers integral, and a feasible point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Certificate, Result, Status

from ..bounding.lower_bounds import ConicBounding
from ..relaxations.relaxation import ConicSolver
from ..settings import (
    RANK_ALLOWED,
    RAY_DIGITS,
    RAY_EXACT,
    RAY_EXACT_ONES,
    RAY_FALLS,
    RAY_LARGEST,
    RAY_MULTIPLES,
    RAY_NEARLY,
    RAY_RATIONAL,
)
from .recession import recession


def find_ray(problem: MISDP, solver: ConicSolver, control: Control) -> Array | None:
    """Return a direction in which all constraints stay met and the objective improves.

    Its integer variables move by integers. None where there is none, or none was found.

    Parameters
    ----------
    problem : MISDP
    solver : ConicSolver
    control : Control
    """
    cone = recession(problem)
    conic = ConicBounding(cone, solver)
    low, high = np.maximum(cone.lower, -1.0), np.minimum(cone.upper, 1.0)
    scale = float(np.abs(problem.c).max())
    if scale == 0.0:
        return None
    costs = conic.form.costs

    def falls(ray: Array | None) -> bool:
        if ray is None:
            return False
        unit = ray / max(float(np.abs(ray).max()), 1e-300)
        return float(costs @ unit) < -RAY_FALLS * scale

    found = conic.relax((low, high), np.inf)
    if not falls(found.x):
        return None
    assert found.x is not None
    whole = problem.integer
    moved = float(np.abs(found.x[whole]).max(initial=0.0))
    for integers in integer_parts(found.x[whole]):
        if control.limit() is not None:
            return None
        largest = float(np.abs(integers).max(initial=0.0))
        # The others move along, by as many times more.
        size = max(1.0, largest, 2.0 * largest / moved if largest else 0.0)
        low_k, high_k = np.maximum(cone.lower, -size), np.minimum(cone.upper, size)
        if (integers < low_k[whole]).any() or (integers > high_k[whole]).any():
            continue
        low_k[whole] = high_k[whole] = integers
        for margin in (0.0, 1e-7):
            ray = conic.relax((low_k, high_k), np.inf, margin=margin).x
            tidy = None if ray is None else _tidiest(cone, ray, falls)
            if tidy is not None:
                return tidy
    return None


def _tidiest(cone: MISDP, ray: Array, falls: Callable[[Array], bool]) -> Array | None:
    """Return a ray with few digits if it is exact then, else as good as it gets."""
    best, least = None, RAY_NEARLY
    for digits in RAY_DIGITS:
        tidy = ray if digits is None else np.round(ray, digits)
        unit = tidy / max(float(np.abs(tidy).max()), 1e-300)
        missed = max(cone.residuals(unit).values())
        if falls(tidy) and missed <= least:
            best, least = tidy, missed
        if least <= RAY_EXACT:
            break
    return best


def bends(problem: MISDP, x: Array, ray: Array) -> bool:
    """Return whether x + t ray loses the rank one that is asked of matrices.

    Parameters
    ----------
    problem : MISDP
    x, ray : arrays of shape (n,)

    Returns
    -------
    bool
    """
    for block in problem.blocks:
        if block.rank_one and block.size > 1:
            step = max(1.0, float(np.abs(x).max())) / float(np.abs(ray).max())
            values = np.linalg.eigvalsh(block.matrix(x + step * ray))
            if values[-2] > RANK_ALLOWED * max(1.0, float(np.abs(values).max())):
                return True
    return False


def unbounded(problem: MISDP, ray: Array, x: Array, **common: Any) -> Result:
    """Return the result: unbounded, with the ray as its certificate.

    Parameters
    ----------
    problem : MISDP
    ray : array of shape (n,)
    x : array of shape (n,)
        A feasible point.
    common : keyword arguments of Result

    Returns
    -------
    Result
    """
    return Result(
        status=Status.UNBOUNDED,
        certificate=Certificate(kind="ray", arrays={"ray": ray, "x": x}),
        **common,
    )


def integer_parts(values: Array) -> Iterator[Array]:
    """Propose integer vectors: none of them moving, then multiples of the given direction.

    Parameters
    ----------
    values : array
        The integer variables' entries of a ray.

    Returns
    -------
    iterator of arrays of that shape
    """
    yield np.zeros(len(values))
    size = float(np.abs(values).max(initial=0.0))
    if size <= 1e-9:
        return
    unit = values / size
    multiples = np.arange(1, RAY_MULTIPLES + 1)
    off = np.abs(np.outer(multiples, unit) - np.rint(np.outer(multiples, unit))).max(axis=1)
    exact = multiples[off <= RAY_RATIONAL * multiples][:RAY_EXACT_ONES]
    seen = set()
    for k in (*exact.tolist(), *range(1, RAY_LARGEST + 1)):
        part = np.rint(unit * k)
        if part.tobytes() not in seen:
            seen.add(part.tobytes())
            yield part

"""Proof that a problem is unbounded: a ray that keeps integers integral, and a feasible point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Certificate, Result, Status

from ..bounding.lower_bounds import ConicBounding
from ..rational.exact_ray import exact_rays, keeps_exactly, on_face
from ..relaxations.relaxation import ConicSolver
from ..settings import (
    RANK_ALLOWED,
    RAY_DIGITS,
    RAY_EXACT,
    RAY_EXACT_ONES,
    RAY_FALLS,
    RAY_INWARD,
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
        box = low_k, high_k
        for margin in (0.0, 1e-7):
            ray = conic.relax(box, np.inf, margin=margin).x
            if ray is None:
                continue
            tidy = _tidiest(cone, _near(cone, ray, whole, box, solver), falls, control)
            if tidy is not None:
                return tidy
    return None


def _near(
    cone: MISDP, ray: Array, held: Array, box: tuple[Array, Array], solver: ConicSolver
) -> Iterator[Array]:
    """Yield rays near a computed one: of few digits, on its face, farther inside, and as it is."""
    for digits in RAY_DIGITS:
        yield np.round(ray, digits)
    yield from exact_rays(cone, ray)
    inside = ConicBounding(cone.with_changes(c=0.0 * cone.c), solver).relax(box, np.inf).x
    if inside is not None:
        for part in RAY_INWARD:
            yield from exact_rays(cone, (1.0 - part) * ray + part * inside)
    yield ray
    yield from on_face(cone, ray, held)


def _tidiest(
    cone: MISDP, rays: Iterable[Array], falls: Callable[[Array], bool], control: Control
) -> Array | None:
    """Return the first ray that is exact, else the first of those that miss least."""
    best, least = None, RAY_NEARLY
    for ray in rays:
        if control.limit() is not None:
            break
        unit = ray / max(float(np.abs(ray).max()), 1e-300)
        missed = max(cone.residuals(unit).values())
        if not falls(ray) or missed > least:
            continue
        if missed <= RAY_EXACT and keeps_exactly(cone, ray):
            return ray
        if best is None or missed < least:
            best, least = ray, missed
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

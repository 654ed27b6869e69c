r"""One lam of a program with many more rows than variables, from a sample of its rows.

A walk from the crash basis crosses the kinks of most rows, one pivot each. A sample of k of m
rows, their functions times m/k, has nearly the same optimum, and an optimal basis of it becomes one
of all rows: each of the others is on the piece that the solution puts it on. Of the rows, about
:math:`m \sqrt{p/k}` are on another piece at the optimum, so that few pivots are left. A sample is
solved by a sample of its own.

References
----------
Portnoy, Koenker (1997): The Gaussian hare and the Laplacian tortoise, section 3 (preprocessing by a
sample, for quantile regression).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparseopt.problems.base import Array

from ..candidates.basis import AffineBasis
from ..pivots.state import SingularKernel
from ..program import ScaledProgram
from ..settings import (
    SAMPLED,
    SAMPLED_AT_KINKS,
    SAMPLED_ENTRIES,
    SAMPLED_PER_VARIABLE,
    SAMPLED_ROWS,
    STILL,
)
from .follow import Ending, follow
from .start import Stop, crash, make_optimal, optimal_from


def is_tall(program: ScaledProgram) -> bool:
    """Return whether a sample of the rows is worth it, and every point is feasible for the rows.

    Parameters
    ----------
    program : ScaledProgram
    """
    p, m = program.p, program.n - program.p
    sample = min(int(SAMPLED * m), SAMPLED_ENTRIES // max(p, 1))
    rows = program.slopes[0, program.slope_ptr[p] :]
    return (
        sample >= max(SAMPLED_PER_VARIABLE * p, SAMPLED_ROWS)
        and program.has_entries
        and bool(np.isfinite(rows).all())
    )


def from_sample(program: ScaledProgram, lam: float, rng: np.random.Generator, stop: Stop) -> Ending:
    """Find an optimal basis at `lam`, by a sample of the rows where there are many.

    Parameters
    ----------
    program : ScaledProgram
    lam : float
    rng : numpy Generator
        Of samples and perturbations.
    stop : callable
        Returns a reason to stop, or None.

    Returns
    -------
    Ending
        "end" where one was found; nothing is proven otherwise.
    """
    if not is_tall(program):
        basis = crash(program)
        top = optimal_from(basis)
        if np.isfinite(top):
            return follow(basis, max(top, lam), lam, rng=rng, stop=stop)
        return make_optimal(basis, lam, rng, stop)
    p, m = program.p, program.n - program.p
    count = min(int(SAMPLED * m), SAMPLED_ENTRIES // p)
    rows = np.sort(rng.choice(m, count, replace=False))
    part = program.sampled(rows)
    outcome = from_sample(part, lam, rng, stop)
    if outcome.reason != "end":
        return outcome
    whole = _basis_of_all(program, rows, part, outcome.codes, lam)
    if whole is None:
        return replace(outcome, reason="slow_progress")
    ending = make_optimal(whole, lam, rng, stop)
    return replace(ending, pivots=ending.pivots + outcome.pivots)


def _basis_of_all(
    program: ScaledProgram, rows: Array, sample: ScaledProgram, codes: Array, lam: float
) -> AffineBasis | None:
    """Return the basis of a sample, with the other rows on the pieces where its solution puts them.

    None where many rows are at kinks, as where all numbers are whole: then there is no saying which
    of them are at the optimum.
    """
    try:
        basis = AffineBasis(sample, codes)
    except SingularKernel:
        return None
    p, at = program.p, np.array([1.0, lam])
    theta = at @ basis.w[:, :p]
    fixed = np.flatnonzero(codes[:p] % 2 == 1)
    theta[fixed] = at @ basis.kinks(fixed)
    moved = np.flatnonzero(theta)
    values = program.times(moved, theta[moved])
    whole, at_kinks = np.zeros(program.n, dtype=np.int64), 0
    first, counts = program.kink_ptr[p:-1], np.diff(program.kink_ptr[p:])
    for k in range(int(counts.max())):
        here = np.flatnonzero(counts > k)
        kinks, own = at @ program.kinks[:2, first[here] + k], values[here]
        whole[p + here[own > kinks]] = 2 * (k + 1)
        there = np.abs(own - kinks) <= STILL * (np.abs(own) + np.abs(kinks))
        at_kinks += int(np.count_nonzero(there))
    if at_kinks > SAMPLED_AT_KINKS * (p + 1):
        return None
    whole[:p], whole[p + rows] = codes[:p], codes[p:]
    return AffineBasis(program, whole)

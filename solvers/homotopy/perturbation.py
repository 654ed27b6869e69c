"""The symbolic perturbation that tells ties apart."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.solvers.homotopy.basis import Basis

__all__ = ["perturb"]


def perturb(basis: Basis, rng: np.random.Generator) -> None:
    """Draw the third component of all kinks and slopes anew, so that `basis` is strictly optimal.

    Kinks and slopes that the basis rests on stay; every other one moves away from it, by a random
    amount that keeps the order within each coordinate. The basis' own values do not move.
    """
    program = basis.program
    program.kinks[2] = _offsets(basis.codes, program.kink_ptr, 1, rng)
    slopes = _offsets(basis.codes, program.slope_ptr, 0, rng)
    program.slopes[2] = np.where(np.isfinite(program.slopes[0]), slopes, 0.0)
    basis.w[2] = 0.0
    basis.set_limits(*range(program.n))


def _offsets(codes: Array, ptr: Array, parity: int, rng: np.random.Generator) -> Array:
    """Return signed random distances from the place of each coordinate's code.

    In the order piece 0, kink 0, piece 1, ... the j-th kink has the place 2 j + 1 and the j-th slope
    the place 2 j; entries left of the code get negative offsets, right of it positive ones.
    """
    counts = np.diff(ptr)
    owner = np.repeat(np.arange(len(counts)), counts)
    place = 2 * (np.arange(ptr[-1]) - ptr[owner]) + parity
    away = place - codes[owner]
    return np.sign(away) * (np.abs(away) + rng.uniform(0.0, 0.9, len(away)))

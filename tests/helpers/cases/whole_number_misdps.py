"""Small MISDPs of small whole numbers: ties, zeros, optima of zero, cones without an interior."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from whole_number_lps import whole_numbers

from sparseopt.problems import MISDP, IndicatorConstraint, SecondOrderCone, SemidefiniteBlock

Array = np.ndarray


def draw_whole_misdp(rng: np.random.Generator) -> MISDP:
    """Return a problem of one to four variables, with cones, blocks and indicators now and then."""
    n = int(rng.integers(1, 5))
    lower, upper = -rng.integers(0, 4, n).astype(float), rng.integers(0, 4, n).astype(float)
    integer = rng.random(n) < 0.6
    indicators = []
    if n > 1 and rng.random() < 0.3:
        lower[0], upper[0], integer[0] = 0.0, 1.0, True
        a = sp.csr_array(np.append(0.0, whole_numbers(rng, n - 1))[None])
        if a.nnz:
            b = float(rng.integers(-3, 4))
            indicators.append(IndicatorConstraint(0, a, b - float(rng.integers(0, 3)), b))
    if rng.random() < 0.2:
        upper[-1] = np.inf
    if rng.random() < 0.2:
        lower[int(n > 1)] = -np.inf
    m = int(rng.integers(0, 3))
    b = whole_numbers(rng, m, 3)
    return MISDP(
        c=whole_numbers(rng, n),
        A=whole_numbers(rng, (m, n)) if m else None,
        row_lower=b - rng.integers(0, 3, m) if m else None,
        row_upper=b if m else None,
        lower=lower,
        upper=upper,
        integer=integer,
        blocks=[_block(rng, n)] if rng.random() < 0.6 else [],
        cones=[_cone(rng, n)] if rng.random() < 0.5 else [],
        indicators=indicators,
        sense="max" if np.isfinite([lower, upper]).all() and rng.random() < 0.3 else "min",
    )


def _block(rng: np.random.Generator, n: int) -> SemidefiniteBlock:
    s = int(rng.integers(1, 4))
    lower = np.tril_indices(s)

    def symmetric() -> Array:
        M = whole_numbers(rng, (s, s))
        return M + M.T

    F = np.column_stack([symmetric()[lower] for _ in range(n)])
    return SemidefiniteBlock(F, F0=(symmetric() + rng.integers(0, 4) * np.eye(s))[lower])


def _cone(rng: np.random.Generator, n: int) -> SecondOrderCone:
    rotated = bool(rng.random() < 0.4)
    size = int(rng.integers(2 + rotated, 5))
    g = whole_numbers(rng, size)
    g[: 1 + rotated] += float(rng.integers(0, 4))
    return SecondOrderCone(whole_numbers(rng, (size, n)), g, rotated=rotated)

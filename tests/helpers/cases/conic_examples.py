"""MISDPs for the tests of CBF and SDPA: everything that there is, at random."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sparseopt.problems import MISDP, SecondOrderCone, SemidefiniteBlock


def random_misdp(seed: int, *, cones: bool) -> MISDP:
    """Rows of all types, bounds of all types, blocks of which some are matrix variables."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    sizes = [int(s) for s in rng.integers(1, 4, int(rng.integers(0, 3)))]
    total = n + sum(s * (s + 1) // 2 for s in sizes)

    def matrix(rows: int) -> sp.csr_array:
        full = rng.normal(size=(rows, total))
        return sp.csr_array(np.where(rng.random((rows, total)) < 0.4, full, 0.0))

    def ends(count: int) -> tuple[np.ndarray, np.ndarray]:
        low = np.where(rng.random(count) < 0.5, -np.inf, rng.normal(size=count))
        width = rng.choice([0.0, 1 / 3, np.inf], count)
        with np.errstate(invalid="ignore"):
            high = np.where(np.isinf(low), rng.choice([0.0, 0.7, np.inf], count), low + width)
        return low, high

    blocks = []
    begin = n
    for s in sizes:
        entries = s * (s + 1) // 2
        columns = np.arange(begin, begin + entries)
        unit = sp.csr_array(
            (np.ones(entries), (np.arange(entries), columns)), shape=(entries, total)
        )
        blocks.append(SemidefiniteBlock(unit, None, s, bool(rng.random() < 0.5)))
        begin += entries
    for _ in range(int(rng.integers(0, 3))):
        s = int(rng.integers(1, 4))
        entries = s * (s + 1) // 2
        F0 = np.where(rng.random(entries) < 0.5, rng.normal(size=entries), 0.0)
        blocks.append(SemidefiniteBlock(matrix(entries), F0, s, bool(rng.random() < 0.3), "é b"))
    if rng.random() < 0.3:
        blocks.reverse()
    m = int(rng.integers(0, 5))
    row_lower, row_upper = ends(m)
    lower, upper = ends(total)
    return MISDP(
        c=np.where(rng.random(total) < 0.7, rng.normal(size=total), 0.0),
        A=matrix(m) if m else None,
        row_lower=row_lower,
        row_upper=row_upper,
        lower=lower,
        upper=upper,
        integer=rng.random(total) < 0.2,
        cones=[
            SecondOrderCone(matrix(3), rng.normal(size=3), bool(rng.random() < 0.5))
            for _ in range(int(rng.integers(0, 3)) if cones else 0)
        ],
        blocks=blocks,
        sense="max" if rng.random() < 0.5 else "min",
        offset=float(rng.choice([0.0, -1 / 3])),
        names=[f"größe {j}" for j in range(total)] if rng.random() < 0.5 else None,
    )

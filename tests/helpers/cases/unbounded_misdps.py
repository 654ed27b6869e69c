"""Random MISDPs of whole numbers that are unbounded along a ray that is known.

Zero is feasible. The ray has small whole entries; along it rows are zero or go inwards, vectors of
second-order cones vanish, go inwards or keep a Pythagorean direction on the boundary, and matrices
have a null space. Nothing but the data tells the ray.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseopt.problems import MISDP, SecondOrderCone, SemidefiniteBlock
from sparseopt.problems.misdp.cones import pack_symmetric

TRIPLES = ((3, 4, 5), (5, 12, 13), (0, 1, 1), (-4, 3, 5))


def draw(seed: int) -> tuple[MISDP, Any]:
    """Return a problem and its ray."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    ray = rng.integers(-3, 4, n).astype(float)
    ray[-1] = rng.choice([-1.0, 1.0])
    integer = np.flatnonzero(rng.random(n) < 0.4)

    def aimed(value: float) -> Any:
        """Return a row of whole numbers whose product with the ray is `value`."""
        row = rng.integers(-4, 5, n).astype(float)
        row[-1] += (value - row @ ray) / ray[-1]
        return row

    rows, low, high = [], [], []
    for _ in range(int(rng.integers(0, 4))):
        kind = int(rng.integers(3))
        rows.append(aimed(float(kind and rng.integers(1, 5))))
        low.append(0.0 if kind == 0 else -float(rng.integers(1, 9)))
        high.append(0.0 if kind == 0 and rng.random() < 0.5 else np.inf)
    cones = []
    for _ in range(int(rng.integers(0, 3))):
        kind, dimension = int(rng.integers(3)), 3
        tail = rng.integers(-2, 3, 2).astype(float)
        if kind == 0:
            values = [0.0, 0.0, 0.0]
        elif kind == 1:
            values = [float(rng.integers(4, 9)), *tail]
        else:
            a, b, c = TRIPLES[int(rng.integers(len(TRIPLES)))]
            values = [float(c), float(a), float(b)]
        F = np.array([aimed(value) for value in values])
        cones.append(SecondOrderCone(F, [float(rng.integers(3, 6)), *[1.0] * (dimension - 1)]))
    blocks = []
    for _ in range(int(rng.integers(0, 3))):
        s = int(rng.integers(2, 4))
        V = rng.integers(-2, 3, (s, int(rng.integers(0, s)))).astype(float)
        W = rng.integers(-2, 3, (s, s)).astype(float)
        matrices = [T + T.T for T in rng.integers(-2, 3, (n, s, s)).astype(float)]
        along = sum(r * T for r, T in zip(ray, matrices, strict=True))
        matrices[-1] = matrices[-1] + (V @ V.T - along) / ray[-1]
        F = np.array([pack_symmetric(T) for T in matrices]).T
        blocks.append(SemidefiniteBlock(F, pack_symmetric(W @ W.T + np.eye(s)), s))
    lower = np.where((ray >= 0.0) & (rng.random(n) < 0.3), -2.0, -np.inf)
    upper = np.where((ray <= 0.0) & (rng.random(n) < 0.3), 2.0, np.inf)
    problem = MISDP(
        c=aimed(-float(rng.integers(1, 6))),
        A=np.array(rows) if rows else None,
        row_lower=low if rows else None,
        row_upper=high if rows else None,
        lower=lower,
        upper=upper,
        integer=integer,
        cones=cones,
        blocks=blocks,
    )
    return problem, ray

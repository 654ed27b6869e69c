"""Small random problems with indicators and quadratic objectives."""

from __future__ import annotations

import numpy as np

from sparseopt.problems import MISDP, MISDPBuilder


def draw_conditional(seed: int) -> MISDP:
    """Return a problem with indicators and a quadratic objective, singular or not, by its seed.

    A third of them has continuous variables without bounds.
    """
    rng = np.random.default_rng([seed, 1848])
    q, k = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    wide = int(rng.integers(0, 2))
    model = MISDPBuilder("max" if rng.random() < 0.4 else "min")
    z = model.variables(q, lower=0.0, upper=1.0, integer=True)
    w = model.variables(wide, lower=-2.0, upper=2.0, integer=True)
    free = rng.random() < 0.3
    x = model.variables(k, lower=-np.inf if free else -3.0, upper=np.inf if free else 3.0)
    some = np.concatenate([w, x])
    for j in z:
        low, high = np.sort(np.round(rng.normal(size=2) + 0.5, 1))
        ends = [(low, np.inf), (-np.inf, high), (low, high), (low, low)][int(rng.integers(0, 4))]
        a = np.round(rng.normal(size=len(some)), 1)
        other = (z[(j + 1) % q], float(rng.integers(-1, 2)))
        model.indicator(int(j), (some, a), other, lower=ends[0], upper=ends[1])
    matrices = np.round(rng.normal(size=(len(some), 2, 2)), 1)
    model.semidefinite(
        (some, list(matrices + matrices.transpose(0, 2, 1))), constant=3.0 * np.eye(2)
    )
    model.row((z, np.ones(q)), lower=float(rng.integers(0, 3)))
    sign = 1.0 if model.build().sense == "min" else -1.0
    G = rng.normal(size=(len(some), len(some) if free else int(rng.integers(0, len(some) + 1))))
    # With a nearly flat direction and no bounds a proof may take more digits than there are.
    curved = 0.3 if free else 0.0
    scale = float(10.0 ** rng.integers(-1, 3))
    model.objective(
        (some, rng.normal(size=len(some)) * (scale if free else 1.0)),
        (z, np.round(rng.normal(size=q), 1)),
        offset=float(np.round(rng.normal(), 1)),
        quadratic=[(some, sign * scale * (G @ G.T + curved * np.eye(len(G))))] if G.size else (),
    )
    return model.build()

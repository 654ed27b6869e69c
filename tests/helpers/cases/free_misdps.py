"""Small random problems with continuous variables that nothing bounds but matrices."""

from __future__ import annotations

import numpy as np

from sparseopt.problems import MISDP, MISDPBuilder


def draw_free(seed: int) -> MISDP:
    """Return the problem of that seed: one or two blocks, a cone and an equation in some.

    Costs of the free variables are <Z, G_j> for positive definite Z, so that the dual of each
    node has an interior.
    """
    rng = np.random.default_rng([seed, 77])
    q = int(rng.integers(2, 7))
    sizes = rng.integers(2, 7, size=int(rng.integers(1, 3))).tolist()
    k = min(int(rng.integers(1, 7)), sum(s * (s + 1) // 2 for s in sizes) - 1)
    model = MISDPBuilder("min")
    z = model.variables(q, lower=0.0, upper=1.0, integer=True)
    x = model.variables(k)
    both, unit = np.concatenate([z, x]), float(10.0 ** rng.integers(-2, 4))
    costs = np.zeros(k)
    for s in sizes:
        G, F = rng.normal(size=(k, s, s)), rng.normal(size=(q, s, s))
        if rng.random() < 0.4:
            G = np.round(G)
        if rng.random() < 0.3:
            G *= rng.random(size=(k, 1, 1)) < 0.6
        G = unit * (G + G.transpose(0, 2, 1))
        matrices = np.concatenate([F + F.transpose(0, 2, 1), G])
        model.semidefinite((both, list(matrices)), constant=(3.0 + s) * np.eye(s))
        root = rng.normal(size=(s, s))
        costs += np.einsum("ab,kab->k", root @ root.T, G)
    terms = [(x, costs), (z, rng.normal(size=q))]
    if rng.random() < 0.3:
        length, top = int(rng.integers(2, 5)), model.variable()
        L = rng.normal(size=(length, k))
        rows = [[(top, 1.0)], *([(x, row)] for row in L)]
        model.cone(rows, constant=np.append(0.0, rng.normal(size=length)))
        terms.append((top, float(rng.random() + 0.1)))
    model.row((z, np.ones(q)), lower=1.0)
    if rng.random() < 0.4:
        model.row((both, np.round(rng.normal(size=q + k), 2)), lower=0.5, upper=0.5)
    model.objective(*terms)
    return model.build()

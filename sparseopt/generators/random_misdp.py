"""Random mixed-integer semidefinite programs with and without strict feasibility."""

from __future__ import annotations

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.generators.draws import choice, require_positive, stream
from sparseopt.problems import MISDP, MISDPBuilder
from sparseopt.problems.base import Array


def random_misdp(
    *,
    seed: int = 0,
    integers: int = 4,
    continuous: int = 2,
    blocks: int = 2,
    size: int = 4,
    cones: int = 1,
    rows: int = 2,
    bound: int = 2,
    kind: str = "interior",
) -> MISDP:
    r"""Random MISDP of matrix inequalities, cones and rows around a known integer point.

    All data but the costs are integers or halves. At a random point x0, with integers from
    -`bound` to `bound`, every constraint holds; the continuous variables lie in [-5, 5].

    Parameters
    ----------
    seed : int, default 0
    integers, continuous : int
        Numbers of variables; at least one integer.
    blocks, size : int
        Matrix inequalities, and the size of each.
    cones, rows : int
        Second-order cones (every second one rotated) and linear rows.
    bound : int
        The integer variables lie in [-bound, bound].
    kind : {"interior", "boundary", "infeasible"}, default "interior"
        "interior": x0 meets all constraints strictly. "boundary": every matrix has a vector in its
        kernel whatever x is, so that no point meets them strictly. "infeasible": a further
        inequality with the entries 1/2, 2 w'(x - x0) - 1, 1 admits no integers, but most often
        their relaxation.

    Raises
    ------
    ParamError
        When a size is out of range or the kind is unknown.

    Notes
    -----
    Draws x0, then for each block its matrices and a factor of its value at x0, for each cone its
    matrix and its value, for each row its coefficients and its slack, then the costs, then w.
    """
    require_positive(integers=integers, size=size, bound=bound)
    for name, value in (
        ("continuous", continuous),
        ("blocks", blocks),
        ("cones", cones),
        ("rows", rows),
    ):
        if value < 0:
            raise ParamError(f"{name} must be at least 0, got {value}")
    mode = choice("kind", kind, "interior", "boundary", "infeasible")
    if mode == "boundary" and size < 2:
        raise ParamError("kind boundary needs a size of at least 2")
    rng = stream(seed)
    n = integers + continuous
    x0 = np.concatenate(
        [rng.integers(-bound, bound + 1, integers), rng.integers(-2, 3, continuous)]
    ).astype(float)
    model = MISDPBuilder("min")
    whole = model.variables(integers, lower=-bound, upper=bound, integer=True, name="k")
    real = model.variables(continuous, lower=-5.0, upper=5.0, name="x")
    every = np.concatenate([whole, real])
    for _ in range(blocks):
        F, F0 = _inequality(rng, x0, size, mode == "boundary")
        model.semidefinite((every, F), constant=F0)
    for k in range(cones):
        G, g = _cone(rng, x0, rotated=bool(k % 2))
        model.cone([[(every, row)] for row in G], constant=g, rotated=bool(k % 2))
    for _ in range(rows):
        a = rng.integers(-3, 4, n).astype(float)
        model.row((every, a), upper=float((a * x0).sum() + rng.integers(1, 4)))
    model.objective((every, rng.standard_normal(n)))
    if mode == "infeasible":
        w = rng.integers(1, 4, integers).astype(float)
        off = np.array([[0.0, 1.0], [1.0, 0.0]])
        model.semidefinite(
            (whole, [2.0 * v * off for v in w]),
            constant=np.diag([0.5, 1.0]) - (1.0 + 2.0 * float((w * x0[:integers]).sum())) * off,
            name="parity",
        )
    return model.build()


def _inequality(
    rng: np.random.Generator, x0: Array, size: int, boundary: bool
) -> tuple[list[Array], Array]:
    """Return the matrices of an inequality, and its constant, that x0 meets strictly."""
    inner = size - 1 if boundary else size
    F = [_symmetric(rng, inner) for _ in x0]
    root = rng.integers(-1, 2, (inner, inner)).astype(float)
    value = np.einsum("ik,jk->ij", root, root) + np.eye(inner)
    F0 = value - sum(x * M for x, M in zip(x0, F, strict=True))
    if boundary:
        T = _embedding(rng, inner)
        F, F0 = [_congruent(M, T) for M in F], _congruent(F0, T)
    return F, F0


def _cone(rng: np.random.Generator, x0: Array, rotated: bool) -> tuple[Array, Array]:
    """Return G and g with G x0 + g inside a cone of three members."""
    G = rng.integers(-2, 3, (3, len(x0))).astype(float)
    tail = float(rng.integers(-2, 3))
    # Both (4, 1 or tail, tail) and, rotated, 2 * 4 * 4 > tail^2 are inside.
    inside = np.array([4.0, 4.0 if rotated else 1.0, tail])
    return G, inside - np.array([float((row * x0).sum()) for row in G])


def _symmetric(rng: np.random.Generator, size: int) -> Array:
    half = rng.integers(-2, 3, (size, size)).astype(float)
    return np.asarray(np.tril(half) + np.tril(half, -1).T)


def _embedding(rng: np.random.Generator, inner: int) -> Array:
    """Return an integer matrix (inner, inner + 1) of full row rank: the identity and a column."""
    return np.concatenate([np.eye(inner), rng.integers(-1, 2, (inner, 1))], axis=1)


def _congruent(M: Array, T: Array) -> Array:
    """Return T' M T, exact on small integers and halves."""
    return np.asarray(np.einsum("ki,kl,lj->ij", T, M, T))

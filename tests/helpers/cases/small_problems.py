"""Random small problems of all the kinds that are hard for one method or another."""

from collections.abc import Iterator

import numpy as np

from sparseopt.problems import STRS

KINDS = (
    "psd",
    "low-rank",
    "nsd",
    "indefinite",
    "sparse-pca",
    "linear",
    "hard-case",
    "integers",
    "duplicates",
    "block",
    "equal",
)


def small_problem(kind: str, rng: np.random.Generator, D: int, d: int) -> STRS:
    """Return one problem of a kind in :data:`KINDS`."""
    M = rng.normal(size=(D, D))
    a = rng.normal(size=D) * 10.0 ** rng.uniform(-2, 2)
    A = M + M.T
    if kind == "psd":
        A = M @ M.T
    elif kind == "low-rank":
        A = M[:, :2] @ M[:, :2].T
    elif kind == "nsd":
        A = -M @ M.T
    elif kind == "sparse-pca":
        A, a = M @ M.T / D, np.zeros(D)
    elif kind == "linear":
        A = np.zeros((D, D))
    elif kind == "hard-case":
        # On the best support or another one, a is orthogonal to the top eigenvectors.
        A = np.diag(rng.integers(0, 3, size=D).astype(float))
        a = np.where(np.diagonal(A) == np.diagonal(A).max(), 0.0, rng.integers(-1, 2, size=D))
    elif kind == "integers":
        A, a = np.round(A), np.round(a)
    elif kind == "duplicates":
        same = rng.integers(0, max(1, D // 2), size=D)
        A, a = A[np.ix_(same, same)], a[same]
    elif kind == "block":
        A, a = np.kron(np.eye(D // 2 + 1), np.ones((2, 2)))[:D, :D], np.zeros(D)
    elif kind == "equal":
        A, a = np.full((D, D), rng.normal()), np.full(D, rng.integers(0, 2) * rng.normal())
    return STRS(A=A, a=a, d=d)


def small_problems(seed: int, count: int, largest: int) -> Iterator[tuple[str, STRS]]:
    """Yield `count` problems with 1 to `largest` variables, the kinds in turn."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        kind = KINDS[k % len(KINDS)]
        D = int(rng.integers(1, largest + 1))
        yield kind, small_problem(kind, rng, D, int(rng.integers(1, D + 1)))

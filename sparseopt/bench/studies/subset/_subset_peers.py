"""Peers that prove best subsets, called in their own terms; run by an interpreter that has them.

    python _subset_peers.py PEER FILE.npz

Needs NumPy and the peer, nothing of sparseopt: l0bnb and okridge want NumPy 1. FILE has X, y, k,
ridge, bound (0: none), penalty, gap and limit. Prints one JSON object: seconds of processor time
after a first solve that compiles, the coefficients that are not zero, and the bound that the peer
claims.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

Answer = tuple[Any, float | None]
"""The coefficients, and a lower bound of the objective where one is claimed."""


def l0bnb(
    X: Any, y: Any, k: int, ridge: float, bound: float, penalty: float, gap: float, limit: float
) -> Answer:
    """1/2 ||y - Xb||^2 + l0 ||b||_0 + l2 ||b||^2 with |b| <= m."""
    from l0bnb import BNBTree

    tree = BNBTree(X, y, int_tol=1e-6, rel_tol=gap)
    found = tree.solve(penalty, ridge / 2.0, bound, gap_tol=gap, time_limit=limit)
    return found.beta, found.cost * (1.0 - gap) if found.gap <= gap else None


def okridge(
    X: Any, y: Any, k: int, ridge: float, bound: float, penalty: float, gap: float, limit: float
) -> Answer:
    """||y - Xb||^2 - ||y||^2 + lambda2 ||b||^2 with k nonzeros.

    Version 0.1.1 asks for a method that it does not have where X'X is singular; that step, which
    tunes its ADMM, and the ADMM are left out there.
    """
    from okridge.node import Node
    from okridge.tree import BNBTree

    singular = X.shape[0] < X.shape[1]
    if singular:
        Node.finetune_ADMM_rho = lambda self, *arguments, **named: None
    tree = BNBTree(
        X, y, lambda2=ridge, gap_tol=gap, max_memory_GB=12, tighten_bound_via_ADMM=not singular
    )
    found = tree.solve(k=k, gap_tol=gap, verbose=False, time_limit=limit)
    return np.asarray(found[1]), 0.5 * (found[3] + y @ y)


def el0ps(
    X: Any,
    y: Any,
    k: int,
    ridge: float,
    bound: float,
    penalty: float,
    gap: float,
    limit: float,
    loss: str = "squares",
) -> Answer:
    """f(Xb) + lambda ||b||_0 + beta ||b||^2, with |b| <= M where there is a bound."""
    from el0ps.datafit import Leastsquares, Logistic
    from el0ps.penalty import BigmL2norm, L2norm
    from el0ps.solver import BnbSolver

    datafit = {"squares": Leastsquares, "logistic": Logistic}[loss](y)
    held = BigmL2norm(bound, ridge / 2.0) if bound else L2norm(ridge / 2.0)
    found = BnbSolver(relative_gap=gap, time_limit=limit).solve(datafit, held, X, penalty)
    proven = found.status.value == "optimal"
    return found.x, found.objective_value * (1.0 - gap) if proven else None


PEERS: dict[str, Callable[..., Answer]] = {
    "l0bnb": l0bnb,
    "okridge": okridge,
    "el0ps": el0ps,
    "el0ps-logistic": partial(el0ps, loss="logistic"),
}


def main(peer: str, file: str) -> None:
    """Solve a small problem, so that all is compiled, and then that of the file."""
    with np.load(file) as data:
        X, y = np.array(data["X"], order="F"), np.array(data["y"])
        k = int(data["k"])
        names = ("ridge", "bound", "penalty", "gap", "limit")
        rest = [float(data[name]) for name in names]
    with contextlib.redirect_stdout(sys.stderr):
        PEERS[peer](np.array(X[:, :12], order="F"), y, min(k, 2), *rest)
        begun = time.process_time()
        b, least = PEERS[peer](X, y, k, *rest)
        seconds = time.process_time() - begun
    (chosen,) = np.nonzero(b)
    answer = {
        "version": version(peer.partition("-")[0]),
        "seconds": seconds,
        "chosen": chosen.tolist(),
        "values": np.asarray(b)[chosen].tolist(),
        "bound": None if least is None else float(least),
    }
    print(json.dumps(answer), flush=True)
    # el0ps' search leaves MPI behind, which does not end where it was not begun by its own program
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The matrices A and a of the linear kernel: by Hermite features, and by direct sums."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sparseopt import generators
from sparseopt.bench.definitions.study import Row, Settings, Study, median_time
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.problems.base import Array
from sparseopt.problems.strs.problem import STRS


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Time both, in processor seconds of one thread, and compare what they return."""
    n, D = unit["n"], unit["D"]
    draw = generators.two_samples("mean-shift", n=n, D=D, d=D // 5)

    def by_features() -> STRS:
        return STRS.from_two_samples(draw.x, draw.y, d=D // 5, lam=1.0)

    seconds = median_time(by_features, unit["repeats"], time.process_time)
    problem = by_features()
    begun = time.process_time()
    A, a = _direct_sums(draw.x, draw.y)
    direct = time.process_time() - begun
    error = max(
        float(np.abs(problem.A - A).max() / np.abs(A).max()),
        float(np.abs(problem.linear - a).max() / np.abs(a).max()),
    )
    worse = f"the matrices differ by {error:.1e}" if error > 1e-9 else ""
    yield {"features": seconds, "direct": direct, "error": error, "complaint": worse}


def _direct_sums(x: Array, y: Array) -> tuple[Array, Array]:
    """Return A (lam = 1) and a by sums over all pairs, column by column."""
    n, D = x.shape
    rows, a = np.empty((n, D)), np.empty(D)
    for s in range(D):
        u, v = x[:, s], y[:, s]
        scale = -2.0 * np.median(np.abs(u[:, None] - v[None, :])) ** 2
        xx, yy, across = (
            np.exp((p[:, None] - q[None, :]) ** 2 / scale) for p, q in ((u, u), (v, v), (u, v))
        )
        H = xx + yy - across - across.T
        rows[:, s] = H.sum(axis=1)
        a[s] = (H.sum() - np.trace(H)) / (n * (n - 1))
    total = rows.sum(axis=0)
    V = 4.0 / n**3 * rows.T @ rows - 4.0 / n**4 * np.outer(total, total)
    return -V, a


STUDY = Study(
    title="The matrices of two-sample selection",
    description="Processor seconds of one thread, n + n observations of D variables.",
    settings={"n": 4000, "D": 50, "repeats": 5},
    units=lambda settings: [settings],
    do=_do,
    tables=(
        TableSpec(
            title="By Hermite features and by direct sums",
            rows=("n", "D"),
            columns=("value",),
            values=("features", "direct", "error"),
            statistic="median",
            note="The goal for the features is 0.5 s.",
        ),
    ),
    memory=16 * 10**9,
)

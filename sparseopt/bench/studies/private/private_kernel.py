"""Error of kernel values by Hermite and by random Fourier features: figure 1 of Vinaroz and others.

100 draws of N(0, 1) against 100 of N(1, 1); the length scale is the median distance of both
together, as in the paper (a look at the data, which a release must not take). The error is the mean
of abs(k(x, x') - phi(x)'phi(x')) over all pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sparseopt.bench.definitions.study import Row, Settings, Study, blocks
from sparseopt.bench.displays.figures import Figure
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.problems.twosample.statistics.hermite import features as hermite_features

_HERMITE = (1, 2, 3, 5, 10, 20, 40)
_FOURIER = (2, 10, 20, 50, 100, 200, 500)


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield blocks of draws."""
    for first, end in blocks(settings["draws"], 50):
        yield {"first": first, "end": end}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Return the errors of both kinds of features; Fourier's vary from draw to draw."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(0.0, 1.0, 100), rng.normal(1.0, 1.0, 100)
    both = np.concatenate([x, y])
    length = float(np.median(np.abs(np.subtract.outer(both, both))[np.triu_indices(200, 1)]))
    kernel = np.exp(-(np.subtract.outer(x, y) ** 2) / (2.0 * length**2))
    # In the middle of the data, as a release has them in the middle of the bounds.
    for count in _HERMITE if unit["first"] == 0 else ():
        parts = [hermite_features((one - 0.5) / length, count) for one in (x, y)]
        error = float(np.abs(kernel - parts[0].T @ parts[1]).mean())
        yield {"method": "Hermite", "features": count, "difference": error}
    for draw in range(unit["first"], unit["end"]):
        rng = np.random.default_rng([draw, 1])
        for count in _FOURIER:
            w = rng.normal(size=count // 2) / length
            angles = np.subtract.outer(x, y)[:, :, None] * w
            error = float(np.abs(kernel - np.cos(angles).mean(axis=2)).mean())
            yield {"method": "Fourier", "features": count, "difference": error}


STUDY = Study(
    title="Kernel values by Hermite and by random Fourier features",
    description="Mean absolute error over pairs of draws of N(0, 1) and N(1, 1).",
    settings={"draws": 100},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Mean absolute error",
            rows=("features",),
            columns=("method",),
            values=("difference",),
            source="Vinaroz and others (2022), figure 1",
        ),
    ),
    figures=(
        Figure(
            title="Error of kernel values",
            kind="line",
            x="features",
            y="difference",
            series="method",
            log_x=True,
            log_y=True,
            source="Vinaroz and others (2022), figure 1",
        ),
    ),
)

r"""What :mod:`sparseopt.private` promises, measured: privacy, noise, hostile data, size.

Each row has a measured number and what it must stay below or above; a unit that breaks its promise
is wrong.

- `release` (a tenth of the draws), `noise`: the loss of privacy between worst-case neighbours (one
  record of the other level), of whole releases with seeded noise and of the operating system's
  noise. Two Gaussians :math:`\eta` apart are told apart with the error rates
  :math:`\alpha, \beta`, and
  :math:`\eta = \Phi^{-1}(1 - \alpha) - \Phi^{-1}(\beta)`; Clopper-Pearson intervals of both give
  one of :math:`\epsilon` at the stated delta, at 99.9% (Nasr and others 2023). Its lower end must
  not exceed the stated epsilon, the estimate must reach 97% of it.
- `sensitivity`: the largest squared change of the integer sum over the bound, for random and for
  adversarial neighbours, whose records are pushed apart by searching along coordinates.
- `hostile`: releases of tables of values that are none, and how many statements differ from that of
  plain data of the same shape, or raised.
- `sampler`: p-values of chi-squared tests and of the first four moments.
- `timing`: the rank correlation of a returned value's size with the time of the call, and that of
  draws that are made alone.
- `size`: seconds of processor time and memory of large data.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from sparseopt.bench.definitions.study import Row, Settings, Study, chosen_of
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.bench.solving.process import peak_memory
from sparseopt.private import (
    Category,
    FeatureMap,
    Number,
    discrete_gaussian,
    insecure,
    release,
    synthesise,
)
from sparseopt.private.gaussian import gaussian_delta
from sparseopt.private.release import GRID_BITS, squared_sensitivity
from sparseopt.problems.base import Array

_TWO = FeatureMap((Category("c", (0, 1)),), tolerance=1e-9)
_LABEL = Category("y", (0, 1))
_NUMBERS = (Number("a", 0.0, 100.0, 15.0), Number("b", 140.0, 210.0))
_MAPS = {
    "product": FeatureMap(_NUMBERS, tolerance=1e-3),
    "sum": FeatureMap((*_NUMBERS, Category("c", ("u", "v"))), product=(), tolerance=1e-3),
    "both": FeatureMap((*_NUMBERS, Category("c", ("u", "v"))), label=_LABEL, tolerance=1e-3),
}
_HOSTILE: tuple[Any, ...] = (
    *(math.nan, math.inf, -math.inf, 1e308, -1e308, 10**400, 0.0, 50.0, True, None),
    *("x", "1e400", "", b"z", (1, 2), [], {}, 1j, "u", np.datetime64("2026-01-01"), np.ones(2)),
    *("nan", "\0", "1" * 5000, 2**53 + 1, np.array([]), np.ma.masked, Decimal("sNaN"), type),
)


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield the promises."""
    for what in chosen_of(settings["promises"], _PROMISES, "promise"):
        for case in _PROMISES[what][1]:
            yield {"promise": what, "case": case, "draws": settings["draws"]}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Measure one promise."""
    for name, measured, sign, promised in _PROMISES[unit["promise"]][0](unit):
        kept = measured <= promised if sign == "<=" else measured >= promised
        row = {"measure": name, "measured": measured, "goal": f"{sign} {promised:.6g}"}
        yield row if kept else {**row, "complaint": f"{name} is {measured:g}, not {row['goal']}"}


_Measured = Iterator[tuple[str, float, str, float]]


def _release(unit: Settings) -> _Measured:
    """Tell releases of (0, 0) and (0, 1) apart along the difference of their sums."""
    epsilon, delta, draws = float(unit["case"]), 1e-5, max(1, unit["draws"] // 10)

    def projected(values: list[int], seed: int) -> Array:
        table = {"c": np.array(values)}
        with insecure(seed):
            means = [
                release(table, features=_TWO, epsilon=epsilon, delta=delta).mean
                for _ in range(draws)
            ]
        return np.array([mean[1] - mean[0] for mean in means])

    return _told_apart(projected([0, 0], 1), projected([0, 1], 2), epsilon, delta)


def _noise(unit: Settings) -> _Measured:
    """Tell the noise of a statement from the same noise, moved by its sensitivity."""
    epsilon, delta = float(unit["case"]), 1e-5
    stated = release({"c": np.zeros(2)}, features=_TWO, epsilon=epsilon, delta=delta).statement.data
    shift = math.sqrt(stated["sensitivity_squared"])
    first, second = (
        np.array(discrete_gaussian(stated["variance"], unit["draws"]), dtype=float)
        for _ in range(2)
    )
    return _told_apart(first, second + shift, epsilon, delta)


def _told_apart(first: Array, second: Array, epsilon: float, delta: float) -> _Measured:
    """Return the measured epsilon of two samples, by a threshold in the middle, and its limits."""
    threshold = (first.mean() + second.mean()) / 2.0
    wrong = [int((first > threshold).sum()), int((second <= threshold).sum())]
    normal = stats.norm

    def epsilon_of(rates: list[float]) -> float:
        eta = float(normal.isf(rates[0]) - normal.ppf(rates[1]))
        return float(brentq(lambda e: gaussian_delta(eta, e) - delta, 0.0, 60.0, xtol=1e-10))

    n, m = len(first), len(second)
    highest = [
        float(stats.beta.ppf(0.9995, k + 1, size - k))
        for k, size in zip(wrong, (n, m), strict=True)
    ]
    yield "epsilon, lower end at 99.9%", epsilon_of(highest), "<=", epsilon
    yield "epsilon, estimate", epsilon_of([wrong[0] / n, wrong[1] / m]), ">=", 0.97 * epsilon


def _sensitivity(unit: Settings) -> _Measured:
    """Return the largest squared change over its bound, replace-one and add-remove."""
    features, pairs = _MAPS[unit["case"]], max(1, unit["draws"] // 10)
    rng = np.random.default_rng(0)
    drawn = [_records(features, pairs, rng) for _ in range(2)]
    for j in (0, 1):
        for name in ("a", "b"):  # corners of the ranges, where half of the pairs are
            column = next(c for c in _NUMBERS if c.name == name)
            corner = rng.choice([column.low, column.high], pairs)
            drawn[j][name] = np.where(rng.random(pairs) < 0.5, corner, drawn[j][name])
    integers = [_integers(features, table) for table in drawn]
    squares = ((integers[0] - integers[1]) ** 2).sum(axis=1)
    worst = np.argsort(-squares)[: pairs // 20]
    pushed = [{name: values[worst] for name, values in table.items()} for table in drawn]
    distance = squares[worst]
    for _ in range(40):
        for j in (0, 1):
            step = 10.0 ** rng.uniform(-4.0, 0.0)
            moved = dict(pushed[j])
            for column in _NUMBERS:
                width = step * (column.high - column.low)
                moved[column.name] = moved[column.name] + width * rng.normal(size=len(worst))
            other = _integers(features, pushed[1 - j])
            found = ((_integers(features, moved) - other) ** 2).sum(axis=1)
            better = found > distance
            distance = np.maximum(found, distance)
            pushed[j] = {k: np.where(better, moved[k], v) for k, v in pushed[j].items()}
    size = features.dimension, features.tolerance, GRID_BITS
    bound = squared_sensitivity(*size, "replace-one", Fraction(0))
    yield f"replace-one, {pairs} random pairs", float(squares.max()) / bound, "<=", 1.0
    yield f"replace-one, {len(worst)} pushed pairs", float(distance.max()) / bound, "<=", 1.0
    bound = squared_sensitivity(*size, "add-remove", Fraction(1, 4))
    alone = max(float((one**2).sum(axis=1).max()) for one in integers) + 2.0 ** (2 * GRID_BITS - 4)
    yield f"add-remove, {2 * pairs} records", alone / bound, "<=", 1.0


def _records(features: FeatureMap, count: int, rng: np.random.Generator) -> dict[str, Array]:
    table = {c.name: rng.uniform(c.low, c.high, count) for c in _NUMBERS}
    return {**table, "c": rng.choice(["u", "v", "w"], count), "y": rng.integers(0, 3, count)}


def _integers(features: FeatureMap, table: Mapping[str, Array]) -> Array:
    """Return the rounded features, as floats: their squares are compared to 1e-13."""
    label = table["y"] if features.label else None
    return np.asarray(np.rint(features.features(table, label) * 2.0**GRID_BITS))


def _hostile(unit: Settings) -> _Measured:
    """Release tables of values that are none, of one to four records."""
    wide = (Number("a", 0.0, 100.0, 100.0), Number("b", 0.0, 1.0, 1.0))
    features = FeatureMap((*wide, Category("c", ("u", 0))), label=_LABEL, product=("a",))
    rng, count = np.random.default_rng(0), max(1, unit["draws"] // 20)
    asked = {"epsilon": 1.0, "delta": 1e-6, "neighbours": unit["case"]}
    plain, raised, warned, changed, infinite = {}, 0, 0, 0, 0
    with insecure(0), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for N in range(1, 5):
            table = {"a": np.ones(N), "b": np.ones(N), "c": ["u"] * N}
            plain[N] = release(table, features=features, y=[0] * N, **asked).statement.data
        for _ in range(count):
            N = int(rng.integers(1, 5))
            columns = [[_HOSTILE[k] for k in rng.integers(0, len(_HOSTILE), N)] for _ in range(4)]
            table = dict(zip("abc", columns[:3], strict=True))
            try:
                found = release(table, features=features, y=columns[3], **asked)
            except Exception:
                raised += 1
                continue
            changed += found.statement.data != plain[N]
            infinite += not np.isfinite(found.mean).all()
        warned = len(caught)
    yield f"exceptions of {count}", raised, "<=", 0
    yield "warnings", warned, "<=", 0
    yield "other statements than of plain data", changed, "<=", 0
    yield "releases that are not finite", infinite, "<=", 0


def _sampler(unit: Settings) -> _Measured:
    """Compare counts and moments with those of the discrete Gaussian."""
    sigma, count = float(unit["case"]), max(1, unit["draws"] // 5)
    draws = np.array(discrete_gaussian(round(sigma**2), count), dtype=float)
    if sigma < 1e4:
        k = np.arange(-math.ceil(12.0 * sigma), math.ceil(12.0 * sigma) + 1)
        mass = np.exp(-(k**2) / (2.0 * round(sigma**2)))
        mass /= mass.sum()
        cells = np.clip(np.round(np.linspace(-3.0, 3.0, 41) * sigma), k[0], k[-1])
        edges = np.unique(np.concatenate([[k[0]], cells, [k[-1] + 1.0]]))
        expected = np.add.reduceat(mass, (edges[:-1] - k[0]).astype(int))
        counts = np.histogram(draws, np.append(edges[:-1] - 0.5, edges[-1] - 0.5))[0]
        moments = [float((mass * (k / sigma) ** p).sum()) for p in range(1, 9)]
    else:  # normal but for 1e-8 of it
        edges = np.linspace(-3.0, 3.0, 41)
        expected = np.diff(stats.norm.cdf(np.concatenate([[-np.inf], edges, [np.inf]])))
        counts = np.histogram(draws / sigma, np.concatenate([[-np.inf], edges, [np.inf]]))[0]
        moments = [float(stats.norm.moment(p)) for p in range(1, 9)]
    yield "chi-squared, p", float(stats.chisquare(counts, expected * len(draws)).pvalue), ">=", 1e-4
    for p in range(1, 5):
        spread = math.sqrt((moments[2 * p - 1] - moments[p - 1] ** 2) / len(draws))
        away = abs(float(np.mean((draws / sigma) ** p)) - moments[p - 1]) / spread
        yield f"moment {p}, p", float(2.0 * stats.norm.sf(away)), ">=", 1e-4


def _timing(unit: Settings) -> _Measured:
    """Return rank correlations of sizes and times: one value of a call, of the least batch."""
    calls = max(100, unit["draws"] // 1000)
    together = _correlation(lambda: discrete_gaussian(10**20, 1)[0], calls)
    yield f"rank correlation over {calls} calls", together, "<=", 3.3 / math.sqrt(calls)
    with insecure(0):  # where none is drawn but the one
        alone = _correlation(lambda: discrete_gaussian(10**20, 1)[0], 20 * calls)
    yield "of values that are drawn alone", alone, ">=", 0.1


def _correlation(draw: Callable[[], int], calls: int) -> float:
    values, times = np.empty(calls), np.empty(calls)
    for i in range(calls):
        begun = time.perf_counter_ns()
        values[i] = abs(draw())
        times[i] = time.perf_counter_ns() - begun
    return abs(float(stats.spearmanr(values, times).statistic))


def _size(unit: Settings) -> _Measured:
    """Release 10^6 records of 50 numeric columns (at the default draws), fit and sample."""
    rng, N = np.random.default_rng(0), unit["draws"]
    table = {f"x{j}": rng.uniform(-1.0, 1.0, N) for j in range(50)}
    features = FeatureMap(tuple(Number(name, -1.0, 1.0) for name in table))
    given, begun = peak_memory(), time.process_time()
    released = release(table, features=features, epsilon=1.0, delta=1e-8)
    yield "seconds of a release", time.process_time() - begun, "<=", 60.0
    yield "bytes, with the table", float(peak_memory() or 0), "<=", 2e9
    yield "bytes of table and libraries", float(given or 0), "<=", 2e9
    begun = time.process_time()
    found = synthesise(released, 4096, rel_gap=1e-6)
    yield "seconds of a fit", time.process_time() - begun, "<=", 60.0
    yield "gap of the fit", float(found.result.gap or 0.0), "<=", 1e-6
    yield "verified", float(found.result.verdict == "verified"), ">=", 1.0
    begun = time.process_time()
    found.sample(100_000)
    yield "seconds of 10^5 samples", time.process_time() - begun, "<=", 10.0


_PROMISES: Mapping[str, tuple[Callable[[Settings], _Measured], tuple[str, ...]]] = {
    "release": (_release, ("3",)),
    "noise": (_noise, ("1", "3")),
    "sensitivity": (_sensitivity, tuple(_MAPS)),
    "hostile": (_hostile, ("replace-one", "add-remove")),
    "sampler": (_sampler, ("1", "2", "10", "1000", "1e11")),
    "timing": (_timing, ("one value",)),
    "size": (_size, ("50 columns",)),
}

STUDY = Study(
    title="What a private release promises",
    description="Each measured number beside its goal; see the study's module.",
    settings={"promises": ("all",), "draws": 1_000_000},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Measured, and the goal",
            rows=("promise", "measure", "goal"),
            columns=("value",),
            values=("measured:min", "measured:max"),
            statistic="max",
            note="The least and the largest value of all cases.",
        ),
    ),
)

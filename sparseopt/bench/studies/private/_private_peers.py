"""Other ways to synthetic tables, to compare with: no releases, for their noise is seeded.

All keep (epsilon, delta) for neighbours that replace one record, as our releases do by default.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp

from sparseopt.api import solve
from sparseopt.private import Category, FeatureMap, Number, Synthesis
from sparseopt.private.gaussian import calibrate
from sparseopt.private.synthesis import atoms
from sparseopt.private.values import as_codes, as_numbers
from sparseopt.problems import EmbeddingFit
from sparseopt.problems.base import Array

Codes = Mapping[str, Array]
"""A table of small integers, by column."""

_REPLACED = math.sqrt(2.0)
"""Sensitivity of a table of counts where one record is replaced, in the Euclidean norm."""

_ITERATIONS = 300


def fourier_features(
    features: FeatureMap, count: int, rng: np.random.Generator
) -> Callable[[Mapping[str, Array]], Array]:
    """Return random Fourier features of the numbers' joint kernel, and one-hots of categories.

    Rows have the length 1. With p numbers the joint length scale is sqrt(p) times each column's.

    Parameters
    ----------
    features : FeatureMap
        Its columns; the features are others.
    count : int
        Of Fourier features, about.
    rng : numpy Generator
    """
    numbers = [c for c in features.columns if isinstance(c, Number)]
    categories = [c for c in features.columns if isinstance(c, Category)]
    W = rng.normal(size=(len(numbers), max(1, count // 2))) / math.sqrt(max(1, len(numbers)))

    def embedded(table: Mapping[str, Array]) -> Array:
        parts = []
        if numbers:
            scaled = [as_numbers(table[c.name], c.low, c.high) / c.scale for c in numbers]
            angles = np.column_stack(scaled) @ W
            parts.append(np.hstack([np.cos(angles), np.sin(angles)]) / math.sqrt(W.shape[1]))
        for c in categories:
            hot = as_codes(table[c.name], c.levels)[:, None] == np.arange(len(c.levels))
            parts.append(hot / math.sqrt(len(categories)))
        return np.hstack(parts) / math.sqrt(bool(numbers) + bool(categories))

    return embedded


def fourier(
    features: FeatureMap,
    table: Mapping[str, Array],
    label: Array,
    embedded: Callable[[Mapping[str, Array]], Array],
    *,
    epsilon: float,
    delta: float,
    count: int,
    rng: np.random.Generator,
) -> Synthesis:
    """Fit public atoms to a noisy mean of other features, which have length 1 (DP-MERF).

    Their inner products may be negative: the sensitivity of the sum is 2. Source: Harder,
    Adamczewski, Park: DP-MERF (2021), with atoms in place of a generator.

    Parameters
    ----------
    features : FeatureMap
        Columns, label and atoms.
    table, label
        The records.
    embedded : callable
        A table to its features, shape (N, D).
    epsilon, delta : float
        An infinite epsilon is without noise.
    count : int
        Atoms for each level.
    rng : numpy Generator
    """
    assert features.label is not None
    levels = features.label.levels
    means = []
    for level in levels:
        rows = {name: values[label == level] for name, values in table.items()}
        means.append(embedded(rows).sum(axis=0) / len(label))
    noisy = np.array(means)
    if math.isfinite(epsilon):
        noisy += 2.0 / calibrate(epsilon, delta) / len(label) * rng.normal(size=noisy.shape)
    public, public_label = atoms(features, count)
    each = len(next(iter(public.values()))) // len(levels)
    Phi = embedded({name: values[:each] for name, values in public.items()})
    Phi = np.vstack([Phi, np.zeros(Phi.shape[1])])
    results = tuple(solve(EmbeddingFit(Phi, mu), rel_gap=1e-4) for mu in noisy)
    weights = np.concatenate([np.maximum(0.0, np.asarray(one.x)[:-1]) for one in results])
    if not weights.any():
        weights = np.ones(len(weights))
    numbers = sum(isinstance(column, Number) for column in features.columns)
    spacing = each ** (-1.0 / max(1, numbers))
    return Synthesis(features, public, public_label, weights / weights.sum(), results, spacing)


# ---- marginal methods, by the inference of the package mbi


def zcdp(epsilon: float, delta: float) -> float:
    """Return rho of zero-concentrated differential privacy that gives (epsilon, delta).

    Source: Canonne, Kamath, Steinke (2020), corollary 13.

    Parameters
    ----------
    epsilon, delta : float
    """

    def log_delta(rho: float) -> float:
        def bound(log: float) -> float:
            a = 1.0 + math.exp(log)
            return (a - 1.0) * (a * rho - epsilon) + a * math.log1p(-1.0 / a) - log

        return float(minimize_scalar(bound, bounds=(-7.0, 14.0), method="bounded").fun)

    return float(brentq(lambda rho: log_delta(rho) - math.log(delta), 1e-12, epsilon + 10.0))


def marginals(
    method: str,
    codes: Codes,
    sizes: Mapping[str, int],
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Return synthetic codes by MST or AIM, as many as there are records.

    Both measure noisy tables of counts; the package `mbi` fits a graphical model to them. MST: all
    single columns, then the pairs of a spanning tree that is chosen privately, a third of the
    budget each (McKenna, Miklau, Sheldon 2021; without merging rare levels). AIM: in rounds the
    table of up to two columns that the model fits worst, less what noise explains, with noise that
    is halved where a round has not helped (McKenna and others 2022; all pairs as the workload,
    models of up to 10 MB).

    Parameters
    ----------
    method : {"MST", "AIM"}
    codes : mapping of str to int array of shape (N,)
    sizes : mapping of str to int
        Number of levels of each column.
    epsilon, delta : float
    rng : numpy Generator
    """
    data = _Measured(codes, sizes, rng)
    rho = zcdp(epsilon, delta)
    if method == "MST":
        _mst(data, rho)
    else:
        _aim(data, rho)
    return data.draw()


class _Measured:
    """The records, the noisy tables that were measured of them, and the model of these tables.

    Columns that no table ties together are independent in the model, which is thus a product of
    one model for each part: each is fitted again only when a table of its columns was measured.
    """

    def __init__(self, codes: Codes, sizes: Mapping[str, int], rng: np.random.Generator) -> None:
        self.codes, self.sizes, self.rng = codes, sizes, rng
        self.records = len(next(iter(codes.values())))
        self.tables: dict[tuple[str, ...], Array] = {}
        self.parts: dict[str, _Part] = {name: _Part((name,)) for name in sizes}

    def counts(self, names: tuple[str, ...]) -> Array:
        """Return the exact table of counts, as one vector."""
        if names not in self.tables:
            shape = tuple(self.sizes[name] for name in names)
            cells = np.ravel_multi_index([self.codes[name] for name in names], shape)
            self.tables[names] = np.bincount(cells, minlength=math.prod(shape)).astype(float)
        return self.tables[names]

    def measure(self, names: tuple[str, ...], sigma: float) -> Array:
        """Measure a table; the budget is 1 / (2 sigma^2)."""
        deviation = sigma * _REPLACED
        exact = self.counts(names)
        noisy = exact + deviation * self.rng.normal(size=len(exact))
        part = _joined([self.parts[name] for name in names])
        part.measured.append((names, noisy, deviation))
        self.parts.update(dict.fromkeys(part.names, part))
        return noisy

    def fit(self) -> None:
        """Fit the parts of which a table was measured since."""
        for part in set(self.parts.values()):
            if not part.factors:
                part.fit(self.sizes, self.records)

    def expected(self, names: tuple[str, ...]) -> Array:
        """Return a table of counts of the model, as one vector."""
        parts = [self.parts[name] for name in names]
        if len(set(parts)) == 1:
            return parts[0].shares(names).ravel() * self.records
        one, other = (part.shares((name,)) for part, name in zip(parts, names, strict=True))
        return np.outer(one, other).ravel() * self.records

    def size_with(self, names: tuple[str, ...]) -> float:
        """Return the size of the model, in MB, if this table were measured too.

        A table of columns of two parts is a clique of its own in the junction tree, which a single
        column's is inside of.
        """
        touched = {self.parts[name] for name in names}
        rest = sum(part.size(self.sizes) for part in set(self.parts.values()) - touched)
        if len(touched) == 1:
            return rest + touched.pop().size(self.sizes, names)
        kept = sum(part.size(self.sizes) for part in touched if len(part.names) > 1)
        return rest + kept + math.prod(self.sizes[name] for name in names) * 8 / 2**20

    def draw(self) -> dict[str, Array]:
        """Return synthetic codes, as many as there are records."""
        drawn: dict[str, Array] = {}
        for part in dict.fromkeys(self.parts[name] for name in self.sizes):
            drawn.update(part.draw(self.records, self.rng))
        return drawn

    def choose(self, scores: Array, rho: float) -> int:
        """Choose by the exponential mechanism; a record that is replaced moves a score by 2."""
        logits = math.sqrt(8.0 * rho) / (2.0 * 2.0) * scores
        return int(self.rng.choice(len(scores), p=np.exp(logits - logsumexp(logits))))


class _Part:
    """Columns that measured tables tie together, and the graphical model of them.

    Of several columns mbi fits it; of a single one it is the nearest point of the simplex.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.measured: list[tuple[tuple[str, ...], Array, float]] = []
        self.factors: list[tuple[tuple[str, ...], Array]] = []
        self.model: Any = None
        self.known_sizes: dict[tuple[str, ...], float] = {}
        self.known_shares: dict[tuple[str, ...], Array] = {}

    def fit(self, sizes: Mapping[str, int], records: int) -> None:
        """Fit the model to the measured tables by least squares, weighted by their precision."""
        if len(self.names) == 1:
            weights = np.array([deviation**-2.0 for _, _, deviation in self.measured])
            mean = weights @ np.array([noisy for _, noisy, _ in self.measured]) / weights.sum()
            self.factors = [(self.names, _on_simplex(mean, float(records)))]
            return
        from mbi import Domain, LinearMeasurement, estimation

        measured = [LinearMeasurement(noisy, t, stddev=sd) for t, noisy, sd in self.measured]
        self.model = estimation.MirrorDescent(marginal_oracle=_marginals_of).estimate(
            Domain.fromdict({name: sizes[name] for name in self.names}),
            measured,
            known_total=float(records),
            iters=_ITERATIONS,
        )
        for clique in self.model.cliques:
            factor = self.model.potentials[clique]
            logs = np.asarray(factor.values, dtype=float)
            self.factors.append((tuple(factor.domain.attributes), np.exp(logs - logs.max())))

    def shares(self, names: tuple[str, ...]) -> Array:
        """Return a table of probabilities: the product of the factors, summed over the rest.

        The models' own `project` gives the same and compiles a program for each table: .8 s
        instead of 40 ms.
        """
        import opt_einsum

        if names not in self.known_shares:
            number = {name: j for j, name in enumerate(self.names)}
            operands: list[Any] = []
            for columns, values in self.factors:
                operands += [values, [number[name] for name in columns]]
            axes = [number[name] for name in names]
            table = opt_einsum.contract(*operands, axes, optimize="greedy")
            self.known_shares[names] = table / table.sum()
        return self.known_shares[names]

    def size(self, sizes: Mapping[str, int], extra: tuple[str, ...] = ()) -> float:
        """Return the size of the junction tree in MB, with a further table if there is one."""
        from mbi import Domain, junction_tree

        if extra not in self.known_sizes:
            domain = Domain.fromdict({name: sizes[name] for name in self.names})
            cliques = [columns for columns, _, _ in self.measured] + [extra] * bool(extra)
            self.known_sizes[extra] = junction_tree.hypothetical_model_size(domain, cliques)
        return self.known_sizes[extra]

    def draw(self, records: int, rng: np.random.Generator) -> dict[str, Array]:
        """Return synthetic codes, whose counts are those of the model but for rounding."""
        if self.model is None:
            ((name,), counts) = self.factors[0]
            return {name: _with_counts(counts, records, rng)}
        import jax

        np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002, since mbi draws from there
        with jax.disable_jit():
            drawn = self.model.synthetic_data(rows=records).to_dict()
        return {name: np.asarray(drawn[name]).astype(int) for name in self.names}


def _joined(parts: list[_Part]) -> _Part:
    """Return a part, not yet fitted, with the columns and tables of all these."""
    different = list(dict.fromkeys(parts))
    whole = _Part(tuple(itertools.chain.from_iterable(part.names for part in different)))
    whole.measured = list(itertools.chain.from_iterable(part.measured for part in different))
    return whole


def _on_simplex(values: Array, total: float) -> Array:
    """Return the nearest nonnegative vector with that sum."""
    falling = np.sort(values)[::-1]
    shift = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    return np.asarray(np.maximum(values - shift[falling > shift][-1], 0.0))


def _with_counts(counts: Array, records: int, rng: np.random.Generator) -> Array:
    """Return codes in random order, as many of each as its count, rounded at random."""
    share, whole = np.modf(counts * (records / counts.sum()))
    times = whole.astype(int)
    left = records - int(times.sum())
    if left > 0:
        times[rng.choice(len(counts), left, replace=False, p=share / share.sum())] += 1
    return rng.permutation(np.repeat(np.arange(len(counts)), times))


def _marginals_of(potentials: Any, *args: Any, **options: Any) -> Any:
    """Return the marginals of a model, compiled only inside of what is compiled anyway.

    Each graph is another program to XLA, and calls outside of the descent's loop are too short to
    be worth one: 8 instead of 20 seconds for MST on 31 columns.
    """
    import jax
    from mbi import marginal_oracles

    traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(potentials))
    with contextlib.nullcontext() if traced else jax.disable_jit():
        return marginal_oracles.message_passing_hugin(potentials, *args, **options)


def _mst(data: _Measured, rho: float) -> None:
    names = tuple(data.sizes)
    sigma = math.sqrt(3.0 * len(names) / (2.0 * rho))
    single = {}
    for name in names:
        noisy = np.maximum(data.measure((name,), sigma), 0.0)
        single[name] = noisy / noisy.sum() if noisy.any() else np.full(len(noisy), 1 / len(noisy))
    pairs = list(itertools.combinations(names, 2))
    scores = {}
    for a, b in pairs:
        independent = data.records * np.outer(single[a], single[b]).ravel()
        scores[a, b] = float(np.abs(data.counts((a, b)) - independent).sum())
    part = {name: name for name in names}
    sigma = math.sqrt(3.0 * max(1, len(names) - 1) / (2.0 * rho))
    for _ in names[1:]:
        open_ = [(a, b) for a, b in pairs if part[a] != part[b]]
        score = np.array([scores[pair] for pair in open_])
        a, b = open_[data.choose(score, rho / 3.0 / (len(names) - 1))]
        data.measure((a, b), sigma)
        old, new = part[a], part[b]
        part = {name: new if where == old else where for name, where in part.items()}
    data.fit()


def _aim(data: _Measured, rho: float) -> None:
    names = tuple(data.sizes)
    rounds = 16 * len(names)
    sigma, share = math.sqrt(rounds / (1.8 * rho)), 0.1 * rho / rounds
    # A table's weight: how many of its columns are in how many pairs, 2 (n - 1) or n - 1.
    weight = {table: 1.0 for table in itertools.combinations(names, 1)}
    weight |= {table: 2.0 for table in itertools.combinations(names, 2)}
    for name in names:
        data.measure((name,), sigma)
    used = len(names) / (2.0 * sigma**2)
    data.fit()
    last = False
    while not last:
        if rho - used < 2.0 * (1.0 / (2.0 * sigma**2) + share):
            sigma, share, last = math.sqrt(1.0 / (1.8 * (rho - used))), 0.1 * (rho - used), True
        used += 1.0 / (2.0 * sigma**2) + share
        small = [table for table in weight if data.size_with(table) <= 10.0 * used / rho]
        noise = math.sqrt(2.0 / math.pi) * sigma * _REPLACED
        before = {table: data.expected(table) for table in small}
        scores = np.array(
            [
                weight[t] * (np.abs(data.counts(t) - before[t]).sum() - noise * len(before[t]))
                for t in small
            ]
        )
        table = small[data.choose(scores / max(weight.values()), share)]
        data.measure(table, sigma)
        data.fit()
        moved = np.abs(data.expected(table) - before[table]).sum()
        if moved <= noise * len(before[table]):
            sigma, share = sigma / 2.0, 4.0 * share

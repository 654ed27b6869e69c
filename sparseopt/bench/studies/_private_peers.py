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
    import jax

    data = _Measured(codes, sizes, rng)
    rho = zcdp(epsilon, delta)
    model = _mst(data, rho) if method == "MST" else _aim(data, rho)
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002, since mbi draws from there
    with jax.disable_jit():
        drawn = model.synthetic_data(rows=data.records).to_dict()
    return {name: np.asarray(drawn[name]).astype(int) for name in sizes}


class _Measured:
    """The records, and the noisy tables that were measured of them."""

    def __init__(self, codes: Codes, sizes: Mapping[str, int], rng: np.random.Generator) -> None:
        from mbi import Domain

        self.codes, self.sizes, self.rng = codes, sizes, rng
        self.domain = Domain.fromdict(dict(sizes))
        self.records = len(next(iter(codes.values())))
        self.measurements: list[Any] = []

    def counts(self, names: tuple[str, ...]) -> Array:
        shape = tuple(self.sizes[name] for name in names)
        cells = np.ravel_multi_index([self.codes[name] for name in names], shape)
        return np.bincount(cells, minlength=math.prod(shape)).astype(float)

    def measure(self, names: tuple[str, ...], sigma: float) -> Array:
        """Measure a table; the budget is 1 / (2 sigma^2)."""
        from mbi import LinearMeasurement

        deviation = sigma * _REPLACED
        exact = self.counts(names)
        noisy = exact + deviation * self.rng.normal(size=len(exact))
        self.measurements.append(LinearMeasurement(noisy, names, stddev=deviation))
        return noisy

    def fitted(self) -> Any:
        from mbi import estimation

        return estimation.MirrorDescent(marginal_oracle=_marginals_of).estimate(
            self.domain, self.measurements, known_total=float(self.records), iters=_ITERATIONS
        )

    def choose(self, scores: Array, rho: float) -> int:
        """Choose by the exponential mechanism; a record that is replaced moves a score by 2."""
        logits = math.sqrt(8.0 * rho) / (2.0 * 2.0) * scores
        return int(self.rng.choice(len(scores), p=np.exp(logits - logsumexp(logits))))


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


def _projected(model: Any, names: tuple[str, ...]) -> Array:
    """Return a table of counts of a fitted model, the product of its factors summed over the rest.

    `model.project` gives the same and compiles a program for each table: .8 instead of 40 ms.
    """
    import opt_einsum

    number = {name: j for j, name in enumerate(model.domain.attributes)}
    operands: list[Any] = []
    for clique in model.cliques:
        factor = model.potentials[clique]
        logs = np.asarray(factor.values, dtype=float)
        operands += [np.exp(logs - logs.max()), [number[a] for a in factor.domain.attributes]]
    table = opt_einsum.contract(*operands, [number[a] for a in names], optimize="greedy")
    return np.asarray(table.ravel() * (float(model.total) / table.sum()))


def _mst(data: _Measured, rho: float) -> Any:
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
    return data.fitted()


def _aim(data: _Measured, rho: float) -> Any:
    from mbi import junction_tree

    names = tuple(data.sizes)
    rounds = 16 * len(names)
    sigma, share = math.sqrt(rounds / (1.8 * rho)), 0.1 * rho / rounds
    # A table's weight: how many of its columns are in how many pairs, 2 (n - 1) or n - 1.
    weight = {table: 1.0 for table in itertools.combinations(names, 1)}
    weight |= {table: 2.0 for table in itertools.combinations(names, 2)}
    for name in names:
        data.measure((name,), sigma)
    used = len(names) / (2.0 * sigma**2)
    model, last = data.fitted(), False
    while not last:
        if rho - used < 2.0 * (1.0 / (2.0 * sigma**2) + share):
            sigma, share, last = math.sqrt(1.0 / (1.8 * (rho - used))), 0.1 * (rho - used), True
        used += 1.0 / (2.0 * sigma**2) + share
        cliques = [measured.clique for measured in data.measurements]
        small = [
            table
            for table in weight
            if junction_tree.hypothetical_model_size(data.domain, [*cliques, table])
            <= 10.0 * used / rho
        ]
        noise = math.sqrt(2.0 / math.pi) * sigma * _REPLACED
        before = {table: _projected(model, table) for table in small}
        scores = np.array(
            [
                weight[t] * (np.abs(data.counts(t) - before[t]).sum() - noise * len(before[t]))
                for t in small
            ]
        )
        table = small[data.choose(scores / max(weight.values()), share)]
        data.measure(table, sigma)
        model = data.fitted()
        moved = np.abs(_projected(model, table) - before[table]).sum()
        if moved <= noise * len(before[table]):
            sigma, share = sigma / 2.0, 4.0 * share
    return model

"""Synthetic rows from a private release: weights on public atoms, and samples of them.

All of this is post-processing: it reads the release, never the data, and costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize
from scipy.stats import qmc

from sparseopt.api import solve
from sparseopt.errors import ParamError
from sparseopt.private.features import Category, FeatureMap, Number
from sparseopt.private.release import PrivateEmbedding
from sparseopt.private.values import level_array
from sparseopt.problems.base import Array
from sparseopt.problems.private.embedding_fit import EmbeddingFit
from sparseopt.result import Result

_DEFAULT_ATOMS = 4096
_KINDS = ("auto", "grid", "sequence", "reduced")
_WORTHWHILE = 1e-3
"""Share of the distance that a round of moving atoms must take away to be followed by another."""


@dataclass(frozen=True, eq=False)
class Synthesis:
    """A distribution on public atoms.

    Attributes
    ----------
    map : FeatureMap
    table : mapping of str to array of shape (n,)
        The atoms.
    label : array of shape (n,) or None
    weights : array of shape (n,)
    results : tuple of Result
        Of the fit, with verdict; for a label one of each level.
    spacing : float
        Between public atoms, as a share of a number's range.
    """

    map: FeatureMap
    table: dict[str, Array]
    label: Array | None
    weights: Array
    results: tuple[Result, ...]
    spacing: float

    @property
    def result(self) -> Result:
        """The fit whose verdict is the worst; of several alike the one with the largest gap."""
        return max(self.results, key=lambda one: (one.verdict != "verified", one.gap or 0.0))

    def sample(
        self, count: int, seed: int = 0, *, spread: float = 0.5
    ) -> tuple[dict[str, Array], Array | None]:
        """Draw rows: atoms by weight, their numbers moved by the spacing of the atoms.

        Parameters
        ----------
        count : int
        seed : int, default 0
            This is post-processing, so a seed gives nothing away.
        spread : float, default 0.5
            How far numbers are moved at most, in spacings of the atoms; 0 for the atoms themselves.

        Returns
        -------
        table : dict of str to array of shape (count,)
        label : array of shape (count,) or None

        Raises
        ------
        ParamError
            When the count is no whole number, or negative.
        """
        if not isinstance(count, Integral) or count < 0:
            raise ParamError(f"{count!r} rows were asked for; expected a whole number, 0 or more")
        rng = np.random.default_rng(seed)
        chosen = rng.choice(len(self.weights), size=count, p=self.weights)
        table = {name: values[chosen] for name, values in self.table.items()}
        numbers = [column for column in self.map.columns if isinstance(column, Number)]
        for column in numbers:
            reach = spread * (column.high - column.low) * self.spacing
            moved = table[column.name] + rng.uniform(-reach, reach, count)
            table[column.name] = np.clip(moved, column.low, column.high)
        return table, None if self.label is None else self.label[chosen]


def atoms(
    features: FeatureMap, count: int = _DEFAULT_ATOMS, seed: int = 0, kind: str = "auto"
) -> tuple[dict[str, Array], Array | None]:
    r"""Return public atoms: a grid, a low-discrepancy sequence, or a reduced grid.

    The reduced grid has the cells' centres of all tensor grids of
    :math:`2^{l_1} \times \dots \times 2^{l_p}` cells with :math:`\sum_j l_j \le L`, L as large as
    `count` points allow: of many columns few differ from the middle at a time (Smolyak
    1963).

    Parameters
    ----------
    features : FeatureMap
    count : int, default 4096
        For each level of the label, about.
    seed : int, default 0
        Of categories, and of the sequence.
    kind : {"auto", "grid", "sequence", "reduced"}
        Of the numbers. "auto": a grid for up to two numbers without categories, else a sequence.

    Returns
    -------
    table : dict of str to array of shape (n,)
    label : array of shape (n,) or None

    Raises
    ------
    ParamError
        When a setting is out of range, or a grid is asked for where there are categories.
    """
    if count < 1:
        raise ParamError(f"count is {count}; expected at least one atom")
    if kind not in _KINDS:
        raise ParamError(f"kind is {kind!r}; expected one of {', '.join(_KINDS)}")
    numbers = [column for column in features.columns if isinstance(column, Number)]
    categories = [column for column in features.columns if isinstance(column, Category)]
    if kind == "auto":
        kind = "grid" if numbers and len(numbers) <= 2 and not categories else "sequence"
    if kind == "grid":
        if categories or not numbers:
            raise ParamError("a grid of atoms is one of numbers alone; take kind='sequence'")
        side = max(2, round(count ** (1.0 / len(numbers))))
        line = (np.arange(side) + 0.5) / side
        unit = np.stack(np.meshgrid(*[line] * len(numbers), indexing="ij"), axis=-1)
        unit = unit.reshape(-1, len(numbers))
    else:
        centres = _reduced_grid(len(numbers), count) if kind == "reduced" else None
        rows = count if centres is None else len(centres)
        sequence = qmc.Sobol(max(1, len(features.columns)), seed=seed)
        unit = sequence.random_base2(max(1, math.ceil(math.log2(rows))))
        if centres is not None:
            unit = unit[:rows]
            unit[:, : len(numbers)] = centres
    table: dict[str, Array] = {}
    for j, number in enumerate(numbers):
        table[number.name] = number.low + (number.high - number.low) * unit[:, j]
    for j, category in enumerate(categories, start=len(numbers)):
        codes = (unit[:, j] * len(category.levels)).astype(int)  # the sequence stays below 1
        table[category.name] = level_array(category.levels)[codes]
    if features.label is None:
        return table, None
    levels, rows = level_array(features.label.levels), len(unit)
    repeated = {name: np.tile(values, len(levels)) for name, values in table.items()}
    return repeated, np.repeat(levels, rows)


def _reduced_grid(numbers: int, count: int) -> Array:
    """Return the centres of the reduced grid of at most `count` points, in the unit cube."""
    found, levels = [np.full((1, numbers), 0.5)], {(0,) * numbers}
    for _ in range(count if numbers else 0):
        levels = {(*l[:j], l[j] + 1, *l[j + 1 :]) for l in levels for j in range(numbers)}
        total = sum(map(len, found))
        if total + sum(2 ** sum(l) for l in levels) > count:
            break
        for level in sorted(levels):
            lines = [(2.0 * np.arange(2**l) + 1.0) / 2 ** (l + 1) for l in level]
            grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
            found.append(grid.reshape(-1, numbers))
    return np.vstack(found)


def embedding_problem(
    released: PrivateEmbedding, table: dict[str, Array], label: Array | None = None
) -> EmbeddingFit:
    """Return the fit of weights on atoms to a release, a problem like any other.

    Parameters
    ----------
    released : PrivateEmbedding
    table : dict of str to array of shape (n,)
        The atoms.
    label : array of shape (n,), optional
    """
    return EmbeddingFit(Phi=released.map.features(table, label), mu=released.mean)


def synthesise(
    released: PrivateEmbedding,
    count: int = _DEFAULT_ATOMS,
    *,
    seed: int = 0,
    kind: str = "auto",
    **question: Any,
) -> Synthesis:
    """Fit weights on public atoms to a release; with a label, each level apart.

    Parameters
    ----------
    released : PrivateEmbedding
    count : int, default 4096
        Atoms for each level of the label, about.
    seed : int, default 0
        Of the atoms.
    kind : {"auto", "grid", "sequence", "reduced"}
        Of the atoms; see :func:`atoms`.
    **question
        Passed to :func:`sparseopt.solve`: backend, rel_gap (default 1e-6), time_limit.

    Returns
    -------
    Synthesis

    Raises
    ------
    SparseOptError
        When no distribution was found within the limits.
    """
    table, _ = atoms(released.map, count, seed, kind)
    levels = 1 if released.map.label is None else len(released.map.label.levels)
    rows = len(next(iter(table.values()))) // levels
    tables = [{name: values[:rows] for name, values in table.items()}] * levels
    numbers = sum(isinstance(column, Number) for column in released.map.columns)
    spacing = rows ** (-1.0 / max(1, numbers))
    return _fitted(released, tables, spacing, question)


def move_atoms(
    released: PrivateEmbedding,
    found: Synthesis,
    *,
    rounds: int = 5,
    iterations: int = 50,
    **question: Any,
) -> Synthesis:
    r"""Move the atoms that have weight closer to a release, by L-BFGS; a heuristic.

    In each round the numbers of the atoms move within their bounds, at fixed weights, down the
    squared distance of the release from the embedding, which is not convex in them; then the
    weights are fitted again, a convex problem that is verified as before. What the verdict says is
    that no other weights *on these atoms* are closer: that no other atoms are is not claimed. The
    distance never grows. Post-processing of the release, as all that is done here.

    Parameters
    ----------
    released : PrivateEmbedding
    found : Synthesis
        Of this release.
    rounds : int, default 5
    iterations : int, default 50
        Of L-BFGS in each round.
    **question
        Passed to :func:`sparseopt.solve`.

    Returns
    -------
    Synthesis
        Of the atoms with weight alone.

    Raises
    ------
    ParamError
        When the map has no numbers.
    """
    features = released.map
    if not any(isinstance(column, Number) for column in features.columns):
        raise ParamError("the map has categories alone: there is nothing to move")
    for _ in range(rounds):
        tables = []
        for part, weights, mu in _levels(released, found):
            kept = weights > 0.0
            if not kept.any():  # a level without mass
                tables.append(part)
                continue
            chosen = {name: values[kept] for name, values in part.items()}
            tables.append(_moved(features, chosen, weights[kept], mu, iterations))
        again = _fitted(released, tables, found.spacing, question)
        if _distance(again) >= _distance(found) * (1.0 - _WORTHWHILE):
            return again if _distance(again) < _distance(found) else found
        found = again
    return found


def _moved(
    features: FeatureMap, table: dict[str, Array], weights: Array, mu: Array, iterations: int
) -> dict[str, Array]:
    """Return atoms whose numbers are a local minimum of the squared distance at fixed weights."""
    numbers = [column for column in features.columns if isinstance(column, Number)]
    n = len(weights)
    unit = 1.0
    middle = np.array([(column.low + column.high) / 2.0 for column in numbers])
    scale = np.array([column.scale for column in numbers])

    def at(x: Array) -> dict[str, Array]:
        values = middle[:, None] + scale[:, None] * x.reshape(len(numbers), n)
        return {**table, **{c.name: v for c, v in zip(numbers, values, strict=True)}}

    def distance(x: Array) -> tuple[float, Array]:
        moved = at(x)
        residual = weights @ features.rows(moved) - mu
        slopes = features.slopes(moved, residual)
        gradient = [2.0 * column.scale * weights * slopes[column.name] for column in numbers]
        return float(residual @ residual) / unit, np.concatenate(gradient) / unit

    start = np.array([table[column.name] for column in numbers])
    x = ((start - middle[:, None]) / scale[:, None]).ravel()
    unit = distance(x)[0] or 1.0  # tolerances of L-BFGS are absolute
    reach = np.repeat([column.radius for column in numbers], n)
    best = minimize(
        distance,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(-reach, reach),
        options={"maxiter": iterations},
    )
    return at(best.x)


def _levels(
    released: PrivateEmbedding, found: Synthesis
) -> Iterator[tuple[dict[str, Array], Array, Array]]:
    """Yield atoms, their weights as they were fitted, and the release of each level."""
    levels = () if found.map.label is None else found.map.label.levels
    for code, mu in enumerate(released.mean.reshape(max(1, len(levels)), -1)):
        rows = slice(None) if found.label is None else found.label == levels[code]
        weights = np.maximum(0.0, np.asarray(found.results[code].x))
        yield {k: v[rows] for k, v in found.table.items()}, weights[: len(found.weights[rows])], mu


def _distance(found: Synthesis) -> float:
    return math.fsum(float(result.objective or 0.0) for result in found.results)


def _fitted(
    released: PrivateEmbedding,
    tables: list[dict[str, Array]],
    spacing: float,
    question: dict[str, Any],
) -> Synthesis:
    """Fit weights on the atoms of each level.

    With a label, the weights of a level add up to its share, which is at most 1: a last atom
    without features takes the rest.
    """
    features, results, weights = released.map, [], []
    for table, mu in zip(tables, released.mean.reshape(len(tables), -1), strict=True):
        Phi = features.rows(table)
        if features.label is not None:
            Phi = np.vstack([Phi, np.zeros(Phi.shape[1])])
        results.append(solve(EmbeddingFit(Phi=Phi, mu=mu), **question).raise_for_status())
        count = len(next(iter(table.values())))
        weights.append(np.maximum(0.0, np.asarray(results[-1].x))[:count])
    share = np.concatenate(weights)
    if not share.any():  # a release that is noise alone may have no mass anywhere
        share = np.ones(len(share))
    together = {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}
    label = None
    if features.label is not None:
        label = np.repeat(level_array(features.label.levels), [len(part) for part in weights])
    return Synthesis(features, together, label, share / share.sum(), tuple(results), spacing)

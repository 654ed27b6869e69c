"""Synthetic rows from a private release: weights on public atoms, and samples of them.

All of this is post-processing: it reads the release, never the data, and costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from sparseopt.api import solve
from sparseopt.errors import ParamError
from sparseopt.private.features import Category, FeatureMap, Number
from sparseopt.private.release import PrivateEmbedding
from sparseopt.problems.base import Array
from sparseopt.problems.private.embedding_fit import EmbeddingFit
from sparseopt.result import Result

__all__ = ["Synthesis", "atoms", "embedding_problem", "synthesise"]

_DEFAULT_ATOMS = 4096


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
    """

    map: FeatureMap
    table: dict[str, Array]
    label: Array | None
    weights: Array
    results: tuple[Result, ...]

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
        """
        rng = np.random.default_rng(seed)
        chosen = rng.choice(len(self.weights), size=count, p=self.weights)
        table = {name: values[chosen] for name, values in self.table.items()}
        numbers = [column for column in self.map.columns if isinstance(column, Number)]
        classes = 1 if self.map.label is None else len(self.map.label.levels)
        side = (len(self.weights) / classes) ** (1.0 / max(1, len(numbers)))
        for column in numbers:
            reach = spread * (column.high - column.low) / side
            moved = table[column.name] + rng.uniform(-reach, reach, count)
            table[column.name] = np.clip(moved, column.low, column.high)
        return table, None if self.label is None else self.label[chosen]


def atoms(
    features: FeatureMap, count: int = _DEFAULT_ATOMS, seed: int = 0
) -> tuple[dict[str, Array], Array | None]:
    """Return public atoms: a grid for up to two numbers, else a low-discrepancy sequence.

    Parameters
    ----------
    features : FeatureMap
    count : int, default 4096
        For each level of the label, about.
    seed : int, default 0
        Of categories, and of the sequence.

    Returns
    -------
    table : dict of str to array of shape (n,)
    label : array of shape (n,) or None
    """
    if count < 1:
        raise ParamError(f"count is {count}; expected at least one atom")
    numbers = [column for column in features.columns if isinstance(column, Number)]
    categories = [column for column in features.columns if isinstance(column, Category)]
    if numbers and len(numbers) <= 2 and not categories:
        side = max(2, round(count ** (1.0 / len(numbers))))
        line = (np.arange(side) + 0.5) / side
        unit = np.stack(np.meshgrid(*[line] * len(numbers), indexing="ij"), axis=-1)
        unit = unit.reshape(-1, len(numbers))
    else:
        sequence = qmc.Sobol(max(1, len(features.columns)), seed=seed)
        unit = sequence.random_base2(max(1, int(np.ceil(np.log2(count)))))
    table: dict[str, Array] = {}
    for j, number in enumerate(numbers):
        table[number.name] = number.low + (number.high - number.low) * unit[:, j]
    for j, category in enumerate(categories, start=len(numbers)):
        codes = (unit[:, j] * len(category.levels)).astype(int)  # the sequence stays below 1
        table[category.name] = np.array(category.levels)[codes]
    if features.label is None:
        return table, None
    levels, rows = np.array(features.label.levels), len(unit)
    repeated = {name: np.tile(values, len(levels)) for name, values in table.items()}
    return repeated, np.repeat(levels, rows)


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
    released: PrivateEmbedding, count: int = _DEFAULT_ATOMS, *, seed: int = 0, **question: Any
) -> Synthesis:
    """Fit weights on public atoms to a release; with a label, each level apart.

    Parameters
    ----------
    released : PrivateEmbedding
    count : int, default 4096
        Atoms for each level of the label, about.
    seed : int, default 0
        Of the atoms.
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
    table, label = atoms(released.map, count, seed)
    if released.map.label is None:
        problems = [embedding_problem(released, table)]
    else:
        problems = _each_level(released, table)
    results = tuple(solve(problem, **question).raise_for_status() for problem in problems)
    found = [np.maximum(0.0, np.asarray(result.x)) for result in results]
    weights = np.concatenate(found if label is None else [a[:-1] for a in found])
    if not weights.any():  # a release that is noise alone may have no mass anywhere
        weights = np.ones(len(weights))
    return Synthesis(released.map, table, label, weights / weights.sum(), results)


def _each_level(released: PrivateEmbedding, table: dict[str, Array]) -> list[EmbeddingFit]:
    """Return a fit for each level of the label, whose features are apart from the others'.

    Its weights add up to the level's share, which is at most 1: a last atom without features takes
    the rest.
    """
    assert released.map.label is not None
    levels = len(released.map.label.levels)
    count = len(next(iter(table.values()))) // levels
    rows = released.map.rows({name: values[:count] for name, values in table.items()})
    Phi = np.vstack([rows, np.zeros(rows.shape[1])])
    return [EmbeddingFit(Phi=Phi, mu=mu) for mu in released.mean.reshape(levels, -1)]

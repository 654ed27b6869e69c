r"""Features of table rows, of length at most 1, shaped by public arguments only.

Each numeric column has the Gaussian kernel :math:`k_j(s, t) = e^{-(s - t)^2 / (2 l_j^2)}`, by its
first Hermite features; a category has the kernel that is 1 for equal levels and 0 else. The kernel
of two rows is

.. math:: k = w \prod_{j \in product} k_j + (1 - w) \frac1q \sum_{j=1}^q k_j

times the kernel of the label, where there is one. All of it is nonnegative and at most 1, so the
features of one row have a length of at most 1, and those of two rows an inner product of at least
-(the truncation error). That makes the sensitivity :math:`\sqrt 2` instead of 2
(:mod:`sparseopt.private.release`).

Source: Vinaroz and others: Hermite polynomial features for private data generation (2022), section
3 and equations (10), (14).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.problems.base import Array
from sparseopt.problems.twosample.statistics.hermite import features as hermite_features
from sparseopt.problems.twosample.statistics.hermite import order as hermite_order

__all__ = ["Category", "FeatureMap", "Number", "as_category", "as_number", "as_table"]

_LARGEST_ORDER = 500
_LARGEST_DIMENSION = 1_000_000
_ROWS = 4096
"""Rows that are embedded at a time."""


@dataclass(frozen=True)
class Number:
    """A numeric column, with what must be known of it without a look at the data.

    Parameters
    ----------
    name : str
    low, high : float
        Values outside are moved to the nearer bound; missing ones to the middle.
    length : float, optional
        The kernel's length scale in the column's unit. Default: a fifth of high - low.
    """

    name: str
    low: float
    high: float
    length: float | None = None

    def __post_init__(self) -> None:
        if not -math.inf < self.low < self.high < math.inf:
            raise ParamError(
                f"column {self.name!r}: low is {self.low} and high is {self.high}; expected finite "
                "bounds, low < high, that are known without looking at the data"
            )
        if self.length is None:
            object.__setattr__(self, "length", (self.high - self.low) / 5.0)
        if not 0.0 < self.scale < math.inf:
            raise ParamError(f"column {self.name!r}: length is {self.length}; expected > 0")

    @property
    def scale(self) -> float:
        """The length scale."""
        return float(self.length or 0.0)

    @property
    def radius(self) -> float:
        """Half the width of the range, in length scales."""
        return (self.high - self.low) / 2.0 / self.scale


@dataclass(frozen=True)
class Category:
    """A column with a fixed list of levels.

    Parameters
    ----------
    name : str
    levels : tuple of str or int
        All that there can be; another value in the data has no features at all.
    """

    name: str
    levels: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        if not self.levels or len(set(self.levels)) < len(self.levels):
            raise ParamError(
                f"column {self.name!r}: levels are {self.levels!r:.80}; expected different ones"
            )


@dataclass(frozen=True)
class FeatureMap:
    """The features of a table's rows: public data, which a statement repeats.

    Parameters
    ----------
    columns : sequence of Number or Category
    label : Category, optional
        The kernel is multiplied by that of the label: an embedding for each class.
    product : sequence of str, optional
        Numeric columns whose dependence is kept by a product kernel; few, since the number of
        features grows fast. Default: the numeric columns where there are at most two, else none.
    share : float, optional
        The product kernel's weight w. Default: 1 where all columns are in the product, 0 where none
        is, else 1/2.
    tolerance : float, default 1e-3
        Largest error of a kernel value by truncation; the orders follow from it.

    Raises
    ------
    ParamError
        When a column is unknown or named twice, a setting is out of range, or there would be more
        than 10^6 features.
    """

    columns: tuple[Number | Category, ...]
    label: Category | None = None
    product: tuple[str, ...] | None = None
    share: float | None = None
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        names = [column.name for column in self.columns]
        if not names or len(set(names)) < len(names):
            raise ParamError(f"the columns are {names}; expected at least one, no name twice")
        numeric = tuple(column.name for column in self.columns if isinstance(column, Number))
        product = self.product
        if product is None:
            product = numeric if len(numeric) <= 2 else ()
        object.__setattr__(self, "product", tuple(product))
        unknown = [name for name in self.product or () if name not in numeric]
        if unknown:
            raise ParamError(f"product has {unknown}; expected numeric columns of {list(numeric)}")
        share = self.share
        if share is None:
            share = 0.0 if not self.product else 1.0 if len(self.product) == len(names) else 0.5
        object.__setattr__(self, "share", float(share))
        if not 0.0 <= share <= 1.0 or (share > 0.0) > bool(self.product):
            raise ParamError(f"share is {share}; expected 0 to 1, and 0 without product columns")
        if not 0.0 < self.tolerance < 1.0:
            raise ParamError(f"tolerance is {self.tolerance}; expected a number between 0 and 1")
        if self.dimension > _LARGEST_DIMENSION:
            raise ParamError(
                f"the map has {self.dimension} features; expected at most {_LARGEST_DIMENSION}: "
                "take fewer product columns, longer length scales or a larger tolerance"
            )

    @classmethod
    def from_bounds(cls, bounds: Any, classes: Any = None) -> FeatureMap:
        """Return the map of columns that are given by what each may hold.

        Parameters
        ----------
        bounds : mapping of str to (low, high) or list, or sequence of (low, high)
            A tuple of two numbers bounds a numeric column, a list has the levels of a category. A
            sequence is for the columns of a matrix, which are called x0, x1 and so on.
        classes : sequence of str or int, optional
            The levels of the label.

        Raises
        ------
        ParamError
            When an entry is neither a pair of bounds nor a list of levels.

        Examples
        --------
        >>> age, smokes = FeatureMap.from_bounds({"age": (0, 100), "smokes": ["no", "yes"]}).columns
        >>> age
        Number(name='age', low=0, high=100, length=20.0)
        >>> smokes
        Category(name='smokes', levels=('no', 'yes'))
        """
        if not isinstance(bounds, Mapping):
            pairs = np.asarray(bounds, dtype=float)
            if pairs.ndim != 2 or pairs.shape[1] != 2:
                raise ParamError(
                    f"bounds has shape {pairs.shape}; expected (columns, 2), or a mapping of names"
                )
            bounds = {f"x{j}": tuple(pair) for j, pair in enumerate(pairs.tolist())}
        label = None if classes is None else Category("label", tuple(classes))
        return cls(tuple(_column(name, given) for name, given in bounds.items()), label=label)

    @cached_property
    def orders(self) -> Mapping[str, int]:
        """How many Hermite features each numeric column has in the sum."""
        found = {}
        for column in self.columns:
            if isinstance(column, Number):
                count = hermite_order(column.radius, self.tolerance, _LARGEST_ORDER)
                if count is None:
                    raise ParamError(
                        f"column {column.name!r} is {2.0 * column.radius:.3g} length scales wide: "
                        f"that takes more than {_LARGEST_ORDER} features; take a longer one"
                    )
                found[column.name] = count
        return found

    @cached_property
    def degree(self) -> int:
        r"""Largest total degree of the product's features; -1 without a product.

        The squares of the features of a row are a probability distribution over multi-indices,
        whose degree has the generating function :math:`\prod_j G_j(t)`; the Chernoff bound of its
        tail falls below the tolerance.
        """
        if not self.share:
            return -1
        rho = 1.0 / (1.0 + math.sqrt(2.0))
        t = np.exp(np.linspace(0.0, -math.log(rho), 402)[1:-1])
        moment = np.zeros(len(t))
        for column in self._product_columns:
            moment += 0.5 * np.log((1.0 - rho**2) / (1.0 - (rho * t) ** 2))
            moment += 2.0 * column.radius**2 * (rho * t / (1.0 + rho * t) - rho / (1.0 + rho))
        return max(0, math.ceil(float(np.min((moment - math.log(self.tolerance)) / np.log(t)))) - 1)

    @property
    def _product_columns(self) -> list[Number]:
        wanted = self.product or ()
        return [c for c in self.columns if isinstance(c, Number) and c.name in wanted]

    @cached_property
    def _indices(self) -> Array:
        """The multi-indices of the product, shape (count, columns)."""
        p = len(self._product_columns)
        count = math.comb(self.degree + p, p)
        if count > _LARGEST_DIMENSION:
            raise ParamError(f"the product has {count} features; expected fewer columns")
        return np.array(
            [
                k
                for k in itertools.product(range(self.degree + 1), repeat=p)
                if sum(k) <= self.degree
            ],
            dtype=np.int64,
        )

    @cached_property
    def dimension(self) -> int:
        """Number of features of a row."""
        p = len(self._product_columns)
        rows = math.comb(self.degree + p, p) if self.share else 0
        if self.share != 1.0:
            rows += sum(self.orders.values())
            rows += sum(len(c.levels) for c in self.columns if isinstance(c, Category))
        return rows * (1 if self.label is None else len(self.label.levels))

    def features(self, table: Mapping[str, Any], label: Any = None) -> Array:
        """Return the features of rows, shape (N, dimension); each of length at most 1.

        Never raises because of a value: numbers are moved into their bounds, missing ones to the
        middle, and an unknown level has no features.

        Parameters
        ----------
        table : mapping of str to array of length N
            The columns by name.
        label : array of length N, optional
        """
        count = len(next(iter(table.values())))
        out = np.zeros((count, self.dimension))
        for begin in range(0, count, _ROWS):
            rows = slice(begin, begin + _ROWS)
            part = {name: np.asarray(values)[rows] for name, values in table.items()}
            out[rows] = self._block(part, None if label is None else np.asarray(label)[rows])
        return out

    def _block(self, table: Mapping[str, Array], label: Array | None) -> Array:
        rows = self.rows(table)
        if self.label is None:
            return rows
        codes = as_category(label, self.label)
        hot = codes[:, None] == np.arange(len(self.label.levels))
        return np.asarray((hot[:, :, None] * rows[:, None, :]).reshape(len(rows), -1))

    def rows(self, table: Mapping[str, Array]) -> Array:
        """Return the features of rows whatever their label, shape (N, dimension / levels).

        Parameters
        ----------
        table : mapping of str to array of length N
        """
        scaled = self._scaled(table)
        parts = []
        if self.share:
            names = [c.name for c in self._product_columns]
            powers = [hermite_features(scaled[name], self.degree + 1) for name in names]
            product = math.sqrt(self.share) * powers[0][self._indices[:, 0]]
            for j in range(1, len(names)):
                product *= powers[j][self._indices[:, j]]
            parts.append(product)
        if self.share != 1.0:
            weight = math.sqrt((1.0 - float(self.share or 0.0)) / len(self.columns))
            for column in self.columns:
                if isinstance(column, Number):
                    parts.append(
                        weight * hermite_features(scaled[column.name], self.orders[column.name])
                    )
                else:
                    codes = as_category(table[column.name], column)
                    parts.append(weight * (np.arange(len(column.levels))[:, None] == codes))
        rows = np.vstack(parts).T
        return np.asarray(rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None])

    def slopes(self, table: Mapping[str, Array], target: Array) -> dict[str, Array]:
        r"""Return how inner products of rows' features with a vector change with each number.

        With :math:`\phi_k' = \sqrt{2 \rho k}\, \phi_{k-1} - \frac{2 \rho}{1 + \rho} x \phi_k` in
        length scales.

        Parameters
        ----------
        table : mapping of str to array of shape (N,)
        target : array of shape (dimension / levels,)

        Returns
        -------
        dict of str to array of shape (N,)
            For each numeric column the derivative of :math:`\phi(x)'` target.
        """
        scaled, share = self._scaled(table), float(self.share or 0.0)
        found = {name: np.zeros(len(values)) for name, values in scaled.items()}
        begin = 0
        if share:
            names = [c.name for c in self._product_columns]
            powers = [hermite_features(scaled[name], self.degree + 1) for name in names]
            begin = len(self._indices)
            weighted = math.sqrt(share) * target[:begin]
            for j, name in enumerate(names):
                terms = _derivatives(scaled[name], powers[j])[self._indices[:, j]]
                for i in set(range(len(names))) - {j}:
                    terms *= powers[i][self._indices[:, i]]
                found[name] += weighted @ terms
        weight = math.sqrt((1.0 - share) / len(self.columns))
        for column in self.columns if share != 1.0 else ():
            count = len(column.levels) if isinstance(column, Category) else self.orders[column.name]
            if isinstance(column, Number):
                x = scaled[column.name]
                terms = _derivatives(x, hermite_features(x, count))
                found[column.name] += weight * target[begin : begin + count] @ terms
            begin += count
        return {c.name: found[c.name] / c.scale for c in self.columns if isinstance(c, Number)}

    def _scaled(self, table: Mapping[str, Array]) -> dict[str, Array]:
        """Return the numeric columns around the middle of their range, in length scales."""
        return {
            c.name: (as_number(table[c.name], c) - (c.low + c.high) / 2.0) / c.scale
            for c in self.columns
            if isinstance(c, Number)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what a statement says of the map, ready for JSON."""
        columns = [_column_dict(column, self.orders) for column in self.columns]
        return {
            "columns": columns,
            "label": None if self.label is None else list(self.label.levels),
            "product": list(self.product or ()),
            "degree": self.degree,
            "share": self.share,
            "tolerance": self.tolerance,
            "dimension": self.dimension,
        }


def _column(name: str, given: Any) -> Number | Category:
    if isinstance(given, tuple) and len(given) == 2 and all(isinstance(v, Real) for v in given):
        return Number(name, *given)
    if isinstance(given, list):
        return Category(name, tuple(given))
    raise ParamError(
        f"column {name!r}: the bounds are {given!r:.80}; expected a tuple (low, high), or a list "
        "of the levels of a category"
    )


def _derivatives(x: Array, features: Array) -> Array:
    """Return the derivatives of Hermite features, shape (count, N)."""
    rho = 1.0 / (1.0 + math.sqrt(2.0))
    steps = np.sqrt(2.0 * rho * np.arange(1, len(features)))
    found = -2.0 * rho / (1.0 + rho) * x * features
    found[1:] += steps[:, None] * features[:-1]
    return np.asarray(found)


def _column_dict(column: Number | Category, orders: Mapping[str, int]) -> dict[str, Any]:
    if isinstance(column, Category):
        return {"name": column.name, "levels": list(column.levels)}
    return {
        "name": column.name,
        "low": column.low,
        "high": column.high,
        "length": column.scale,
        "order": orders[column.name],
    }


def as_table(X: Any, features: FeatureMap) -> Any:
    """Return what has the columns by name: X itself, or those of a matrix as x0, x1 and so on.

    Parameters
    ----------
    X : mapping of str to array of shape (N,), data frame, or array of shape (N, columns)
    features : FeatureMap

    Raises
    ------
    ParamError
        When a matrix has another number of columns than the map.
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return X
    if X.shape[1] != len(features.columns):
        raise ParamError(
            f"X has {X.shape[1]} columns; expected the {len(features.columns)} of the map"
        )
    return {f"x{j}": values for j, values in enumerate(X.T)}


def as_number(values: Any, column: Number) -> Array:
    """Return values within the column's bounds; whatever is no number is the middle.

    Parameters
    ----------
    values : array of shape (N,)
        Of any type.
    column : Number
    """
    array = np.asarray(values)
    middle = (column.low + column.high) / 2.0
    if array.dtype.kind not in "fiub":
        array = np.array([_number(value) for value in array.ravel()], dtype=float)
    with np.errstate(all="ignore"):  # a longer float overflows to an infinity
        array = array.astype(float)
    array = np.where(np.isnan(array), middle, array)
    return np.asarray(np.clip(array, column.low, column.high))


def _number(value: Any) -> float:
    try:
        return float(value)
    except Exception:  # whatever a value raises would say something of it
        return math.nan


def as_category(values: Any, column: Category) -> Array:
    """Return the levels' positions, -1 for an unknown one.

    Parameters
    ----------
    values : array of shape (N,)
        Of any type.
    column : Category
    """
    position = {level: code for code, level in enumerate(column.levels)}
    return np.array([_position(value, position) for value in _listed(values)], dtype=np.int64)


def _position(value: Any, position: Mapping[Any, int]) -> int:
    try:
        return position.get(value, -1)
    except Exception:  # a value that cannot be hashed or compared is no level
        return -1


def _listed(values: Any) -> Sequence[Any]:
    listed: Sequence[Any] = np.asarray(values).tolist()
    return listed

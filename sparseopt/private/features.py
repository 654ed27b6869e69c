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

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.private.values import as_codes, as_numbers, level_key
from sparseopt.problems.base import Array
from sparseopt.problems.twosample.statistics.hermite import features as hermite_features
from sparseopt.problems.twosample.statistics.hermite import order as hermite_order

_LARGEST_ORDER = 500
_LARGEST_DIMENSION = 1_000_000
_LEAST_TOLERANCE = 1e-12
_TRUNCATIONS = ("auto", "total-degree", "tensor")
_ROWS, _ENTRIES = 4096, 2**22
"""Rows that are embedded at a time, and their features."""

_LONGEST = 1.0 + 1e-10
"""Features of a row are at most so long, with the rounding errors of evaluating them."""


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
        where = f"column {_named(self.name)!r}"
        low, high = as_real(f"{where}: low", self.low), as_real(f"{where}: high", self.high)
        if not (low < high and math.isfinite(high - low) and math.isfinite(high + low)):
            raise ParamError(
                f"{where}: low is {low} and high is {high}; expected finite bounds, low < high, "
                "that are known without looking at the data"
            )
        length = (high - low) / 5.0
        if self.length is not None:
            length = as_real(f"{where}: length", self.length)
        if not (0.0 < length < math.inf and math.isfinite((high - low) / length)):
            raise ParamError(f"{where}: length is {length}; expected > 0, next to the bounds")
        for name, value in (("low", low), ("high", high), ("length", length)):
            object.__setattr__(self, name, value)

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
    levels : sequence of str, int, float, bool or None
        All that there can be; another value in the data has no features at all. Numbers and words
        of them are one: 1, 1.0, True, "1" and "01".
    """

    name: str
    levels: tuple[Any, ...]

    def __post_init__(self) -> None:
        where = f"column {_named(self.name)!r}: levels are {self.levels!r:.80}; expected"
        given: Any = self.levels
        if isinstance(given, str) or not np.iterable(given):
            raise ParamError(f"{where} a sequence of levels")
        levels = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
        if not all(level is None or _writable(level) for level in levels):
            raise ParamError(f"{where} strings, numbers, booleans or None, which a file can hold")
        if not levels or len({level_key(level) for level in levels}) < len(levels):
            raise ParamError(
                f"{where} different ones; 1, 1.0, True, '1' and '01' are one, since how a value is "
                "written may depend on others of its column"
            )
        object.__setattr__(self, "levels", levels)


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
        Largest error of a kernel value by truncation, at least 1e-12; the orders follow from it.
    truncation : {"auto", "total-degree", "tensor"}
        Which products of features the product kernel has: those up to a total degree, or those up
        to a degree in each column, which are fewer where one column is much wider than the others
        in length scales. "auto": what takes fewer features.

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
    truncation: str = "auto"

    def __post_init__(self) -> None:
        columns: tuple[Any, ...] = (self.columns,)
        if np.iterable(self.columns):
            columns = tuple(self.columns)
        if not all(isinstance(column, (Number, Category)) for column in columns):
            raise ParamError(f"columns are {columns!r:.80}; expected Numbers and Categories")
        object.__setattr__(self, "columns", columns)
        label: Any = self.label
        if not isinstance(label, (Category, type(None))):
            raise ParamError(f"label is {self.label!r:.80}; expected a Category")
        names = [column.name for column in self.columns]
        if not names or len(set(names)) < len(names):
            raise ParamError(f"the columns are {names}; expected at least one, no name twice")
        numeric = tuple(column.name for column in self.columns if isinstance(column, Number))
        product = self.product
        if product is None:
            product = numeric if len(numeric) <= 2 else ()
        product = tuple(product)
        object.__setattr__(self, "product", product)
        unknown = [name for name in product if name not in numeric]
        if unknown or len(set(product)) < len(product):
            raise ParamError(
                f"product is {product!r:.80}; expected numeric columns of {list(numeric)}, none "
                "twice"
            )
        share = self.share
        if share is None:
            share = 0.0 if not self.product else 1.0 if len(self.product) == len(names) else 0.5
        share = as_real("share", share)
        object.__setattr__(self, "share", share)
        if not 0.0 <= share <= 1.0 or (share > 0.0) > bool(self.product):
            raise ParamError(f"share is {share}; expected 0 to 1, and 0 without product columns")
        object.__setattr__(self, "tolerance", as_real("tolerance", self.tolerance))
        if not _LEAST_TOLERANCE <= self.tolerance < 1.0:
            raise ParamError(
                f"tolerance is {self.tolerance}; expected a number from {_LEAST_TOLERANCE:g} to "
                "below 1"
            )
        if self.truncation not in _TRUNCATIONS:
            raise ParamError(
                f"truncation is {self.truncation!r}; expected one of {', '.join(_TRUNCATIONS)}"
            )
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
        Number(name='age', low=0.0, high=100.0, length=20.0)
        >>> smokes
        Category(name='smokes', levels=('no', 'yes'))
        """
        if not isinstance(bounds, Mapping):
            try:
                pairs = np.asarray(bounds, dtype=float)
            except (TypeError, ValueError) as error:
                raise ParamError(
                    f"bounds is {bounds!r:.80}; expected pairs (low, high), or a mapping of names"
                ) from error
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
                found[column.name] = _order(column, self.tolerance)
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

    @cached_property
    def degrees(self) -> tuple[int, ...] | None:
        """Largest degree of each product column in a tensor truncation; None in one by degree.

        With the tolerance divided among the p columns: a multi-index is left out where one of its
        entries is.
        """
        columns = self._product_columns
        if not self.share or self.truncation == "total-degree":
            return None
        if self.truncation == "auto" and len(columns) == 1:
            return None
        found = tuple(_order(c, self.tolerance / len(columns)) - 1 for c in columns)
        if self.truncation == "tensor" or _tensor_count(found) < self._total_count:
            return found
        return None

    @property
    def _product_columns(self) -> list[Number]:
        numbers = {c.name: c for c in self.columns if isinstance(c, Number)}
        return [numbers[name] for name in self.product or ()]

    @property
    def _total_count(self) -> int:
        p = len(self._product_columns)
        return math.comb(self.degree + p, p)

    @property
    def _product_count(self) -> int:
        return self._total_count if self.degrees is None else _tensor_count(self.degrees)

    @cached_property
    def _indices(self) -> Array:
        """The multi-indices of the product, shape (count, columns)."""
        if self.degrees is not None:
            return np.indices([d + 1 for d in self.degrees]).reshape(len(self.degrees), -1).T
        p = len(self._product_columns)
        return np.array(list(_up_to_degree(p, self.degree)), dtype=np.int64)

    @cached_property
    def dimension(self) -> int:
        """Number of features of a row."""
        rows = self._product_count if self.share else 0
        if self.share != 1.0:
            rows += sum(self.orders.values())
            rows += sum(len(c.levels) for c in self.columns if isinstance(c, Category))
        return rows * (1 if self.label is None else len(self.label.levels))

    @property
    def at_once(self) -> int:
        """How many rows are embedded at a time, so that memory does not grow with their number."""
        return max(1, min(_ROWS, _ENTRIES // self.dimension))

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
        for begin in range(0, count, self.at_once):
            rows = slice(begin, begin + self.at_once)
            part = {name: np.asarray(values)[rows] for name, values in table.items()}
            out[rows] = self._block(part, None if label is None else np.asarray(label)[rows])
        return out

    def _block(self, table: Mapping[str, Array], label: Array | None) -> Array:
        rows = self.rows(table)
        if self.label is None:
            return rows
        codes = as_codes(label, self.label.levels)
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
            powers = self._powers(scaled, names)
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
                    codes = as_codes(table[column.name], column.levels)
                    parts.append(weight * (np.arange(len(column.levels))[:, None] == codes))
        rows = np.vstack(parts).T
        # How a norm is summed up, and so its last digits, may depend on the place of a row.
        lengths = np.linalg.norm(rows, axis=1)
        too_long = lengths > _LONGEST
        if too_long.any():
            rows[too_long] /= lengths[too_long, None]
        return np.asarray(rows)

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
            powers = self._powers(scaled, names)
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

    def _powers(self, scaled: Mapping[str, Array], names: Sequence[str]) -> list[Array]:
        """Return the features of each product column, as many as its largest degree needs."""
        largest = self.degrees or [self.degree] * len(names)
        return [hermite_features(scaled[n], d + 1) for n, d in zip(names, largest, strict=True)]

    def _scaled(self, table: Mapping[str, Array]) -> dict[str, Array]:
        """Return the numeric columns around the middle of their range, in length scales."""
        found = {}
        for c in self.columns:
            if isinstance(c, Number):
                values = as_numbers(table[c.name], c.low, c.high)
                scaled = (values - (c.low + c.high) / 2.0) / c.scale
                # Next to large bounds the middle is rounded, and one end would be too far from it.
                found[c.name] = np.clip(scaled, -c.radius, c.radius)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return what a statement says of the map, ready for JSON."""
        columns = [_column_dict(column, self.orders) for column in self.columns]
        return {
            "columns": columns,
            "label": None if self.label is None else list(self.label.levels),
            "product": list(self.product or ()),
            "degree": self.degree if self.degrees is None else list(self.degrees),
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


def _order(column: Number, tolerance: float) -> int:
    """Return how many features keep the kernel of a column within a tolerance."""
    count = hermite_order(column.radius, tolerance, _LARGEST_ORDER)
    if count is None:
        raise ParamError(
            f"column {column.name!r} is {2.0 * column.radius:.3g} length scales wide: that takes "
            f"more than {_LARGEST_ORDER} features; take a longer one"
        )
    return count


def _tensor_count(degrees: Sequence[int]) -> int:
    return math.prod(degree + 1 for degree in degrees)


def _up_to_degree(p: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Yield the multi-indices of p entries up to a total degree, the last entry first."""
    for first in range(degree + 1):
        if p == 1:
            yield (first,)
        else:
            for rest in _up_to_degree(p - 1, degree - first):
                yield (first, *rest)


def _writable(value: Any) -> bool:
    """Return whether a file of JSON that anybody can read may hold a name or a level."""
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, int):
        return abs(value) < 2**63
    return isinstance(value, float) and math.isfinite(value)


def _named(name: Any) -> Any:
    """Return the name of a column, a string or an integer, or refuse it."""
    if isinstance(name, (bool, float)) or not _writable(name):
        raise ParamError(f"a column is named {name!r:.80}; expected a string or an integer")
    return name


def as_real(name: str, value: Any) -> float:
    """Return a public setting as a float.

    Parameters
    ----------
    name : str
        For the error.
    value : number

    Raises
    ------
    ParamError
        When it is none.
    """
    if isinstance(value, Real):
        try:
            return float(value)
        except OverflowError:
            pass
    raise ParamError(f"{name} is {value!r:.80}; expected a number")

"""Putting a mixed-integer semidefinite program together, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.fields import as_symmetric
from sparseopt.problems.misdp.cones import (
    SecondOrderCone,
    SemidefiniteBlock,
    pack_symmetric,
    triangle,
)
from sparseopt.problems.misdp.indicators import IndicatorConstraint
from sparseopt.problems.misdp.problem import MISDP

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

Term = tuple[Any, Any]
"""Variables, and a coefficient for each of them."""


class MISDPBuilder:
    """Collects variables, rows, cones and matrices; :meth:`build` returns the :class:`MISDP`.

    Variables are known by their indices. Every expression is a list of terms (variables,
    coefficients) of one shape, which are multiplied entry by entry and added up; a single
    variable may be given as it is.

    Parameters
    ----------
    sense : {"min", "max"}, default "min"

    Examples
    --------
    Choose k of 3 vectors and the weight of each so that the largest eigenvalue of the weighted sum
    of their outer products is small:

    >>> import numpy as np
    >>> from sparseopt.problems import MISDPBuilder
    >>> V = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    >>> model = MISDPBuilder("min")
    >>> chosen = model.variables(3, integer=True, lower=0, upper=1, name="chosen")
    >>> weight = model.variables(3, lower=0, name="weight")
    >>> top = model.variable(name="top")
    >>> model.row((chosen, np.ones(3)), upper=2)
    >>> model.row((weight, np.ones(3)), lower=1, upper=1)
    >>> for w, z in zip(weight, chosen):
    ...     model.row((w, 1.0), (z, -1.0), upper=0)
    >>> model.semidefinite((top, np.eye(2)), (weight, [-np.outer(v, v) for v in V]))
    >>> model.objective((top, 1.0))
    >>> model.build()
    MISDP(n=7, integers=3, m=5, cones=0, blocks=1, largest_block=2)
    """

    def __init__(self, sense: Literal["min", "max"] = "min") -> None:
        self._sense = sense
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._integer: list[bool] = []
        self._names: list[str] = []
        self._named = False
        self._costs: list[tuple[Array, Array]] = []
        self._offset = 0.0
        self._rows: list[list[tuple[Array, Array]]] = []
        self._row_ends: list[tuple[float, float]] = []
        self._cones: list[tuple[Any, Array, bool]] = []
        self._blocks: list[tuple[Any, Array, int, bool, str]] = []
        self._indicators: list[tuple[int, list[tuple[Array, Array]], float, float]] = []
        self._curved: list[tuple[Array, Array]] = []

    def variables(
        self,
        count: int,
        *,
        lower: Any = -np.inf,
        upper: Any = np.inf,
        integer: bool = False,
        name: str = "",
    ) -> Array:
        """Add variables and return their indices, shape (count,).

        Parameters
        ----------
        count : int
        lower, upper : float or array of shape (count,)
        integer : bool, default False
        name : str, optional
            They are called name[0], name[1], ...

        Raises
        ------
        ProblemError
        """
        first = len(self._lower)
        try:
            low, high = (np.broadcast_to(np.asarray(e, float), (count,)) for e in (lower, upper))
        except (ValueError, TypeError) as error:
            raise ProblemError(
                f"lower and upper must be numbers, or {count} of them: {error}", "lower"
            ) from error
        self._lower += low.tolist()
        self._upper += high.tolist()
        self._integer += [bool(integer)] * count
        self._name([f"{name}[{k}]" for k in range(count)], bool(name))
        return np.arange(first, first + count)

    def variable(
        self,
        *,
        lower: float = -np.inf,
        upper: float = np.inf,
        integer: bool = False,
        name: str = "",
    ) -> int:
        """Add one variable and return its index."""
        index = int(self.variables(1, lower=lower, upper=upper, integer=integer)[0])
        if name:
            self._names[index] = name
            self._named = True
        return index

    def matrix(self, size: int, *, rank_one: bool = False, name: str = "") -> Array:
        """Add a positive semidefinite matrix variable and return its indices, shape (size, size).

        The array is symmetric: the entries (i, j) and (j, i) are one variable. So
        ``(X, C)`` as a term of a row is the inner product of C and X.
        """
        rows, columns = triangle(size)
        index = self.variables(len(rows))
        self._name([f"{name}[{i},{j}]" for i, j in zip(rows, columns, strict=True)], bool(name))
        places = np.empty((size, size), dtype=np.int64)
        places[rows, columns] = places[columns, rows] = index
        terms = [(index, np.arange(len(rows)), np.ones(len(rows)))]
        self._blocks.append((terms, np.zeros(len(rows)), size, rank_one, name))
        return places

    def objective(self, *terms: Term, offset: float = 0.0, quadratic: Sequence[Term] = ()) -> None:
        """Set the objective: the sum of the terms, plus the offset.

        Parameters
        ----------
        *terms : (indices, coefficients)
        offset : float, default 0
        quadratic : sequence of (indices of shape (k,), symmetric matrix H of shape (k, k))
            Adds x'Hx / 2 for the variables of those indices, each.
        """
        self._costs = [self._term(term) for term in terms]
        self._offset = float(offset)
        self._curved = []
        for given, matrix in quadratic:
            index = self._indices(given).reshape(-1)
            H = as_symmetric("quadratic", np.atleast_2d(matrix))
            if H.shape != (len(index), len(index)):
                raise ProblemError(
                    f"a quadratic term has {len(index)} variables and a matrix of shape {H.shape}"
                )
            self._curved.append((index, H))

    def row(self, *terms: Term, lower: float = -np.inf, upper: float = np.inf) -> None:
        """Add the constraint lower <= sum of the terms <= upper."""
        self._rows.append([self._term(term) for term in terms])
        self._row_ends.append((lower, upper))

    def indicator(
        self, binary: int, *terms: Term, lower: float = -np.inf, upper: float = np.inf
    ) -> None:
        """Add the constraint that lower <= sum of the terms <= upper where a variable is one.

        Parameters
        ----------
        binary : int
            The index of an integer variable with bounds within [0, 1].
        *terms : (indices, coefficients)
        lower, upper : float
        """
        parts = [self._term(term) for term in terms]
        self._indicators.append((int(self._indices(binary)), parts, lower, upper))

    def cone(
        self, rows: Sequence[Sequence[Term]], *, constant: Any = None, rotated: bool = False
    ) -> None:
        """Add u in a second-order cone, where u_i is the sum of the terms rows[i] + constant[i]."""
        terms = [
            (index, np.full(len(index), i), value)
            for i, row in enumerate(rows)
            for index, value in map(self._term, row)
        ]
        g = np.zeros(len(rows)) if constant is None else np.asarray(constant, float)
        self._cones.append((terms, g, rotated))

    def semidefinite(
        self,
        *terms: Term,
        constant: Any = None,
        rank_one: bool = False,
        name: str = "",
    ) -> None:
        """Add a linear matrix inequality: the sum of the terms plus the constant is semidefinite.

        Parameters
        ----------
        *terms : (index, matrix), (indices, list of matrices), or (matrix variable, number)
            All symmetric and of one size.
        constant : array of shape (s, s), optional
            Default 0.
        rank_one : bool, default False
        name : str, optional

        Raises
        ------
        ProblemError
            When a matrix is not symmetric, or sizes differ.
        """
        if not terms:
            raise ProblemError("a linear matrix inequality needs at least one term")
        parts = []
        size = 0
        for index, coefficient in terms:
            part, own = self._matrix_term(np.asarray(index), coefficient)
            if size and own != size:
                raise ProblemError(f"matrices of the sizes {size} and {own} cannot be added up")
            size = own
            parts += part
        M0 = np.zeros((size, size)) if constant is None else as_symmetric("constant", constant)
        if M0.shape != (size, size):
            raise ProblemError(
                f"constant has shape {M0.shape}; expected ({size}, {size})", "constant"
            )
        self._blocks.append((parts, pack_symmetric(M0), size, rank_one, name))

    def build(self) -> MISDP:
        """Return the problem.

        Raises
        ------
        ProblemError
            Whatever is wrong with it.
        """
        n = len(self._lower)
        c = np.zeros(n)
        for index, value in self._costs:
            np.add.at(c, index, value)
        rows = [
            (index, np.full(len(index), i), value)
            for i, terms in enumerate(self._rows)
            for index, value in terms
        ]
        low, high = np.array(self._row_ends).reshape(-1, 2).T
        return MISDP(
            c=c,
            A=_stack(rows, len(self._rows), n),
            row_lower=low,
            row_upper=high,
            lower=self._lower,
            upper=self._upper,
            integer=np.array(self._integer, dtype=bool),
            cones=[
                SecondOrderCone(_stack(terms, len(g), n), g, rotated)
                for terms, g, rotated in self._cones
            ],
            blocks=[
                SemidefiniteBlock(_stack(terms, len(F0), n), F0, size, rank_one, name)
                for terms, F0, size, rank_one, name in self._blocks
            ],
            sense=self._sense,
            offset=self._offset,
            names=self._names if self._named else None,
            indicators=[
                IndicatorConstraint(
                    binary, _stack([(j, np.zeros(len(j), int), v) for j, v in parts], 1, n), *ends
                )
                for binary, parts, *ends in self._indicators
            ],
            Q=_quadratic(self._curved, n),
        )

    def _name(self, names: list[str], given: bool) -> None:
        """Name the newest variables; those without a name are called by their number."""
        known = len(self._lower) - len(names)
        del self._names[known:]
        self._names += names if given else [f"x{known + k}" for k in range(len(names))]
        self._named |= given

    def _term(self, term: Term) -> tuple[Array, Array]:
        """Return (indices, coefficients) of one term, both flat."""
        index, coefficient = self._indices(term[0]), np.asarray(term[1], dtype=float)
        if coefficient.shape != index.shape:
            raise ProblemError(
                f"a term has variables of shape {index.shape} and coefficients of shape "
                f"{coefficient.shape}; expected one coefficient for each variable"
            )
        return index.reshape(-1), coefficient.reshape(-1)

    def _matrix_term(
        self, given: Array, coefficient: Any
    ) -> tuple[list[tuple[Array, Array, Array]], int]:
        """Return (variables, packed places, values) of a term of a matrix, and its size."""
        index = self._indices(given)
        if index.ndim == 2:
            packed = pack_symmetric(index)
            factor = np.full(len(packed), float(coefficient))
            return [(packed, np.arange(len(packed)), factor)], len(index)
        matrices = [coefficient] if index.ndim == 0 else list(coefficient)
        if len(matrices) != index.size:
            raise ProblemError(f"{index.size} variables come with {len(matrices)} matrices")
        dense = [as_symmetric("a coefficient", matrix) for matrix in matrices]
        if len({len(matrix) for matrix in dense}) != 1:
            raise ProblemError("the matrices of a term have different sizes")
        parts = []
        for j, matrix in zip(index.reshape(-1), dense, strict=True):
            packed = pack_symmetric(matrix)
            place = np.flatnonzero(packed)
            parts.append((np.full(len(place), j), place, packed[place]))
        return parts, len(dense[0])

    def _indices(self, given: Any) -> Array:
        index = np.asarray(given)
        n = len(self._lower)
        if index.dtype.kind not in "iu" or (index.size and not 0 <= index.min() <= index.max() < n):
            raise ProblemError(
                f"a term names the variables {given!r:.60}; expected indices of the {n} variables "
                "that were added so far"
            )
        return index


def _quadratic(terms: list[tuple[Array, Array]], n: int) -> sp.csr_array | None:
    """Return the sum of the symmetric matrices at their variables."""
    if not terms:
        return None
    Q = sp.csr_array((n, n))
    for index, H in terms:
        rows, columns = np.broadcast_arrays(index[:, None], index)
        Q = Q + sp.csr_array(
            sp.coo_array((H.ravel(), (rows.ravel(), columns.ravel())), shape=(n, n))
        )
    return Q


def _stack(terms: Any, rows: int, n: int) -> sp.csr_array:
    """Return the matrix of (columns, rows, values)."""
    if not terms:
        return sp.csr_array((rows, n))
    columns, places, values = (np.concatenate([term[k] for term in terms]) for k in range(3))
    return sp.csr_array(sp.coo_array((values, (places, columns)), shape=(rows, n)))

"""The nonlinear constraints of a mixed-integer semidefinite program: cones and blocks.

Symmetric matrices are held as vectors: the entries of the lower triangle column by column,
(0,0), (1,0), ..., (s-1,0), (1,1), (2,1), ..., unscaled. `triangle` has their places,
`pack_symmetric` and `unpack_symmetric` go there and back, and the inner product of two such
matrices is the dot product weighted by `triangle_weights`: 1 on the diagonal, 2 off it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array, as_matrix, as_vector, freeze_csr, is_sparse, unmasked

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")


@lru_cache(maxsize=256)
def triangle(size: int) -> tuple[Array, Array]:
    """Return (rows, columns) of the packed entries of a symmetric matrix, each (s (s + 1) / 2,).

    Read-only, since they are kept.

    Parameters
    ----------
    size : int
        s, the number of rows.

    Returns
    -------
    rows, columns : int arrays

    Examples
    --------
    >>> rows, columns = triangle(2)
    >>> list(zip(rows.tolist(), columns.tolist()))
    [(0, 0), (1, 0), (1, 1)]
    """
    columns, rows = np.triu_indices(size)
    rows.flags.writeable = columns.flags.writeable = False
    return rows, columns


def triangle_weights(size: int) -> Array:
    """Return how often each packed entry occurs in the matrix: 1 on the diagonal, 2 off it.

    Parameters
    ----------
    size : int
        s, the number of rows.

    Returns
    -------
    array of shape (s (s + 1) / 2,)
    """
    rows, columns = triangle(size)
    return np.where(rows == columns, 1.0, 2.0)


def pack_symmetric(matrix: Array) -> Array:
    """Return the lower triangle of (..., s, s) column by column, shape (..., s (s + 1) / 2).

    Parameters
    ----------
    matrix : array of shape (..., s, s)

    Returns
    -------
    array of shape (..., s (s + 1) / 2)
    """
    rows, columns = triangle(matrix.shape[-1])
    return np.asarray(matrix[..., rows, columns])


def unpack_symmetric(entries: Array, size: int) -> Array:
    """Return the symmetric matrices (..., s, s) of packed entries (..., s (s + 1) / 2).

    Parameters
    ----------
    entries : array of shape (..., s (s + 1) / 2)
    size : int
        s, the number of rows.

    Returns
    -------
    array of shape (..., s, s)
    """
    rows, columns = triangle(size)
    matrix = np.empty((*entries.shape[:-1], size, size))
    matrix[..., rows, columns] = entries
    matrix[..., columns, rows] = entries
    return matrix


@dataclass(frozen=True, eq=False)
class SecondOrderCone:
    r"""The constraint F x + g in a second-order cone, plain or rotated.

    With u = F x + g of length k it is

    .. math:: u_0 \ge \|(u_1, \dots, u_{k-1})\|_2, \qquad\text{or rotated}\qquad
              2 u_0 u_1 \ge \|(u_2, \dots, u_{k-1})\|_2^2,\; u_0, u_1 \ge 0.

    Parameters
    ----------
    F : sparse or dense array of shape (k, n)
        k >= 1, and k >= 2 where it is rotated.
    g : array of shape (k,), optional
        Default 0.
    rotated : bool, default False

    Raises
    ------
    ProblemError
    """

    F: Any
    g: Any = None
    rotated: bool = False

    def __post_init__(self) -> None:
        F = as_sparse("F", self.F)
        k = F.shape[0]
        least = 2 if self.rotated else 1
        if not isinstance(self.rotated, bool | np.bool_):
            raise ProblemError(f"rotated is {self.rotated!r}; expected True or False", "rotated")
        if k < least:
            raise ProblemError(
                f"F has {k} rows; a {'rotated ' * bool(self.rotated)}cone has at least {least}", "F"
            )
        object.__setattr__(self, "F", F)
        g = np.zeros(k) if self.g is None else as_vector("g", self.g, k)
        object.__setattr__(self, "g", without_negative_zero(g))
        object.__setattr__(self, "rotated", bool(self.rotated))

    @property
    def dimension(self) -> int:
        """The length k of u."""
        return int(self.F.shape[0])

    def value(self, x: Array) -> Array:
        """Return u = F x + g."""
        return np.asarray(self.F @ x + self.g)

    def violation(self, u: Array) -> float:
        """Return by how much the norm exceeds the head; a rotated cone is turned first."""
        head, norm = self.head_and_norm(u)
        return max(0.0, norm - head)

    def head_and_norm(self, u: Array) -> tuple[float, float]:
        """Return the head of u and the norm of the rest; a rotated cone is turned first.

        The turn u_0, u_1 -> (u_0 + u_1, u_0 - u_1) / sqrt(2) is an isometry onto the plain cone.
        """
        head, tail = (
            ((u[0] + u[1]) / np.sqrt(2.0), np.append(u[2:], (u[0] - u[1]) / np.sqrt(2.0)))
            if self.rotated
            else (u[0], u[1:])
        )
        return float(head), float(np.linalg.norm(tail))


@dataclass(frozen=True, eq=False)
class SemidefiniteBlock:
    r"""The constraint that the symmetric matrix M(x) is positive semidefinite.

    The packed entries of M(x) are F x + F0. A matrix variable is s (s + 1) / 2 variables of the
    problem with F an identity on them and F0 = 0; anything else is a linear matrix inequality.

    Parameters
    ----------
    F : sparse or dense array of shape (s (s + 1) / 2, n)
    F0 : array of shape (s (s + 1) / 2,), optional
        Default 0.
    size : int
        s; found from F by default.
    rank_one : bool, default False
        Whether M(x) must also have a rank of at most one.
    name : str, default ""

    Raises
    ------
    ProblemError
    """

    F: Any
    F0: Any = None
    size: int = 0
    rank_one: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        F = as_sparse("F", self.F)
        entries = F.shape[0]
        size = self.size or int((np.sqrt(8.0 * entries + 1.0) - 1.0) / 2.0)
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
            raise ProblemError(f"size is {self.size!r}; expected an integer >= 1", "size")
        if entries != size * (size + 1) // 2:
            raise ProblemError(
                f"F has {entries} rows; a matrix of size s has s (s + 1) / 2 entries in its lower "
                f"triangle ({size * (size + 1) // 2} for s = {size})",
                "F",
            )
        if not isinstance(self.rank_one, bool | np.bool_):
            raise ProblemError(f"rank_one is {self.rank_one!r}; expected True or False", "rank_one")
        if not isinstance(self.name, str):
            raise ProblemError(f"name is {self.name!r}; expected text", "name")
        F0 = np.zeros(entries) if self.F0 is None else as_vector("F0", self.F0, entries)
        object.__setattr__(self, "F", F)
        object.__setattr__(self, "F0", without_negative_zero(F0))
        object.__setattr__(self, "size", int(size))
        object.__setattr__(self, "rank_one", bool(self.rank_one))

    @property
    def dimension(self) -> int:
        """The number of packed entries, s (s + 1) / 2."""
        return int(self.F.shape[0])

    def matrix(self, x: Array) -> Array:
        """Return M(x), shape (s, s)."""
        return unpack_symmetric(self.F @ x + self.F0, self.size)

    def adjoint(self, Z: Array) -> Array:
        r"""Return the vector whose dot product with x is :math:`\langle Z, M(x) - M(0)\rangle`.

        Parameters
        ----------
        Z : array of shape (s (s + 1) / 2,)
            Packed.
        """
        return np.asarray(self.F.T @ (triangle_weights(self.size) * Z))


def matrix_variable(block: SemidefiniteBlock) -> Array | None:
    """Return the columns of the variables that are the entries of M(x), in packed order.

    Parameters
    ----------
    block : SemidefiniteBlock

    Returns
    -------
    int array of shape (s (s + 1) / 2,), or None
        None where M(x) is not a matrix of different variables.
    """
    F = block.F
    plain = (
        F.nnz == F.shape[0]
        and bool((np.diff(F.indptr) == 1).all())
        and bool((F.data == 1.0).all())
        and not block.F0.any()
        and len(np.unique(F.indices)) == F.nnz
    )
    return np.asarray(F.indices, dtype=np.int64) if plain else None


def arrow_block(cone: SecondOrderCone) -> SemidefiniteBlock:
    r"""Return the arrow matrix that is positive semidefinite exactly on the cone.

    .. math:: \begin{pmatrix} u_0 & u' \\ u & u_0 I \end{pmatrix}, \qquad\text{or rotated}\qquad
              \begin{pmatrix} 2 u_1 & u' \\ u & u_0 I \end{pmatrix}

    Parameters
    ----------
    cone : SecondOrderCone

    Returns
    -------
    SemidefiniteBlock
        Of the order of the cone's length, rotated one less (at least 2).
    """
    tail = cone.dimension - (2 if cone.rotated else 1)
    # A rotated cone without a tail is u_0, u_1 >= 0.
    size = max(tail, int(cone.rotated)) + 1
    rows, columns = triangle(size)
    source = np.full(len(rows), -1)
    scale = np.ones(len(rows))
    source[rows == columns] = 0
    # The first column comes first.
    source[1 : 1 + tail] = np.arange(tail) + cone.dimension - tail
    if cone.rotated:
        source[0], scale[0] = 1, 2.0
    used = np.flatnonzero(source >= 0)
    pick = sp.csr_array((scale[used], (used, source[used])), shape=(len(rows), cone.dimension))
    return SemidefiniteBlock(sp.csr_array(pick @ cone.F), pick @ cone.g, size)


def as_sparse(field: str, value: Any) -> sp.csr_array:
    """Return a matrix as a CSR array with sorted indices and without stored zeros.

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    value : array_like of shape (m, n), or scipy.sparse matrix

    Returns
    -------
    csr_array of shape (m, n)

    Raises
    ------
    ProblemError
        When it is not a matrix of finite numbers.
    """
    sparse = is_sparse(value)
    if not sparse:
        value = np.asarray(unmasked(field, value))
    if value.ndim == 2 and 0 in value.shape:
        return freeze_csr(sp.csr_array(value.shape))
    if not sparse:
        return freeze_csr(sp.csr_array(as_matrix(field, value)))
    if value.ndim != 2:
        raise ProblemError(f"{field} has shape {value.shape}; expected a matrix", field)
    matrix: sp.csr_array = as_matrix(field, value, allow_sparse=True)
    if not (matrix.has_sorted_indices and matrix.data.all()):
        matrix = matrix.copy()
        matrix.eliminate_zeros()
        matrix.sort_indices()
        freeze_csr(matrix)
    return matrix


def without_negative_zero(vector: Array) -> Array:
    """Return a read-only copy in which -0.0, that text formats and sparse arrays drop, is 0.0.

    Parameters
    ----------
    vector : array of shape (n,)

    Returns
    -------
    array of shape (n,)
    """
    copy = np.asarray(vector + 0.0)
    copy.flags.writeable = False
    return copy

"""Every parametric problem as a parametric linear program in inequality form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import ParametricLP, PiecewiseLinearProgram


def as_parametric_lp(program: PiecewiseLinearProgram) -> ParametricLP:
    r"""Write the general form as a linear program in inequality form.

    .. math:: \max_u\; (c + \lambda \bar c)'u \quad\text{subject to}\quad
              M u \le b + \lambda \bar b,\quad u \ge 0

    Each variable is split at its first kink into its linear pieces,

    .. math:: \theta_j = t_{j1} - \ell_j + \sum_k \delta_{jk}, \qquad
              0 \le \ell_j,\quad 0 \le \delta_{jk} \le t_{j,k+1} - t_{jk},

    one for each finite slope, whose costs are the slopes; convexity fills them in the right order.
    The lengths of inner pieces are rows. A row function that is the indicator of an interval
    becomes one or two rows; any other is split in the same way, and the equality between
    :math:`(A\theta)_i` and its pieces is two rows, or one where an outer slope is zero.

    Parameters
    ----------
    program : PiecewiseLinearProgram

    Returns
    -------
    ParametricLP
        In inequality form, with a sparse matrix. Its optimum is **minus** that of the program,
        without the program's `offset`, which a linear program has no place for: P(lam) =
        offset - max. A piece of the variable x is called ``x+``, ``x+2``, ``x+3``, ... to the
        right and ``x-`` to the left of its first kink.

    Notes
    -----
    Exact: every number of the result is one of the program's, a difference of two kinks, or
    (where a first kink is not 0) a kink minus its row's product with the first kinks.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import DantzigSelector
    >>> problem = DantzigSelector(X=np.eye(2), y=[3.0, 1.0])
    >>> program = as_parametric_lp(problem.canonical())
    >>> program.size, program.names
    ({'m': 4, 'n': 4}, ['x0-', 'x0+', 'x1-', 'x1+'])
    """
    A = sp.csr_array(program.A.as_array())
    m, p = A.shape
    columns = _split(program.phi, np.ones(p, bool), np.ones(p, bool))

    psi = program.psi
    indicator, left_slack, right_slack = _row_shapes(psi)
    parts = _split(psi, ~indicator & ~left_slack, ~indicator & ~right_slack, inner=~indicator)

    start, start_rate = psi.kink[psi.ptr[:-1]], psi.kink_rate[psi.ptr[:-1]]
    end, end_rate = psi.kink[psi.ptr[1:] - 1], psi.kink_rate[psi.ptr[1:] - 1]
    first, last = psi.slope_ptr[:-1], psi.slope_ptr[1:] - 1
    upper = np.where(indicator, np.isposinf(psi.slope[last]), ~right_slack)
    lower = np.where(indicator, np.isneginf(psi.slope[first]), ~left_slack)
    above = np.flatnonzero(upper)
    below = np.flatnonzero(lower)

    body = sp.hstack([A @ columns.matrix(p), -parts.matrix(m)], format="csr")
    shift, shift_rate = (
        A @ kinks[program.phi.ptr[:-1]] for kinks in (program.phi.kink, program.phi.kink_rate)
    )
    both = columns.followed_by(parts)
    bounded = np.flatnonzero(np.isfinite(both.length))
    count = len(both.cost)
    lengths = sp.csr_array(
        (np.ones(len(bounded)), (np.arange(len(bounded)), bounded)), shape=(len(bounded), count)
    )
    rows = [body[above], -body[below], lengths]
    b = [
        np.where(indicator, end, start)[above] - shift[above],
        shift[below] - start[below],
        both.length[bounded],
    ]
    b_bar = [
        np.where(indicator, end_rate, start_rate)[above] - shift_rate[above],
        shift_rate[below] - start_rate[below],
        both.length_rate[bounded],
    ]
    if len(above) + len(below) + len(bounded) == 0:
        # A linear program has at least one row: 0 <= 0.
        rows, b, b_bar = [sp.csr_array((1, count))], [np.zeros(1)], [np.zeros(1)]
    names = columns.names(program.coefficient_names)
    names += parts.names([f"row{i}" for i in range(m)])
    return ParametricLP(
        A=sp.csr_array(sp.vstack(rows)),
        b=np.concatenate(b),
        b_bar=np.concatenate(b_bar),
        # 0 - cost and not -cost: no negative zeros in files.
        c=0.0 - both.cost,
        c_bar=0.0 - both.cost_rate,
        names=names if len(set(names)) == len(names) else None,
    )


@dataclass(frozen=True)
class _Split:
    """Nonnegative variables that are the linear pieces of functions.

    Attributes
    ----------
    owner : int array of shape (N,)
        Which function the piece belongs to.
    place : int array of shape (N,)
        0 for the piece left of the first kink, k for the one between kinks k and k + 1.
    cost, cost_rate, length, length_rate : arrays of shape (N,)
        Affine in lam; the length of an outer piece is infinite.
    """

    owner: Array
    place: Array
    cost: Array
    cost_rate: Array
    length: Array
    length_rate: Array

    def matrix(self, n: int) -> sp.csr_array:
        """Return S, shape (n, N), with theta = first kinks + S pieces."""
        sign = np.where(self.place == 0, -1.0, 1.0)
        columns = np.arange(len(self.owner))
        return sp.csr_array((sign, (self.owner, columns)), shape=(n, len(columns)))

    def followed_by(self, other: _Split) -> _Split:
        return _Split(
            *(
                np.concatenate([getattr(self, name), getattr(other, name)])
                for name in self.__dataclass_fields__
            )
        )

    def names(self, owners: Sequence[str]) -> list[str]:
        return [
            owners[i] + ("-" if k == 0 else "+" if k == 1 else f"+{k}")
            for i, k in zip(self.owner, self.place, strict=True)
        ]


def _split(pieces: Pieces, left: Array, right: Array, inner: Array | None = None) -> _Split:
    """Return the pieces of finite slope: the outer ones of the functions named, all inner ones."""
    n = len(pieces)
    function = np.repeat(np.arange(n), pieces.counts)
    after = np.arange(len(pieces.kink)) - pieces.ptr[function] + 1
    is_last = after == pieces.counts[function]
    length, length_rate = (
        np.where(is_last, fill, np.append(np.diff(kinks), 0.0))
        for kinks, fill in ((pieces.kink, np.inf), (pieces.kink_rate, 0.0))
    )
    # Slope index of the piece right of each kink, and of the first piece of each function.
    at = np.arange(len(pieces.kink)) + function + 1
    first = pieces.slope_ptr[:-1]
    keep = np.where(
        is_last,
        right[function] & np.isfinite(pieces.slope[at]),
        True if inner is None else inner[function],
    )
    keep_left = left & np.isfinite(pieces.slope[first])
    owner = np.concatenate([np.flatnonzero(keep_left), function[keep]])
    place = np.concatenate([np.zeros(int(keep_left.sum()), np.int64), after[keep]])
    order = np.lexsort((place, owner))
    parts = _Split(
        owner=owner,
        place=place,
        cost=np.concatenate([-pieces.slope[first][keep_left], pieces.slope[at][keep]]),
        cost_rate=np.concatenate(
            [-pieces.slope_rate[first][keep_left], pieces.slope_rate[at][keep]]
        ),
        length=np.concatenate([np.full(int(keep_left.sum()), np.inf), length[keep]]),
        length_rate=np.concatenate([np.zeros(int(keep_left.sum())), length_rate[keep]]),
    )
    return _Split(*(getattr(parts, name)[order] for name in parts.__dataclass_fields__))


def _row_shapes(psi: Pieces) -> tuple[Array, Array, Array]:
    """Return for each function: indicator of an interval; zero left of it; zero right of it."""
    first, last = psi.slope_ptr[:-1], psi.slope_ptr[1:] - 1
    zero = (psi.slope == 0.0) & (psi.slope_rate == 0.0)
    indicator = np.logical_and.reduceat(zero | np.isinf(psi.slope), first)
    return indicator, zero[first], zero[last]

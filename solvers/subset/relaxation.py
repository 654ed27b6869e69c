r"""The perspective relaxation of a node on a pool of columns, by coordinate descent.

With I fixed in and at most m of the free variables, the relaxation of

.. math:: \tfrac12 \|y - Xb\|^2 + \tfrac\rho2 \|b\|^2 + \lambda_0 \|b\|_0, \qquad \|b\|_\infty \le M

has weights :math:`z_j \in [0, 1]` with a sum of at most m, costs :math:`\rho b_j^2 / (2 z_j) +
\lambda_0 z_j`, and :math:`|b_j| \le M z_j`. For a multiplier :math:`\lambda \ge \lambda_0` of the
sum, minimising over z leaves a sum over the free variables of the reverse Huber function

.. math:: \psi(b) = \begin{cases} s |b| & |b| \le \kappa \\
          \lambda + \tfrac\rho2 b^2 & \kappa < |b| \le M, \end{cases} \qquad
          \kappa = \min(\sqrt{2 \lambda / \rho}, M), \quad s = \lambda / \kappa + \rho \kappa / 2,

and :math:`z_j = \min(1, |b_j| / \kappa)`. Each coordinate has a closed form; the multiplier is
sought with which the weights sum up to m. Any point's residual r = y - Xb is feasible in the dual
(:mod:`sparseopt.checking.subset.verifier` has its value), so nothing need be solved to the end.

The pool holds the columns that mattered so far and their inner products, so that a step takes the
size of the pool, not n. Sources: Hazimeh, Mazumder, Saab (2022), section 3; Liu et al. (2023).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.subset.problem import SparseRegression, SubsetProblem

from ..common.compiled import compiled_in_place
from .settings import SMALLEST_GAP, SubsetSettings

if TYPE_CHECKING:
    import scipy.optimize as optimize
else:
    optimize = Deferred("scipy.optimize")

RIDGE, BOUND, SLOPE, CAP, TOLERANCE = range(5)
"""Places in the numbers of :func:`descend`."""
_SETTLED = 1e-17
"""Part of the objective that a coordinate changes where least squares have converged."""


@compiled_in_place
def descend(G: Array, c: Array, b: Array, inside: Array, numbers: Array, sweeps: int) -> int:
    """Minimise over one coordinate after another, in place; return the number of sweeps.

    Parameters
    ----------
    G : array of shape (a, a)
        Inner products of the active columns.
    c : array of shape (a,)
        Their products with the residual.
    b : array of shape (a,)
    inside : bool array of shape (a,)
    numbers : array of shape (5,)
        Ridge, bound, slope, cap, and the change of the objective that ends the descent.
    sweeps : int
        Most of them.
    """
    ridge, bound, slope = numbers[RIDGE], numbers[BOUND], numbers[SLOPE]
    cap, tolerance = numbers[CAP], numbers[TOLERANCE]
    done = 0
    for _ in range(sweeps):
        largest = 0.0
        done += 1
        for j in range(len(b)):
            square = G[j, j]
            q = c[j] + square * b[j]
            a = abs(q)
            t = 0.0
            if inside[j]:
                if square + ridge > 0.0:
                    t = min(bound, a / (square + ridge))
            elif a > slope:
                t = (a - slope) / square
                if t > cap:
                    t = max(cap, min(bound, a / (square + ridge)))
            if q < 0.0:
                t = -t
            step = t - b[j]
            if step != 0.0:
                b[j] = t
                for i in range(len(b)):
                    c[i] -= step * G[j, i]
                largest = max(largest, step * step * square)
        if largest <= tolerance:
            break
    return done


@descend.in_numpy
def _(G: Array, c: Array, b: Array, inside: Array, numbers: Array, sweeps: int) -> int:
    ridge, bound, slope, cap, tolerance = numbers.tolist()
    squares, held, done = np.diag(G).tolist(), inside.tolist(), 0
    for _sweep in range(sweeps):
        largest = 0.0
        done += 1
        for j, square in enumerate(squares):
            q = float(c[j] + square * b[j])
            a, t = abs(q), 0.0
            if held[j]:
                if square + ridge > 0.0:
                    t = min(bound, a / (square + ridge))
            elif a > slope:
                t = (a - slope) / square
                if t > cap:
                    t = max(cap, min(bound, a / (square + ridge)))
            step = (-t if q < 0.0 else t) - float(b[j])
            if step != 0.0:
                b[j] = -t if q < 0.0 else t
                c -= step * G[j]
                largest = max(largest, step * step * square)
        if largest <= tolerance:
            break
    return done


def conjugate(problem: SubsetProblem, c: Array) -> Array:
    """Return g(c), the maximum over abs(b) <= M of cb - ridge b^2 / 2.

    Parameters
    ----------
    problem : SubsetProblem
    c : array
        Products with a residual.
    """
    ridge, M, a = problem.ridge, problem.limit, np.abs(c)
    if ridge == 0.0:
        return np.asarray(M * a)
    if math.isinf(M):
        return np.asarray(a**2 / (2.0 * ridge))
    return np.where(a <= ridge * M, a**2 / (2.0 * ridge), M * (a - 0.5 * ridge * M))


def sum_of_largest(price: Array, m: int) -> float:
    """Return the sum of the m largest positive entries, of all positive ones where there are fewer.

    Parameters
    ----------
    price : array of shape (f,)
    m : int
    """
    spent = np.maximum(price, 0.0)
    if m < len(spent):
        spent = np.partition(spent, -m - 1)[len(spent) - m :]
    return float(spent.sum())


def least_squares(problem: SubsetProblem, G: Array, h: Array) -> Array:
    """Return the best coefficients of few columns, within the bound.

    Parameters
    ----------
    problem : SubsetProblem
    G : array of shape (s, s)
        Inner products of the columns.
    h : array of shape (s,)
        Their products with y.
    """
    H, M = G + problem.ridge * np.eye(len(h)), problem.limit
    free = np.ones(len(h), dtype=bool)
    b = np.zeros(len(h))
    for _ in range(4 * len(h) + 4):
        # Columns at the bound stay there; those whose multiplier has the wrong sign leave it.
        b[free] = _solve(H[np.ix_(free, free)], h[free] - H[np.ix_(free, ~free)] @ b[~free])
        over = free & (np.abs(b) > M)
        if over.any():
            b = np.clip(b, -M, M)
            free &= ~over
            continue
        wrong = ~free & ((h - H @ b) * b < 0.0)
        if not wrong.any():
            break
        free |= wrong
    # The exchange may cycle, and dependent columns leave a system without an answer; descent ends,
    # at once where there is nothing left to do.
    b = np.clip(b, -M, M)
    numbers = np.array([problem.ridge, M, 0.0, 0.0, _SETTLED * abs(float(b @ h))])
    descend(G, h - G @ b, b, np.ones(len(h), dtype=bool), numbers, 10_000)
    return b


def fit_columns(problem: SubsetProblem, A: Array, y: Array) -> tuple[Array, Array]:
    """Return the best coefficients of few columns within the bound, and the residual.

    Products of columns square the condition where they are nearly dependent, or of different units.
    Here the columns, scaled to one length, are factorised: Stark and Parker's BVLS of SciPy, and a
    step of refinement in the coefficients within the bound. What rounding leaves along their
    columns is taken out of the residual, which has then more digits than y - Ab.

    Parameters
    ----------
    problem : SubsetProblem
    A : array of shape (n, s)
    y : array of shape (n,)

    Returns
    -------
    b : array of shape (s,)
    r : array of shape (n,)
    """
    (n, s), M = A.shape, problem.limit
    lengths = np.sqrt(np.einsum("ij,ij->j", A, A) + problem.ridge)
    lengths[lengths == 0.0] = 1.0
    rows = np.vstack([A / lengths, np.diag(math.sqrt(problem.ridge) / lengths)])
    unit = float(np.linalg.norm(y))
    if unit == 0.0 or not s:
        return np.zeros(s), np.array(y, dtype=float)
    target = np.append(y / unit, np.zeros(s))
    most = M * lengths / unit
    z = np.linalg.lstsq(rows, target, rcond=None)[0]
    if (np.abs(z) > most).any():
        settled = 2.0**-52
        z = optimize.lsq_linear(
            rows, target, (-most, most), method="bvls", tol=settled, max_iter=10 * s + 10
        ).x
    free, rest = np.abs(z) < most * (1.0 - 2.0**-40), target - rows @ z
    finer, along = z.copy(), rows[:, free]
    finer[free] += np.linalg.lstsq(along, rest, rcond=None)[0]
    finer_rest = target - rows @ finer
    shorter = np.linalg.norm(finer_rest) <= np.linalg.norm(rest)
    if shorter and (np.abs(finer) <= most).all():
        z, rest = finer, finer_rest
    Q = np.linalg.qr(along)[0]
    for _ in range(2):
        rest = rest - Q @ (Q.T @ rest)
    return np.asarray(np.clip(z * unit / lengths, -M, M)), np.asarray(rest[:n] * unit)


def _solve(H: Array, h: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(H, h))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(H, h, rcond=None)[0])


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A point of the relaxation of a node.

    Attributes
    ----------
    b : array of shape (P,)
        Coefficients of the pool's columns.
    c : array of shape (P,)
        Products of the pool's columns with the residual.
    weight : array of shape (P,)
        z of the free variables, 0 for others.
    multiplier : float
    bound : float
        What the residual proves if no column outside the pool costs more than those inside.
    value : float
        Objective of the relaxation at b, infinite where the weights sum up to more than m.
    """

    b: Array
    c: Array
    weight: Array
    multiplier: float
    bound: float
    value: float


class Pool(ABC):
    """Columns, and the relaxation on them; a loss says how it is minimised for a multiplier.

    Attributes
    ----------
    columns : int array of shape (P,)
    place : int array of shape (p,)
        Where a column is in the pool, -1 for those outside.
    rows : array of shape (P, n)
        The columns themselves.
    unit : float
        The objective of b = 0.
    rounding : float
        What is lost of an objective near 0 by terms that cancel.
    """

    _ACTIVE_SETS: ClassVar[int] = 25
    """Most of one descent."""

    def __init__(self, problem: SubsetProblem, settings: SubsetSettings) -> None:
        n, p = problem.X.shape
        self.problem, self.settings = problem, settings
        self.unit, self.rounding = problem.null_value, 0.0
        self.columns = np.zeros(0, dtype=np.int64)
        self.place = np.full(p, -1)
        self.rows = np.zeros((0, n))
        # What rows is a view of: it grows by doubling.
        self._rows = self.rows
        self.sweeps = 0

    def add(self, columns: Array) -> None:
        """Take in columns; those that are there already are passed over."""
        new = np.unique(columns[self.place[columns] < 0])
        if not len(new):
            return
        before = len(self.columns)
        after = before + len(new)
        if after > len(self._rows):
            rows = np.empty((max(after, 2 * before), self.rows.shape[1]))
            rows[:before] = self.rows
            self._rows = rows
        self.columns = np.append(self.columns, new)
        self.place[new] = np.arange(before, len(self.columns))
        self._rows[before:after] = self.problem.X[:, new].T
        self.rows = self._rows[:after]
        self._added(before)

    def _added(self, before: int) -> None:
        """Compute what is held of the columns from place `before` on."""

    @abstractmethod
    def residual(self, vector: tuple[Array, Array]) -> Array:
        """Return the negative slope of the loss in each row, for coefficients of pool columns.

        Parameters
        ----------
        vector : (int array, array)
            Columns of X, and their coefficients.
        """

    def spread(self, vector: tuple[Array, Array]) -> float:
        """Return the norm of what a residual is off by where its terms are added in another order.

        Another machine, or the checker, may do so.

        Parameters
        ----------
        vector : (int array, array)
            Columns of X, and their coefficients.
        """
        index, value = vector
        terms = np.abs(value) @ np.abs(self.rows[self.place[index]])
        sizes = self._sizes(vector, np.asarray(terms))
        return (len(index) + 8) * 2.0**-52 * float(np.linalg.norm(sizes))

    @abstractmethod
    def _sizes(self, vector: tuple[Array, Array], terms: Array) -> Array:
        """Return what rounding in each row of a residual is relative to; terms are |X| |b|."""

    @abstractmethod
    def fit(self, columns: Array) -> tuple[Array, Array | None]:
        """Return the best coefficients of few columns of X within the bound, without products.

        And a residual of more digits than that of the coefficients, where there is one.
        """

    @abstractmethod
    def dual(self, r: Array) -> tuple[float, float]:
        """Return the dual value of a residual without the columns, and the size of its terms."""

    def intercept(self, vector: tuple[Array, Array]) -> float:
        """Return the best intercept of coefficients; 0 where the problem has none."""
        return 0.0

    @abstractmethod
    def _hold(self, inside: Array, b: Array) -> None:
        """Set the coefficients that are fixed in to their best values, given the others."""

    @abstractmethod
    def _improve(
        self, b: Array, c: Array, active: Array, held: Array, multiplier: float, numbers: Array
    ) -> bool:
        """Lower the value in the active columns, in place; return whether they have settled.

        Of the active ones, `held` says which are fixed in; `numbers` are those of :func:`descend`.
        """

    def _descend(
        self,
        inside: Array,
        free: Array,
        b: Array,
        c: Array,
        multiplier: float,
        tolerance: float,
    ) -> tuple[Array, Array]:
        """Minimise for a multiplier, up to changes of the loss below a tolerance; return b and c.

        Active sets grow until no free column is left outside by mistake.
        """
        slope, cap = self._slope(multiplier)
        numbers = np.array([self.problem.ridge, self.problem.limit, slope, cap, tolerance])
        held = np.zeros(len(b), dtype=bool)
        held[inside] = True
        for _ in range(self._ACTIVE_SETS):
            active = np.flatnonzero(held | (b != 0.0) | self._entering(free, c, slope))
            settled = self._improve(b, c, active, held[active], multiplier, numbers)
            c = self._gradient(b)
            missed = free & (np.abs(c) > slope * (1.0 + 1e-9))
            missed[active] = False
            if settled and not missed.any():
                break
        return b, c

    def _entering(self, free: Array, c: Array, slope: float) -> Array:
        """Return which free columns may become nonzero, by their products c with the residual."""
        return np.asarray(free & (np.abs(c) > slope))

    @abstractmethod
    def _gradient(self, b: Array) -> Array:
        """Return the products of the pool's columns with the residual of b."""

    @abstractmethod
    def _values(self, b: Array, c: Array) -> tuple[float, float]:
        """Return the loss at b, and the dual value of its residual without the columns."""

    def relax(
        self, inside: Array, free: Array, b: Array, multiplier: float, target: float
    ) -> Relaxed:
        """Solve the relaxation of a node, as far as that is needed.

        Parameters
        ----------
        inside : int array
            Places of the variables that are fixed in.
        free : bool array of shape (P,)
        b : array of shape (P,)
            To begin with.
        multiplier : float
            The first one that is tried.
        target : float
            It ends once the bound reaches this, or the value falls below.

        Returns
        -------
        Relaxed
        """
        problem, settings = self.problem, self.settings
        m = problem.k - len(inside)
        lowest, penalty = 2e-14 * self.unit, problem.penalty
        low, high = 0.0, math.inf
        tolerance, balance = 2.0 * settings.tolerance * self.unit, settings.balance
        b = np.where(free & (m > 0), b, 0.0)
        self._hold(inside, b)
        best: Relaxed | None = None
        sharpened = 0
        if m == 0 or not free.any():
            return self._evaluate(inside, free, b, self._gradient(b), penalty, m)
        multiplier = max(multiplier, penalty, lowest)
        c = self._gradient(b)
        for _ in range(settings.steps):
            b, c = self._descend(inside, free, b.copy(), c, multiplier, tolerance)
            found = self._evaluate(inside, free, b, c, multiplier, m)
            if best is None or found.bound > best.bound:
                best = found
            if best.bound >= target or found.value < target:
                break
            excess = float(found.weight.sum()) - m
            settled = excess < 0.0 and multiplier <= max(penalty, lowest) * (1.0 + 1e-9)
            if abs(excess) <= balance * m or settled:
                # Value and bound lie on two sides of the target.
                if sharpened == 3:
                    break
                sharpened += 1
                tolerance, balance = tolerance * settings.sharper, balance * settings.sharper
                if excess <= 0.0:
                    continue
            if excess > 0.0:
                low = multiplier
            else:
                high = multiplier
            ratio = (excess + m) / m
            guess = multiplier * min(4.0, max(0.25, ratio**1.5))
            if not low < guess < high:
                guess = math.sqrt(low * high) if low > 0.0 and high < math.inf else guess
            multiplier = max(guess, penalty, lowest)
        assert best is not None
        return best

    def _slope(self, multiplier: float) -> tuple[float, float]:
        """Return s and kappa of the reverse Huber function."""
        ridge, M = self.problem.ridge, self.problem.limit
        cap = min(M, math.sqrt(2.0 * multiplier / ridge)) if ridge > 0.0 else M
        return (multiplier / cap + 0.5 * ridge * cap, cap) if cap > 0.0 else (0.0, 0.0)

    def _evaluate(
        self, inside: Array, free: Array, b: Array, c: Array, multiplier: float, m: int
    ) -> Relaxed:
        problem = self.problem
        loss, dual = self._values(b, c)
        price = conjugate(problem, c[free]) - problem.penalty
        paid = problem.penalty * len(inside)
        taken = float(conjugate(problem, c[inside]).sum()) + sum_of_largest(price, m)
        bound = dual + paid - taken
        _, cap = self._slope(multiplier)
        size = np.abs(b)
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(free & (size > 0.0), np.minimum(1.0, size / cap), 0.0)
        value = math.inf
        if float(weight.sum()) <= m * (1.0 + 1e-12):
            # b^2 / z is |b| kappa where z < 1.
            spread = size * np.where(free, np.maximum(size, cap), size)
            ridge = 0.5 * problem.ridge * float(spread.sum())
            value = loss + ridge + paid + problem.penalty * float(weight.sum())
        return Relaxed(b, c, weight, multiplier, bound, value)


class SquaredPool(Pool):
    """The pool of the squared loss, with the inner products of its columns.

    Attributes
    ----------
    G : array of shape (P, P)
    h : array of shape (P,)
        Products with y.
    """

    def __init__(self, problem: SparseRegression, h: Array, settings: SubsetSettings) -> None:
        super().__init__(problem, settings)
        self._h, self._squares = h, float(problem.y @ problem.y)
        self.rounding = SMALLEST_GAP * self.unit
        self.G = self._G = np.zeros((0, 0))
        self.h = np.zeros(0)

    def _added(self, before: int) -> None:
        after = len(self.columns)
        if len(self._rows) > len(self._G):
            G = np.empty((len(self._rows), len(self._rows)))
            G[:before, :before] = self.G
            self._G = G
        self.G = self._G[:after, :after]
        self.G[before:] = self.rows[before:] @ self.rows.T
        self.G[:before, before:] = self.G[before:, :before].T
        self.h = self._h[self.columns]

    def residual(self, vector: tuple[Array, Array]) -> Array:
        """Return y - Xw for coefficients of some columns of the pool.

        Parameters
        ----------
        vector : (int array, array)
            Columns of X, and their coefficients.
        """
        index, value = vector
        return np.asarray(self.problem.y - value @ self.rows[self.place[index]])

    def _sizes(self, vector: tuple[Array, Array], terms: Array) -> Array:
        return np.abs(self.problem.y) + terms

    def fit(self, columns: Array) -> tuple[Array, Array | None]:
        """Return the best coefficients of few columns of X within the bound, and the residual.

        Parameters
        ----------
        columns : int array of shape (s,)
        """
        return fit_columns(self.problem, self.rows[self.place[columns]].T, self.problem.y)

    def dual(self, r: Array) -> tuple[float, float]:
        """Return y'r - r'r / 2, and the size of its terms."""
        square = float(r @ r)
        size = math.sqrt(self._squares * square) + square
        return float(self.problem.y @ r) - 0.5 * square, size

    def _hold(self, inside: Array, b: Array) -> None:
        G = self.G[inside]
        b[inside] = least_squares(self.problem, G[:, inside], self.h[inside] - G @ b)

    def _improve(
        self, b: Array, c: Array, active: Array, held: Array, multiplier: float, numbers: Array
    ) -> bool:
        G, own = np.ascontiguousarray(self.G[np.ix_(active, active)]), b[active]
        sweeps = descend(G, c[active], own, held, numbers, self.settings.sweeps)
        self.sweeps += sweeps
        b[active] = own
        return bool(sweeps < self.settings.sweeps)

    def _descend(
        self,
        inside: Array,
        free: Array,
        b: Array,
        c: Array,
        multiplier: float,
        tolerance: float,
    ) -> tuple[Array, Array]:
        b, c = super()._descend(inside, free, b, c, multiplier, tolerance)
        if len(inside):
            G, before = self.G[inside], b[inside]
            own = G[:, inside]
            b[inside] = least_squares(self.problem, own, c[inside] + own @ before)
            c = c - (b[inside] - before) @ G
        return b, c

    def _gradient(self, b: Array) -> Array:
        S = np.flatnonzero(b)
        return np.asarray(self.h - b[S] @ self.G[S])

    def _values(self, b: Array, c: Array) -> tuple[float, float]:
        fit = float(b @ self.h)
        rest = max(0.0, self._squares - fit - float(b @ c))
        return 0.5 * rest, self._squares - fit - 0.5 * rest


def warm_up() -> None:
    """Compile, or load what was compiled before."""
    inside = np.array([False, True])
    descend(np.eye(2), np.ones(2), np.zeros(2), inside, np.array([1.0, 1.0, 0.1, 0.5, 0.0]), 2)

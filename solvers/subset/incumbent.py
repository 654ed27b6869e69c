r"""Supports by forward selection and exchanges, each with the exact gain of every column.

With the columns I and :math:`X_I'X_I + \rho I = LL'`, adding column j lowers the objective by

.. math:: \frac{(x_j'y - w_j'u)^2}{2 (\|x_j\|^2 + \rho - \|w_j\|^2)}, \qquad
          w_j = L^{-1} X_I'x_j, \; u = L^{-1} X_I'y,

which for all j takes the products of I with X once for each column that was ever chosen. The bound
on coefficients is left out of the gain, and kept by the least squares that follow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.subset.problem import SparseRegression, SubsetProblem

from .relaxation import least_squares
from .settings import SubsetSettings

DEPENDENT = 1e-10
"""Part of a squared column that is left of it beside others, below which it adds nothing."""


class Incumbent(ABC):
    """The best support so far; a loss says what a column gains, and fits a support.

    Attributes
    ----------
    support : int array of shape (s,)
    b : array of shape (s,)
    value : float
        Its objective.
    """

    def __init__(self, problem: SubsetProblem, settings: SubsetSettings) -> None:
        self.problem, self.settings = problem, settings
        self.squares = problem.squares
        self.support = np.zeros(0, dtype=np.int64)
        self.b = np.zeros(0)
        self.value = problem.null_value

    def point(self) -> Array:
        """Return the coefficients of all columns, shape (p,)."""
        x = np.zeros(len(self.squares))
        x[self.support] = self.b
        return x

    def search(self, control: Control) -> None:
        """Select forward, then exchange one variable after another while that gains."""
        chosen: list[int] = []
        for _ in range(min(self.problem.k, self.problem.X.shape[0])):
            gain = self._gains(chosen)
            best = int(np.argmax(gain))
            if gain[best] <= self.problem.penalty or control.limit() is not None:
                break
            chosen.append(best)
            self.offer(np.array(chosen))
        self.exchange(control)

    def exchange(self, control: Control) -> None:
        """Replace each variable of the support by the best other column, while that gains."""
        for _ in range(self.settings.swaps):
            before = self.value
            for j in self.support.tolist():
                if control.limit() is not None:
                    return
                rest = [i for i in self.support.tolist() if i != j]
                gain = self._gains(rest)
                best = int(np.argmax(gain))
                if gain[best] > 0.0 and best not in rest:
                    self.offer(np.array([*rest, best]))
            if not self.value < before * (1.0 - 1e-12):
                return

    @abstractmethod
    def offer(self, support: Array) -> bool:
        """Fit a support, and take it over where it is better; return whether it is."""

    def take(self, support: Array, b: Array) -> bool:
        """Take a support with its coefficients over where it is better; return whether it is.

        Parameters
        ----------
        support : int array of shape (s,)
        b : array of shape (s,)
            Within the bound.
        """
        used = b != 0.0
        value = self._loss(support, b) + self.problem.penalty * int(np.count_nonzero(used))
        if not value < self.value:
            return False
        self.support, self.b, self.value = support[used], b[used], value
        return True

    @abstractmethod
    def _loss(self, support: Array, b: Array) -> float:
        """Return loss and ridge."""

    @abstractmethod
    def _gains(self, chosen: list[int]) -> Array:
        """Return what each column lowers the objective by beside the chosen ones, shape (p,)."""


class SquaredIncumbent(Incumbent):
    """The best support so far for the squared loss; gains are exact."""

    def __init__(self, problem: SparseRegression, h: Array, settings: SubsetSettings) -> None:
        super().__init__(problem, settings)
        self.h = h
        self._rows: dict[int, Array] = {}

    def offer(self, support: Array) -> bool:
        X = self.problem.X[:, support]
        return self.take(support, least_squares(self.problem, X.T @ X, self.h[support]))

    def _loss(self, support: Array, b: Array) -> float:
        rest = self.problem.y - self.problem.X[:, support] @ b
        return 0.5 * (float(rest @ rest) + self.problem.ridge * float(b @ b))

    def _gains(self, chosen: list[int]) -> Array:
        c, left = self.h, self.squares
        if chosen:
            for j in chosen:
                if j not in self._rows:
                    self._rows[j] = self.problem.X[:, j] @ self.problem.X
            rows = np.array([self._rows[j] for j in chosen])
            H = rows[:, chosen] + self.problem.ridge * np.eye(len(chosen))
            values, vectors = np.linalg.eigh(H)
            floor = DEPENDENT * max(float(values[-1]), 1e-300)
            root = vectors / np.sqrt(np.maximum(values, floor))
            W = root.T @ rows
            c = self.h - (root.T @ self.h[chosen]) @ W
            left = self.squares - np.einsum("ij,ij->j", W, W)
        left = np.where(left > DEPENDENT * self.squares, left, np.inf) + self.problem.ridge
        with np.errstate(invalid="ignore", divide="ignore"):
            gain = np.where(left > 0.0, 0.5 * c**2 / left, 0.0)
        gain[chosen] = 0.0
        return np.asarray(gain)

r"""The alternating scheme: unconstrained functions whose penalty draws them into a subspace.

One step minimises :math:`I(f) + \lambda\, E \|\nabla f - P \nabla f_0\|^2` over functions f of all
coordinates, with the subspace P and the function f_0 of the step before; then P is that of the
leading eigenvectors of :math:`M = E\, \nabla f\, \nabla f'`. All expectations, which the paper
samples, have closed forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.subspace.base import CentredSubspace, SubspaceProblem
from sparseopt.problems.subspace.distributions import DistributionSubspace
from sparseopt.problems.subspace.sufficient import SufficientReduction
from sparseopt.result import Result

from .inverse import leading
from .objectives import Kernel, gaussian, kernel_of, lbfgs, squares, unit_of
from .settings import ATOMS, FEATURES, FREQUENCY, LEAST_RIDGE, SAME_SUBSPACE
from .sigmoids import Sigmoids
from .stiefel import answer


class Functions(Protocol):
    """A family of functions f with parameters theta."""

    start: Array
    """The parameters before the first step."""

    def minimise(self, theta: Array, P: Array, control: Control) -> Array:
        """Return the parameters of the least objective and penalty, from those before."""

    def gram(self, theta: Array) -> Array:
        """Return M, shape (n, n)."""


class AlternatingScheme(Backend):
    """Algorithm 2 of Takhanov (2021), with exact expectations and gradients.

    The answer is the subspace after the last step, an approximate one: `stiefel` minimises the
    problem's own objective.

    Source: Takhanov: Dimension reduction as an optimization problem over a set of generalized
    functions (2021), algorithms 2, 4, 6 and 8.
    """

    name: ClassVar[str] = "alternating-scheme"
    summary: ClassVar[str] = "functions of all coordinates, drawn into a subspace by a penalty"
    families: ClassVar[frozenset[str]] = frozenset({"subspace"})
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.HEURISTIC})
    options: ClassVar[Mapping[str, Option]] = {
        "steps": Option(int, 7, "alternations at most", low=1),
        "iterations": Option(int, 30, "of L-BFGS in each of them; cosines need none", low=1),
        "penalty": Option(float, 1.0, "lambda, in units of the objective over tr M", low=0.0),
        "width": Option(float, 0.8, "of the penalty's Gaussian, for standard columns"),
        "noise": Option(float, 0.5, "of the points of a response, for standard columns", low=0.0),
        "functions": Option(str, "cosines", "of a response", choices=("cosines", "sigmoids")),
        "size": Option(int, 0, "atoms, cosines or sigmoids; 0 for 60, 400 or 50", low=0),
        "seed": Option(int, 0, "of the first atoms, of the cosines or of the sigmoids", low=0),
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take distributions and responses."""
        if isinstance(problem, CentredSubspace):
            return False, f"{self.name} takes smooth tasks: use irls or l1-alternating"
        return super().supports(problem)

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, SubspaceProblem)
        functions: Functions
        if isinstance(problem, SufficientReduction):
            layer = options["functions"] == "sigmoids"
            functions = (Sigmoids if layer else Features)(problem, options)
        else:
            assert isinstance(problem, DistributionSubspace)
            functions = Atoms(problem, options)
        n = problem.X.shape[1]
        theta, P, W, steps = functions.start, np.zeros((n, n)), np.eye(n)[:, : problem.k], 0
        while steps < options["steps"] and control.limit() is None:
            theta = functions.minimise(theta, P, control)
            W, before = leading(functions.gram(theta), problem.k), P
            P = W @ W.T
            steps += 1
            control.progress("alternation", fraction=steps / options["steps"])
            if np.abs(P - before).max() <= SAME_SUBSPACE:
                break
        return answer(problem, W, control, iterations=steps)


class Atoms:
    r"""Distributions with shares a_j (a softmax) of atoms v_j.

    :math:`I = \sum a_i a_j K(v_i, v_j) - \frac2N \sum a_j K(v_j, x_i) + \text{const}` with the
    problem's kernel. Their characteristic function takes the place of f, and its gradient that of
    :math:`\nabla f`; with :math:`\xi \sim N(0, s^2 I)` and :math:`g(v) = \exp(-s^2 \|v\|^2 / 2)`

    .. math:: M = \sum a_i a_j\, g(v_i - v_j)\, v_i v_j', \qquad
              E \|\nabla f - P \nabla f_0\|^2 = \operatorname{tr} M
              - 2 \sum a_i b_j\, g(v_i - u_j)\, v_i' P u_j + \text{const}.

    The paper has real functions, which are those of points with their reflections; they do not
    feel odd moments.
    """

    def __init__(self, problem: DistributionSubspace, options: Mapping[str, Any]) -> None:
        self.problem, self.options, X = problem, options, problem.X
        self.unit = unit_of(X)
        self.kernel = kernel_of(problem)
        self.spread = gaussian(0.5 * (options["width"] / self.unit) ** 2)
        draw = np.random.default_rng(options["seed"]).permutation(len(X))
        atoms = X[draw[: options["size"] or ATOMS]]
        self.start = np.concatenate([np.zeros(len(atoms)), (atoms / self.unit).ravel()])
        trace = float(np.trace(self.gram(self.start)))
        self.weight = options["penalty"] * problem.whole / trace if trace > 0.0 else 0.0

    def split(self, theta: Array) -> tuple[Array, Array]:
        """Return the shares, shape (m,), and the atoms, shape (m, n)."""
        n = self.problem.X.shape[1]
        m = len(theta) // (n + 1)
        shares = np.exp(theta[:m] - theta[:m].max())
        return shares / shares.sum(), theta[m:].reshape(m, n) * self.unit

    def value(self, theta: Array, before: Array, P: Array) -> tuple[float, Array]:
        """Return I and the penalty, less a constant of the step before, and their gradient."""
        (a, V), (b, U), X = self.split(theta), self.split(before), self.problem.X
        even = np.full(len(X), 1.0 / len(X))
        value, slope, pull = self.problem.whole, np.zeros_like(a), np.zeros_like(V)
        for factor, (felt, towards) in (
            (1.0, _felt(self.kernel, V, V, a)),
            (-2.0, _felt(self.kernel, V, X, even)),
            (self.weight, _felt(self.spread, V, V, a, V)),
            (-2.0 * self.weight, _felt(self.spread, V, U, b, U @ P)),
        ):
            # A form a'K(V, V)a is felt at both ends.
            ends = 2.0 if factor > 0.0 else 1.0
            value += factor * float(a @ felt)
            slope += ends * factor * felt
            pull += ends * factor * a[:, None] * towards
        slope = a * (slope - a @ slope)
        return value, np.concatenate([slope, (pull * self.unit).ravel()])

    def minimise(self, theta: Array, P: Array, control: Control) -> Array:
        """Minimise by L-BFGS from the step before."""
        before, scale = theta, max(self.problem.whole, np.finfo(float).tiny)

        def value(theta: Array) -> tuple[float, Array]:
            found, gradient = self.value(theta, before, P)
            return found / scale, gradient / scale

        return lbfgs(value, theta, control, self.options["iterations"], "atoms")[0]

    def gram(self, theta: Array) -> Array:
        """Return M, shape (n, n)."""
        a, V = self.split(theta)
        lengths = squares(V)
        g = self.spread(V @ V.T, lengths[:, None], lengths)[0]
        weighted = a[:, None] * V
        return np.asarray(weighted.T @ g @ weighted)


class Features:
    r"""Functions :math:`f = \sum c_j \cos(w_j'x + b_j)` with random w_j and b_j, for a response.

    I is the mean square error at points with noise; a class has the indicator of its label as
    response. I and the penalty are quadratic in c, so each step is one linear solve.
    """

    def __init__(self, problem: SufficientReduction, options: Mapping[str, Any]) -> None:
        X, Y = problem.X, problem.targets
        N, n = X.shape
        X = (X - X.mean(axis=0)) / unit_of(X)
        rng, m = np.random.default_rng(options["seed"]), options["size"] or FEATURES
        self.W = rng.standard_normal((m, n)) / (FREQUENCY * np.sqrt(n))
        self.phases = b = rng.uniform(0.0, 2.0 * np.pi, m)
        angles = X @ self.W.T + b
        c, s = np.cos(angles), np.sin(angles)
        lengths = squares(self.W)
        products = self.W @ self.W.T

        def damped(rate: float) -> tuple[Array, Array]:
            """Return exp(-rate |w_i - w_j|^2 / 2), and the same of sums."""
            kernel = gaussian(0.5 * rate**2)
            return (
                kernel(products, lengths[:, None], lengths)[0],
                kernel(-products, lengths[:, None], lengths)[0],
            )

        minus, plus = damped(options["noise"])
        cc, ss = c.T @ c / N, s.T @ s / N
        self.fit = 0.5 * (minus * (cc + ss) + plus * (cc - ss))
        self.pull = (c * np.exp(-0.5 * options["noise"] ** 2 * lengths)).T @ Y / N
        minus, plus = damped(options["width"])
        # E sin(w_i'x + b_i) sin(w_j'x + b_j) over the Gaussian of the penalty.
        self.slopes = 0.5 * (minus * np.cos(b[:, None] - b) - plus * np.cos(b[:, None] + b))
        self.weight = options["penalty"]
        self.start = np.zeros((m, Y.shape[1]))

    def minimise(self, theta: Array, P: Array, control: Control) -> Array:
        """Solve for the coefficients, given those of the step before."""
        W, weight = self.W, self.weight
        matrix = self.fit + weight * (W @ W.T) * self.slopes
        matrix[np.diag_indices_from(matrix)] += LEAST_RIDGE
        before = ((W @ P @ W.T) * self.slopes) @ theta
        return np.asarray(np.linalg.solve(matrix, self.pull + weight * before))

    def gram(self, theta: Array) -> Array:
        """Return M, shape (n, n)."""
        return np.asarray(self.W.T @ (self.slopes * (theta @ theta.T)) @ self.W)


def _felt(
    kernel: Kernel, V: Array, points: Array, masses: Array, images: Array | None = None
) -> tuple[Array, Array]:
    """Return what each v_i feels of masses at points, and its gradient with respect to v_i.

    It is sum_j masses_j K(v_i, points_j), with the factor v_i' images_j where these are given.
    """
    f, along, outward = kernel(V @ points.T, squares(V)[:, None], squares(points))
    towards = np.zeros_like(V)
    if images is not None:
        products = V @ images.T
        towards = (f * masses) @ images
        f, along, outward = f * products, along * products, outward * products
    towards = towards + (along * masses) @ points + 2.0 * (outward @ masses)[:, None] * V
    return f @ masses, towards

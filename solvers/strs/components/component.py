"""Sparse principal components of data with many variables: elimination, then branch and bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.compiling import prepare
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.component.problem import SparseComponent
from sparseopt.problems.strs.problem import STRS
from sparseopt.proofs.large_loadings import Loadings
from sparseopt.result import Certificate, Limit, Result, Status

from ...common.spheres import Incumbent, first_incumbent
from ..engines.bnb import Solved, SphereBranchAndBound, solve_exactly
from ..settings import SMALLEST_GAP, EliminationSettings
from .anchors import AnchorProof, prove_by_anchors
from .elimination import Outside, Products, ascend, sums_of_largest

_BOUND_MARGIN = 2e-9
"""Of the largest square: twice what the checker adds to a bound of the kernel."""
_PRODUCT_MARGIN = 1e-10
"""Of the largest square: a hundred times that of the checker, for products rounded otherwise."""
_MOST_CANDIDATES = 3000
"""Variables of a kernel that the checker reads at most."""


class ComponentBranchAndBound(Backend):
    """Elimination of variables from the data, and branch and bound for those that are left.

    1. Supports: a truncated power method from columns of the data.
    2. All products of columns above a threshold, in single precision and block by block; no array
       of size D x D is ever there.
    3. The kernel: the variables of the best support, and all others that norms of their products
       cannot exclude (:mod:`sparseopt.solvers.strs.components.elimination`).
    4. The branch and bound of ``strs-bnb`` on the kernel; and, loosely, on its smaller supports
       where the elimination needs that.
    5. Where the kernel would become too large: supports of 2, 3, ..., d variables one after the
       other, each located by the bound of those before
       (:mod:`sparseopt.solvers.strs.components.anchors`).

    Where that needs too large a kernel, too, the answer is feasible, with a bound that is proven.
    With a time limit larger kernels are tried until it is reached.
    """

    name: ClassVar[str] = "component-bnb"
    summary: ClassVar[str] = "own elimination of variables from the data, then branch and bound"
    factorises = True
    families: ClassVar[frozenset[str]] = frozenset({"component"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.EXACT, Feature.DUAL_BOUND, Feature.CERTIFICATE}
    )
    limits: ClassVar[frozenset[str]] = frozenset({"node_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "starts": Option(int, 32, "columns from which supports are sought, of each kind", low=1),
        "kernel": Option(int, 300, "variables that the branch and bound takes at most", low=1),
        **{
            name: SphereBranchAndBound.options[name]
            for name in ("polish_nodes", "certificate_numbers")
        },
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        with control.uncounted():
            from ..bound.descent import warm_up

            prepare(warm_up)
        assert isinstance(problem, SparseComponent)
        return _Search.of(problem, params, options, control).run()


@dataclass(eq=False)
class _Search:
    """The incumbent, the kernel, and what is proven of it.

    Attributes
    ----------
    X : array of shape (n, D)
        The problem's, divided by a power of two: no column is much longer than 1.
    unit : float
        What values are multiplied by to be those of the problem.
    proven : dict of int to (float, Certificate)
        For a number of variables of the kernel, a bound in the problem's units, and its leaves.
    located : AnchorProof, optional
        What is proven near the largest loadings.
    """

    problem: SparseComponent
    params: SolveParams
    options: Mapping[str, Any]
    control: Control
    settings: EliminationSettings
    X: Array
    unit: float
    outside: Outside
    best: Incumbent
    proven: dict[int, tuple[float, Certificate]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    located: AnchorProof | None = None
    nodes: int = 0
    evaluations: int = 0

    @classmethod
    def of(
        cls,
        problem: SparseComponent,
        params: SolveParams,
        options: Mapping[str, Any],
        control: Control,
    ) -> _Search:
        """Find a first support."""
        largest = float(problem.squares.max())
        scale = 2.0 ** round(math.log2(largest) / 2.0) if largest > 0.0 else 1.0
        X = problem.X / scale
        settings = replace(EliminationSettings(), kernel=options["kernel"])
        outside = Outside(X, problem.d, settings)
        D, count = problem.variables, min(options["starts"], problem.variables)
        longest = np.argsort(-outside.squares, kind="stable")[:count]
        drawn = np.random.default_rng(params.seed).choice(D, count, replace=False)
        starts = X[:, np.union1d(longest, drawn)]
        best = ascend(X, starts, problem.d, control)
        return cls(problem, params, options, control, settings, X, scale * scale, outside, best)

    @property
    def d(self) -> int:
        """Size of the supports."""
        return self.problem.d

    def run(self) -> Result:
        """Eliminate, solve what is left, and say what is proven."""
        self._multiply()
        self.outside.take_in(self.best.support)
        while not self._eliminate():
            self._locate()
            if self._closed(self._located_bound) or not self._raised():
                break
        outer = self._outer()
        useful = len(self._kernel()) >= self.d and self.unit * outer < self._located_bound
        if useful and self.control.limit() is None:
            self._solve(self.d, self.params)
        return self._answer()

    def _raised(self) -> bool:
        """Allow a kernel of twice the size, if there is a time limit and time left."""
        if self.params.time_limit is None or self.control.limit() is not None:
            return False
        most = min(2 * self.settings.kernel, _MOST_CANDIDATES)
        raised = most > self.settings.kernel
        self.settings = self.outside.settings = replace(self.settings, kernel=most)
        return raised

    def _locate(self) -> None:
        """Bound the supports of each size near their largest loadings."""
        if self.d < 2 or self.control.limit() is not None:
            return
        outside = self.outside
        loadings = Loadings(
            self.X, outside.squares, outside.largest(), _PRODUCT_MARGIN, _MOST_CANDIDATES
        )
        proof = prove_by_anchors(
            loadings,
            self.best,
            self.d,
            self.settings.kernel,
            self.settings.smaller,
            self._solve_located,
            self.control,
        )
        self._offer(proof.best)
        if self.located is None or proof.upper[self.d] < self.located.upper[self.d]:
            self.located = proof

    def _solve_located(
        self, kernel: Array, k: int, gap: float, start: Incumbent | None
    ) -> tuple[float, Certificate | None, Incumbent]:
        """Bound the supports of k variables of a kernel; all in the units of the scaled data."""
        support = None if start is None else np.searchsorted(kernel, start.support)
        params = self.params if gap == 0.0 else replace(self.params, abs_gap=gap * self.unit)
        result = self._searched(kernel, k, params, support).result
        assert result.bound is not None and result.objective is not None and result.x is not None
        S = np.flatnonzero(result.x)
        found = Incumbent(kernel[S], result.x[S], result.objective / self.unit)
        bound = math.inf if result.certificate is None else result.bound / self.unit
        return bound, result.certificate, found

    @property
    def _located_bound(self) -> float:
        """What is proven by locating, in the problem's units."""
        return math.inf if self.located is None else self.unit * float(self.located.upper[self.d])

    def _closed(self, bound: float) -> bool:
        """Return whether a bound in the problem's units is close enough to the best value."""
        gap = bound - self.unit * self.best.value
        rounding = SMALLEST_GAP * self.unit
        return gap <= max(self.params.abs_gap, self.params.rel_gap * abs(bound), rounding)

    def _kernel(self) -> Array:
        return np.flatnonzero(self.outside.kernel)

    def _multiply(self) -> None:
        """Compute the large products, and look for supports in the rows with large ones."""
        settings, squares = self.settings, self.outside.squares
        usual = min(float(squares.max()), self.best.value / 2.0)
        threshold = settings.level * (self.best.value - usual) / max(1, self.d - 1)
        if self.d == 1 or threshold <= 0.0 or self.problem.variables == self.d:
            return
        most = self.d - 1 + settings.kept
        self.outside.products = Products.above(
            self.X, squares, threshold, most, self.control, settings
        )
        nothing = np.zeros(len(squares), dtype=bool)
        rows = squares + self.outside.products.sums(self.d, nothing, 0.0)[:, -1]
        largest = np.argsort(-rows, kind="stable")[: self.options["starts"]]
        self._offer(ascend(self.X, self.X[:, largest], self.d, self.control))

    def _offer(self, found: Incumbent) -> None:
        if found.value > self.best.value:
            self.best = found

    def _eliminate(self) -> bool:
        """Let the kernel grow until bounds of its smaller supports are good enough to exclude.

        Return whether this succeeded.
        """
        inside = self._nested()
        for _ in range(self.settings.rounds):
            self.control.progress(
                f"{int(self.outside.kernel.sum())} of {self.problem.variables} variables",
                objective=self.unit * self.best.value,
            )
            grown = self.outside.grow(self.best.value, inside, self.control)
            if self.control.limit() is not None:
                return False
            self._improve()
            inside = np.maximum(inside, self._nested())
            if not grown or self._excluded(inside):
                return grown
        return False

    def _improve(self) -> None:
        """Swap variables within the kernel."""
        kernel = self._kernel()
        if len(kernel) <= self.d:
            return
        Z = self.X[:, kernel]
        start = np.searchsorted(kernel, self.best.support)
        found = first_incumbent(Z.T @ Z, np.zeros(len(kernel)), self.d, 3, self.control, start)
        self._offer(Incumbent(kernel[found.support], found.z, found.value))

    def _nested(self) -> Array:
        """Return the values of supports of 0, ..., d variables: of the best, without the least."""
        values, S = np.zeros(self.d + 1), self.best.support
        for k in range(self.d, 0, -1):
            _, lengths, right = np.linalg.svd(self.X[:, S], full_matrices=False)
            values[k] = lengths[0] ** 2
            S = np.delete(S, int(np.argmin(np.abs(right[0]))))
        return values

    def _excluded(self, inside: Array) -> bool:
        """Prove what the elimination needs; raise the estimates where that is impossible."""
        target, kernel = self.best.value, self._kernel()
        q, c = self.outside.parts()
        trace = sums_of_largest(self.outside.squares[kernel], self.d)
        self.proven, done = {}, True
        for m in range(1, self.d):
            k = self.d - m
            if np.isnan(q[m]):
                continue
            needed = target - c[m] / (target - q[m]) if q[m] < target else -math.inf
            if trace[k] <= needed or len(kernel) < k:
                continue
            room = self.settings.slack * (needed - inside[k]) * self.unit
            if room <= 0.0:
                return False
            bound = self._solve(k, replace(self.params, abs_gap=room))
            if self.control.limit() is not None:
                return False
            if bound / self.unit + _BOUND_MARGIN > needed:
                # The rest of the room is left for what the estimate was off.
                inside[k] = max(inside[k], bound / self.unit - room / self.unit)
                done = False
        return done

    def _searched(
        self, kernel: Array, k: int, params: SolveParams, support: Array | None
    ) -> Solved:
        """Run branch and bound for k variables of a kernel."""
        Z = self.problem.X[:, kernel]
        found = solve_exactly(STRS(A=Z.T @ Z, d=k), params, self.options, self.control, support)
        self.nodes += found.result.nodes or 0
        self.evaluations += found.result.iterations or 0
        self.notes += found.result.notes
        return found

    def _solve(self, k: int, params: SolveParams) -> float:
        """Bound the supports of k variables of the kernel; keep the leaves. Problem's units."""
        kernel = self._kernel()
        support = np.searchsorted(kernel, self.best.support) if k == self.d else None
        found = self._searched(kernel, k, params, support)
        result = found.result
        assert result.bound is not None and result.objective is not None
        squares = self.unit * sums_of_largest(self.outside.squares[kernel], k)[k]
        if result.certificate is not None and result.bound < squares:
            # A tree that was stopped may prove less than the squares alone.
            self.proven[k] = (result.bound, result.certificate)
        if k == self.d and result.x is not None:
            z = result.x[found.support]
            self._offer(Incumbent(kernel[found.support], z, result.objective / self.unit))
        return min(result.bound, float(squares))

    def _upper(self) -> Array:
        """Bound the supports of 0, ..., d variables of the kernel."""
        margin = _BOUND_MARGIN * float(self.outside.squares.max())
        upper = sums_of_largest(self.outside.squares[self._kernel()], self.d)
        for k, (bound, _) in self.proven.items():
            upper[k] = min(upper[k], bound / self.unit + (margin if k < self.d else 0.0))
        return upper

    def _outer(self) -> float:
        """Bound the supports with variables outside the kernel."""
        q, c = self.outside.parts()
        u = self._upper()[::-1]
        mixed = (u + q) / 2.0 + np.sqrt(((u - q) / 2.0) ** 2 + c)
        return float(np.nanmax(mixed, initial=0.0))

    def _answer(self) -> Result:
        """Collect the bounds, and pack the certificate."""
        kernel, located = self._kernel(), self.located
        within = float(self._upper()[self.d]) if len(kernel) >= self.d else 0.0
        by_norms = self.unit * max(self._outer(), within)
        x = self.best.point(self.problem.variables)
        objective = self.problem.objective(x)
        bound = max(objective, min(by_norms, self._located_bound))
        closed, gap = self._closed(bound), bound - objective
        if closed and gap <= SMALLEST_GAP * self.unit:
            bound = objective
        limit = self.control.limit() or (None if self.params.node_limit is None else Limit.NODE)
        if not closed and limit is None:
            limit = Limit.SLOW_PROGRESS
            self.notes.append(
                f"more than {self.settings.kernel} variables cannot be excluded by norms of their "
                "products; the option kernel allows more, and with a time limit more are tried"
            )
        if located is not None and self._located_bound < by_norms:
            certificate, last = (
                self._located_certificate(located, bound),
                located.kernels.get(self.d),
            )
            kernel = np.zeros(0, dtype=np.int64) if last is None else last
        else:
            certificate = self._certificate(kernel, bound)
        return Result(
            status=Status.OPTIMAL if closed else Status.FEASIBLE,
            limit=None if closed else limit,
            raw_status=f"{len(kernel)} of {self.problem.variables} variables in the kernel, "
            f"{self.nodes} nodes, {self.evaluations} evaluations of the row bound",
            x=x,
            objective=objective,
            bound=bound,
            certificate=certificate,
            iterations=self.evaluations,
            nodes=self.nodes,
            notes=tuple(dict.fromkeys(self.notes)),
        )

    def _certificate(self, kernel: Array, bound: float) -> Certificate:
        sizes = sorted(self.proven)
        bounds = [min(bound, self.proven[k][0]) for k in sizes]
        arrays: dict[str, Array] = {
            "kernel": kernel.astype(np.int64),
            "threshold": np.array([self.outside.products.threshold * self.unit]),
            "sizes": np.array(sizes, dtype=np.int64),
            "bounds": np.array(bounds, dtype=float),
        }
        for k in sizes:
            own = self.proven[k][1].arrays
            arrays |= {f"{name}_{k}": array for name, array in own.items()}
        return Certificate(kind="kernel-leaves", arrays=arrays)

    def _located_certificate(self, located: AnchorProof, bound: float) -> Certificate:
        threshold = np.array([self.outside.products.threshold * self.unit])
        arrays = {"threshold": threshold, **located.arrays(self.unit)}
        arrays["bounds"] = np.minimum(arrays["bounds"], bound)
        return Certificate(kind="anchor-leaves", arrays=arrays)

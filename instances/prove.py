"""Write sparseopt.solu: reference values, each confirmed by two independent methods.

    python instances/prove.py             takes some seconds; afterwards run make.py

For each instance and lam: (1) the homotopy engine follows the whole path down to the smallest lam;
(2) HiGHS solves the linear program of that lam alone, cold. From the coefficients and multipliers
of each the primal and the dual value are computed anew. All four numbers must agree to
RELATIVE_ERROR, and both points must be feasible to the same accuracy.

For each graph and budget: (1) the engine l0-tables; (2) every subset of every node's candidates,
fitted with NumPy, and the dynamic program over the budget.

For each mixed-integer semidefinite program: (1) misdp-bnb, (2) misdp-oa. The checker must verify
the certificates of both, and the values must agree to CONIC_ERROR.

For each robust subspace: irls; the checker must verify its certificate.

For each subspace of least l1 distances: the best of l1-alternating from its own starts and from
three random ones, where the checker must find no regression that gains; not proven.

For each other subspace: the best of five starts of stiefel, which must be stationary; not proven.

For each fit to an embedding: (1) nearest-point, (2) highs-qp; the checker must verify both.

For each size of sparse components and each selection of variables: strs-bnb, to a gap of 1e-9; the
checker must verify its certificate. Where there are at most 20,000 supports, all are enumerated.
"""

from __future__ import annotations

import math
from itertools import combinations

import make
import numpy as np

import sparseopt
from sparseopt.io.solu import KnownValue, write_solu
from sparseopt.problems import (
    MISDP,
    STRS,
    EmbeddingFit,
    L0GraphicalModel,
    L1Subspace,
    ParametricProblem,
    Problem,
    RobustSubspace,
    STRSPath,
)
from sparseopt.problems.base import Array
from sparseopt.problems.subspace.base import SubspaceProblem
from sparseopt.proofs.neighbours import logistic_fits

MOST_SUPPORTS = 20_000


class Unproven(Exception):
    """The two methods do not agree."""


def main() -> None:
    """Prove all values and write them, rounded to 10 digits."""
    entries = []
    for name, instance in make.INSTANCES.items():
        problem = instance.build()
        for lam, value in prove(problem, instance.lams).items():
            digits = 7 if isinstance(problem, MISDP) else 10
            word = "opt" if instance.proven else "best"
            entries.append(KnownValue(word, name, lam, float(f"{value:.{digits}g}")))
        print(name, flush=True)
    write_solu(entries, make.SOLU)


def prove(problem: Problem, lams: tuple[float | None, ...]) -> dict[float | None, float]:
    """Return the objective value at each lam, of a graph at each budget, by both methods.

    Raises
    ------
    Unproven
        When a point is not feasible or two of the four values differ.
    """
    if isinstance(problem, MISDP):
        return {None: prove_misdp(problem)}
    if isinstance(problem, STRS):
        return {None: prove_selection(problem)}
    if isinstance(problem, RobustSubspace):
        return {None: prove_subspace(problem)}
    if isinstance(problem, EmbeddingFit):
        return {None: prove_fit(problem)}
    if isinstance(problem, L1Subspace):
        return {None: alternate(problem)}
    if isinstance(problem, SubspaceProblem):
        return {None: search_subspace(problem)}
    given = tuple(lam for lam in lams if lam is not None)
    if isinstance(problem, L0GraphicalModel):
        return {**prove_graph(problem, given)}
    if isinstance(problem, STRSPath):
        return {size: prove_selection(problem.at(int(size))) for size in given}
    assert isinstance(problem, ParametricProblem)
    return {**prove_parametric(problem, given)}


def prove_misdp(problem: MISDP) -> float:
    """Return the optimal value, which both engines prove."""
    found = []
    for backend in ("misdp-bnb", "misdp-oa"):
        result = sparseopt.solve(problem, backend=backend, rel_gap=make.CONIC_ERROR / 10.0)
        if result.status != "optimal" or result.verdict != "verified" or result.objective is None:
            raise Unproven(f"{backend}: {result.status}, {result.check_messages}")
        found.append(result.objective)
    if abs(found[0] - found[1]) > make.CONIC_ERROR * max(map(abs, found)):
        raise Unproven(f"{found[0]} and {found[1]}")
    return found[0]


def prove_selection(problem: STRS) -> float:
    """Return the optimal value of a sparse trust-region subproblem."""
    result = sparseopt.solve(problem, backend="strs-bnb")
    value, bound = result.objective, result.bound
    if result.status != "optimal" or result.verdict != "verified" or value is None or bound is None:
        raise Unproven(f"strs-bnb: {result.status}, {result.check_messages}")
    if abs(bound - value) > make.RELATIVE_ERROR * abs(value):
        raise Unproven(f"the value is {value}, the bound {bound}")
    if math.comb(len(problem.A), problem.d) <= MOST_SUPPORTS:
        best = sparseopt.solve(problem, backend="brute-force", check=False).objective
        if best is None or abs(best - value) > make.RELATIVE_ERROR * abs(value):
            raise Unproven(f"strs-bnb: {value}; all supports: {best}")
    return value


def prove_subspace(problem: RobustSubspace) -> float:
    """Return the least sum of distances, that of the subspace which most points lie in."""
    result = sparseopt.solve(problem, backend="irls")
    if result.status != "optimal" or result.verdict != "verified" or result.objective is None:
        raise Unproven(f"irls: {result.status}, {result.check_messages}")
    return result.objective


def search_subspace(problem: SubspaceProblem) -> float:
    """Return the least value that several starts find."""
    options = {"starts": 5, "draws": 20}
    result = sparseopt.solve(problem, backend="stiefel", options=options)
    slope = sparseopt.check(problem, result).residuals["stationarity"]
    if result.objective is None or not slope <= make.CONIC_ERROR:
        raise Unproven(f"stiefel: {result.status}, the slope is {slope}")
    return result.objective


def alternate(problem: L1Subspace) -> float:
    """Return the least value that alternating regressions find from several starts."""
    rng = np.random.default_rng(0)
    draws = [rng.standard_normal((problem.X.shape[1], problem.k)) for _ in range(3)]
    found = []
    for start in (None, *draws):
        result = sparseopt.solve(problem, backend="l1-alternating", warm_start=start)
        gain = sparseopt.check(problem, result).residuals["stationarity"]
        if result.objective is None or not gain <= make.CONIC_ERROR:
            raise Unproven(f"l1-alternating: {result.status}, a regression gains {gain}")
        found.append(result.objective)
    return min(found)


def prove_fit(problem: EmbeddingFit) -> float:
    """Return the least squared distance, which both methods prove by its gradient."""
    found = []
    for backend in ("nearest-point", "highs-qp"):
        result = sparseopt.solve(problem, backend=backend, rel_gap=make.RELATIVE_ERROR)
        if result.status != "optimal" or result.verdict != "verified" or result.objective is None:
            raise Unproven(f"{backend}: {result.status}, {result.check_messages}")
        found.append(result.objective)
    if abs(found[0] - found[1]) > make.RELATIVE_ERROR * max(found):
        raise Unproven(f"{found[0]} and {found[1]}")
    return found[0]


def prove_parametric(problem: ParametricProblem, lams: tuple[float, ...]) -> dict[float, float]:
    """Return the objective value at each lam, by a path and by single programs."""
    path = sparseopt.solve(problem, backend="homotopy", lam_min=min(lams), check=False).path
    assert path is not None
    proven = {}
    for lam in lams:
        cold = sparseopt.solve(problem, backend="highs", lam=lam, check=False)
        if cold.x is None:
            raise Unproven(f"highs at lam={lam:g}: {cold.status}")
        ours = values(problem, path.at(lam), path.dual_at(lam), lam)
        theirs = values(problem, cold.x, cold.duals["rows"], lam)
        numbers = [*ours, *theirs, path.objective_at(lam)]
        spread = max(numbers) - min(numbers)
        if spread > make.RELATIVE_ERROR * max(1.0, *map(abs, numbers)):
            raise Unproven(f"lam={lam:g}: primal and dual values {numbers}")
        proven[lam] = path.objective_at(lam)
    return proven


def prove_graph(problem: L0GraphicalModel, budgets: tuple[float, ...]) -> dict[float, float]:
    """Return the objective value at each budget."""
    path = sparseopt.solve(problem, backend="l0-tables", check=False).path
    assert path is not None
    best = np.zeros(1)
    for j in range(problem.candidates.nodes):
        table = problem.scaled(
            smallest_losses(problem, j), np.full(len(problem.candidates.of(j)) + 1, j)
        )
        best = np.array(
            [
                min(best[i] + table[k - i] for i in range(len(best)) if 0 <= k - i < len(table))
                for k in range(len(best) + len(table) - 1)
            ]
        )
    best = np.minimum.accumulate(best)
    proven = {}
    for budget in budgets:
        ours, theirs = path.objective_at(budget), float(best[int(budget)])
        if abs(ours - theirs) > make.RELATIVE_ERROR * max(1.0, abs(ours)):
            raise Unproven(f"K={budget:g}: {ours} and {theirs}")
        proven[budget] = ours
    return proven


def smallest_losses(problem: L0GraphicalModel, node: int) -> Array:
    """Return the smallest loss of 0, 1, ... neighbours of a node, from all subsets."""
    own = problem.candidates.of(node)
    X, y = np.asarray(problem.X[:, own], dtype=float), np.asarray(problem.X[:, node], dtype=float)
    out = [float(problem.null_losses()[node])]
    for k in range(1, len(own) + 1):
        sets = np.array(list(combinations(range(len(own)), k)))
        columns = X.T[sets]
        if problem.loss == "ising":
            losses = logistic_fits(columns * y, problem.ridge)[1]
        else:
            gram, right = columns @ columns.transpose(0, 2, 1), columns @ y
            beta = np.linalg.solve(gram, right[:, :, None])
            losses = np.square(y - (beta * columns).sum(axis=1)).mean(axis=1)
        out.append(float(losses.min()))
    return np.array(out)


def values(problem: ParametricProblem, theta: Array, nu: Array, lam: float) -> tuple[float, float]:
    """Return the primal and the dual value of a pair, in the problem's own sense.

    Raises
    ------
    Unproven
        When the point violates a constraint, or the multipliers leave the dual's domain, beyond
        rounding.
    """
    program = problem.canonical()
    z = np.concatenate([theta, program.A.matvec(theta)])
    v = np.concatenate([-program.A.rmatvec(nu), nu])
    for what, point, ends in (("point", z, "domain"), ("multipliers", v, "slope_range")):
        ranges = zip(getattr(program.phi, ends)(lam), getattr(program.psi, ends)(lam), strict=True)
        low, high = (np.concatenate(parts) for parts in ranges)
        scale = max(1.0, float(np.max(np.abs(point))))
        violation = float(np.max(np.maximum(low - point, point - high), initial=0.0))
        if violation > make.RELATIVE_ERROR * scale:
            raise Unproven(f"lam={lam:g}: the {what} violate a bound by {violation:g}")
    sign = problem.canonical_sign
    return sign * program.value(theta, lam), sign * program.dual_value(nu, lam)


if __name__ == "__main__":
    main()

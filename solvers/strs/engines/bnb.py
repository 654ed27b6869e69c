"""Exact branch and bound for the sparse trust-region subproblem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.compiling import prepare
from sparseopt.params import SolveParams
from sparseopt.paths.supports import SupportPath
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.strs.problem import STRS, SphereProblem
from sparseopt.result import Certificate, Limit, Result, Status, relative_gap

from ...common.spheres import first_incumbent
from ..scaling import Scaled
from ..settings import PROVEN_GAP
from ..tree.leaves import certificate_of

if TYPE_CHECKING:
    from ..bound.multipliers import Multipliers

_DEFAULT_GAP = SolveParams().rel_gap


class SphereBranchAndBound(Backend):
    r"""Truncation and swaps, the Lagrangian row bound, fixing by reduced costs, best-first tree.

    1. An incumbent: truncations refitted by a trust-region subproblem, then swap search.
    2. Without a linear term, a short search with bounds by norms, which ends where the matrix is
       close to rank one (see :mod:`sparseopt.solvers.strs.bound.multipliers`).
    3. At the root the row bound (see :mod:`sparseopt.solvers.strs.bound.row_bound`) is minimised by
       L-BFGS with a falling smoothing; variables whose forced in- or exclusion would bring it below
       the incumbent are fixed, and the smaller problem goes on.
    4. What is left is a tree, best node first, the bound re-optimised at each node from its
       parent's multipliers. Nodes with few supports are enumerated.

    Incumbent and bound are valid at any interruption. The certificate lists the leaves with their
    multipliers, up to a size beyond which there is none.

    Where several sizes are asked (``size=range(1, 11)``, :class:`~sparseopt.problems.STRSPath`),
    they are solved one after the other: the incumbent starts from the support before with more
    variables, the root from the multipliers there. Limits of nodes are for each size.
    """

    name: ClassVar[str] = "strs-bnb"
    summary: ClassVar[str] = "own branch and bound with the Lagrangian row bound, exact"
    factorises = True
    families: ClassVar[frozenset[str]] = frozenset({"strs"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.EXACT,
            Feature.PATH,
            Feature.WARM_START,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )
    limits: ClassVar[frozenset[str]] = frozenset({"node_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "starts": Option(int, 3, "how many of the best truncations are improved by swaps", low=1),
        "polish_nodes": Option(
            int,
            1000,
            "after this many nodes the gap that was asked for is enough; before, 1e-9 is proven",
            low=0,
        ),
        "certificate_numbers": Option(
            int, 8_000_000, "leave out a certificate of more numbers than this", low=0
        ),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        with control.uncounted():
            from ..bound.descent import warm_up

            prepare(warm_up)
        if isinstance(problem, STRS) and isinstance(problem.asked(params), int):
            return solve_exactly(problem, params, options, control).result
        assert isinstance(problem, SphereProblem)
        return _solve_sizes(problem, params, options, control)


@dataclass(frozen=True, eq=False)
class Solved:
    """A result, and what is of use for the next size.

    Attributes
    ----------
    result : Result
    support : int array of shape (d,)
    root : Multipliers or None
        A pair on all variables, in scaled units.
    """

    result: Result
    support: Array
    root: Multipliers | None


def solve_exactly(
    problem: STRS,
    params: SolveParams,
    options: Mapping[str, Any],
    control: Control,
    support: Array | None = None,
    warm: Multipliers | None = None,
) -> Solved:
    """Find an incumbent, and search until a limit is reached or the gap is closed.

    Parameters
    ----------
    problem : STRS
    params, options : of the backend strs-bnb
    control : Control
    support : int array of shape (k,) with k <= d, optional
        A good one: the incumbent starts there, too.
    warm : Multipliers, optional
        On all variables, those of the same data with fewer nonzeros.
    """
    from ..tree.support_tree import SupportTree

    scaled = Scaled.of(problem)
    gap = params.rel_gap if params.rel_gap > _DEFAULT_GAP else PROVEN_GAP
    tree = SupportTree(
        scaled,
        best=first_incumbent(scaled.A, scaled.a, scaled.d, options["starts"], control, support),
        rel_tolerance=gap / 2.0,
        abs_tolerance=scaled.abs_tolerance(params),
        control=control,
        asked=params.rel_gap,
        polish=options["polish_nodes"],
        node_limit=params.node_limit,
        capacity=options["certificate_numbers"],
        warm=warm,
        norms=True,
    )
    limit = tree.run()
    bound = tree.bound
    closed = tree.proves(max(gap, params.rel_gap))
    tree.frontier.close_all()
    leaves = tree.frontier.leaves
    x, objective, bound = scaled.answer(tree.best, bound, params, closed=closed)
    notes = []
    if leaves is None:
        notes.append(
            f"the leaves take more than {options['certificate_numbers']} numbers, so they were "
            "not kept; raise the option certificate_numbers for a certificate"
        )
    result = Result(
        status=Status.OPTIMAL if closed else Status.FEASIBLE,
        limit=None if closed else limit,
        raw_status=f"{tree.nodes} nodes, {tree.evaluations} evaluations of the row bound",
        x=x,
        objective=objective,
        bound=bound,
        certificate=None if leaves is None else certificate_of(leaves, scaled.unit),
        iterations=tree.evaluations,
        nodes=tree.nodes,
        notes=tuple(notes),
    )
    root = warm if tree.root is None else tree.root
    return Solved(result, tree.best.support, root)


def _solve_sizes(
    problem: SphereProblem, params: SolveParams, options: Mapping[str, Any], control: Control
) -> Result:
    """Solve for the sizes that were asked, from the first on, until the last one or a limit."""
    sizes = problem.asked(params)
    assert isinstance(sizes, tuple)
    solved: list[Solved] = []
    for d in sizes:
        before = (solved[-1].support, solved[-1].root) if solved else ()
        solved.append(solve_exactly(problem.at(d), params, options, control, *before))
        last = solved[-1].result
        control.progress(
            f"d = {d}",
            fraction=len(solved) / len(sizes),
            objective=last.objective,
            bound=last.bound,
        )
        if len(solved) < len(sizes) and control.limit() is not None:
            break
    results = [each.result for each in solved]
    arrays: dict[str, Array] = {}
    for d, result in zip(sizes, results, strict=False):
        if result.certificate is not None:
            arrays |= {f"{name}_{d}": array for name, array in result.certificate.arrays.items()}
    ended = control.limit() if len(results) < len(sizes) else None
    limit = ended or next((each.limit for each in results if each.limit is not None), None)
    path = _path(problem, params, sizes, results, ended)
    return Result(
        status=Status.OPTIMAL if limit is None else Status.FEASIBLE,
        limit=limit,
        raw_status=f"{int(path.certified.sum())} of {len(sizes)} sizes proven",
        x=results[-1].x,
        objective=results[-1].objective,
        bound=results[-1].bound,
        path=path,
        certificate=Certificate(kind="leaves-by-size", arrays=arrays),
        iterations=sum(result.iterations or 0 for result in results),
        nodes=sum(result.nodes or 0 for result in results),
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
    )


def _path(
    problem: SphereProblem,
    params: SolveParams,
    sizes: tuple[int, ...],
    results: list[Result],
    ended: Limit | None,
) -> SupportPath:
    points = np.array([result.x for result in results])
    rows, columns = np.nonzero(points)
    objective = np.array([result.objective for result in results])
    bound = np.array([result.bound for result in results])
    gaps = [
        relative_gap(value, above, problem.value_unit) or 0.0
        for value, above in zip(objective.tolist(), bound.tolist(), strict=True)
    ]
    proven = np.array([result.status is Status.OPTIMAL for result in results])
    met = (np.array(gaps) <= params.rel_gap) | (bound - objective <= params.abs_gap)
    return SupportPath(
        sizes=np.array(sizes[: len(results)]),
        objective=objective,
        bound=bound,
        certified=proven | met,
        ptr=np.searchsorted(rows, np.arange(len(results) + 1)).astype(np.int64),
        index=columns.astype(np.int64),
        value=points[rows, columns],
        variables=points.shape[1],
        stopped_by="d_max" if ended is None else ended.value,
    )

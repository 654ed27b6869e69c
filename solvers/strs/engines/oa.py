"""Outer approximation of the sparse trust-region subproblem: cuts and a mixed-integer master."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sparseopt.backend import Availability, Backend, Control, Feature, Option
from sparseopt.compiling import prepare
from sparseopt.errors import BackendUnavailable
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Limit, Result, Status

from ...common.spheres import first_incumbent
from ..scaling import Scaled
from ..tree.leaves import certificate_of


class SphereOuterApproximation(Backend):
    r"""Algorithm 3 of Wang, Dey and Xie, with cuts in closed form and its stopping test mended.

    The value of a support is bounded by functions that are linear in its indicator q. At the root
    the row bound is minimised (see :mod:`sparseopt.solvers.strs.bound.row_bound`); each of its
    pairs is such a function, and they fix variables, as in the first node of `strs-bnb`. Then a
    mixed-integer master chooses the support of the largest bound; a trust-region subproblem gives
    its value, and the pairs of :mod:`sparseopt.solvers.strs.outer.support_cuts`, which are exact
    there, are added, until the master's bound meets the incumbent. A support that was settled is
    excluded, so the end is certain.

    Cuts that are exact on a support say little of others. So after each master some nodes of the
    tree of `strs-bnb` are processed, too: the one that holds the support, then the best. The pairs
    that are found there, for a face of the 0-1 vectors, and the choices that they exclude, are
    lifted to rows of the master (see :mod:`sparseopt.solvers.strs.outer.master_search`).

    Incumbent and bound are valid at any interruption, and the tree's leaves prove them. The bound
    of a master is that of HiGHS or SCIP, which cannot be checked: once it meets the incumbent, the
    tree goes on until it proves as much. At a limit before that the bound is the tree's.
    """

    name: ClassVar[str] = "strs-oa"
    summary: ClassVar[str] = "outer approximation with closed-form cuts, HiGHS or SCIP as master"
    factorises = True
    families: ClassVar[frozenset[str]] = frozenset({"strs"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.EXACT,
            Feature.WARM_START,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )
    limits: ClassVar[frozenset[str]] = frozenset({"node_limit", "iteration_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "master": Option(
            str, "highs", "the solver of the mixed-integer masters", choices=("highs", "scip")
        ),
        "branched": Option(
            int, 4, "nodes of the tree that are processed after each master, 0 for none", low=0
        ),
        "starts": Option(int, 3, "how many of the best truncations are improved by swaps", low=1),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, STRS)
        with control.uncounted():
            from ..bound.descent import warm_up
            from ..outer.master_search import MasterSearch
            from ..tree.support_tree import SupportTree

            _find(options["master"])
            prepare(warm_up)
        scaled = Scaled.of(problem)
        tree = SupportTree(
            scaled,
            best=first_incumbent(scaled.A, scaled.a, scaled.d, options["starts"], control),
            rel_tolerance=params.rel_gap / 2.0,
            abs_tolerance=scaled.abs_tolerance(params),
            control=control,
        )
        search = MasterSearch(tree, control, params.rel_gap, options["branched"])
        limit = search.root()
        if limit is None and not search.closed:
            limit = search.run_masters(options["master"])
        if limit is None or limit is Limit.SLOW_PROGRESS:
            limit = search.prove()
        closed = search.closed
        # A bound of the masters that the tree had no time to prove is stated where it is enough.
        proven = tree.proves(params.rel_gap) or not closed
        bound = tree.bound if proven else search.bound
        tree.frontier.close_all()
        leaves = tree.frontier.leaves
        x, objective, bound = scaled.answer(tree.best, bound, params, closed=closed)
        notes = []
        if not proven:
            notes.append("a limit ended the proof of the master's bound, which is not certified")
        return Result(
            status=Status.OPTIMAL if closed else Status.FEASIBLE,
            limit=None if closed else limit,
            raw_status=f"{search.iterations} masters, {search.cuts} cuts, {tree.nodes} nodes",
            x=x,
            objective=objective,
            bound=bound,
            certificate=certificate_of(leaves, scaled.unit)
            if proven and leaves is not None
            else None,
            iterations=search.iterations,
            nodes=tree.nodes,
            notes=tuple(notes),
        )


def _find(master: str) -> None:
    """Load what the master needs.

    Raises
    ------
    BackendUnavailable
        When SCIP is asked for and not there.
    """
    if master == "highs":
        import highspy  # noqa: F401

        return
    from ...adapters.scip_ import Scip

    found: Availability = Scip().availability()
    if not found.available:
        raise BackendUnavailable(f"backend strs-oa with master='scip' cannot run: {found.reason}")

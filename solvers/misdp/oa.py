"""The backend ``misdp-oa``: outer approximation by cuts."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any, ClassVar

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.errors import BackendUnavailable
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Limit, Result

from .answer import answer, start_points, without_optimum
from .bnb import BranchAndBound
from .bounding import Box
from .search import Search

__all__ = ["OuterApproximationBackend"]

_SCOUT = 20
"""Nodes with semidefinite relaxations that are spent on a first incumbent."""


class OuterApproximationBackend(Backend):
    r"""A mixed-integer linear master, and cuts :math:`\langle V, M(x)\rangle \ge 0`.

    1. The continuous relaxation is solved once by a conic solver. Eigenvectors of its multipliers
       are the first cuts: with them the master is as tight as the relaxation. Inequalities that
       hold for integral integers only make it tighter (:mod:`sparseopt.solvers.misdp.indicators`).
    2. The master is solved. Its integers are fixed and the conic problem is solved for the rest:
       that gives an incumbent, and cuts that make the master exact at these integers, or a disproof
       and cuts that exclude them. The master's own point is cut off by all negative eigenvectors,
       sparse ones, 2 x 2 minors, and tangents of the second-order cones.
    3. Until the master's bound meets the incumbent, or masters get nowhere. With SCIP all of that
       is one tree, with the cuts added as lazy constraints.
    4. What was found is proven again by a tree, whose nodes are bounded by linear programs over the
       cuts, as long as these close enough of them, else by conic relaxations. Either's multipliers
       are the certificate. Where time does not allow it the master's bound stands, unproven.

    References
    ----------
    Kobayashi, Takano (2020), A branch-and-cut algorithm for solving mixed-integer semidefinite
    optimization problems. Coey, Lubin, Vielma (2020), Outer approximation with conic certificates.
    """

    name: ClassVar[str] = "misdp-oa"
    summary: ClassVar[str] = "own outer approximation: HiGHS or SCIP master, cuts, exact"
    requires: ClassVar[tuple[str, ...]] = ("highspy",)
    families: ClassVar[frozenset[str]] = frozenset({"misdp"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.EXACT,
            Feature.WARM_START,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )
    options: ClassVar[Mapping[str, Option]] = {
        **BranchAndBound.options,
        "master": Option(
            str,
            "highs",
            "highs: one mixed-integer program after another; scip: lazy cuts in one tree",
            choices=("highs", "scip"),
        ),
        "certify": Option(
            bool, True, "prove the optimum again by a tree whose leaves are the certificate"
        ),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, MISDP)
        from .cuts import CutPool
        from .indicators import Indicators
        from .pool_bounding import PoolBounding

        search = Search(problem, options, control)
        start_points(search.points, control)
        ended = without_optimum(search)
        if ended is not None:
            return ended
        pool = CutPool(problem)
        pool.start()
        cuts = PoolBounding(pool, search.conic, control)
        tree = search.tree(cuts)
        limit: Limit | None = None
        masters = nodes = 0
        if tree.open and bool(problem.integer.any()):
            found = tree.bound_root()
            if found and search.points.best is None:
                # The masters' integers may stay infeasible for long: look where matrices are known.
                search.tree(search.conic, first=True, node_limit=_SCOUT).run()
            if found:

                def record(bound: float) -> None:
                    tree.raise_floor(bound)
                    tree.record()

                box = _no_worse(search, tree.open[0].box)
                indicators = Indicators(
                    problem,
                    search.propagation,
                    box,
                    control,
                    lambda form: cuts.largest(form, box),
                )
                outer = _master(options["master"], search, pool, indicators, box, record)
                limit = outer.run(lambda: tree.slack)
                masters, nodes = outer.masters, outer.nodes
        done = limit is None and tree.closed() and masters > 0
        if limit is None and (options["certify"] or not done):
            cuts.linear = True
            limit = tree.run()
            if tree.proven():
                # The leaves say what is known, and prove it.
                tree.drop_floor()
            elif done:
                limit = None
                control.notes.append(
                    "the masters' bound could not be proven again within the limits, so there is "
                    "no certificate"
                )
        return answer(
            search,
            tree,
            limit,
            raw_status=f"{masters} masters with {nodes} nodes, {len(pool)} cuts, "
            f"{tree.nodes} nodes to prove it, {search.conic.solves} conic relaxations",
            nodes=nodes + tree.nodes,
        )


def _no_worse(search: Search, box: Box) -> Box:
    """Return the part of a box where nothing is worse than the best point.

    A master proves nothing about a variable without bounds; an incumbent often gives it one.
    """
    return search.propagation.tighten(*box, search.points.cutoff) or box


def _master(name: str, *parts: Any) -> Any:
    """Return the loop or the tree over the master."""
    if name == "scip":
        if importlib.util.find_spec("pyscipopt") is None:
            raise BackendUnavailable(
                "master='scip' needs pyscipopt, which is not installed: "
                "pip install 'sparseopt[scip]', or take master='highs'"
            )
        from .scip_master import LazyCuts

        return LazyCuts(*parts)
    from .outer import OuterApproximation

    return OuterApproximation(*parts)

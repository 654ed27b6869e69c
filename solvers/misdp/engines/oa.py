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

from ..reductions.merging import merge
from ..settings import SCOUT_NODES
from ..tree.search import MISDPSearch
from .answer import answer, standard, start_points, without_optimum
from .search_options import SEARCH_OPTIONS
from .units import Units


class OuterApproximationBackend(Backend):
    r"""A mixed-integer linear master, and cuts :math:`\langle V, M(x)\rangle \ge 0`.

    1. The continuous relaxation is solved once by a conic solver. Eigenvectors of its multipliers
       are the first cuts: with them the master is as tight as the relaxation. Inequalities that
       hold for integral integers only make it tighter
       (:mod:`sparseopt.solvers.misdp.outer.indicators`).
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
    limits: ClassVar[frozenset[str]] = frozenset({"node_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        **SEARCH_OPTIONS,
        "master": Option(
            str,
            "highs",
            "highs: one mixed-integer program after another; scip: lazy cuts in one tree; tree: "
            "none, but linear programs over the cuts in the nodes of our own tree",
            choices=("highs", "scip", "tree"),
        ),
        "certify": Option(
            bool, True, "prove the optimum again by a tree whose leaves are the certificate"
        ),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, MISDP)
        return Units.of(problem).solved(self._search, problem, params, options, control)

    def _search(
        self,
        problem: MISDP,
        params: SolveParams,
        options: Mapping[str, Any],
        control: Control,
        units: Units,
    ) -> Result:
        with control.building():
            form = standard(problem)
            merged = merge(form.problem)
        control.up = lambda x: units.up(form.up(merged.up(x)))
        search = MISDPSearch(merged.problem, options, control)
        start_points(search, form, merged)
        ended = without_optimum(search)
        found = merged.answer(ended or _Run(search, options).result())
        return form.answer(found, params.rel_gap, params.abs_gap)


class _Run:
    """The four steps of the method, with what they share.

    Parameters
    ----------
    search : MISDPSearch
    options : mapping
    """

    def __init__(self, search: MISDPSearch, options: Mapping[str, Any]) -> None:
        from ..outer.cuts import CutPool
        from ..outer.pool_bounding import PoolBounding

        self._search, self._options = search, options
        self._pool = CutPool(search.problem)
        self._pool.start()
        self._cuts = PoolBounding(self._pool, search.conic, search.control)
        self._tree = search.tree(self._cuts)
        self._masters = self._nodes = 0

    def result(self) -> Result:
        """Bound the root, solve masters, prove what was found, and answer."""
        search, tree = self._search, self._tree
        limit: Limit | None = None
        if tree.open and bool(search.problem.integer.any()) and tree.bound_root():
            if search.points.best is None:
                # The masters' integers may stay infeasible for long: look where matrices are known.
                search.tree(search.conic, first=True, node_limit=SCOUT_NODES).run()
            if self._options["master"] == "tree":
                self._cuts.alone = True
            else:
                limit = None if tree.closed() else self._approximate()
        if limit is None:
            limit = self._prove()
        return answer(
            search,
            tree,
            limit,
            raw_status=f"{self._masters} masters with {self._nodes} nodes, {len(self._pool)} cuts, "
            f"{tree.nodes} nodes to prove it, {search.conic.solves} conic relaxations",
            nodes=self._nodes + tree.nodes,
        )

    def _approximate(self) -> Limit | None:
        """Solve masters with more and more cuts; their bound becomes the floor of the tree's."""
        from ..outer.indicators import Indicators

        search, tree = self._search, self._tree
        # A master proves nothing about a variable without bounds; an incumbent often gives it one.
        root = tree.open[0].box
        box = search.propagation.tighten(*root, search.points.cutoff) or root

        def record(bound: float) -> None:
            tree.raise_floor(bound)
            tree.record()

        indicators = Indicators(
            search.problem,
            search.propagation,
            box,
            search.control,
            lambda form: self._cuts.largest(form, box),
        )
        outer = _master(self._options["master"], search, self._pool, indicators, box, record)
        limit: Limit | None = outer.run(lambda: tree.slack)
        self._masters, self._nodes = outer.masters, outer.nodes
        return limit

    def _prove(self) -> Limit | None:
        """Prove the masters' answer again by a tree, which finds the rest where they stalled."""
        tree = self._tree
        done = tree.closed() and self._masters > 0
        if done and not self._options["certify"]:
            return None
        self._cuts.linear = True
        limit = tree.run()
        if tree.proven():
            # The leaves state what is known, and prove it.
            tree.drop_floor()
        elif done:
            self._search.control.notes.append(
                "the masters' bound could not be proven again within the limits, so there is "
                "no certificate"
            )
        return limit


def _master(name: str, *parts: Any) -> Any:
    """Return the loop or the tree over the master."""
    if name == "scip":
        if importlib.util.find_spec("pyscipopt") is None:
            raise BackendUnavailable(
                "master='scip' needs pyscipopt, which is not installed: "
                "pip install 'sparseopt[scip]', or take master='highs'"
            )
        from ..outer.scip_master import LazyCuts

        return LazyCuts(*parts)
    from ..outer.loop import OuterApproximation

    return OuterApproximation(*parts)

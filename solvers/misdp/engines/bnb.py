"""The backend ``misdp-bnb``: branch and bound over conic relaxations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.errors import UnsupportedProblem
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Result

from ..reductions.merging import Merged, merge
from ..reductions.mirrors import mirror
from ..reductions.symmetry import Ordered, order
from ..tree.orbits import OrbitalFixing
from ..tree.rank_one import ranked_blocks
from .answer import answer, standard, start_points, without_optimum
from .search_options import SEARCH_OPTIONS
from .units import Units


class SemidefiniteBranchAndBound(Backend):
    r"""Branch and bound on the integers, with a semidefinite relaxation at each node.

    1. Quadratic objectives become cones, indicators rows by proven bounds, or bounds of a slack
       that hold where their variable is one (:mod:`sparseopt.proofs.misdp_standard_form`).
    2. Integer variables whose columns are multiples of one another are merged into one
       (:mod:`sparseopt.solvers.misdp.reductions.merging`). Where variables may be turned round,
       one of them gets half its range (:mod:`sparseopt.solvers.misdp.reductions.mirrors`). Of
       points that are symmetric to one another nodes leave one
       (:mod:`sparseopt.solvers.misdp.tree.orbits`), or where symmetries are many, rows do
       (:mod:`sparseopt.solvers.misdp.reductions.symmetry`).
    3. Bounds of all variables are propagated through rows, diagonals and 2 x 2 minors.
    4. The relaxation is solved by a conic solver, and its multipliers are turned into a bound that
       holds whatever their errors are (:mod:`sparseopt.solvers.misdp.bounds`). Where they prove
       nothing (no interior, numerical trouble), the penalty form is asked for a disproof; failing
       that, the node is branched on, down to fixed integers.
    5. Rounding and diving fix integers and solve for the rest; ends of variables that the
       multipliers bring to the incumbent are cut off.
    6. Otherwise the node is branched on, best bound first with short plunges.
    7. With two threads or more ``misdp-oa`` runs beside it
       (:mod:`sparseopt.solvers.misdp.engines.race`).

    Bound and incumbent are valid whenever it stops. The certificate lists the leaves with their
    multipliers.

    References
    ----------
    Gally, Pfetsch, Ulbrich (2018), A framework for solving mixed-integer semidefinite programs.
    """

    name: ClassVar[str] = "misdp-bnb"
    summary: ClassVar[str] = "own branch and bound over semidefinite relaxations, exact"
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
        "solutions": Option(
            int, 1, "how many choices of the integers to find, the best ones (result.pool)", low=1
        ),
        "solutions_gap": Option(
            float, np.inf, "how far, relative to the best, their objectives may be away", low=0.0
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
        from ..tree.search import MISDPSearch
        from ..tree.solution_pool import SolutionPool
        from .race import Race

        with control.building():
            form = standard(problem)
            # Merged integers stand for several choices, and so does one of symmetric points.
            merged: Merged | Ordered = Merged(form.problem, [])
            if options["solutions"] == 1:
                merged = merge(form.problem)
                if units.plain:
                    # Else what is symmetric need not be so in the units of the user.
                    merged = order(mirror(merged))
        control.up = lambda x: units.up(form.up(merged.up(x)))
        search = MISDPSearch(merged.problem, options, control)
        pool: SolutionPool | None = None
        if options["solutions"] > 1:
            if ranked_blocks(problem):
                raise UnsupportedProblem(
                    f"{self.name} finds one solution where matrices must have rank one: leave the "
                    "option solutions out"
                )
            pool = SolutionPool(
                search.problem,
                search.propagation,
                search.conic,
                control,
                options["solutions"],
                options["solutions_gap"],
            )
            search.points = pool
        start_points(search, form, merged)
        ended = without_optimum(search)
        if ended is not None:
            return form.answer(merged.answer(ended))
        orbits = None
        if isinstance(merged, Ordered) and merged.group is not None:
            orbits = OrbitalFixing(merged.problem.integer, *merged.group)
        tree, gaps = search.tree(search.conic, orbits), (params.rel_gap, params.abs_gap)
        if pool is None:
            with Race(problem, options, control, lambda: search.points.best) as race:
                limit = tree.run()
            if race.answer is not None:
                return race.answer
            return form.answer(merged.answer(answer(search, tree, limit)), *gaps)
        limit = tree.run()
        pool.close()
        return pool.answer(form.answer(answer(search, tree, limit), *gaps), tree, form)

"""The k best choices of the integers instead of one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Certificate, Result

from ...common.misdp_standard_form import StandardForm
from ..bounding.lower_bounds import ConicBounding
from ..reductions.propagation import Propagation
from .integer_tree import IntegerTree
from .points import IncumbentFinder


class SolutionPool(IncumbentFinder):
    """Keeps the best points of different integers, at most `count`, within a gap of the best.

    Its `value` is what a new point must beat: the worst of them where there are `count`, or the
    end of the gap. So the tree goes on until no other choice of the integers is better than that.

    Parameters
    ----------
    problem : MISDP
    propagation : Propagation
    conic : ConicBounding
    control : Control
    count : int
    gap : float
        Relative to the best objective.
    """

    def __init__(
        self,
        problem: MISDP,
        propagation: Propagation,
        conic: ConicBounding,
        control: Control,
        count: int,
        gap: float,
    ) -> None:
        super().__init__(problem, propagation, conic, control)
        self.count, self._gap = count, gap
        self._members: dict[bytes, tuple[float, Array]] = {}
        self._searched = np.inf

    @property
    def cutoff(self) -> float | None:
        """An objective, in the problem's own sense, that all points of use reach."""
        if np.isinf(self.value):
            return None
        judge = self._conic.judge
        return judge.better_than(float(judge.safe.sign * self.value + self.problem.offset))

    def goal(self, integers: Array) -> float:
        """Return the costs from which on a bound settles these integers."""
        known = self._members.get(_key(integers))
        return self.value if known is None else min(known[0], self.value)

    def _value_of(self, integers: Array) -> float:
        known = self._members.get(_key(integers))
        return np.inf if known is None else known[0]

    def _keep(self, x: Array, value: float) -> bool:
        key = _key(x[self._whole])
        known = self._members.get(key)
        if value >= (self.value if known is None else known[0]):
            return False
        self._members[key] = value, x
        best = sorted(self._members.values(), key=lambda member: member[0])
        end = self._end_of_gap(best[0][0])
        kept = [member for member in best[: self.count] if member[0] <= end]
        self._members = {_key(x[self._whole]): (value, x) for value, x in kept}
        self.best = kept[0][1]
        self.value = min(kept[-1][0] if len(kept) == self.count else np.inf, end)
        return True

    def _end_of_gap(self, least: float) -> float:
        stated = abs(self._conic.judge.safe.sign * least + self.problem.offset)
        return least + self._gap * max(stated, 1e-10) if np.isfinite(self._gap) else np.inf

    def close(self) -> None:
        """Make the best point the incumbent again: the search is over."""
        self._searched = self.value
        self.value = min((value for value, _ in self._members.values()), default=np.inf)

    def answer(self, result: Result, tree: IntegerTree, form: StandardForm) -> Result:
        """Return the result with the pool, and a bound of all choices that are not in it.

        Parameters
        ----------
        result : Result
            Of the problem as it was given.
        tree : IntegerTree
        form : StandardForm
            What the pool's points are in.

        Returns
        -------
        Result
            Its certificate has ``pool_x`` (k, n), ``pool_objective`` (k,) and ``pool_bound`` (1,).
        """
        if not self._members:
            return result
        given, sign = form.given, self._conic.judge.safe.sign
        points = [form.up(x) for _, x in self._members.values()]
        # Boxes were narrowed to what is better than the pool: nothing is known of what is worse.
        bounds = [self._searched, *(node.bound for node in tree.open)]
        for leaf in tree.leaves.found:
            inside = leaf.integers is not None and _key(leaf.integers) in self._members
            bounds += [] if inside else [leaf.bound]
        kept = tree.leaves.kept and result.certificate is not None
        bound = min(bounds, default=np.inf) if kept else -np.inf
        if np.isfinite(bound):
            bound = float(tree.judge.safe.bound(np.array(bound)))
        else:
            bound *= sign
        certificate = result.certificate or Certificate(kind="pool")
        arrays = {
            **certificate.arrays,
            "pool_x": np.array(points),
            "pool_objective": np.array([given.objective(x) for x in points]),
            "pool_bound": np.array([bound]),
        }
        return result.with_changes(certificate=replace(certificate, arrays=arrays))


def _key(integers: Array) -> bytes:
    return (np.asarray(integers) + 0.0).tobytes()

"""Lower bounds on a box: the relaxation's multipliers, judged by the checker's own arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import matrix_variable, triangle_weights, unpack_symmetric
from sparseopt.problems.misdp.problem import MISDP

from ..bounds import ConicMultipliers, SafeBounds
from ..relaxations.conic import ConicForm, NodeProgram, relaxed
from ..relaxations.relaxation import ConicSolver, Raw
from ..settings import (
    BOUND_ROUNDING,
    CHEAP,
    DISPROOF,
    INSIDE,
    INSIDE_GAP,
    INSIDE_SHARE,
    LARGEST_BOUND,
    MULTIPLIER_DIGITS,
    MULTIPLIER_NOISE,
    OFFSET_DIGITS,
    PROOF_LOSS,
    ROOM_WITHOUT_INTERIOR,
    STEP_DIGITS,
    STEP_LARGEST,
    STEP_ROUNDING,
    UNCHARGED,
)
from .polish import Polish
from .violation import violated_constraint

Box = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What is known of a box.

    Attributes
    ----------
    bound : float
        Proven: nothing in the box costs less (for a minimisation, without the offset); inf where
        it is empty, -inf where nothing is known.
    multipliers : ConicMultipliers or None
        The proof.
    infeasible : bool
        Whether it is a disproof.
    x : array of shape (n,) or None
        A solution of the relaxation, as good as the solver could.
    direction : array of shape (n,) or None
        Along which the costs may fall without end.
    word : str
    start : array or None
        Where relaxations of boxes inside may begin.
    """

    bound: float
    multipliers: ConicMultipliers | None = None
    infeasible: bool = False
    x: Array | None = None
    direction: Array | None = None
    word: str = ""
    start: Array | None = None


class Bounding(Protocol):
    """What gives the tree its bounds."""

    solves: int

    def relax(
        self, box: Box, cutoff: float, *, loose: float = 0.0, start: Array | None = None
    ) -> Relaxed:
        """Bound the costs on the box; it may stop as soon as `cutoff` is reached.

        It may stop at the relative gap `loose`, too, where the cutoff is clearly out of reach, and
        begin at what was found of a box around this one.
        """

    def settle(
        self,
        box: Box,
        found: Relaxed,
        take: Callable[[Relaxed], None],
        enough: Callable[[float], bool],
    ) -> Relaxed:
        """Try harder on a box whose integers are fixed, have points taken, until a bound does."""


class Judge:
    """Weak duality in safe arithmetic, as the checker computes it.

    Parameters
    ----------
    problem : MISDP

    Attributes
    ----------
    step : float
        Costs of feasible points are multiples of it; 0 where no such number is known.
    forms : csr array of shape (n, multipliers)
        Transposed: rows, entries of cones, entries of matrices (off the diagonal twice).
    constants : array of shape (multipliers,)
    costs : array of shape (n,)
        Of a minimisation.
    scale : float
        The largest cost, or what is left of the offset's last digits where that is larger.
    rounding_at_zero : float
        By how much a bound next to 0 may be stated better than it is proven.
    """

    def __init__(self, problem: MISDP) -> None:
        self.safe = SafeBounds(problem)
        self.step = _cost_step(problem)
        self._offset = problem.offset
        self.costs = self.safe.sign * problem.c
        parts = [problem.A, *(cone.F for cone in problem.cones)]
        parts += [sp.diags_array(triangle_weights(b.size)) @ b.F for b in problem.blocks]
        self.forms = sp.csr_array(sp.vstack(parts, format="csr").T)
        constants = [np.zeros(problem.A.shape[0]), *(cone.g for cone in problem.cones)]
        constants += [triangle_weights(b.size) * b.F0 for b in problem.blocks]
        self.constants = np.concatenate(constants)
        sizes = np.abs(problem.c)
        self.scale = max(float(sizes.max()), OFFSET_DIGITS * abs(problem.offset))
        least_cost = float(sizes[sizes > 0.0].min()) if sizes.any() else 0.0
        self.rounding_at_zero = BOUND_ROUNDING * least_cost

    def rounding(self, value: float) -> float:
        """Return by how much a bound next to this value may be stated better than it is proven."""
        size = min(abs(value), abs(value + self.safe.sign * self._offset))
        return max(BOUND_ROUNDING * size, self.rounding_at_zero)

    def reduced_costs(self, multipliers: ConicMultipliers, infeasible: bool = False) -> Array:
        """Return c - A'y - F'z - M*(Z), shape (n,), in plain arithmetic; for c = 0 of Farkas'."""
        terms = self.forms @ multipliers.joined()
        return np.asarray(-terms if infeasible else self.costs - terms)

    def value(self, box: Box, multipliers: ConicMultipliers) -> float:
        """Return the proven lower bound of the costs on the box.

        Where rounding in variables without bounds leaves none, that up to rounding.
        """
        least = self.safe.quick(*box, multipliers.joined())
        if least > -np.inf:
            return least
        found = self.safe.evaluate(*box, multipliers)
        value, nearly = float(found.value[0]), float(found.nearly[0])
        allowed = UNCHARGED * self.scale
        # Beyond that a small reduced cost may hide a point that is far away.
        if (
            value == -np.inf
            and nearly <= LARGEST_BOUND * self.scale
            and found.uncharged[0] <= allowed
        ):
            return nearly
        return value

    def rounded(self, bound: float) -> float:
        """Return a bound rounded up to the next costs that a point may have."""
        if not self.step or not np.isfinite(bound):
            return bound
        return float(np.ceil(bound / self.step - STEP_ROUNDING)) * self.step

    def better_than(self, objective: float) -> float:
        """Return an objective that all better points reach: half of a step from a multiple of it.

        An objective that is no multiple of the step is returned as it is.
        """
        if not self.step:
            return objective
        steps = self.safe.sign * (objective - self._offset) / self.step
        if abs(steps - np.rint(steps)) > STEP_ROUNDING:
            return objective
        return objective - 0.5 * self.safe.sign * self.step

    def threshold(self, value: float) -> float:
        """Return from which bound on nothing is better than points of these costs."""
        return value - (1.0 - 2.0 * STEP_ROUNDING) * self.step

    def plain(self, box: Box, multipliers: ConicMultipliers) -> bool:
        """Return whether the bound takes no small reduced cost for zero, and is not huge."""
        value = float(self.safe.evaluate(*box, multipliers).value[0])
        return abs(value) <= LARGEST_BOUND * self.scale

    def disproves(self, box: Box, multipliers: ConicMultipliers) -> bool:
        """Return whether the multipliers prove that the box is empty, up to rounding errors."""
        value, nearly, margin, uncharged = self._disproof(box, multipliers)
        return value >= margin or (nearly >= margin and uncharged <= UNCHARGED * nearly)

    def disproves_exactly(self, box: Box, multipliers: ConicMultipliers) -> bool:
        """Return whether the multipliers prove that the box is empty, rounding errors or not."""
        value, _, margin, _ = self._disproof(box, multipliers)
        return value >= margin

    def exact_disproof(self, box: Box, multipliers: ConicMultipliers) -> ConicMultipliers | None:
        """Return multipliers, those given or tidied ones, that prove that the box is empty."""
        return next((m for m in tidied(multipliers) if self.disproves_exactly(box, m)), None)

    def _disproof(
        self, box: Box, multipliers: ConicMultipliers
    ) -> tuple[float, float, float, float]:
        """Return the value, exactly and nearly, what it must be, and what it is charged with."""
        found = self.safe.evaluate(*box, multipliers, infeasible=True)
        margin = max(DISPROOF * float(found.size[0]), 1e-300)
        return float(found.value[0]), float(found.nearly[0]), margin, float(found.uncharged[0])


def tidied(multipliers: ConicMultipliers) -> Iterator[ConicMultipliers]:
    """Yield Farkas multipliers whose smallest are zero, as they are, and with ever fewer digits.

    Rounding errors of theirs are charged at the ends of variables, and some have none, or one that
    the checker does not derive.

    Parameters
    ----------
    multipliers : ConicMultipliers
        Of one box.
    """
    parts = _scaled(multipliers)
    yield ConicMultipliers(*(np.where(np.abs(p) > MULTIPLIER_NOISE, p, 0.0) for p in parts))
    yield multipliers
    yield from of_few_digits(multipliers)


def of_few_digits(multipliers: ConicMultipliers) -> Iterator[ConicMultipliers]:
    """Yield Farkas multipliers of one box with ever fewer digits, the largest at 1."""
    parts = _scaled(multipliers)
    for digits in MULTIPLIER_DIGITS:
        yield ConicMultipliers(*(np.round(part, digits) for part in parts))


def _scaled(multipliers: ConicMultipliers) -> list[Array]:
    size = float(np.abs(multipliers.joined()).max(initial=0.0)) or 1.0
    return [part / size for part in (multipliers.rows, multipliers.cones, multipliers.psd)]


def _cost_step(problem: MISDP) -> float:
    """Return the largest number that all costs are multiples of, with all of them on integers."""
    costs = np.abs(problem.c) * 2.0**STEP_DIGITS
    if (problem.c[~problem.integer] != 0.0).any() or not problem.c.any():
        return 0.0
    if any(block.rank_one for block in problem.blocks):
        return 0.0
    if (costs != np.rint(costs)).any() or costs.max() > STEP_LARGEST:
        return 0.0
    return math.gcd(*costs.astype(np.int64).tolist()) * 2.0**-STEP_DIGITS


class ConicBounding:
    """Relaxations by a conic solver.

    Parameters
    ----------
    problem : MISDP
    solver : ConicSolver
    others : sequence of ConicSolver
        For what the first one cannot settle.

    Attributes
    ----------
    free : bool array of shape (n,)
        Variables without bounds that are no entries of a matrix variable.
    charged : tuple of two bool arrays of shape (n,), or None
        Ends from below and from above that bounds are charged at only: programs leave them open.
    """

    def __init__(
        self, problem: MISDP, solver: ConicSolver, others: Sequence[ConicSolver] = ()
    ) -> None:
        self.form = ConicForm(problem)
        self.judge = Judge(problem)
        self.solver = solver
        self._others = others
        self.solves = 0
        self.charged: tuple[Array, Array] | None = None
        # Matrices that are variables take over their entries' reduced costs.
        self.free = np.isinf(problem.lower) & np.isinf(problem.upper)
        for block in problem.blocks:
            columns = matrix_variable(block)
            if columns is not None:
                self.free[columns] = False

    @cached_property
    def polish(self) -> Polish:
        """What moves multipliers off the reduced costs of variables without bounds."""
        return Polish(self.form.problem)

    def relax(
        self,
        box: Box,
        cutoff: float,
        costs: Array | None = None,
        margin: float = 0.0,
        *,
        loose: float = 0.0,
        start: Array | None = None,
    ) -> Relaxed:
        """Solve the relaxation; where it fails, look for a disproof by the penalty form.

        Parameters
        ----------
        box : tuple of arrays
        cutoff : float
        costs : array of shape (n,), optional
            Others than the problem's: then only `x` and a disproof are of use.
        margin : float, default 0
            Asked of the eigenvalues, to get points inside; negative: given to them.
        loose : float, default 0
            A relative gap that is enough where the cutoff is clearly out of reach.
        start : array, optional
            What was found of a box around this one, with the same costs.
        """
        program = self.form.program(*self._opened(box), costs=costs, margin=margin, start=start)
        if not len(program.q):
            return self._settled(box, program.fixed)
        # With other costs it is known already.
        idle = None if costs is not None else self._idle(box, program)
        if idle is not None:
            return idle
        self.solves += 1
        raw = self.solver.solve(program, cutoff - program.constant, loose)
        found = self._read(box, program, raw, whole=not loose, enough=cutoff)
        if margin == 0.0 and not found.infeasible and not _useful(found):
            disproof = self._disprove(box, program)
            if disproof is not None:
                return disproof
        return found

    def _opened(self, box: Box) -> Box:
        """Return a box without the ends that bounds are charged at only."""
        if self.charged is None:
            return box
        below, above = self.charged
        return np.where(below, -np.inf, box[0]), np.where(above, np.inf, box[1])

    def settle(
        self,
        box: Box,
        found: Relaxed,
        take: Callable[[Relaxed], None],
        enough: Callable[[float], bool],
    ) -> Relaxed:
        """Ask the other solvers, have their points taken, and return the best bound."""
        program = self.form.program(*self._opened(box))
        if not len(program.q):
            return found
        for solver in self._others:
            self.solves += 1
            again = self._read(box, program, solver.solve(program, np.inf))
            if again.infeasible:
                return again
            take(again)
            if again.bound > found.bound:
                x = found.x if again.x is None else again.x
                found = replace(again, x=x, direction=None)
        disproof = self._disprove(box, program)
        if disproof is not None:
            return disproof
        # Without an interior all points may be short of the bound; with a little room none is.
        for lacking in ROOM_WITHOUT_INTERIOR:
            if enough(found.bound):
                break
            take(self.relax(box, np.inf, margin=-lacking))
        return found

    def _read(
        self,
        box: Box,
        program: NodeProgram,
        raw: Raw,
        whole: bool = True,
        enough: float = np.inf,
    ) -> Relaxed:
        """Judge an answer; `whole` where it was to be solved to the end.

        Multipliers that rest on no derived end of free variables may prove less than others do, as
        long as it is `enough`: the checker may not derive it.
        """
        form, judge = self.form, self.judge
        x = None if raw.x is None else form.point(program, raw.x)
        direction = None
        if raw.direction is not None:
            direction = np.zeros(len(box[0]))
            direction[program.free] = raw.direction
        if raw.dual is None:
            return Relaxed(-np.inf, None, False, x, direction, raw.word)
        multipliers = form.multipliers(program, raw.dual)
        if raw.ray:
            multipliers = self._as_disproof(box, multipliers)
        if raw.ray and judge.disproves(box, multipliers):
            return Relaxed(np.inf, multipliers, True, word=raw.word)
        value = judge.value(box, multipliers)
        given = multipliers.rows[0], multipliers.cones[0], multipliers.psd[0]
        for ends in self._with_open_ends(box, multipliers, bool(np.isfinite(value))):
            better = self.polish.improve(*ends, *given)
            value_then = judge.value(box, better)
            little = value_then > value - PROOF_LOSS * max(judge.scale, abs(value))
            if little or value_then >= enough:
                value, multipliers = value_then, better
                break
        ends_alone = judge.value(box, judge.safe.zero())
        if ends_alone > value + (judge.rounding(value) if np.isfinite(value) else 0.0):
            value, multipliers, whole = ends_alone, judge.safe.zero(), False
        if whole:
            multipliers = self._drawn_inside(box, program, multipliers, value)
        kept = None if raw.state is None else program.kept(raw.state, len(form.stack.b))
        return Relaxed(value, multipliers, False, x, direction, raw.word, kept)

    def _drawn_inside(
        self, box: Box, program: NodeProgram, multipliers: ConicMultipliers, value: float
    ) -> ConicMultipliers:
        """Return multipliers that have room for exact ones, where variables without bounds are.

        A relaxation that is solved too well leaves its multipliers on the boundary of their cones,
        where no exact solution of the equations for free variables can be enclosed. What is left of
        an earlier iterate draws them inside, at a cost that is rounding.
        """
        free = self.free & (box[0] < box[1])
        if not free.any() or not np.isfinite(value) or self._inside(multipliers) > INSIDE:
            return multipliers
        raw = self.solver.solve(program, np.inf, INSIDE_GAP)
        if raw.dual is None or raw.ray:
            return multipliers
        other = self.form.multipliers(program, raw.dual)
        best, most = multipliers, self._inside(multipliers)
        for ends in self._with_open_ends(box, multipliers, proven=True):
            y, z, Z = _between(multipliers, other, INSIDE_SHARE)
            better = self.polish.improve(*ends, y, z, Z)
            enough = value - PROOF_LOSS * max(self.judge.scale, abs(value))
            if self._inside(better) > most and self.judge.value(box, better) >= enough:
                best, most = better, self._inside(better)
        return best

    def with_room(self, box: Box, axes: Array) -> ConicMultipliers | None:
        """Return multipliers that are inside some of their cones, the best that a solver finds.

        With e units on the axes of these cones they are e and the best of the costs c - F'e.

        Parameters
        ----------
        box : tuple of arrays
        axes : array of shape (multipliers,)
            e, as long as they are to be inside; zeros for the best multipliers of the box.
        """
        program = self.form.program(*box, costs=self.form.costs - self.judge.forms @ axes)
        m, problem = len(self.form.problem.row_lower), self.form.problem
        at_blocks = m + sum(cone.dimension for cone in problem.cones)
        for solver in (self.solver, *self._others) if len(program.q) else ():
            self.solves += 1
            raw = solver.solve(program, np.inf)
            if raw.dual is None or raw.ray:
                continue
            moved = self.form.multipliers(program, raw.dual).joined() + axes
            y, z, Z = np.split(moved, [m, at_blocks])
            return self.polish.improve(*box, y, z, Z)
        return None

    def _inside(self, multipliers: ConicMultipliers) -> float:
        """Return how far inside their cones multipliers are, at least, relative to their size."""
        problem, least = self.form.problem, np.inf
        begin = 0
        for cone in problem.cones:
            u = multipliers.cones[0, begin : begin + cone.dimension]
            # In a unit of their own: their squares may leave the range of numbers.
            head, norm = cone.head_and_norm(u / (np.abs(u).max(initial=0.0) or 1.0))
            if head > 0.0:
                least = min(least, 1.0 - norm / head)
            begin += cone.dimension
        begin = 0
        for block in problem.blocks:
            packed = multipliers.psd[0, begin : begin + block.dimension]
            values = np.linalg.eigvalsh(unpack_symmetric(packed, block.size))
            if values[-1] > 0.0:
                least = min(least, float(values[0] / values[-1]))
            begin += block.dimension
        return least

    def _disprove(self, box: Box, program: NodeProgram) -> Relaxed | None:
        """Return a disproof from the penalty form, if there is one."""
        penalty = relaxed(program)
        raw = self.solver.solve(penalty, np.inf)
        self.solves += 1
        if raw.dual is None:
            return None
        multipliers = self._as_disproof(box, self.form.multipliers(penalty, raw.dual))
        if self.judge.disproves(box, multipliers):
            return Relaxed(np.inf, multipliers, True, word="penalty form")
        return None

    def _idle(self, box: Box, program: NodeProgram) -> Relaxed | None:
        """Return a disproof by a constraint that no free variable is in."""
        rows, cones, blocks = program.idle
        if not (len(rows) or cones or blocks):
            return None
        if not (cones or blocks) and not self.form.missed(rows, program.fixed):
            return None
        multipliers = violated_constraint(self.form.problem, program.fixed, rows, cones, blocks)
        if multipliers is None or not self.judge.disproves(box, multipliers):
            return None
        return Relaxed(np.inf, multipliers, True, word="a constraint without free variables")

    def _as_disproof(self, box: Box, multipliers: ConicMultipliers) -> ConicMultipliers:
        """Return Farkas multipliers that cost nothing in variables without a bound.

        Neither do they where a bound is derived, if that can be had: the checker may not derive it.
        """
        judge, nearly = self.judge, None
        if np.isinf(np.concatenate(box)).any():
            # Whole numbers prove in the checker's rational arithmetic what rounding leaves open.
            few = [each for each in of_few_digits(multipliers) if judge.disproves(box, each)]
            if len(few) > 1:
                return few[-1]
        proven = judge.disproves_exactly(box, multipliers)
        for ends in self._with_open_ends(box, multipliers, proven, infeasible=True):
            exact = judge.exact_disproof(ends, multipliers)
            if exact is not None:
                return exact
            # Noise that a move would enlarge is left out before.
            for each in tidied(multipliers):
                given = each.rows[0], each.cones[0], each.psd[0]
                better = self.polish.improve(*ends, *given, infeasible=True)
                if judge.disproves_exactly(ends, better):
                    return better
                if nearly is None and judge.disproves(box, better):
                    nearly = better
        return nearly or multipliers

    def _with_open_ends(
        self, box: Box, multipliers: ConicMultipliers, proven: bool, infeasible: bool = False
    ) -> list[Box]:
        """Return boxes for which multipliers may be improved; the last is the one given.

        First that with free variables free, for what rounding leaves of their reduced costs would
        be charged at ends that are derived, and the checker may not derive them; then that where
        those are free that cost next to nothing. None where multipliers cannot be improved.
        """
        free = self.free & (box[0] < box[1])
        if not free.any():
            return [] if proven or not np.isinf(np.concatenate(box)).any() else [box]
        derived = free & (np.isfinite(box[0]) | np.isfinite(box[1]))
        if not derived.any():
            return [box]
        costs = self.judge.reduced_costs(multipliers, infeasible)
        size = np.abs(multipliers.joined()).max(initial=0.0) if infeasible else self.judge.scale
        sets = [free]
        with np.errstate(invalid="ignore"):
            charged = np.abs(costs) * np.maximum(np.abs(box[0]), np.abs(box[1]))
            cheap = derived & (charged <= CHEAP * size)
        if cheap.any() and not cheap[free].all():
            sets.append(cheap)
        opened = [(np.where(s, -np.inf, box[0]), np.where(s, np.inf, box[1])) for s in sets]
        return [*opened, box]

    def _settled(self, box: Box, x: Array) -> Relaxed:
        """Judge a box that is one point: it is feasible, or an eigenvector disproves it."""
        multipliers = violated_constraint(self.form.problem, x)
        if multipliers is not None and self.judge.disproves(box, multipliers):
            return Relaxed(np.inf, multipliers, True, word="a point that is not feasible")
        zero = self.judge.safe.zero()
        return Relaxed(self.judge.value(box, zero), zero, False, x, word="a point")


def _between(a: ConicMultipliers, b: ConicMultipliers, share: float) -> tuple[Array, Array, Array]:
    """Return y, z and Z of the first with a share of the second's."""
    y, z, Z = (
        (1.0 - share) * first[0] + share * second[0]
        for first, second in ((a.rows, b.rows), (a.cones, b.cones), (a.psd, b.psd))
    )
    return y, z, Z


def _useful(found: Relaxed) -> bool:
    return found.direction is not None or (found.x is not None and np.isfinite(found.bound))

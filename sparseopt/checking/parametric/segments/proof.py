"""Proof of a whole path: the certificate "segments", one basis for each range of lam.

1. The ranges meet without a hole, from infinity (or a proven end of the problem) down to where the
   path ends, and that is where the question or the problem ends it.
2. Each basis has exactly p coordinates at kinks and a regular kernel. The kernels are solved here
   anew, and the optimality conditions hold at both ends of each range (:mod:`.conditions`); so
   does the gap, which is also looked at in the middle (:mod:`..bases.objectives`).
3. The coefficients, multipliers and objective values that the path states solve the equations of
   those bases, and what the result states is the path's lower end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparseopt.checking.evidence import same_numbers
from sparseopt.checking.parametric.bases.kernels import SingularBasis
from sparseopt.checking.parametric.bases.layout import Layout, StoredPath, read_layout, read_path
from sparseopt.checking.parametric.bases.objectives import Quadratics, objective_and_gap
from sparseopt.checking.parametric.bases.precise import ILL, PreciseMatrix
from sparseopt.checking.parametric.bases.solutions import Bases, KernelSystems, Pair, solve_bases
from sparseopt.checking.parametric.bases.tables import CodeTables
from sparseopt.checking.parametric.ends.range import check_range
from sparseopt.checking.parametric.evaluation.point import (
    OF_X,
    coordinate_name,
    feasibility_doubt,
    primal_point,
    ratio_of,
)
from sparseopt.checking.parametric.evaluation.units import units_of
from sparseopt.checking.parametric.multipliers.path import PathMultipliers
from sparseopt.checking.parametric.segments.conditions import Breach, breaches
from sparseopt.checking.parametric.segments.stated import StatedNumbers, judge_stated
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import COPY, NOISE, OBJECTIVE, ROUNDING, SEGMENT, STORED
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.problem import ParametricProblem, PiecewiseLinearProgram
from sparseopt.result import Certificate, Result

_EXTENDED = 4
"""Kernels that are solved again in extended precision: the worst-conditioned and the last."""


def verify_segments(
    problem: ParametricProblem,
    program: PiecewiseLinearProgram,
    result: Result,
    certificate: Certificate,
    findings: Findings,
    exact: PreciseMatrix | None = None,
    doubtful_end: bool | None = None,
    tables: CodeTables | None = None,
) -> None:
    """Verify a path and all that the result states about it.

    ``arrays``: `low`, `high` (S,); `codes` (p + m,), the basis of the first segment; `change_ptr`
    (S + 1,), `changed`, `change_code`: before segment s the coordinates
    ``changed[change_ptr[s]:change_ptr[s + 1]]`` get these codes; where the problem ends,
    `farkas` (m,) or `ray` (p,), and `farkas_above` or `ray_above` for a path that does not begin
    at infinity.

    Parameters
    ----------
    problem : ParametricProblem
    program : PiecewiseLinearProgram
        Its general form.
    result : Result
    certificate : Certificate
        Of the result.
    findings : Findings
        Gets what was found.
    exact : PreciseMatrix, optional
        That of A, where several paths have it in common.
    doubtful_end : bool, optional
        Whether the point at the end is to be proven in 106 bits. Default: where it seems to be
        infeasible by rounding; its kernel is solved anew in any case.
    tables : CodeTables, optional
        Those of a program that differs in the constants of a few kinks. They are changed.

    Raises
    ------
    Malformed
    """
    if not isinstance(result.path, ParametricPath):
        findings.refute("the certificate is for a path, but there is no path")
        return
    findings.cover("path", "duals")
    pieces = program.functions
    layout = read_layout(certificate, 2 * pieces.counts)
    if tables is None:
        tables = CodeTables(pieces, layout.codes, layout.changed)
    else:
        tables.move(pieces)
    stored = read_path(program, result.path)
    if not (np.array_equal(layout.low, stored.low) and np.array_equal(layout.high, stored.high)):
        findings.refute("the path and its certificate differ in the ranges of their segments")
        return
    check_range(program, result, certificate, stored, findings)
    findings.measure("stored", 0.0)
    multipliers = PathMultipliers(
        program, pieces, layout, stored, units_of(program), result.params.rel_gap
    )
    exact = exact or PreciseMatrix(program.A)
    proof = _ProofOfSegments(problem, program, exact, tables, layout, stored, multipliers, findings)
    proof.doubtful_end = doubtful_end
    for stated in judge_stated(program, tables, layout, stored, multipliers, proof.units.factor):
        proof.adopt(stated)
    for here, codes in layout.chunks(proof.open):
        if not proof.chunk(here, codes):
            return
    proof.extended()
    proof.settle()
    _check_end(result, proof, findings)
    if proof.exact_end:
        # the exact solution is feasible and has the objective stated; x is that, rounded
        for about in OF_X:
            findings.settle(about)
    count = f"{len(layout)} segment" + "s" * (len(layout) != 1)
    findings.prove(f"optimal for lam in [{layout.low[-1]:g}, {layout.high[0]:g}]: {count}")


@dataclass(frozen=True, eq=False)
class _Suspect:
    """A kernel to be solved again in extended precision."""

    rcond: float
    system: KernelSystems
    theta: Array
    nu: Array


class _ProofOfSegments:
    """The proof of the segments, chunk by chunk."""

    def __init__(
        self,
        problem: ParametricProblem,
        program: PiecewiseLinearProgram,
        exact: PreciseMatrix,
        tables: CodeTables,
        layout: Layout,
        stored: StoredPath,
        multipliers: PathMultipliers,
        findings: Findings,
    ) -> None:
        self.multipliers = multipliers
        self.sign = problem.canonical_sign
        self.program = program
        self.units = units_of(program)
        self.exact = exact
        self.tables = tables
        self.layout = layout
        self.stored = stored
        self.findings = findings
        self.count = 0
        self.suspects: list[_Suspect] = []
        self.exact_end = False
        self.doubtful_end: bool | None = None
        self.end: tuple[float, float] | None = None
        self.open = np.ones(len(layout), dtype=bool)

    def adopt(self, stated: StatedNumbers) -> None:
        """Close the segments that are proven by the numbers stated."""
        here, last = np.arange(stated.here.start, stated.here.stop), len(self.layout) - 1
        within = stated.clear & ((here < last) | (self.doubtful_end is False))
        errors = self._errors(here, stated.sums)
        for _, values, tolerance, _ in errors:
            within &= values <= tolerance
        within &= self._off(here, stated.sums, np.zeros(len(here), dtype=bool))[0] <= 1.0
        self.open[here] = ~within
        sides = ("primal", stated.primal), ("dual", stated.dual)
        for name, values in (*sides, *((name, values) for name, values, _, _ in errors)):
            self.findings.measure(name, values[within].max(initial=0.0))
        if here[-1] == last:
            self._set_end(stated.sums)

    def chunk(self, here: Array, codes: Array) -> bool:
        """Prove the segments of one chunk; return False after refuting one."""
        before = self.count
        self._prove(here, codes)
        return self.count == before

    def _prove(self, here: Array, codes: Array) -> None:
        p = self.program.A.shape[1]
        low, high = self.layout.low[here], self.layout.high[here]
        at_kinks = (codes & 1).sum(axis=1)
        if (at_kinks != p).any():
            s = int(np.argmax(at_kinks != p))
            self._refute(here, s, f"{at_kinks[s]} coordinates are at kinks; a basis has {p}")
            return
        allowed = self.tables.allowed[self.tables.start + codes]
        if not allowed.all():
            s, at = (int(part[0]) for part in np.nonzero(~allowed))
            self._refute(here, s, f"{self._name(at)} is on a piece of infinite slope")
            return
        for ill in (ILL, np.inf):
            try:
                bases = solve_bases(self.program.A, self.tables, codes, low, self.exact, ill)
            except SingularBasis as error:
                self._refute(here, error.segment, f"the kernel of its basis {error}")
                return
            if not all(np.isfinite(part).all() for pair in (bases.z, bases.v) for part in pair):
                self._refute(here, 0, "the solution of its basis, or of one behind it, is infinite")
                return
            rounding = ROUNDING / bases.rcond
            found = breaches(self.program.A, self.tables, bases, low, high, rounding, self.units)
            sums = objective_and_gap(self.tables, bases, low, self.program.offset)
            if not self.exact.affordable or not self._doubtful(here, bases, found, sums):
                break
        before = self.count
        for breach in found:
            self.findings.measure(breach.side, breach.ratio)
            if breach.ratio > SEGMENT:
                self._judge(here, breach)
        if self.count == before:
            self._check_objectives(here, bases, sums)
            self._check_stored(here, codes, bases)
            self._remember(here, bases)

    def _doubtful(
        self, here: Array, bases: Bases, found: tuple[Breach, Breach], sums: Quadratics
    ) -> bool:
        """Return whether double precision leaves doubts about a chunk: 106 bits are to decide."""
        if any(breach.ratio > SEGMENT for breach in found):
            return True
        if any(
            not (values <= tolerance).all() for _, values, tolerance, _ in self._errors(here, sums)
        ):
            return True
        if (self._off(here, sums, bases.exact)[0] > 1.0).any():
            return True
        last = here[-1] == len(self.layout) - 1
        if not last or self.doubtful_end:
            return bool(last)
        theta = self.stored.theta.dense(here[-1:])[0][0]
        return bool(feasibility_doubt(primal_point(self.program, theta), self.layout.low[-1]))

    def _judge(self, here: Array, breach: Breach) -> None:
        s, at, place = breach.where
        what = "leaves its piece" if breach.side == "primal" else "leaves its slopes"
        message = f"{self._name(at)} {what} by {breach.ratio:.3g} of its scale ({place})"
        if breach.certain:
            self._refute(here, s, message)
        else:
            self.findings.doubt(
                f"segment {here[s]}: {message}, which its "
                "ill-conditioned kernel or the size of other coordinates may explain"
            )

    def _errors(self, here: Array, sums: Quadratics) -> tuple[tuple[str, Array, float, str], ...]:
        """Return gaps and errors of stated values, relative to their terms, with tolerances."""
        low, high, length = self.layout.low[here], self.layout.high[here], self.stored.lengths(here)
        stated = sums.errors(self.sign * self.stored.objective[here], length, COPY / OBJECTIVE)
        return (
            ("gap", sums.relative_gaps(high - low), SEGMENT, "primal and dual do not meet"),
            ("objective", stated, OBJECTIVE, "its stated objective is not that of its basis"),
        )

    def _check_objectives(self, here: Array, bases: Bases, sums: Quadratics) -> None:
        low, high = self.layout.low[here], self.layout.high[here]
        self.multipliers.collect(here, bases, low, high, sums)
        for name, values, tolerance, message in self._errors(here, sums):
            worst = int(np.argmax(values))
            self.findings.measure(name, values[worst])
            if not values[worst] <= tolerance:
                self._refute(here, worst, f"{message} (by {values[worst]:.3g} of the terms)")
        ratio, off = self._off(here, sums, bases.exact)
        s = int(np.argmax(ratio))
        if ratio[s] > 1.0:
            self.findings.doubt(
                f"segment {here[s]}: its objective is off by {off[s]:.3g}, which "
                "only the size of terms that cancel explains"
            )
        if here[-1] == len(self.layout) - 1:
            self._set_end(sums)

    def _set_end(self, sums: Quadratics) -> None:
        """Remember the bound at the path's end, and the size of its terms."""
        length = self.stored.lengths(np.array([len(self.layout) - 1]))
        size = sums.sizes(length, COPY / OBJECTIVE)[0, -1]
        self.end = (float(sums.value[0, -1] - sums.gap[0, -1]), float(size))

    def _off(self, here: Array, sums: Quadratics, exact: Array) -> tuple[Array, Array]:
        """Return each segment's error relative to what is allowed, and the error itself.

        Errors that only terms explain which cancel: in the unit of the data they count. At each end
        and in the middle they are measured by what is there: values at the other end may be 10^12
        times as large. The gap of a basis is zero but for rounding, which 106 bits leave none of.
        """
        low, high = self.layout.low[here], self.layout.high[here]
        length = self.stored.lengths(here)
        stated = self.sign * self.stored.objective[here].T
        judged = np.isfinite(high) & ~exact
        worst, difference = np.zeros(len(low)), np.zeros(len(low))
        for part in (0.0, 0.5, 1.0):
            step = part * length
            powers = np.stack([np.ones_like(step), step, step * step])
            value, gap = (np.abs((powers * each).sum(axis=0)) for each in (sums.value, sums.gap))
            off = np.abs((powers * (stated - sums.value)).sum(axis=0))
            off = np.maximum(off, np.where(judged, gap, 0.0))
            units = self.units.rounding(low + step, (powers * sums.terms).sum(axis=0))
            units *= sum(self.program.A.shape)
            # Coefficients in double precision say no more than this of a value that they cancel to.
            units = np.maximum(units, (powers * np.abs(sums.value)).sum(axis=0))
            allowed = np.maximum(OBJECTIVE * value, NOISE * units)
            ratio = ratio_of(off, allowed)
            difference = np.where(ratio > worst, off, difference)
            worst = np.maximum(worst, ratio)
        return worst, difference

    def _check_stored(self, here: Array, codes: Array, bases: Bases) -> None:
        for found in _discrepancies(self.stored, here, codes, bases):
            if found.explained:
                self.findings.doubt(f"segment {here[found.segment]}: {found.message}")
                continue
            self.findings.measure("stored", found.error)
            if not found.error <= STORED:
                self._refute(here, found.segment, found.message)

    def _remember(self, here: Array, bases: Bases) -> None:
        last = int(np.searchsorted(here, len(self.layout) - 1))
        for systems in bases.systems:
            worst = np.argsort(systems.rcond, kind="stable")[:_EXTENDED]
            final = np.flatnonzero(systems.segments == last)
            for at in np.union1d(worst, final).tolist():
                system, s = systems[at : at + 1], int(systems.segments[at])
                rcond = float(system.rcond[0])
                if s == last:
                    rcond = 0.0
                    self.exact_end = bool(system.exact[0]) and _same_theta(
                        self.stored, here, s, bases
                    )
                theta, nu = bases.theta[0][s, system.columns], bases.nu[0][s, system.rows]
                self.suspects.append(_Suspect(rcond, system, theta[..., None], nu[..., None]))
        self.suspects = sorted(self.suspects, key=lambda suspect: suspect.rcond)[:_EXTENDED]

    def extended(self) -> None:
        """Solve the worst kernels and the last one again in extended precision."""
        for suspect in (one for one in self.suspects if not one.system.exact[0]):
            self.findings.measure(
                "extended", suspect.system.extended_error(suspect.theta, suspect.nu)
            )

    def settle(self) -> None:
        """Decide on multipliers that rounding may have put outside their slopes."""
        for segment, at, lam in self.multipliers.doubts():
            self.findings.doubt(
                f"segment {segment}: the multiplier of {self._name(at)} may be outside its slopes "
                f"at lam = {lam:g} by rounding, and nothing bounds what that costs"
            )

    def _name(self, coordinate: int) -> str:
        return coordinate_name(self.program, coordinate)

    def _refute(self, here: Array, s: int, message: str) -> None:
        self.count += 1
        at = here[s]
        self.findings.refute(
            f"segment {at} [{self.layout.low[at]:.6g}, {self.layout.high[at]:.6g}]: {message}"
        )


@dataclass(frozen=True)
class _Discrepancy:
    """By how much stated numbers of a segment are off, to be compared with :data:`STORED`."""

    segment: int
    error: float
    message: str
    explained: bool = False
    """Whether the size of numbers elsewhere on the segment explains it."""


def _same_theta(path: StoredPath, here: Array, segment: int, bases: Bases) -> bool:
    """Return whether the stated coefficients of a segment's lower end are those of its basis."""
    stated, found = path.theta.dense(here[segment : segment + 1])[0][0], bases.theta[0][segment]
    return bool((np.abs(stated - found) <= COPY * np.abs(found)).all())


def _discrepancies(
    path: StoredPath, here: Array, codes: Array, bases: Bases
) -> Iterator[_Discrepancy]:
    """Compare the stated theta and nu of a chunk of segments with their bases.

    Variables at kinks and multipliers of rows on pieces are known numbers, which are only copied:
    they agree to 1e-12 of the segment's largest. The others do so too, or solve the equations of
    the kernel to a backward error of 1e-9: an equation that says nu_i = 0, as that of a slack
    without costs, has no terms to measure such an error by. Values have rounding errors that come
    from the rates (at lam = 1000 a value may be the difference of two large numbers), and rates
    from the values: what changes no value on the segment by more than 1e-12 of such terms is
    ignored.
    """
    p = bases.theta[0].shape[1]
    theta, nu = path.theta.dense(here), path.nu.dense(here)
    length = path.lengths(here)
    reach = path.low[here] + length
    copied = np.concatenate([(codes[:, :p] & 1) == 1, (codes[:, p:] & 1) == 0], axis=1)
    largest = np.stack([[np.abs(x).max(axis=1) for x in pair] for pair in (bases.theta, bases.nu)])
    sizes = (
        largest[:, 0] + reach * largest[:, 1],
        largest[:, 1] + largest[:, 0] / length,
    )
    for part, name in ((0, "value"), (1, "rate")):
        size = np.repeat(sizes[part].T, (p, codes.shape[1] - p), axis=1)
        stated = np.concatenate([theta[part], nu[part]], axis=1)
        expected = np.concatenate([bases.theta[part], bases.nu[part]], axis=1)
        wrong = copied & (np.abs(stated - expected) > COPY * size)
        if wrong.any():
            s, at = (int(k[0]) for k in np.nonzero(wrong))
            kind = f"variable {at}" if at < p else f"row {at - p}"
            yield _Discrepancy(
                s,
                np.inf,
                f"the stated {name} {stated[s, at]:.17g} of {kind} is not {expected[s, at]:.17g}",
            )
    yield from _of_kernels(bases, theta, nu, sizes, reach, length)
    yield from _off_below(bases, theta, nu, copied, path.low[here], length)


def _off_below(
    bases: Bases, theta: Pair, nu: Pair, copied: Array, low: Array, length: Array
) -> Iterator[_Discrepancy]:
    """Compare values with the sizes of those at lower ends alone, and of lam times their rates.

    Upper ends may be 10^12 times as far, and what is little there is not so on the way. Numbers
    that solve the equations may be off by what the kernel's condition makes of rounding.
    """
    p, noise = theta[0].shape[1], COPY / STORED
    for side, (name, stated, found, known) in enumerate(
        (
            ("theta", theta, bases.theta, copied[:, :p]),
            ("nu", nu, bases.nu, copied[:, p:]),
        )
    ):
        value, rate = (np.abs(part).max(axis=1) for part in found)
        off, near = np.abs(stated[0] - found[0]), value + low * rate
        suspect = off.max(axis=1) > SEGMENT * near
        if not suspect.any():
            continue
        wrong = np.where(known, off, 0.0).max(axis=1) > SEGMENT * near
        for systems in bases.systems:
            here = systems.segments
            x, u = _beside(theta, here, systems.columns), _beside(nu, here, systems.rows)
            solved = systems.backward_errors(x, u, noise * low[here], noise / length[here])[side]
            wrong[here] |= suspect[here] & (solved > STORED)
        for segment in np.flatnonzero(wrong).tolist():
            error = float(ratio_of(off[segment].max(), near[segment]))
            message = f"the stated {name} is off by {error:.3g} where lam is low"
            yield _Discrepancy(segment, error, message, explained=True)


def _of_kernels(
    bases: Bases, theta: Pair, nu: Pair, sizes: tuple[Array, Array], reach: Array, length: Array
) -> Iterator[_Discrepancy]:
    """Compare stated theta_C and nu_R; `sizes` are those of values and rates, (2, q) each."""
    noise = COPY / STORED
    for systems in bases.systems:
        here = systems.segments
        x, found_x = (_beside(pair, here, systems.columns) for pair in (theta, bases.theta))
        u, found_u = (_beside(pair, here, systems.rows) for pair in (nu, bases.nu))
        errors = systems.backward_errors(x, u, noise * reach[here], noise / length[here])
        off = np.abs(x - found_x).max(axis=1), np.abs(u - found_u).max(axis=1)
        for side, name in enumerate(("theta", "nu")):
            unit = noise * np.stack([size[side, here] for size in sizes], axis=1)
            error = np.minimum(errors[side], ratio_of(off[side], unit).max(axis=1))
            worst = int(np.argmax(error))
            yield _Discrepancy(
                int(here[worst]),
                float(error[worst]),
                f"the stated {name} does not solve the equations of its basis (backward error "
                f"{error[worst]:.3g})",
            )


def _beside(pair: Pair, segments: Array, at: Array) -> Array:
    """Return values and rates of some coordinates of each segment side by side, (g, k, 2)."""
    return np.stack([part[segments[:, None], at] for part in pair], axis=-1)


def _check_end(result: Result, proof: _ProofOfSegments, findings: Findings) -> None:
    """Compare what the result states with the lower end of its path."""
    assert proof.end is not None
    stored, last = proof.stored, len(proof.layout) - 1
    here = np.array([last])
    expected = {
        "x": (result.x, stored.theta.dense(here)[0][0]),
        "the row multipliers": (result.duals.get("rows"), stored.nu.dense(here)[0][0]),
    }
    for name, (stated, row) in expected.items():
        if stated is not None and not same_numbers(stated, row, COPY):
            findings.refute(f"{name} of the result is not that of the path's end")
    bound, terms = proof.end
    size = max(abs(bound), terms)
    if result.objective is not None:
        error = abs(result.objective - float(stored.objective[last, 0]))
        if not error <= OBJECTIVE * size:
            findings.refute("the objective of the result is not that of the path's end")
    if result.bound is not None and not proof.sign * result.bound <= bound + SEGMENT * size:
        findings.refute(
            f"the stated bound {result.bound:.17g} is not proven: the path's end gives "
            f"{proof.sign * bound:.17g}"
        )

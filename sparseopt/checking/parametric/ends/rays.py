r"""Proofs that there is no optimum: Farkas multipliers and rays.

**Farkas.** For multipliers nu and v = (-A'nu, nu), every theta has v'z = 0, so that

.. math:: \sigma(\lambda) = \sum_i \max_{z_i \in dom_i(\lambda)} v_i z_i < 0

leaves no feasible point. The domains' ends are affine in lam, so sigma is.

**Ray.** A direction d of theta, with z-direction w = (d, A d), costs

.. math:: \rho(\lambda) = \sum_i f_i^\infty(w_i; \lambda)

per step, affine in lam as well; rho < 0 leaves no bound wherever there is a feasible point.

Coordinates that may not move (a multiplier towards an unbounded side, a direction out of a domain)
must vanish exactly: what is left might be worth anything, far enough out. Where rounding leaves the
sign open, evidence beside the one given is computed in rational arithmetic, with zeros in these
places (:func:`~sparseopt.checking.parametric.evaluation.rational.solve_near`); where there is none,
the evidence proves nothing. Beyond 1e-9 of the terms it is false. A negative sum within 1e-9 of its
terms is too close to zero to prove anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sparseopt.checking.evidence import Malformed, numbers
from sparseopt.checking.parametric.evaluation.point import (
    coordinate_name,
    primal_point,
    rounding_errors,
)
from sparseopt.checking.parametric.evaluation.rational import (
    Budget,
    entries,
    fractions_of,
    only_zero_solves,
    solve_near,
)
from sparseopt.checking.parametric.evaluation.units import units_of
from sparseopt.checking.parametric.evaluation.verified_equations import (
    ENTRIES,
    Enclosure,
    enclose,
    entries_are_exact,
)
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import FEASIBILITY, SEGMENT, SUMMATION
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import LinearMap
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.proofs.double_double import DoubleDouble, exact_block
from sparseopt.result import Certificate, Result

_ROUNDS = 4
"""How often coordinates are added that a change of others moves."""
_FAR = 1e-10
"""Rounding errors of a product that are more than this of a whole sum are computed away."""


@dataclass(frozen=True)
class Affine:
    """A sum that is affine in lam, with the sums of its terms' absolute values and errors.

    `moving` is by how much coordinates may move that must not, in all, per unit of the largest
    coordinate (of theta, or of a ray's step): 0 where the evidence is exact, infinite where more
    than rounding errors are in the way; `doubt` says so in words. `falls` says that the rate is
    surely not positive: a range of lam has no end, where a rate of 1e-17 may turn the sign.
    """

    constant: float
    rate: float
    constant_terms: float
    rate_terms: float
    constant_error: float
    rate_error: float
    moving: float
    doubt: str
    falls: bool

    def at(self, lam: float) -> float:
        """Return the value at lam."""
        return self.constant + lam * self.rate

    def root(self) -> float:
        """Return the lam at which the value is zero, where the rate is not."""
        return -self.constant / self.rate

    def terms(self, lam: float) -> float:
        """Return the size of the terms at lam."""
        return self.constant_terms + lam * self.rate_terms

    def negative(self, lam: float) -> bool:
        """Return whether the value at lam is surely negative."""
        error = self.constant_error + lam * self.rate_error
        return self.at(lam) < -SEGMENT * self.terms(lam) - error

    def doubtful(self, lam: float) -> bool:
        """Return whether the value at lam is zero up to rounding, and not by having no terms."""
        error = self.constant_error + lam * self.rate_error
        return self.terms(lam) > 0.0 and abs(self.at(lam)) <= SEGMENT * self.terms(lam) + error


def farkas_sum(program: PiecewiseLinearProgram, nu: Array) -> Affine | str:
    """Return sigma of the multipliers, or what is wrong with them.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    nu : array of shape (m,)

    Returns
    -------
    Affine or str
    """
    p = program.A.shape[1]
    pieces = program.functions
    first, last = pieces.slope_ptr[:-1], pieces.slope_ptr[1:] - 1
    open_below = ~np.isneginf(pieces.slope[first])
    open_above = ~np.isposinf(pieces.slope[last])
    rows_below, rows_above = open_below[p:], open_above[p:]
    wrong = ((nu > 0.0) & rows_above) | ((nu < 0.0) & rows_below)
    largest = float(np.abs(nu).max(initial=0.0))
    if (wrong & (np.abs(nu) > SEGMENT * largest)).any():
        at = int(np.argmax(wrong * np.abs(nu)))
        return f"row {at} is unbounded on the side that its multiplier {nu[at]:g} points to"
    nu = np.where(wrong, 0.0, nu)
    columns = _Images(program.A, transposed=True)
    v, size, error = columns.of(nu)
    above, below = open_above[:p], open_below[:p]
    wrong = ((v < 0.0) & above) | ((v > 0.0) & below)
    if (wrong & (np.abs(v) > SEGMENT * size)).any():
        at = int(np.argmax(wrong * np.abs(v)))
        return (
            f"{coordinate_name(program, at)} is unbounded on the side that its multiplier "
            f"{-v[at]:g} points to"
        )
    far = np.maximum.reduceat(np.abs(pieces.kink) + np.abs(pieces.kink_rate), pieces.ptr[:-1])[:p]
    # Rates count at the least lam of the data: at 1 they may be all that there is.
    kinks = np.abs(pieces.kink) + units_of(program).least_lam * np.abs(pieces.kink_rate)
    whole = _sure_sum(pieces, kinks, nu, v, error)
    # Rounding errors that a far bound makes much of are to be zero, if that can be.
    idle = (np.abs(v) <= error) & (error * far > _FAR * whole)
    exact = columns.without(nu, above | idle, below | idle) if idle.any() else None
    if exact is None:
        exact = columns.without(nu, above, below)
    if exact is not None:
        nu, still = exact
        v, size, error = columns.of(nu)
        v[still] = error[still] = 0.0
    moving = 0.0 if exact is not None else columns.moving(nu, above, below)
    columns.sharpen(nu, v, error, far, _sure_sum(pieces, kinks, nu, v, error))
    v, error = np.concatenate([-v, nu]), np.concatenate([error, np.zeros(len(nu))])
    end = _ends(pieces, v)
    return _affine(v, error, pieces.kink[end], pieces.kink_rate[end], moving, "multipliers")


def _sure_sum(pieces: Pieces, kinks: Array, nu: Array, v: Array, error: Array) -> float:
    """Return the size of the sum of the terms whose multipliers are more than rounding errors."""
    at_end = kinks[_ends(pieces, np.concatenate([-v, nu]))]
    sure = np.append(np.abs(v) > error, np.ones(len(nu), dtype=bool))
    return float(np.abs(np.append(v, nu))[sure] @ at_end[sure])


def _ends(pieces: Pieces, v: Array) -> Array:
    """Return the places of the kinks at which v z is largest in each domain."""
    return np.where(v > 0.0, pieces.ptr[1:] - 1, pieces.ptr[:-1])


def ray_cost(program: PiecewiseLinearProgram, ray: Array) -> Affine | str:
    """Return rho of the direction, or what is wrong with it.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    ray : array of shape (p,)

    Returns
    -------
    Affine or str
    """
    pieces = program.functions
    first, last = program.phi.slope_ptr[:-1], program.phi.slope_ptr[1:] - 1
    barred = (ray > 0.0) & np.isposinf(program.phi.slope[last])
    barred |= (ray < 0.0) & np.isneginf(program.phi.slope[first])
    # A direction without what points out of a bound by rounding is one as well.
    ray = np.where(barred & (np.abs(ray) <= SEGMENT * np.abs(ray).max(initial=0.0)), 0.0, ray)
    rows = _Images(program.A)
    w, size, error = rows.of(ray)
    first, last = program.psi.slope_ptr[:-1], program.psi.slope_ptr[1:] - 1
    above, below = np.isposinf(program.psi.slope[last]), np.isneginf(program.psi.slope[first])
    wrong = ((w > 0.0) & above) | ((w < 0.0) & below)
    wrong &= np.abs(w) > SEGMENT * size
    leaves = np.concatenate([barred & (ray != 0.0), wrong])
    if leaves.any():
        at = int(np.argmax(leaves))
        return f"the direction leaves the domain of {coordinate_name(program, at)}"
    exact = rows.without(ray, below, above)
    if exact is not None:
        ray, still = exact
        w, size, error = rows.of(ray)
        w[still] = error[still] = 0.0
    moving = 0.0 if exact is not None else rows.moving(ray, below, above)
    w, error = np.concatenate([ray, w]), np.concatenate([np.zeros(len(ray)), error])
    outer = np.where(w > 0.0, pieces.slope_ptr[1:] - 1, pieces.slope_ptr[:-1])
    slope = np.where((w == 0.0) | np.isinf(pieces.slope[outer]), 0.0, pieces.slope[outer])
    rate = np.where(w == 0.0, 0.0, pieces.slope_rate[outer])
    return _affine(w, error, slope, rate, moving, "direction")


@dataclass(frozen=True)
class _Images:
    """Products of A, or of A', with a vector, and their signs."""

    A: LinearMap
    transposed: bool = False

    def of(self, x: Array) -> tuple[Array, Array, Array]:
        """Return the product, the sizes of its terms, and bounds of its rounding errors."""
        A, size = self.A, np.abs(x)
        if self.transposed:
            product, terms = A.rmatvec(x), A.abs_rmatvec(size)
        else:
            product, terms = A.matvec(x), A.abs_matvec(size)
        return product, terms, rounding_errors(terms)

    def without(
        self, x: Array, barred_below: Array, barred_above: Array
    ) -> tuple[Array, Array] | None:
        """Return a vector near x whose product has no entry on a barred side.

        Signs that rounding leaves open are those of a vector with the same zeros and signs, off by
        less than 1e-9 of each entry, whose product vanishes there. Returns it rounded, and where
        its product is exactly zero; None where there is none, or where that takes too long.
        """
        product, terms, error = self.of(x)
        places = np.zeros(len(product), dtype=bool)
        support, budget, moved = np.flatnonzero(x), Budget(), np.zeros(len(x))
        given = x[support]
        for _ in range(_ROUNDS):
            unclear = (barred_below & (product < error)) | (barred_above & (product > -error))
            unclear &= terms > 0.0
            if not (unclear & ~places).any():
                exact = x.copy()
                exact[support] = given
                return exact, places
            places |= unclear
            found = self._vanishing(np.flatnonzero(places), support, x[support], budget)
            if found is None:
                return None
            given, moved[support] = found
            if (moved > SEGMENT * np.abs(x)).any():
                return None
            error = rounding_errors(terms) + self.of(moved)[1]
        return None

    def _vanishing(
        self, places: Array, support: Array, x: Array, budget: Budget
    ) -> tuple[Array, Array] | None:
        """Return entries near x of a vector whose product vanishes at some places, exactly.

        Rounded, and how far from x they are; None where there are none.
        """
        enclosed = self._enclosed(places, support, x)
        if enclosed is not None:
            given = enclosed.x.high
            return given, np.abs(given - x) + 2.0 * enclosed.radius
        equations = self._equations(places, support, budget)
        if equations is None or only_zero_solves(equations, len(support)):
            return None
        zero = [Fraction(0)] * len(equations)
        found = solve_near(equations, [zero], [fractions_of(x)], budget)
        if found is None:
            return None
        given = np.array([float(value) for value in found[0]])
        return given, np.abs(given - x)

    def _enclosed(self, places: Array, support: Array, x: Array) -> Enclosure | None:
        """Return an enclosure of such entries, where the equations are far from singular."""
        if len(places) * len(support) > ENTRIES or not entries_are_exact(self.A):
            return None
        rows, columns = (support, places) if self.transposed else (places, support)
        block = exact_block(self.A, rows, columns)
        zero = DoubleDouble(np.zeros(len(places)))
        every = np.arange(len(support))
        found = enclose(block.T if self.transposed else block, zero, DoubleDouble(x), every)
        # products of the rounded entries are taken to be off by rounding errors alone
        return found if found is not None and found.sharp else None

    def sharpen(self, x: Array, product: Array, error: Array, reach: Array, whole: float) -> None:
        """Compute products anew in rational arithmetic, in place, where their errors reach far.

        Parameters
        ----------
        x : array of shape (k,)
        product, error : arrays of shape (q,), changed
            What :meth:`of` returned for x.
        reach : array of shape (q,)
            What each entry of the product is multiplied by: a bound that nothing reaches makes
            much of its rounding error.
        whole : float
            The size of the sum that these products are part of.
        """
        places, support = np.flatnonzero(error * reach > _FAR * whole), np.flatnonzero(x)
        equations = self._equations(places, support, Budget())
        if equations is None:
            return
        given = fractions_of(x[support])
        for at, row in zip(places.tolist(), equations, strict=True):
            product[at] = float(sum((a * given[j] for j, a in row.items()), Fraction(0)))
            error[at] = np.finfo(float).eps * abs(product[at])

    def moving(self, x: Array, barred_below: Array, barred_above: Array) -> float:
        """Return the largest entry of the product on a barred side, if they are all rounding."""
        product, _, error = self.of(x)
        out = np.where(barred_below, -product, -np.inf)
        out = np.maximum(out, np.where(barred_above, product, -np.inf))
        return np.inf if (out > error).any() else float((out + error).max())

    def _equations(
        self, places: Array, support: Array, budget: Budget
    ) -> list[dict[int, Fraction]] | None:
        if not self.transposed:
            return entries(self.A, places, support, budget)
        block = entries(self.A, support, places, budget)
        if block is None:
            return None
        rows: list[dict[int, Fraction]] = [{} for _ in places]
        for k, row in enumerate(block):
            for j, a in row.items():
                rows[j][k] = a
        return rows


def _affine(
    weights: Array, errors: Array, constants: Array, rates: Array, moving: float, word: str
) -> Affine:
    one, two = weights * constants, weights * rates
    doubt = (
        f"the evidence holds up to rounding only: no {word} nearby leave the coordinates that must "
        "not move exactly where they are"
    )
    rate, rate_terms = float(two.sum()), float(np.abs(two).sum())
    rate_error = float(errors @ np.abs(rates))
    return Affine(
        float(one.sum()),
        rate,
        float(np.abs(one).sum()),
        rate_terms,
        float(errors @ np.abs(constants)),
        rate_error,
        moving,
        doubt if moving else "",
        rate + rate_error <= -SUMMATION * rate_terms
        or (rate_error == 0.0 and _exact_sum(weights, rates) <= 0),
    )


def _exact_sum(weights: Array, rates: Array) -> Fraction:
    """Return the sum of products of floating-point numbers without rounding."""
    used = np.flatnonzero((weights != 0.0) & (rates != 0.0))
    pairs = zip(weights[used].tolist(), rates[used].tolist(), strict=True)
    return sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))


def verify_infeasible(
    program: PiecewiseLinearProgram, result: Result, certificate: Certificate, findings: Findings
) -> None:
    """Judge the claim INFEASIBLE by ``arrays["nu"]``.

    Where a path was asked for, the claim is that nothing is feasible at any lam of its range; a
    certificate for part of the range (``values["lam"]``) is a proof for that part only. The range
    may be covered by two multipliers, ``arrays["nu_above"]`` for the larger lam.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    result : Result
    certificate : Certificate
        Of the result.
    findings : Findings
        Gets what was found.

    Raises
    ------
    Malformed
    """
    if "nu_above" in certificate.arrays:
        _judge_halves(program, result, certificate, findings)
        return
    nu = numbers(certificate.arrays, "nu", (program.A.shape[0],))
    sigma = farkas_sum(program, nu)
    if isinstance(sigma, str):
        findings.refute(f"the Farkas multipliers prove nothing: {sigma}")
        return
    whole = sigma.negative(result.params.lam_min or 0.0) and sigma.falls
    _judge(sigma, result, certificate, findings, "infeasible", lambda lam: None, whole)


def _judge_halves(
    program: PiecewiseLinearProgram, result: Result, certificate: Certificate, findings: Findings
) -> None:
    """Prove INFEASIBLE for a whole range by two multipliers whose half lines overlap."""
    if result.params.lam is not None:
        raise Malformed("nu_above is for a question about a path")
    sums = []
    for name in ("nu", "nu_above"):
        sigma = farkas_sum(program, numbers(certificate.arrays, name, (program.A.shape[0],)))
        if isinstance(sigma, str):
            findings.refute(f"the Farkas multipliers {name} prove nothing: {sigma}")
            return
        _pass_on(sigma, findings)
        sums.append(sigma)
    below, above = sums
    end = result.params.lam_min or 0.0
    _doubt_rise(above, findings)
    if not (below.rate > 0.0 > above.rate):
        findings.refute("the Farkas sums do not rise and fall with lam; one of each was expected")
        return
    # both half lines hold the middle between their ends, where they overlap
    middle = max(end, -0.5 * (below.constant / below.rate + above.constant / above.rate))
    for lam, sigma in ((end, below), (middle, below), (middle, above)):
        if not sigma.negative(lam):
            findings.refute(
                f"the evidence does not prove the problem infeasible at lam = {lam:g}: its sum is "
                f"{sigma.at(lam):.6g}, expected a negative number"
            )
            return
    findings.prove(f"infeasible at all lam >= {end:g}, by two multipliers")


def verify_unbounded(
    program: PiecewiseLinearProgram, result: Result, certificate: Certificate, findings: Findings
) -> None:
    """Judge the claim UNBOUNDED by ``arrays["ray"]`` and the feasible point ``arrays["x"]``.

    Where a path was asked for, the claim is that no lam of its range has an optimum, and that the
    problem is unbounded at one of them at least: that of the point, ``values["lam"]``. At others it
    may be infeasible: ``arrays["ray_above"]``, ``arrays["farkas"]`` and ``arrays["farkas_above"]``
    rule out an optimum where the ray does not.

    A whole range may instead be covered by points that are affine in lam:
    ``x[k] + (lam - low[k]) x_rate[k]`` from ``low[k]`` up to ``low[k - 1]``, or to infinity; and by
    one direction for all lam, or two, ``arrays["ray_above"]`` for the larger ones.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    result : Result
    certificate : Certificate
        Of the result.
    findings : Findings
        Gets what was found.

    Raises
    ------
    Malformed
    """
    p = program.A.shape[1]
    if "low" in certificate.arrays:
        _judge_range(program, result, certificate, findings)
        return
    rho = ray_cost(program, numbers(certificate.arrays, "ray", (p,)))
    if isinstance(rho, str):
        findings.refute(f"the ray proves nothing: {rho}")
        return
    point = primal_point(program, numbers(certificate.arrays, "x", (p,)))

    def violated(lam: float) -> str | None:
        violation, at = point.strict_violation(lam)
        if violation <= FEASIBILITY:
            return None
        return (
            f"the ray starts at an infeasible point: it violates {point.name(at)} by "
            f"{violation:.3g} of its scale at lam = {lam:g}"
        )

    sums = [rho] if result.params.lam is None else []
    for name in ("ray_above", "farkas", "farkas_above") if sums else ():
        if name in certificate.arrays:
            vector = numbers(certificate.arrays, name, (program.A.shape["ray" in name],))
            total = ray_cost(program, vector) if "ray" in name else farkas_sum(program, vector)
            if isinstance(total, str):
                findings.refute(f"{name} rules out nothing: {total}")
                return
            _pass_on(total, findings)
            sums.append(total)
    end = result.params.lam_min or 0.0
    covered = _everywhere(end, sums)
    _judge(rho, result, certificate, findings, "unbounded", violated, covered)
    if covered:
        findings.prove(f"no optimum at any lam >= {end:g}")


def _everywhere(end: float, sums: list[Affine]) -> bool:
    """Return whether at every lam from `end` on one of the sums is surely negative.

    Each is so on all of the range, or up to a root, or from a root on.
    """
    if any(total.negative(end) and total.falls for total in sums):
        return True
    rising = [total for total in sums if total.rate > 0.0 and total.negative(end)]
    falling = [total for total in sums if total.rate < 0.0 and total.falls]
    if not (rising and falling):
        return False
    below, above = max(rising, key=Affine.root), min(falling, key=Affine.root)
    # both half lines hold the middle between their ends, where they overlap
    middle = max(end, 0.5 * (below.root() + above.root()))
    return below.negative(middle) and above.negative(middle)


def _judge_range(
    program: PiecewiseLinearProgram, result: Result, certificate: Certificate, findings: Findings
) -> None:
    """Prove UNBOUNDED for a whole range of lam."""
    if result.params.lam is not None:
        raise Malformed("points for a range of lam are for a question about a path")
    arrays, p, end = certificate.arrays, program.A.shape[1], result.params.lam_min or 0.0
    costs = []
    for name in ("ray", "ray_above") if "ray_above" in arrays else ("ray",):
        rho = ray_cost(program, numbers(arrays, name, (p,)))
        if isinstance(rho, str):
            findings.refute(f"the {name} proves nothing: {rho}")
            return
        _pass_on(rho, findings)
        costs.append(rho)
    low = numbers(arrays, "low", (len(np.atleast_1d(arrays["low"])),))
    x, rate = (numbers(arrays, name, (len(low), p)) for name in ("x", "x_rate"))
    if len(low) == 0 or low[-1] != end or (np.diff(low) >= 0.0).any():
        raise Malformed("the points do not cover the range from its lower end on")
    _doubt_rise(costs[-1], findings)
    if not _negative_from(end, costs):
        findings.refute("the directions do not improve the objective at all lam of the range")
        return
    for k, begin in enumerate(low.tolist()):
        for lam in (begin, *low[k - 1 : k].tolist()) if k else (begin,):
            point = primal_point(program, x[k] + (lam - begin) * rate[k])
            violation, at = point.strict_violation(lam)
            if violation > FEASIBILITY:
                findings.refute(
                    f"the ray starts at an infeasible point: it violates {point.name(at)} by "
                    f"{violation:.3g} of its scale at lam = {lam:g}"
                )
                return
    inside = _stays_inside(program, rate[0])
    if inside:
        findings.prove(f"unbounded at all lam >= {end:g}")
        return
    if inside is not None:
        findings.refute(f"the points above lam = {low[0]:g} leave a constraint for large lam")
        return
    findings.prove(
        f"unbounded from lam = {end:g} to {low[0]:g}, and no optimum at any lam above: the points "
        "leave a constraint there, if only by rounding"
    )


def _negative_from(end: float, costs: list[Affine]) -> bool:
    """Return whether at every lam from `end` on one of one or two sums is negative."""
    if len(costs) == 1:
        (rho,) = costs
        return rho.negative(end) and rho.rate <= 0.0
    below, above = costs
    if not (below.rate > 0.0 > above.rate):
        return False
    # both half lines hold the middle between their ends, where they overlap
    middle = max(end, -0.5 * (below.constant / below.rate + above.constant / above.rate))
    return below.negative(end) and below.negative(middle) and above.negative(middle)


def _stays_inside(program: PiecewiseLinearProgram, rate: Array) -> bool | None:
    """Return whether a point that moves with lam at this rate leaves no domain as lam grows.

    Signs that rounding leaves open are those of rational numbers. None where it leaves one by no
    more than rounding.
    """
    p, rows = program.A.shape[1], _Images(program.A)
    w, size, error = rows.of(rate)
    w, error = np.concatenate([rate, w]), np.concatenate([np.zeros(p), error])
    size = np.concatenate([np.full(p, np.abs(rate).max(initial=0.0)), size])
    pieces = program.functions
    first, last = pieces.slope_ptr[:-1], pieces.slope_ptr[1:] - 1
    moved, budget = np.flatnonzero(rate), Budget()
    exact = fractions_of(rate[moved])
    inside = True
    for ends, barred, sign in (
        (pieces.ptr[:-1], np.isneginf(pieces.slope[first]), 1.0),
        (pieces.ptr[1:] - 1, np.isposinf(pieces.slope[last]), -1.0),
    ):
        inward = sign * (w - pieces.kink_rate[ends])
        if (barred & (inward < -SEGMENT * (size + np.abs(pieces.kink_rate[ends])))).any():
            return False
        unclear = np.flatnonzero(barred & (inward < error) & (error > 0.0))
        inside &= not (barred & (inward < 0.0) & (error == 0.0)).any()
        block = entries(program.A, unclear - p, moved, budget)
        if block is None:
            return None
        for i, row in zip(unclear.tolist(), block, strict=True):
            total = sum((a * exact[j] for j, a in row.items()), Fraction(0))
            inside &= sign * (total - Fraction(float(pieces.kink_rate[ends[i]]))) >= 0
    return True if inside else None


def _doubt_rise(total: Affine, findings: Findings) -> None:
    if total.rate <= 0.0 and not total.falls:
        findings.doubt("by rounding the evidence may fail for very large lam")


def _pass_on(total: Affine, findings: Findings) -> None:
    if total.doubt:
        findings.doubt(total.doubt)


def _judge(
    total: Affine,
    result: Result,
    certificate: Certificate,
    findings: Findings,
    word: str,
    violated: Callable[[float], str | None],
    whole: bool,
) -> None:
    """Prove the claim at every lam that was asked about, or say how far the proof reaches.

    Evidence about a path that states no lam is tried at the range's lower end, where it holds if
    it does for the whole range.

    `violated` returns what else is wrong with the evidence at a lam; `whole` is whether the claim
    about a path is proven for all of its range where it is at one lam.
    """
    _pass_on(total, findings)
    asked, end = result.params.lam, result.params.lam_min or 0.0
    wanted = (asked,) if isinstance(asked, float) else (end,) if asked is None else asked
    stated = certificate.values.get("lam")
    tried = wanted
    hopeless = total.rate >= 0.0 and not total.negative(end)
    if isinstance(stated, int | float):
        tried = (float(stated),)
        if not (tried[0] in wanted or (asked is None and tried[0] >= end)):
            findings.refute(f"the certificate is for lam = {stated}, which was not asked about")
            return
    silent = asked is None and not isinstance(stated, int | float)
    if silent and (violated(end) is not None or not total.negative(end)) and not hopeless:
        findings.doubt("the evidence is for part of the range only, and does not state which")
        return
    for lam in tried:
        reason = violated(lam)
        if total.doubtful(lam):
            findings.doubt(f"the proof at lam = {lam:g} is too close to zero to be one")
        elif not total.negative(lam):
            findings.refute(
                f"the evidence does not prove the problem {word} at lam = {lam:g}: its sum is "
                f"{total.at(lam):.6g}, expected a negative number"
            )
        elif reason is not None:
            findings.refute(reason)
        else:
            findings.prove(f"{word} at lam = {lam:g}")
    rest = [lam for lam in wanted if lam not in tried and asked is not None]
    if (asked is None and not whole) or any(
        not total.negative(lam) or violated(lam) is not None for lam in rest
    ):
        findings.doubt(f"the proof is for lam = {tried[0]:g}, not for all that was asked about")


def no_optimum_at(
    program: PiecewiseLinearProgram, certificate: Certificate, values: Array, findings: Findings
) -> bool | None:
    """Return whether ``arrays["farkas"]`` or ``arrays["ray"]`` rules out an optimum at all values.

    None where there is no such evidence; what is wrong with it is refuted.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    certificate : Certificate
    values : array of shape (K,)
        Values of lam.
    findings : Findings
        Gets what was found.

    Returns
    -------
    bool or None

    Raises
    ------
    Malformed
    """
    total = _end_evidence(program, certificate, "")
    if total is None:
        return None
    if isinstance(total, str):
        findings.refute(f"the evidence for the end of the path proves nothing: {total}")
        return False
    _pass_on(total, findings)
    for lam in values:
        if not total.negative(lam):
            findings.refute(f"the evidence for the end of the path proves nothing at lam = {lam:g}")
            return False
    return True


def prove_end(
    program: PiecewiseLinearProgram,
    certificate: Certificate,
    end: float,
    findings: Findings,
    *,
    above: bool = False,
) -> bool | None:
    r"""Return whether no optimum exists beyond the end of a path.

    The sum of ``arrays["farkas"]`` (or ``arrays["ray"]``) must vanish at the end and be negative
    beyond it: below, or above for the arrays "farkas_above" and "ray_above". Evidence that holds up
    to rounding only proves that for points of ordinary size, which the report says. It proves
    that from where it vanishes on; the hole between the end and that place is measured
    by the sum at the end, relative to its terms, and relative to lam.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    certificate : Certificate
    end : float
        The lam at which the path ends.
    findings : Findings
        Gets what was found.
    above : bool, default False
        Whether to prove it for the upper end.

    Returns
    -------
    bool or None
        None where there is no such evidence; what is wrong with it is refuted.

    Raises
    ------
    Malformed
    """
    total = _end_evidence(program, certificate, "_above" if above else "")
    if total is None:
        return None
    if isinstance(total, str):
        findings.refute(f"the evidence for the end of the path proves nothing: {total}")
        return False
    if np.isfinite(total.moving):
        _leave_out_far_away(total, end, above, findings)
    else:
        _pass_on(total, findings)
    outward = total.rate if above else -total.rate
    hole = abs(total.at(end)) / total.terms(end) if total.terms(end) > 0.0 else 0.0
    findings.measure("hole", hole)
    if not hole <= SEGMENT:
        findings.refute(
            f"the evidence for the end of the path does not meet it: its sum at lam = {end:g} is "
            f"{total.at(end):.3g}, expected 0"
        )
        return False
    if not outward < -SEGMENT * total.rate_terms - total.rate_error:
        findings.refute("the evidence for the end of the path does not rule out what is beyond")
        return False
    # Terms that cancel are no measure: the sum vanishes within 1e-9 of the end.
    if abs(total.at(end)) > SEGMENT * abs(total.rate) * max(end, units_of(program).lam):
        findings.doubt(
            f"the evidence for the end of the path at lam = {end:g} rules out what is beyond "
            f"lam = {end - total.at(end) / total.rate:g}, and meets the end only up to the size of "
            "terms that cancel"
        )
    return True


def _leave_out_far_away(total: Affine, end: float, above: bool, findings: Findings) -> None:
    """State how far away the evidence for a path's end reaches, where it does so up to rounding."""
    if total.moving > 0.0:
        beyond = 2.0 * end if above else 0.5 * end
        far = abs(total.at(beyond)) / total.moving
        findings.leave_out(
            f"end, but for points whose coordinates add up to less than {far:.1g} (at lam = "
            f"{beyond:.3g}): the evidence beyond lam = {end:.6g} holds up to rounding only"
        )


def _end_evidence(
    program: PiecewiseLinearProgram, certificate: Certificate, suffix: str
) -> Affine | str | None:
    m, p = program.A.shape
    if f"farkas{suffix}" in certificate.arrays:
        return farkas_sum(program, numbers(certificate.arrays, f"farkas{suffix}", (m,)))
    if f"ray{suffix}" in certificate.arrays:
        return ray_cost(program, numbers(certificate.arrays, f"ray{suffix}", (p,)))
    return None

r"""The verifier of the mixed-integer semidefinite program.

The point is held to 1e-7 in the units of the problem's numbers, its integers exactly:
:mod:`sparseopt.checking.misdp.points`. What else is claimed needs a certificate.

**"misdp-leaves"** proves a bound, or that nothing is feasible. For L leaves, with q integer
variables in the order of their indices, m rows, and the problem written as a minimisation (of -c'x
where the maximum is asked), its arrays are

``lower, upper`` (L, q)
    The box of each leaf: what was branched on. Infinite where nothing bounds it.
``rows`` (L, m)
    Multipliers of the rows, positive where the lower side holds.
``cones`` (L, sum of the cones' lengths)
    Multipliers of the cones one after the other, themselves in the cone.
``psd`` (L, sum of the blocks' s (s + 1) / 2)
    Positive semidefinite matrices: lower triangles column by column, unscaled.
``infeasible`` (L,) bool
    Whether the leaf holds no feasible point: then its multipliers are to prove a positive value for
    the costs zero (Farkas).
``cost_scale`` (L,), optional
    The multipliers of the other leaves are for the costs times this positive number, and what they
    prove is divided by it: multiples of exact multipliers may be whole numbers where these are not.
    Its products with the costs of variables that lack an end have to be exact.

``rows, cones, psd`` may be left out where they have no columns. With ``merged_into`` and
``merged_times`` (q0,), for the q0 integer variables of the problem, all of this is about a problem
where some of them are merged (:mod:`sparseopt.checking.misdp.merged`), with ``mirror_leaders`` one
where some integers have half their range, and with
``symmetry_leaders`` it has R more rows, which leave one of all points that are symmetric to one
another; ``images_lower`` are boxes beside the leaves that symmetries take elsewhere
(:mod:`sparseopt.checking.misdp.symmetry`). It is proven that

1. the leaves cover all integer points of the box of the integer variables. Bounds that follow from
   the constraints, and from the claimed bound U as a cutoff (only points better than U could
   refute it), are taken off that box first (:mod:`sparseopt.checking.misdp.implied`);
2. on each leaf weak duality gives U or better. Multipliers are moved to where they are valid and
   every move is charged, so they need not be exact (:mod:`sparseopt.checking.misdp.duality`): in
   general with the bounds of all variables that were derived for the whole box, and where those do
   not do, with those derived for the leaf. U may be missed by 1e-9 of itself or the smallest cost,
   or 1e-12 of the costs and the offset; what misses it by more, but not by 1e-9 of the largest of
   all costs, leaves it unproven. Where all costs are on integer variables and multiples of a step,
   what a leaf proves counts as the next multiple, and the cutoff is half a step better than U.

Where the problem has indicators or a quadratic objective all of this is about its standard form
(:mod:`sparseopt.checking.misdp.standard_form`).

A variable without any bound, not even a derived one, must have a reduced cost that is exactly zero,
or has the right sign. Where only rounding is in the way the bound is unproven.

**"rank-one-leaves"** does the same for matrices of rank one, by boxes of their entries:
:mod:`sparseopt.checking.misdp.ranks`.

**A pool** is three more arrays of "misdp-leaves": ``pool_x`` (k, n), feasible points of different
integers, ``pool_objective`` (k,), and ``pool_bound`` (1,): no feasible point of other integers is
better, or with the infinity of the wrong side there is none. A leaf whose only integers are those
of a point in the pool needs no proof of that.

**"ray"** proves that the problem is unbounded, with ``x``, a feasible point, and ``ray``, a
direction in which every constraint stays met and the objective improves; integer variables move by
integers. **"curve"** does so where there is no ray, by ``x``, ``ray``, ``bend`` and ``cross``:
x + s ray + s^2 bend is feasible for s = 0, 1, 2, ... (:mod:`sparseopt.checking.misdp.rays`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sparseopt.checking.evidence import Malformed
from sparseopt.checking.misdp.boxes import uncovered
from sparseopt.checking.misdp.dual_interior import ends_of_interior
from sparseopt.checking.misdp.duality import WeakDuality
from sparseopt.checking.misdp.implied import ImpliedBounds
from sparseopt.checking.misdp.merged import merged_problem
from sparseopt.checking.misdp.points import check_point
from sparseopt.checking.misdp.ranks import verify_boxes
from sparseopt.checking.misdp.rays import verify_ray
from sparseopt.checking.misdp.standard_form import standard_form
from sparseopt.checking.misdp.symmetry import left_out, mirrored_problem, ordered_problem
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import OBJECTIVE, SEGMENT, SUM, prevailing
from sparseopt.checking.work import TooMuchWork, spend
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.double_double import EPSILON, DoubleDouble
from sparseopt.proofs.misdp_standard_form import is_standard
from sparseopt.result import Result, Status

_EPS = float(np.finfo(float).eps)
_WORK, _STACKED, _LEAF, _TIGHTENED = 3e11, 3e4, 3e5, 3e6
"""Operations that the leaves may take, some minutes; those of a leaf among others, of one that is
looked at again by itself, and of its derived bounds."""
_SECOND = 4e-10
"""Seconds of one operation."""
_PRODUCT = 4e-6
"""Seconds of a product of fractions."""
_STACK = 1_000_000
"""Numbers of the leaves that are looked at together."""
_SMALL = 1e-290
"""Multipliers and costs below this are none: products with ordinary numbers may vanish."""
_OFFSET = 1e-6
"""What an offset counts for: its rounding errors, 1e-15 of it."""
_TERMS = 1e-13
"""Rounding errors of a leaf's bound, relative to the sum of its terms, which refute nothing."""
_POINT = frozenset({Status.OPTIMAL, Status.CONVERGED, Status.FEASIBLE, Status.IMPRECISE})
"""Statuses that state a feasible point."""


def verify(problem: MISDP, result: Result, findings: Findings) -> None:
    """Check the point and its objective, and prove what the result claims beyond it.

    Parameters
    ----------
    problem : MISDP
    result : Result
    findings : Findings
        Gets what was found.
    """
    if result.x is not None and result.status is not Status.INFEASIBLE:
        x = np.asarray(result.x, dtype=float)
        point = check_point(problem, x, findings)
        if point is not None:
            _check_objective(problem, result, point, findings)
    try:
        if result.status is Status.UNBOUNDED:
            verify_ray(problem, result.certificate, findings)
        elif result.status is Status.INF_OR_UNB:
            findings.doubt("the result does not say whether it is infeasible or unbounded")
        elif result.status is Status.INFEASIBLE:
            _verify_claim(problem, result, None, findings)
        elif result.bound is None or np.isinf(result.bound):
            findings.doubt("there is no bound that a certificate could prove")
        else:
            _verify_claim(problem, result, result.bound, findings)
        if result.certificate is not None and "pool_x" in result.certificate.arrays:
            _verify_pool(problem, result, findings)
    except Malformed as error:
        findings.refute(f"the certificate is malformed: {error}")
    except TooMuchWork as error:
        findings.doubt(str(error))


def _unit(problem: MISDP, value: float, *, largest: bool = False) -> float:
    """Return what objective values are measured by: costs, and the value or it without its offset.

    Costs far above the others may have no effect, so that those that prevail count, unless the
    largest are asked for. The offset counts for the last digits of what it is added to.
    """
    costs = _costs(problem)
    unit = float(costs.max()) if largest else prevailing(costs)
    beside = min(abs(value), abs(value - problem.offset))
    return max(unit, _OFFSET * abs(problem.offset), beside)


def _bound_unit(problem: MISDP, bound: float, offset: float) -> float:
    """Return what a bound is measured by: itself, with or without the offset, or the least cost.

    What weak duality proves is a true bound, rounding errors included. Only the last digits of the
    offset are allowed for beside it.
    """
    costs = _costs(problem)
    least = float(costs[costs > 0.0].min()) if costs.any() else 0.0
    return max(min(abs(bound), abs(bound - offset)), least, _OFFSET * abs(problem.offset))


def _costs(problem: MISDP) -> Array:
    """Return the absolute values of the costs, linear and quadratic."""
    costs = np.abs(problem.c)
    return costs if problem.Q is None else np.append(costs, np.abs(problem.Q.tocoo().data))


def _check_objective(problem: MISDP, result: Result, point: Array, findings: Findings) -> None:
    """Check the stated objective, and the gap that OPTIMAL claims, in the units of the costs."""
    if result.status not in _POINT:
        return
    if result.objective is None:
        findings.refute(f"the status is {result.status.value}, but no objective is stated")
        return
    value, error = _objective(problem, point)
    unit = _unit(problem, value)
    missed = abs(result.objective - value)
    if missed + error > OBJECTIVE * unit:
        findings.doubt(
            f"the objective of x with its integers rounded is {value:.17g}, known to {error:.1g}; "
            f"{result.objective:.17g} is stated"
        )
    if result.status is not Status.OPTIMAL or result.bound is None:
        return
    params, gap = result.params, abs(result.objective - result.bound)
    size = max(abs(result.objective), abs(result.bound))
    costs = _costs(problem)
    least = float(costs[costs > 0.0].min()) if costs.any() else 0.0
    terms = min(float(costs.max()), problem.objective_scale(point) - abs(problem.offset))
    rounding = SUM * max(terms, least, _OFFSET * abs(problem.offset))
    if gap > max(params.abs_gap, params.rel_gap * size, rounding):
        findings.doubt(f"objective and bound differ by {gap:.3g}, which the costs do not explain")


def _objective(problem: MISDP, point: Array) -> tuple[float, float]:
    """Return the objective of a point and a bound of its error; terms that cancel in 106 bits."""
    parts = [(problem.c, point)]
    if problem.Q is not None:
        Q = problem.Q.tocoo()
        parts.append((0.5 * Q.data * point[Q.row], point[Q.col]))
    factors, others = (np.concatenate(part) for part in zip(*parts, strict=True))
    terms = factors * others
    value = math.fsum([*terms.tolist(), problem.offset])
    error = 2.0 * _EPS * float(np.abs(terms).sum())
    if error <= 0.1 * OBJECTIVE * _unit(problem, value) or problem.Q is not None:
        return value, error
    total = (DoubleDouble(factors) * others).sum() + problem.offset
    size = float(np.abs(terms).sum()) + abs(problem.offset)
    return float(total.high), (len(terms) + 2.0) * EPSILON * size + _EPS * abs(float(total.high))


@dataclass(frozen=True, eq=False)
class Leaves:
    """The arrays of a certificate, read and checked; `dual` has all multipliers side by side.

    They are for the costs times `scale`, 0 where they are to prove that nothing is feasible.
    """

    lower: Array
    upper: Array
    dual: Array
    infeasible: Array
    scale: Array

    def __len__(self) -> int:
        return len(self.lower)

    @classmethod
    def read(
        cls, problem: MISDP, widths: tuple[int, int, int], arrays: Mapping[str, Array]
    ) -> Leaves:
        """Check types, shapes and finiteness.

        Raises
        ------
        Malformed
        """
        q = int(problem.integer.sum())
        infeasible = np.asarray(arrays.get("infeasible"))
        if infeasible.ndim != 1 or infeasible.dtype.kind != "b":
            raise Malformed("infeasible must be a vector of flags, one for each leaf")
        L = len(infeasible)
        lower = _matrix(arrays, "lower", L, q)
        upper = _matrix(arrays, "upper", L, q)
        if np.isnan(lower).any() or np.isnan(upper).any():
            raise Malformed("a box has the end NaN")
        parts = []
        for name, width in zip(("rows", "cones", "psd"), widths, strict=True):
            part = _matrix(arrays, name, L, width)
            if not np.isfinite(part).all():
                raise Malformed(f"{name} holds numbers that are not finite")
            parts.append(part)
        scale = np.where(infeasible, 0.0, _cost_scale(problem, arrays, L))
        dual = _ordinary(np.concatenate(parts, axis=1))
        return cls(np.ceil(lower), np.floor(upper), dual, infeasible, scale)


def _ordinary(multipliers: Array) -> Array:
    """Return multipliers without the smallest, whose products lose more than a part of them."""
    return np.where(np.abs(multipliers) < _SMALL, 0.0, multipliers)


def _cost_scale(problem: MISDP, arrays: Mapping[str, Array], leaves: int) -> Array:
    """Return what the costs are multiplied by in each leaf.

    Raises
    ------
    Malformed
        Also where a product is rounded: the proof would be one of other costs.
    """
    if "cost_scale" not in arrays:
        return np.ones(leaves)
    scale = np.asarray(arrays["cost_scale"])
    if scale.shape != (leaves,) or scale.dtype.kind != "f" or not (scale > 0.0).all():
        raise Malformed("cost_scale must be a vector of positive numbers, one for each leaf")
    several = np.unique(scale).tolist()
    spend(_PRODUCT * len(several) * len(problem.c))
    lacking = np.isinf(problem.lower) | np.isinf(problem.upper)
    for times in several:
        products = times * problem.c
        lost = (problem.c != 0.0) & (np.abs(products) < _SMALL)
        if (
            lost.any()
            or not np.isfinite(products).all()
            or any(
                Fraction(times) * Fraction(c) != Fraction(product)
                for c, product in zip(
                    problem.c[lacking].tolist(), products[lacking].tolist(), strict=True
                )
            )
        ):
            raise Malformed(
                f"cost_scale {times:.17g} times a cost leaves the range of numbers, or is not "
                "exact for a variable that lacks an end"
            )
    return scale


def _interior(widths: tuple[int, int, int], arrays: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return multipliers inside their cones, side by side, and which of them have the costs.

    Raises
    ------
    Malformed
    """
    if "interior_costs" not in arrays:
        return np.zeros((0, sum(widths))), np.zeros(0, dtype=bool)
    costly = np.asarray(arrays["interior_costs"])
    if costly.ndim != 1 or costly.dtype.kind != "b":
        raise Malformed("interior_costs must be a vector of flags")
    names = ("interior_rows", "interior_cones", "interior_psd")
    parts = [
        _matrix(arrays, name, len(costly), width) for name, width in zip(names, widths, strict=True)
    ]
    if not all(np.isfinite(part).all() for part in parts):
        raise Malformed("multipliers inside their cones hold numbers that are not finite")
    return _ordinary(np.concatenate(parts, axis=1)), costly


def _matrix(arrays: Mapping[str, Array], name: str, rows: int, columns: int) -> Array:
    if name not in arrays and columns == 0:
        return np.zeros((rows, 0))
    array = np.asarray(arrays.get(name))
    if array.dtype.kind not in "iuf" or array.shape != (rows, columns):
        raise Malformed(
            f"{name} holds {array.dtype} of shape {array.shape}; expected numbers of shape "
            f"({rows}, {columns})"
        )
    return np.asarray(array, dtype=float)


def _verify_claim(
    problem: MISDP,
    result: Result,
    bound: float | None,
    findings: Findings,
    members: Collection[bytes] = (),
) -> None:
    """Prove a bound, or with None that nothing is feasible, by the standard form."""
    certificate = result.certificate
    if is_standard(problem):
        _verify_leaves(problem, result, bound, findings, members)
    elif certificate is None or not certificate.kind.endswith("leaves"):
        findings.doubt("there are no leaves that could prove the claim")
    else:
        standard, charge = standard_form(problem, certificate.arrays)
        if bound is not None and np.isinf(charge):
            findings.doubt(
                "the objective's factor is off by rounding in variables without bounds, which no "
                "bound can be charged with"
            )
            return
        if bound is not None:
            bound += charge if problem.sense == "min" else -charge
        _verify_leaves(standard, result, bound, findings, members, problem.offset)


def _verify_pool(problem: MISDP, result: Result, findings: Findings) -> None:
    """Check the points of a pool, and prove what is stated of all other integers."""
    assert result.certificate is not None
    arrays = result.certificate.arrays
    X = np.asarray(arrays["pool_x"])
    values, end = (np.asarray(arrays.get(f"pool_{name}")) for name in ("objective", "bound"))
    if X.ndim != 2 or X.dtype.kind != "f" or X.shape[1] != len(problem.c):
        raise Malformed(f"pool_x is not a matrix of {len(problem.c)} columns")
    if (
        values.shape != X.shape[:1]
        or end.shape != (1,)
        or {values.dtype.kind, end.dtype.kind} != {"f"}
    ):
        raise Malformed("pool_objective and pool_bound do not fit pool_x")
    members: set[bytes] = set()
    for x, value in zip(X, values.tolist(), strict=True):
        point = check_point(problem, x, findings)
        if point is None:
            return
        members.add((point[problem.integer] + 0.0).tobytes())
        found, error = _objective(problem, point)
        missed, allowed = abs(found - value), OBJECTIVE * _unit(problem, found)
        if not missed - error <= allowed:
            findings.refute(f"a point of the pool has another objective than {value:.12g}")
        elif missed + error > allowed:
            findings.doubt(f"the objective of a point of the pool is known to {error:.1g} only")
    sign = 1.0 if problem.sense == "min" else -1.0
    worse = sign * np.maximum.accumulate(sign * values)
    if (np.abs(values - worse) > OBJECTIVE * _unit(problem, problem.offset)).any():
        findings.refute("the points of the pool are not in the order of their objectives")
    if len(members) < len(X):
        findings.refute("two points of the pool have the same integers")
    bound = float(end[0])
    if findings.refuted:
        return
    if np.isnan(bound):
        raise Malformed("pool_bound is no number")
    if bound == -sign * np.inf:
        findings.doubt("nothing is known of the integers outside the pool")
        return
    _verify_claim(problem, result, None if np.isinf(bound) else bound, findings, members)


def _verify_leaves(
    problem: MISDP,
    result: Result,
    bound: float | None,
    findings: Findings,
    members: Collection[bytes] = (),
    offset: float | None = None,
) -> None:
    """Prove a bound, or with None that nothing is feasible, of all integers but `members`.

    The offset of what the bound is measured by is by default that of the problem.
    """
    if result.certificate is not None and result.certificate.kind == "rank-one-leaves":
        verify_boxes(problem, result, bound, findings, _verify_leaves)
        return
    claim = "nothing is feasible" if bound is None else f"nothing is better than {bound:.12g}"
    if members:
        claim = f"outside the pool of {len(members)} {claim}"
    unit = loose = 0.0
    if bound is not None:
        offset = problem.offset if offset is None else offset
        unit, loose = _bound_unit(problem, bound, offset), _unit(problem, bound, largest=True)
    if result.certificate is not None and result.certificate.kind == "misdp-leaves":
        problem = merged_problem(problem, result.certificate.arrays)
        problem = mirrored_problem(problem, result.certificate.arrays, bool(members))
        problem = ordered_problem(problem, result.certificate.arrays, bool(members))
    step = objective_step(problem)
    # Only points that are better than the bound could refute it, by what is left of a step.
    cutoff = None if bound is None else next_better(problem, bound, step)
    implied = ImpliedBounds(problem)
    box = implied.tighten(cutoff=cutoff)
    if box is None:
        findings.prove(f"{claim}: the bounds that follow from the constraints cross")
        return
    certificate = result.certificate
    if certificate is None or certificate.kind != "misdp-leaves":
        what = "no certificate" if certificate is None else f"only a {certificate.kind!r}"
        findings.doubt(f"there is {what}; 'misdp-leaves' would prove that {claim}")
        return
    duality = WeakDuality(problem)
    leaves = Leaves.read(problem, duality.widths, certificate.arrays)
    given, costly = _interior(duality.widths, certificate.arrays)
    if np.isinf(box).any() and len(given):
        box = ends_of_interior(problem, duality, box, given, costly, cutoff)
        box = implied.tighten(*box, cutoff)
        if box is None:
            findings.prove(f"{claim}: the bounds that follow from the constraints cross")
            return
    if bound is None and not members and not leaves.infeasible.all():
        findings.refute(
            f"leaf {int(np.argmin(leaves.infeasible))} is not said to be infeasible, the problem is"
        )
        return
    hole = _left_open(problem, leaves, certificate.arrays, box, bool(members))
    if hole is not None:
        findings.refute(f"the leaves leave out integer points: {_described(problem, *hole)}")
        return
    target = lowest = -math.inf
    if bound is not None:
        target, lowest = (
            duality.sign * (bound - problem.offset) - SUM * size for size in (unit, loose)
        )
    proof = _ProofOfLeaves(problem, duality, implied, box, bound, cutoff, step, target, lowest)
    if _all_hold(proof, leaves, members, findings):
        findings.prove(f"{claim}: {len(leaves)} leaves cover all integers")


def _all_hold(
    proof: _ProofOfLeaves, leaves: Leaves, members: Collection[bytes], findings: Findings
) -> bool:
    """Prove each leaf but those of `members`, up to the first one that does not hold."""
    for k in proof.open(leaves):
        found = proof.failure(leaves, k)
        if found is None or (members and proof.integers(leaves, k) in members):
            continue
        message, only_rounding = found
        if only_rounding:
            findings.doubt(f"{message}: what is missing may be rounding errors")
        else:
            findings.refute(message)
        return False
    return True


def _left_open(
    problem: MISDP,
    leaves: Leaves,
    arrays: Mapping[str, Array],
    box: tuple[Array, Array],
    pooled: bool,
) -> tuple[Array, Array] | None:
    """Return a box of integers that neither leaves nor images of them cover; None without one."""
    lower, upper = leaves.lower, leaves.upper
    others = left_out(problem, arrays, pooled)
    if others is not None:
        lower, upper = np.concatenate([lower, others[0]]), np.concatenate([upper, others[1]])
    return uncovered(lower, upper, box[0][problem.integer], box[1][problem.integer])


@dataclass(eq=False)
class _ProofOfLeaves:
    """Proves the leaves of one claim."""

    problem: MISDP
    duality: WeakDuality
    implied: ImpliedBounds
    box: tuple[Array, Array]
    bound: float | None
    cutoff: float | None
    """What the objective of a point that refutes the bound is at least as good as."""
    step: float
    """What all costs are multiples of, or 0."""
    target: float
    """What costs, as a minimisation and without the offset, must reach on leaves with points."""
    lowest: float
    """What they must reach unless the bound is false: by the largest of all costs."""
    again: int = 0
    """Leaves so far that were looked at by themselves."""
    tightened: int = 0
    """Those whose bounds had to be derived."""
    spent: float = 0.0
    """Operations of all of them."""

    def __post_init__(self) -> None:
        blocks = self.problem.blocks
        self._size = self.problem.A.nnz + sum(b.size**3 + b.F.nnz for b in blocks)

    def _boxes(self, leaves: Leaves, some: slice) -> tuple[Array, Array]:
        """Return what is left of the box in some leaves: ends of shape (N, n)."""
        whole = self.problem.integer
        low, high = (np.tile(end, (some.stop - some.start, 1)) for end in self.box)
        low[:, whole] = np.maximum(low[:, whole], leaves.lower[some])
        high[:, whole] = np.minimum(high[:, whole], leaves.upper[some])
        return low, high

    def integers(self, leaves: Leaves, k: int) -> bytes | None:
        """Return the integers of a leaf that holds no others, else None."""
        whole, (low, high) = self.problem.integer, self._boxes(leaves, slice(k, k + 1))
        tight = self.implied.tighten(low[0], high[0], self.cutoff)
        if tight is None or (tight[0][whole] < tight[1][whole]).any():
            return None
        return bytes((tight[0][whole] + 0.0).tobytes())

    def open(self, leaves: Leaves) -> Iterator[int]:
        """Yield the leaves that their multipliers do not prove on their own boxes.

        Raises
        ------
        TooMuchWork
            When that is too much work.
        """
        count = max(1, _STACK // (len(self.box[0]) + leaves.dual.shape[1]))
        for first in range(0, len(leaves), count):
            some = slice(first, min(first + count, len(leaves)))
            self._account(leaves, some.stop)
            low, high = self._boxes(leaves, some)
            farkas = leaves.infeasible[some]
            found = self.duality.bounds(low, high, leaves.dual[some], leaves.scale[some])
            proven = self._enough(found.value, found.size, farkas)
            if self.bound is None:
                proven &= farkas
            proven |= (low > high).any(axis=1)
            for k in (first + np.flatnonzero(~proven)).tolist():
                self.again += 1
                self._account(leaves, some.stop)
                yield k

    def _account(self, leaves: Leaves, stacked: int) -> None:
        """Raise where so many leaves in stacks, and those again, are too much work."""
        spent = (_STACKED + 1e2 * self._size) * stacked
        spent += (_LEAF + 1e2 * self._size) * self.again
        spent += (_TIGHTENED + 1e3 * self._size) * self.tightened
        spend(_SECOND * (spent - self.spent))
        self.spent = spent
        if spent > _WORK:
            raise TooMuchWork(f"{len(leaves)} leaves are too much work to check")

    def failure(self, leaves: Leaves, k: int) -> tuple[str, bool] | None:
        """Return what is wrong with a leaf, and whether only rounding is; None if it is proven."""
        low, high = (end[0] for end in self._boxes(leaves, slice(k, k + 1)))
        farkas = bool(leaves.infeasible[k])
        if self.bound is None and not farkas:
            return f"leaf {k} is not said to be infeasible", False
        wanted, scale = math.inf if farkas else self.target, float(leaves.scale[k])
        self.tightened += 1
        tight = self.implied.tighten(low, high, self.cutoff)
        if tight is None:
            return None
        # Enclosures cost more than derived bounds, which often do.
        one = slice(k, k + 1)
        quick = self.duality.bounds(
            tight[0][None], tight[1][None], leaves.dual[one], leaves.scale[one]
        ).only()
        if self._enough(quick.value, quick.size, farkas):
            return None
        found = self.duality.bound(low, high, leaves.dual[k], scale, wanted)
        if self._enough(found.value, found.size, farkas):
            return None
        found = self.duality.bound(*tight, leaves.dual[k], scale, wanted)
        if self._enough(found.value, found.size, farkas):
            return None
        # Errors of the ends and of the terms, which may cancel.
        lowest = self.lowest - _TERMS * float(found.size)
        only_rounding = bool(self._enough(found.nearly, found.size, farkas, lowest))
        if farkas:
            message = f"leaf {k} is not proven infeasible: its multipliers give {found.value:.6g}"
        else:
            stated = self.duality.sign * found.value + self.problem.offset
            message = f"leaf {k} proves {stated:.12g}, not the bound {self.bound:.12g}"
        return message, only_rounding

    def _enough(
        self,
        value: Array | float,
        size: Array | float,
        farkas: Array | bool,
        target: float | None = None,
    ) -> Array:
        """Return whether values prove what is claimed of their leaves."""
        target = self.target if target is None else target
        costs = np.asarray(value)
        if self.step:
            costs = np.where(np.isfinite(costs), np.ceil(costs / self.step) * self.step, costs)
        empty = value >= np.maximum(SEGMENT * np.asarray(size), np.finfo(float).tiny)
        return np.where(farkas, empty, costs >= target)


def objective_step(problem: MISDP) -> float:
    """Return a number that c'x is a multiple of at each feasible point; 0 where none is known.

    All costs are on integer variables and are whole multiples of 2^-20, so small that their sums
    are exact.
    """
    costs = [Fraction(float(c)) * 2**20 for c in problem.c if c]
    whole = all(c.denominator == 1 and abs(c) < 2**50 for c in costs)
    if not costs or not whole or np.any(problem.c[~problem.integer]):
        return 0.0
    return math.ldexp(math.gcd(*(abs(int(c)) for c in costs)), -20)


def next_better(problem: MISDP, bound: float, step: float) -> float:
    """Return the bound, half a step better where it is a multiple of the step.

    It is one if it differs by 1e-9 of its size or less, which is what a bound may be missed by.

    Parameters
    ----------
    problem : MISDP
    bound : float
        In the problem's own sense, its offset included.
    step : float
        All costs of integer points, without the offset, are multiples of it; 0 where there is none.
    """
    sign = 1.0 if problem.sense == "min" else -1.0
    if not step:
        return bound
    costs = sign * (bound - problem.offset)
    multiple = round(costs / step) * step
    if abs(costs - multiple) > min(SUM * abs(costs), 0.25 * step):
        return bound
    return bound - 0.5 * sign * step


def _described(problem: MISDP, low: Array, high: Array) -> str:
    """Name a box by its first variables."""
    names = problem.names or [f"x{j}" for j in range(len(problem.c))]
    whole = np.flatnonzero(problem.integer)
    parts = [f"{names[j]} in [{a:g}, {b:g}]" for j, a, b in zip(whole, low, high, strict=True)]
    return ", ".join(parts[:6]) + ", ..." * (len(parts) > 6)

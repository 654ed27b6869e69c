r"""The verifier of the mixed-integer semidefinite program.

The point is held to 1e-7 of the size of its terms (rank one to 1e-6). What else is claimed needs a
certificate.

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

``rows, cones, psd`` may be left out where they have no columns. It is proven that

1. the leaves cover all integer points of the box of the integer variables. Bounds that follow from
   the constraints, and from the claimed bound U as a cutoff (only points better than U could
   refute it), are taken off that box first (:mod:`sparseopt.proofs.misdp.propagation`);
2. on each leaf weak duality gives U or better. Multipliers are repaired before and every repair is
   charged, so they need not be exact (:mod:`sparseopt.proofs.misdp.bounds`): in general with the
   bounds of all variables that were derived for the whole box, and where those do not do, with
   those derived for the leaf. U may be missed by 1e-9 of the objective's size.

A variable without any bound, not even a derived one, must have a reduced cost of zero. One of at
most 1e-8 of its terms is accepted if all of them together, times max(1, abs(x_j)), stay below 1e-7
of the objective's size (of the positive value, on an infeasible leaf); the message counts those
leaves.

**"rank-one-leaves"** does the same for matrices of rank one, by boxes of their entries:
:mod:`sparseopt.checking.misdp.ranks`.

**"ray"** proves that the problem is unbounded, with ``x``, a feasible point, and ``ray``, a
direction in which every constraint stays met and the objective improves; integer variables move by
integers. **"curve"** does so where there is no ray, by ``x``, ``ray``, ``bend`` and ``cross``
(:mod:`sparseopt.proofs.misdp.curves`): x + s ray + s^2 bend is feasible for s = 0, 1, 2, ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sparseopt.checking.misdp.boxes import TooEntangled, uncovered
from sparseopt.checking.misdp.ranks import verify_boxes
from sparseopt.checking.misdp.rays import Malformed, check_point, verify_ray
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import CONIC, SEGMENT, SUM
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.misdp.bounds import Multipliers, SafeBounds
from sparseopt.proofs.misdp.propagation import Propagation
from sparseopt.result import Result, Status

__all__ = ["verify"]

_CELLS = 4_000_000
"""Numbers that are worked on at once."""


def verify(problem: MISDP, result: Result, findings: Findings) -> None:
    """Check the point, and prove what the result claims beyond it."""
    if result.x is not None and result.status is not Status.INFEASIBLE:
        check_point(problem, np.asarray(result.x, dtype=float), findings)
    try:
        if result.status is Status.UNBOUNDED:
            verify_ray(problem, result.certificate, findings)
        elif result.status is Status.INF_OR_UNB:
            findings.doubt("the result does not say whether it is infeasible or unbounded")
        elif result.status is Status.INFEASIBLE:
            _verify_leaves(problem, result, None, findings)
        elif result.bound is None or np.isinf(result.bound):
            findings.doubt("there is no bound that a certificate could prove")
        else:
            _verify_leaves(problem, result, result.bound, findings)
    except Malformed as error:
        findings.refute(f"the certificate is malformed: {error}")
    except TooEntangled as error:
        findings.doubt(str(error))


@dataclass(frozen=True, eq=False)
class Leaves:
    """The arrays of a certificate, read and checked."""

    lower: Array
    upper: Array
    multipliers: Multipliers
    infeasible: Array

    def __len__(self) -> int:
        return len(self.lower)

    def take(self, which: Array) -> tuple[Array, Array, Multipliers, Array]:
        """Return the parts of some leaves."""
        given = self.multipliers
        part = Multipliers(given.rows[which], given.cones[which], given.psd[which])
        return self.lower[which], self.upper[which], part, self.infeasible[which]

    @classmethod
    def read(cls, problem: MISDP, safe: SafeBounds, arrays: Mapping[str, Array]) -> Leaves:
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
        for name, width in (
            ("rows", problem.A.shape[0]),
            ("cones", safe.cone_length),
            ("psd", safe.psd_length),
        ):
            part = _matrix(arrays, name, L, width)
            if not np.isfinite(part).all():
                raise Malformed(f"{name} holds numbers that are not finite")
            parts.append(part)
        return cls(np.ceil(lower), np.floor(upper), Multipliers(*parts), infeasible)


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


def _verify_leaves(problem: MISDP, result: Result, bound: float | None, findings: Findings) -> None:
    """Prove a bound, or with None that nothing is feasible."""
    if result.certificate is not None and result.certificate.kind == "rank-one-leaves":
        verify_boxes(problem, result, bound, findings, _verify_leaves)
        return
    propagation = Propagation(problem)
    box = propagation.tighten(cutoff=bound)
    claim = "nothing is feasible" if bound is None else f"nothing is better than {bound:.12g}"
    if box is None:
        findings.prove(f"{claim}: the bounds that follow from the constraints cross")
        return
    certificate = result.certificate
    if certificate is None or certificate.kind != "misdp-leaves":
        what = "no certificate" if certificate is None else f"only a {certificate.kind!r}"
        findings.doubt(f"there is {what}; 'misdp-leaves' would prove that {claim}")
        return
    x = None if result.x is None else np.asarray(result.x, dtype=float)
    reach = np.ones(len(problem.c))
    near = max(float(np.abs(problem.c).max()), abs(problem.offset))
    located = x is not None and x.shape == reach.shape and bound is not None
    if x is not None and located:
        reach = np.maximum(reach, np.abs(x))
        near = max(near, problem.objective_scale(x))
    size = max(near, abs(bound or 0.0))
    safe = SafeBounds(problem, reach)
    leaves = Leaves.read(problem, safe, certificate.arrays)
    if bound is None and not leaves.infeasible.all():
        findings.refute(
            f"leaf {int(np.argmin(leaves.infeasible))} is not said to be infeasible, the problem is"
        )
        return
    whole = problem.integer
    hole = uncovered(leaves.lower, leaves.upper, box[0][whole], box[1][whole])
    if hole is not None:
        findings.refute(f"the leaves leave out integer points: {_described(problem, *hole)}")
        return
    proof = _Proof(problem, safe, propagation, box, bound, size, near)
    failed = proof.first_failure(leaves)
    if failed is not None:
        findings.refute(failed)
        return
    if proof.nearly and bound is not None and not located:
        findings.doubt(
            f"{claim} only up to rounding in unbounded variables, and there is no point that tells "
            "how far they reach"
        )
        return
    nearly = f", {proof.nearly} of them up to rounding in unbounded variables" * bool(proof.nearly)
    findings.prove(f"{claim}: {len(leaves)} leaves cover all integers{nearly}")


class _Proof:
    """Proves the leaves of one claim, some at a time."""

    def __init__(
        self,
        problem: MISDP,
        safe: SafeBounds,
        propagation: Propagation,
        box: tuple[Array, Array],
        bound: float | None,
        size: float,
        near: float,
    ) -> None:
        self._problem, self._safe, self._propagation = problem, safe, propagation
        self._box, self._bound, self._size = box, bound, size
        self._near = near
        """What small reduced costs are measured by; a stated bound, maybe far off, is no part."""
        self.nearly = 0
        """Leaves whose unbounded variables have reduced costs that are only nearly zero."""

    def first_failure(self, leaves: Leaves) -> str | None:
        """Return what is wrong with the first leaf that proves nothing, or None."""
        problem = self._problem
        lengths = (problem.A.shape[0], self._safe.cone_length, self._safe.psd_length)
        for which in _chunks(len(leaves), 4 * len(problem.c) + sum(lengths)):
            proven, _ = self._prove(leaves, which, self._box)
            for k in which[~proven].tolist():
                failed = self._again(leaves, k)
                if failed is not None:
                    return failed
        return None

    def _again(self, leaves: Leaves, k: int) -> str | None:
        """Try one leaf with the bounds that are derived for it."""
        whole = self._problem.integer
        low, high = (end.copy() for end in self._box)
        low[whole] = np.maximum(low[whole], leaves.lower[k])
        high[whole] = np.minimum(high[whole], leaves.upper[k])
        if (low > high).any():
            return None
        box = self._propagation.tighten(low, high, self._bound)
        if box is None:
            return None
        proven, value = self._prove(leaves, np.array([k]), box)
        if proven[0]:
            return None
        if leaves.infeasible[k]:
            return f"leaf {k} is not proven infeasible: its multipliers give {value:.6g}, not > 0"
        stated = float(self._safe.bound(np.array(value)))
        return f"leaf {k} proves {stated:.12g}, not the bound {self._bound:.12g}"

    def _prove(self, leaves: Leaves, which: Array, box: tuple[Array, Array]) -> tuple[Array, float]:
        """Return which of the leaves are proven, and the value of the last one."""
        lower, upper, multipliers, infeasible = leaves.take(which)
        low, high = (np.tile(end, (len(which), 1)) for end in box)
        whole = self._problem.integer
        low[:, whole] = np.maximum(low[:, whole], lower)
        high[:, whole] = np.minimum(high[:, whole], upper)
        empty = (low > high).any(axis=1)
        found = self._safe.evaluate(low, np.maximum(low, high), multipliers, infeasible)
        if self._bound is None:
            needed = np.zeros(len(which))
        else:
            problem = self._problem
            allowed = SUM * self._size
            target = self._safe.sign * (self._bound - problem.offset) - allowed
            needed = np.where(infeasible, 0.0, target)
        margin = np.where(infeasible, SEGMENT * found.size, 0.0)
        least = np.where(infeasible, np.maximum(margin, np.finfo(float).tiny), needed)
        proven = empty | (found.value >= least)
        scale = np.where(infeasible, found.nearly, self._near)
        nearly = ~proven & (found.nearly >= least) & (found.uncharged <= CONIC * scale)
        self.nearly += int(nearly.sum())
        return proven | nearly, float(found.nearly[-1])


def _chunks(count: int, width: int) -> Iterator[Array]:
    rows = max(1, _CELLS // max(width, 1))
    for begin in range(0, count, rows):
        yield np.arange(begin, min(begin + rows, count))


def _described(problem: MISDP, low: Array, high: Array) -> str:
    """Name a box by its first variables."""
    names = problem.names or [f"x{j}" for j in range(len(problem.c))]
    whole = np.flatnonzero(problem.integer)
    parts = [f"{names[j]} in [{a:g}, {b:g}]" for j, a, b in zip(whole, low, high, strict=True)]
    return ", ".join(parts[:6]) + ", ..." * (len(parts) > 6)

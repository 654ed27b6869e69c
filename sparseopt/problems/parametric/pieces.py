"""Convex piecewise-linear functions of one variable whose kinks and slopes are affine in lam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, freeze, unmasked


@dataclass(frozen=True, eq=False)
class Pieces:
    r"""A list of `n` convex piecewise-linear functions :math:`f_i(\cdot\,;\lambda)`.

    Function `i` has the kinks :math:`t_{i1} \le \dots \le t_{iq}` (at least one) and the slopes
    :math:`s_{i0} \le \dots \le s_{iq}` between and beyond them, each affine in lam:
    ``t = kink + lam * kink_rate`` and ``s = slope + lam * slope_rate``. Only the two outer slopes
    may be infinite, which makes the outer kink a bound. **Every function is zero at its first
    kink**, or at the one that `zero` names. An equality z = t is two equal kinks with the slopes
    (-inf, 0, inf); a free variable of cost s is the kink 0 between two equal slopes s.

    Parameters
    ----------
    ptr : int array of shape (n + 1,)
        The kinks of function i are the entries ``ptr[i]:ptr[i + 1]``; its slopes are the
        entries ``ptr[i] + i : ptr[i + 1] + i + 1``.
    kink, kink_rate : arrays of shape (ptr[n],)
    slope, slope_rate : arrays of shape (ptr[n] + n,)
    zero : int array of shape (n,), optional
        The number of the kink at which each function is zero, counted from 0. Default: the first.
        A first kink far away, a loose bound, would drown all values in rounding errors.
    """

    ptr: Array
    kink: Array
    kink_rate: Array
    slope: Array
    slope_rate: Array
    zero: Array | None = None

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def frozen(self, name: str) -> Pieces:
        """Return the functions with arrays that nobody else can change; `name` is for errors."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        parts = {part: array for part, array in given.items() if array is not None}
        return Pieces(
            **{
                part: freeze(np.asarray(unmasked(f"{name}.{part}", given)), given)
                for part, given in parts.items()
            }
        )

    # ---- constructors, one for each shape that the models use

    @classmethod
    def uniform(
        cls,
        kinks: Sequence[Array | float],
        slopes: Sequence[Array | float],
        kink_rates: Sequence[Array | float] | None = None,
        slope_rates: Sequence[Array | float] | None = None,
        n: int | None = None,
    ) -> Pieces:
        """Build `n` functions that have the same number q of kinks.

        Parameters
        ----------
        kinks, kink_rates : q arrays of shape (n,), or scalars
        slopes, slope_rates : q + 1 arrays of shape (n,), or scalars
        n : int, optional
            Number of functions where all entries are scalars.
        """
        columns = [*kinks, *slopes, *(kink_rates or ()), *(slope_rates or ())]
        length = n if n is not None else np.broadcast(*(np.atleast_1d(c) for c in columns)).size

        def stack(parts: Sequence[Array | float] | None, count: int) -> Array:
            if parts is not None and len(parts) != count:
                raise ProblemError(f"expected {count} entries for each function, got {len(parts)}")
            table = np.zeros((length, count))
            for k, part in enumerate(parts or ()):
                table[:, k] = part
            return table.reshape(-1)

        q = len(kinks)
        return cls(
            ptr=np.arange(length + 1, dtype=np.int64) * q,
            kink=stack(kinks, q),
            kink_rate=stack(kink_rates, q),
            slope=stack(slopes, q + 1),
            slope_rate=stack(slope_rates, q + 1),
        )

    @classmethod
    def absolute(cls, weights: Array) -> Pieces:
        """Return w abs(z)."""
        return cls.uniform([0.0], [-weights, weights], n=len(weights))

    @classmethod
    def lam_absolute(cls, weights: Array) -> Pieces:
        """Return lam w abs(z)."""
        return cls.uniform([0.0], [0.0, 0.0], slope_rates=[-weights, weights], n=len(weights))

    @classmethod
    def lam_band(cls, center: Array, radius: Array | float = 1.0) -> Pieces:
        """Return the indicator of abs(z - center) <= lam radius."""
        wide = np.broadcast_to(np.asarray(radius, float), center.shape)
        return cls.uniform(
            [center, center], [-np.inf, 0.0, np.inf], kink_rates=[-wide, wide], n=len(center)
        )

    @classmethod
    def check_loss(cls, y: Array, tau: Array | float = 0.5, scale: Array | float = 1.0) -> Pieces:
        """Return the check function scale (tau (y - z)_+ + (1 - tau) (z - y)_+)."""
        level = np.broadcast_to(np.asarray(tau, float), y.shape)
        return cls.uniform([y], [-scale * level, scale * (1.0 - level)], n=len(y))

    @classmethod
    def free(cls, n: int) -> Pieces:
        """Return the zero function, for unpenalised and unbounded variables."""
        return cls.uniform([0.0], [0.0, 0.0], n=n)

    def within(self, low: Array, high: Array) -> Pieces:
        r"""Return functions with the one kink 0 as they are on [low, high], and infinite outside.

        They stay zero at 0.

        Parameters
        ----------
        low, high : arrays of shape (n,)
            :math:`-\infty \le low \le 0 \le high \le \infty`.
        """
        n, zero, endless = len(self), np.zeros(len(self)), np.full(len(self), np.inf)
        below, above = low < 0.0, high > 0.0
        ended, ends = np.isfinite(low), np.isfinite(high)
        pinned = ~below & ~above
        kept = np.stack([(below & ended) | pinned, np.ones(n, bool), above & ends], axis=1)
        kept_slopes = np.stack([ended, below, above | pinned, ends], axis=1)

        def slopes(part: Array, outside: Array) -> Array:
            left, right = part.reshape(n, 2).T
            return np.asarray(np.stack([0.0 - outside, left, right, outside], axis=1)[kept_slopes])

        return Pieces(
            ptr=np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64),
            kink=np.stack([low, zero, high], axis=1)[kept],
            kink_rate=np.zeros(int(kept.sum())),
            slope=slopes(self.slope, endless),
            slope_rate=slopes(self.slope_rate, zero),
            zero=(below & ended).astype(np.int64),
        )

    def without_ends(self, low: Array, high: Array) -> Pieces:
        """Return functions some of which go on beyond their first or last kink as they come to it.

        Parameters
        ----------
        low, high : bool arrays of shape (n,)
            Where the first, and where the last slope is infinite and becomes that of the piece
            next to it.
        """
        slope, rate = self.slope.copy(), self.slope_rate.copy()
        first, last = self.slope_ptr[:-1][low], self.slope_ptr[1:][high] - 1
        for at, inside in ((first, first + 1), (last, last - 1)):
            slope[at], rate[at] = slope[inside], rate[inside]
        return replace(self, slope=slope, slope_rate=rate)

    @classmethod
    def concatenate(cls, *parts: Pieces) -> Pieces:
        """Put lists of functions one after another."""
        ends = np.cumsum([0, *(part.ptr[-1] for part in parts)])
        starts = [part.ptr[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        return cls(
            ptr=np.concatenate([*starts, ends[-1:]]).astype(np.int64),
            kink=np.concatenate([part.kink for part in parts]),
            kink_rate=np.concatenate([part.kink_rate for part in parts]),
            slope=np.concatenate([part.slope for part in parts]),
            slope_rate=np.concatenate([part.slope_rate for part in parts]),
            zero=np.concatenate([part.zeros for part in parts]),
        )

    def between(self, begin: int, end: int) -> Pieces:
        """Return the functions from `begin` to `end` (excluded), as read-only views."""
        first, last = int(self.ptr[begin]), int(self.ptr[end])
        kinks, slopes = slice(first, last), slice(first + begin, last + end)
        parts = {
            "ptr": self.ptr[begin : end + 1] - first,
            "kink": self.kink[kinks],
            "kink_rate": self.kink_rate[kinks],
            "slope": self.slope[slopes],
            "slope_rate": self.slope_rate[slopes],
            "zero": self.zeros[begin:end],
        }
        for array in parts.values():
            array.flags.writeable = False
        return Pieces(**parts)

    def part(self, functions: Array) -> Pieces:
        """Return some of the functions, in this order."""
        counts = self.counts[functions]
        ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        within = np.arange(ptr[-1]) - np.repeat(ptr[:-1], counts)
        kinks = np.repeat(self.ptr[functions], counts) + within
        slope_ptr = ptr + np.arange(len(ptr))
        within = np.arange(slope_ptr[-1]) - np.repeat(slope_ptr[:-1], counts + 1)
        slopes = np.repeat(self.slope_ptr[functions], counts + 1) + within
        return Pieces(
            ptr=ptr,
            kink=self.kink[kinks],
            kink_rate=self.kink_rate[kinks],
            slope=self.slope[slopes],
            slope_rate=self.slope_rate[slopes],
            zero=self.zeros[functions],
        )

    # ---- values

    @cached_property
    def counts(self) -> Array:
        """Number of kinks of each function, shape (n,)."""
        return np.diff(self.ptr)

    @property
    def zeros(self) -> Array:
        """The number of the kink at which each function is zero, shape (n,)."""
        return np.zeros(len(self), np.int64) if self.zero is None else self.zero

    @cached_property
    def slope_ptr(self) -> Array:
        """Start of each function's slopes, shape (n + 1,)."""
        return self.ptr + np.arange(len(self.ptr))

    def kinks_at(self, lam: float | Array) -> Array:
        """Return all kinks at lam, shape (ptr[n],); lam of shape (q, 1) adds an axis."""
        return self.kink + lam * self.kink_rate

    def slopes_at(self, lam: float | Array) -> Array:
        """Return all slopes at lam, shape (ptr[n] + n,); lam of shape (q, 1) adds an axis."""
        return self.slope + lam * self.slope_rate

    def domain(self, lam: float) -> tuple[Array, Array]:
        """Return the ends (low, high) of the set where each function is finite, shape (n,)."""
        kinks = self.kinks_at(lam)
        first, last = self.slope_ptr[:-1], self.slope_ptr[1:] - 1
        low = np.where(np.isneginf(self.slope[first]), kinks[self.ptr[:-1]], -np.inf)
        high = np.where(np.isposinf(self.slope[last]), kinks[self.ptr[1:] - 1], np.inf)
        return low, high

    def slope_range(self, lam: float | Array) -> tuple[Array, Array]:
        """Return the outer slopes of each function: where its conjugate is finite, shape (n,).

        With lam of shape (q, 1) they have shape (q, n).
        """
        slopes = self.slopes_at(lam)
        return slopes[..., self.slope_ptr[:-1]], slopes[..., self.slope_ptr[1:] - 1]

    def value(self, z: Array, lam: float) -> Array:
        """Return f_i(z_i), shape (n,); points outside the domain are moved to its end first."""
        low, high = self.domain(lam)
        z = np.clip(z, low, high)
        kinks, slopes = self.kinks_at(lam), self.slopes_at(lam)
        first, last = self.ptr[:-1], self.ptr[1:]
        s = self.slope_ptr[:-1]
        left = np.minimum(z - kinks[first], 0.0)
        total = np.where(left < 0.0, left * np.where(left < 0.0, slopes[s], 0.0), 0.0)
        for k in range(int(self.counts.max(initial=0))):
            here = np.flatnonzero(self.counts > k)
            begin = kinks[first[here] + k]
            inner = first[here] + k + 1 < last[here]
            end = np.where(inner, kinks[np.minimum(first[here] + k + 1, len(kinks) - 1)], np.inf)
            end = np.maximum(begin, end)
            # from the end that is nearer to where the function is zero
            step = np.clip(z[here], begin, end) - np.where(self.zeros[here] > k, end, begin)
            moved = step != 0.0
            total[here[moved]] += step[moved] * slopes[s[here[moved]] + k + 1]
        return np.asarray(total)

    def conjugate(self, v: Array, lam: float) -> Array:
        """Return f_i*(v_i) = max over z of v_i z - f_i(z), shape (n,), attained at a kink.

        Multipliers outside :meth:`slope_range` are moved to its end first.
        """
        low, high = self.slope_range(lam)
        v = np.clip(v, low, high)
        kinks = self.kinks_at(lam)
        slopes = np.delete(self.slopes_at(lam), self.slope_ptr[1:] - 1)
        values = self.at_kinks(
            np.diff(kinks, prepend=0.0) * np.where(np.isinf(slopes), 0.0, slopes)
        )
        best = np.full(len(self), -np.inf)
        for k in range(int(self.counts.max(initial=0))):
            here = np.flatnonzero(self.counts > k)
            t = kinks[self.ptr[here] + k]
            best[here] = np.maximum(best[here], v[here] * t - values[self.ptr[here] + k])
        return best

    def at_kinks(self, rise: Array) -> Array:
        """Add up by how much each function rises between its kinks, from where it is zero.

        Parameters
        ----------
        rise : array of shape (..., ptr[n])
            From the kink before to each kink; entries of first kinks do not matter.

        Returns
        -------
        array of that shape
            The values at all kinks.
        """
        total, most = np.zeros_like(rise), int(self.counts.max(initial=1))
        for j in range(1, most):
            at = (self.ptr[:-1] + j)[(self.counts > j) & (self.zeros < j)]
            total[..., at] = total[..., at - 1] + rise[..., at]
        for j in range(most - 1, 0, -1):
            at = (self.ptr[:-1] + j)[(self.counts > j) & (self.zeros >= j)]
            total[..., at - 1] = total[..., at] - rise[..., at]
        return total

    @cached_property
    def kink_values(self) -> Array:
        """The values at all kinks, as coefficients of 1, lam and lam^2, shape (3, ptr[n])."""
        t, rate = (np.diff(part, prepend=0.0) for part in (self.kink, self.kink_rate))
        s, speed = (
            np.delete(part, self.slope_ptr[1:] - 1) for part in (self.slope, self.slope_rate)
        )
        s = np.where(np.isinf(s), 0.0, s)
        return self.at_kinks(np.stack([s * t, s * rate + speed * t, speed * rate]))

    # ---- validation

    def validate(self, field: str) -> None:
        """Raise a ProblemError unless the arrays describe convex functions at large lam.

        At lam towards infinity the kinks and slopes must be in order; :meth:`floor` returns down
        to which lam they stay so.
        """
        n = len(self)
        ptr = self.ptr
        if ptr[0] != 0 or (np.diff(ptr) < 1).any():
            raise ProblemError(f"{field}.ptr must start at 0 and give every function a kink", field)
        for name, length in (
            ("kink", ptr[-1]),
            ("kink_rate", ptr[-1]),
            ("slope", ptr[-1] + n),
            ("slope_rate", ptr[-1] + n),
        ):
            array = getattr(self, name)
            if array.shape != (length,):
                raise ProblemError(
                    f"{field}.{name} has shape {array.shape}; expected ({length},)", field
                )
            bad = np.isnan(array) if name == "slope" else ~np.isfinite(array)
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                raise ProblemError(f"{field}.{name}[{at}] is {array[at]}", field)
        if self.zeros.shape != (n,) or ((self.zeros < 0) | (self.zeros >= self.counts)).any():
            raise ProblemError(f"{field}.zero does not name a kink of each function", field)
        infinite = np.isinf(self.slope)
        first, last = self.slope_ptr[:-1], self.slope_ptr[1:] - 1
        allowed = np.zeros(len(self.slope), dtype=bool)
        allowed[first] |= np.isneginf(self.slope[first])
        allowed[last] |= np.isposinf(self.slope[last])
        if (infinite & ~allowed).any():
            at = int(np.flatnonzero(infinite & ~allowed)[0])
            raise ProblemError(
                f"{field}.slope[{at}] is {self.slope[at]}; only the first slope of a function may "
                "be -inf and only the last +inf",
                field,
            )
        if (infinite & (self.slope_rate != 0.0)).any():
            raise ProblemError(f"{field}.slope_rate must be 0 where the slope is infinite", field)
        finite = np.add.reduceat((~infinite).astype(int), first)
        if (finite == 0).any():
            at = int(np.flatnonzero(finite == 0)[0])
            raise ProblemError(
                f"{field}: function {at} has no finite slope; write an equality as two equal "
                "kinks with the slopes (-inf, 0, inf)",
                field,
            )
        floor = self.floor()
        if floor > 0.0:
            raise ProblemError(
                f"{field}: kinks or slopes are out of order for lam < {floor:g}; expected convex "
                "functions for every lam >= 0",
                field,
            )

    def floor(self) -> float:
        """Return the smallest lam >= 0 from which on all kinks and slopes are in order."""
        with np.errstate(invalid="ignore"):
            gaps = [
                (np.diff(self.kink), np.diff(self.kink_rate), self.ptr),
                (np.diff(self.slope), np.diff(self.slope_rate), self.slope_ptr),
            ]
        floor = 0.0
        for gap, rate, ptr in gaps:
            inside = np.ones(len(gap), dtype=bool)
            inside[ptr[1:-1] - 1] = False
            gap, rate = gap[inside], rate[inside]
            finite = np.isfinite(gap)
            gap, rate = gap[finite], rate[finite]
            if ((rate < 0.0) | ((rate == 0.0) & (gap < 0.0))).any():
                return float("inf")
            moving = rate > 0.0
            floor = max(floor, float(np.max(-gap[moving] / rate[moving], initial=0.0)))
        return floor

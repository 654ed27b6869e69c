"""One path of a dense program: the arrays that the compiled pivots work on, and their records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sparseopt.problems.base import Array

from . import entry
from .tableau import (
    AGE,
    CHANGE,
    DOUBT,
    DRIFT,
    FIRST,
    FRESH_END,
    KERNEL,
    NU,
    PIVOTS,
    REFINED,
    SEGMENTS_BEFORE,
    SEGMENTS_HERE,
    THETA,
    DenseProgram,
    Records,
    new_records,
    new_tableau,
)

__all__ = ["Entries", "SegmentRecords", "SingularKernel", "State"]


class SingularKernel(ArithmeticError):
    """The kernel cannot be inverted to working accuracy."""


@dataclass(frozen=True, eq=False)
class Entries:
    """Affine sparse vectors, one for each segment: values at its lower end, and rates.

    Those of segment s are the entries ``ptr[s]:ptr[s + 1]``.
    """

    ptr: Array
    index: Array
    value: Array
    rate: Array

    def head(self, count: int) -> Entries:
        """Return the first `count` vectors."""
        end = self.ptr[count]
        return Entries(self.ptr[: count + 1], self.index[:end], self.value[:end], self.rate[:end])

    def dense(self, length: int) -> Array:
        """Return values and rates of all vectors, shape (2, vectors, length)."""
        both = np.zeros((2, len(self.ptr) - 1, length))
        row = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        both[0, row, self.index], both[1, row, self.index] = self.value, self.rate
        return both

    def moved(self, step: Array) -> Entries:
        """Return the vectors with values that are moved by `step`, one for each vector."""
        moved = self.value + np.repeat(step, np.diff(self.ptr)) * self.rate
        return replace(self, value=moved)

    def part(self, begin: int, end: int) -> Entries:
        """Return the vectors from `begin` to `end` (excluded)."""
        here = slice(self.ptr[begin], self.ptr[end])
        ptr = self.ptr[begin : end + 1] - self.ptr[begin]
        return Entries(ptr, self.index[here], self.value[here], self.rate[here])

    @classmethod
    def joined(cls, parts: Sequence[Entries]) -> Entries:
        """Return the vectors of all parts, one after another."""
        return cls(
            _joined_ptr([part.ptr for part in parts]),
            np.concatenate([part.index for part in parts]),
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.rate for part in parts]),
        )

    def copy(self) -> Entries:
        """Return the vectors in arrays of their own."""
        return Entries(self.ptr, self.index.copy(), self.value.copy(), self.rate.copy())


def _joined_ptr(parts: Sequence[Array]) -> Array:
    counts = [np.diff(part) for part in parts]
    return np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SegmentRecords:
    """Records of consecutive segments; see :class:`.tableau.Records`.

    The coordinates ``change_index[change_ptr[s]:change_ptr[s + 1]]`` have new codes in segment s.
    """

    low: Array
    high: Array
    objective: Array
    theta: Entries
    nu: Entries
    change_ptr: Array
    change_index: Array
    change_code: Array

    def __len__(self) -> int:
        return len(self.low)

    def head(self, count: int) -> SegmentRecords:
        """Return the first `count` segments."""
        end = self.change_ptr[count]
        return SegmentRecords(
            self.low[:count],
            self.high[:count],
            self.objective[:count],
            self.theta.head(count),
            self.nu.head(count),
            self.change_ptr[: count + 1],
            self.change_index[:end],
            self.change_code[:end],
        )

    def moved(self, step: Array) -> SegmentRecords:
        """Return the segments with values at lower ends that are moved by `step`, shape (S,)."""
        objective = self.objective.copy()
        objective[:, 0] += step * objective[:, 1]
        return replace(
            self, objective=objective, theta=self.theta.moved(step), nu=self.nu.moved(step)
        )

    def part(self, begin: int, end: int) -> SegmentRecords:
        """Return the segments from `begin` to `end` (excluded)."""
        change = slice(self.change_ptr[begin], self.change_ptr[end])
        return SegmentRecords(
            self.low[begin:end],
            self.high[begin:end],
            self.objective[begin:end],
            self.theta.part(begin, end),
            self.nu.part(begin, end),
            self.change_ptr[begin : end + 1] - self.change_ptr[begin],
            self.change_index[change],
            self.change_code[change],
        )

    @classmethod
    def joined(cls, parts: Sequence[SegmentRecords]) -> SegmentRecords:
        """Return the segments of all parts, one after another."""
        index = [part.change_index for part in parts]
        return cls(
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
            np.concatenate([part.objective for part in parts]),
            Entries.joined([part.theta for part in parts]),
            Entries.joined([part.nu for part in parts]),
            _joined_ptr([part.change_ptr for part in parts]),
            np.concatenate(index),
            np.concatenate([part.change_code for part in parts]),
        )

    def changes(self, s: int) -> tuple[Array, Array]:
        """Return the coordinates whose codes change before segment s, and their codes."""
        here = slice(self.change_ptr[s], self.change_ptr[s + 1])
        return self.change_index[here], self.change_code[here]

    @classmethod
    def of(cls, records: Records, count: int) -> SegmentRecords:
        """Return the first `count` segments of the records, as views of them."""
        ptr = records.ptr[: count + 1].copy()
        theta, nu, change = ptr[-1]
        return cls(
            records.bounds[:count, 0].copy(),
            records.bounds[:count, 1].copy(),
            records.objective[:count],
            Entries(
                ptr[:, THETA],
                records.theta_index[:theta],
                records.theta_value[:theta],
                records.theta_rate[:theta],
            ),
            Entries(
                ptr[:, NU],
                records.nu_index[:nu],
                records.nu_value[:nu],
                records.nu_rate[:nu],
            ),
            ptr[:, CHANGE],
            records.change_index[:change],
            records.change_code[:change],
        )

    def copy(self) -> SegmentRecords:
        """Return the segments in arrays of their own."""
        return SegmentRecords(
            self.low,
            self.high,
            self.objective.copy(),
            self.theta.copy(),
            self.nu.copy(),
            self.change_ptr,
            self.change_index.copy(),
            self.change_code.copy(),
        )


class State:
    """A basis of a dense program, with its values, and the records of the path so far.

    Call :meth:`perturb` before the first :meth:`advance`.
    """

    def __init__(
        self,
        program: DenseProgram,
        codes: Array,
        lam: float,
        top: float,
        *,
        recorded: int = 0,
        refined: bool = False,
    ) -> None:
        self.program = program
        self.tableau = new_tableau(program.A.shape, codes, lam, top)
        counters = self.tableau.counters
        counters[FIRST], counters[SEGMENTS_BEFORE] = recorded == 0, recorded
        counters[REFINED], counters[FRESH_END] = refined, True
        self.records = new_records(program.A.shape)

    @property
    def k(self) -> int:
        """Size of the kernel."""
        return int(self.tableau.counters[KERNEL])

    @property
    def pivots_since_refresh(self) -> int:
        """Pivots since the kernel was last factored."""
        return int(self.tableau.counters[AGE])

    @property
    def pivots(self) -> int:
        """Pivots so far."""
        return int(self.tableau.counters[PIVOTS])

    @property
    def ray(self) -> Array:
        """The ray that nothing blocks, shape (n,), after INFEASIBLE or UNBOUNDED."""
        return self.tableau.ray

    def refresh(self) -> float:
        """Factor the kernel again and recompute all values.

        Returns
        -------
        drift : float
            What that corrected since the last time, relative to the largest value.

        Raises
        ------
        SingularKernel
        """
        if self._run(entry.REFRESH) < 0:
            raise SingularKernel("the kernel of the basis is singular to working accuracy")
        return float(self.tableau.position[DRIFT])

    @property
    def doubt(self) -> float:
        """The largest sign so far that digits are lost (see :mod:`tableau`)."""
        return float(self.tableau.position[DOUBT])

    def steepness(self) -> float:
        """Return how far values have changed since the parameter was 0, relative to their size."""
        return self._run(entry.STEEPNESS)

    def perturb(self, rng: np.random.Generator) -> None:
        """Draw the symbolic perturbation again (see :func:`refresh.perturb`), and refresh.

        Raises
        ------
        SingularKernel
        """
        self._run(entry.PERTURB, seed=int(rng.integers(2**31)))
        self.refresh()

    def advance(
        self, end: float, centre: float, pivots: int, max_segments: int, max_nonzeros: int
    ) -> int:
        """Pivot on; return why it paused (see :mod:`core`)."""
        rules = max_segments, max_nonzeros
        return int(self._run(entry.ADVANCE, end, centre, pivots, rules=rules))

    def _run(
        self,
        task: int,
        end: float = 0.0,
        centre: float = 0.0,
        pivots: int = 0,
        seed: int = 0,
        rules: tuple[int, int] = (0, 0),
    ) -> float:
        arrays = self.program, self.tableau, self.records, entry.NO_COLUMNS
        return float(entry.run(task, *arrays, float(end), float(centre), int(pivots), seed, *rules))

    def take_segments(self) -> SegmentRecords:
        """Return the segments recorded since the last call, and make room for more."""
        counters = self.tableau.counters
        segments = SegmentRecords.of(self.records, int(counters[SEGMENTS_HERE])).copy()
        counters[SEGMENTS_BEFORE] += counters[SEGMENTS_HERE]
        counters[SEGMENTS_HERE] = 0
        return segments

"""One path of a dense program: the arrays that the compiled pivots work on, and their records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array

from . import core
from .centre import steepness_of
from .fresh import perturb, refresh
from .tableau import DenseProgram, Records, Tableau

__all__ = ["Entries", "Segments", "SingularKernel", "State", "new_records", "new_tableau"]

_ROOM = 256
"""Segments recorded between two visits of the driver."""
_TOUCHED = 4096
"""Changes of codes between two segments."""


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

    def copy(self) -> Entries:
        """Return the vectors in arrays of their own."""
        return Entries(self.ptr, self.index.copy(), self.value.copy(), self.rate.copy())


@dataclass(frozen=True, eq=False)
class Segments:
    """Records of consecutive segments (see :class:`~sparseopt.solvers.homotopy.tableau.Records`).

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

    def head(self, count: int) -> Segments:
        """Return the first `count` segments."""
        end = self.change_ptr[count]
        return Segments(
            self.low[:count],
            self.high[:count],
            self.objective[:count],
            self.theta.head(count),
            self.nu.head(count),
            self.change_ptr[: count + 1],
            self.change_index[:end],
            self.change_code[:end],
        )

    def changes(self, s: int) -> tuple[Array, Array]:
        """Return the coordinates whose codes change before segment s, and their codes."""
        here = slice(self.change_ptr[s], self.change_ptr[s + 1])
        return self.change_index[here], self.change_code[here]

    @classmethod
    def of(cls, records: Records, count: int) -> Segments:
        """Return the first `count` segments of the records, as views of them."""
        ptr = np.vstack([np.zeros((1, 3), np.int64), records.ends[:count]])
        theta, nu, change = ptr[-1]
        return cls(
            records.bounds[:count, 0].copy(),
            records.bounds[:count, 1].copy(),
            records.objective[:count],
            Entries(
                ptr[:, 0],
                records.theta_index[:theta],
                records.theta_value[:theta],
                records.theta_rate[:theta],
            ),
            Entries(
                ptr[:, 1],
                records.nu_index[:nu],
                records.nu_value[:nu],
                records.nu_rate[:nu],
            ),
            ptr[:, 2],
            records.change_index[:change],
            records.change_code[:change],
        )

    def copy(self) -> Segments:
        """Return the segments in arrays of their own."""
        return Segments(
            self.low,
            self.high,
            self.objective.copy(),
            self.theta.copy(),
            self.nu.copy(),
            self.change_ptr,
            self.change_index.copy(),
            self.change_code.copy(),
        )


def new_tableau(shape: tuple[int, int], codes: Array, lam: float, top: float) -> Tableau:
    """Return the arrays for a basis of an m x p program at lam."""
    m, p = shape
    n, cap = m + p, min(m, p)
    counters = np.zeros(13, np.int64)
    counters[3] = 1
    codes = codes.astype(np.int64)
    return Tableau(
        codes=codes,
        told=codes.copy(),
        w=np.zeros((3, n)),
        low=np.zeros((3, n)),
        high=np.zeros((3, n)),
        C=np.zeros(cap, np.int64),
        R=np.zeros(cap, np.int64),
        where=np.zeros(n, np.int64),
        kernel=np.empty((cap, cap)),
        inverse=np.empty((cap, cap)),
        position=np.array([lam, 0.0, top, 0.0, 0.0, 0.0, 0.0, lam]),
        counters=counters,
        touched=np.empty(_TOUCHED, np.int64),
        ray=np.zeros(n),
        answer=np.zeros(n),
        work=np.empty((4, n)),
        travel=np.empty(3),
    )


def new_records(shape: tuple[int, int], room: int = _ROOM, entries: int = 32 * _ROOM) -> Records:
    """Return room for some segments of an m x p program, with so many entries in all."""
    m, p = shape
    theta, nu = (max(entries, 2 * size) for size in (p, m))
    changes = max(2 * _TOUCHED, 4 * room)
    return Records(
        bounds=np.empty((room, 2)),
        objective=np.empty((room, 3)),
        ends=np.empty((room, 3), np.int64),
        theta_index=np.empty(theta, np.int64),
        theta_value=np.empty(theta),
        theta_rate=np.empty(theta),
        nu_index=np.empty(nu, np.int64),
        nu_value=np.empty(nu),
        nu_rate=np.empty(nu),
        change_index=np.empty(changes, np.int64),
        change_code=np.empty(changes, np.int64),
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
        self.tableau.counters[3], self.tableau.counters[9] = recorded == 0, recorded
        self.tableau.counters[11], self.tableau.counters[12] = refined, True
        self.records = new_records(program.A.shape)

    @property
    def k(self) -> int:
        """Size of the kernel."""
        return int(self.tableau.counters[0])

    @property
    def pivots_since_refresh(self) -> int:
        """Pivots since the kernel was last factored."""
        return int(self.tableau.counters[1])

    @property
    def pivots(self) -> int:
        """Pivots so far."""
        return int(self.tableau.counters[8])

    @property
    def ray(self) -> Array:
        """The ray that nothing blocks, shape (n,), after INFEASIBLE or UNBOUNDED."""
        return self.tableau.ray

    def refresh(self) -> float:
        """Factor the kernel anew and recompute all values.

        Returns
        -------
        drift : float
            What that corrected since the last time, relative to the largest value.

        Raises
        ------
        SingularKernel
        """
        _regular(refresh(self.program, self.tableau))
        return float(self.tableau.position[3])

    def steepness(self) -> float:
        """Return how far values have changed since the parameter was 0, relative to their size."""
        return float(steepness_of(self.program, self.tableau))

    def perturb(self, rng: np.random.Generator) -> None:
        """Draw the symbolic perturbation anew (see :func:`fresh.perturb`).

        Raises
        ------
        SingularKernel
        """
        _regular(perturb(self.program, self.tableau, int(rng.integers(2**31))))

    def advance(
        self, end: float, start: float, pivots: int, max_segments: int, max_nonzeros: int
    ) -> int:
        """Pivot on; return why it paused (see :mod:`core`)."""
        return int(
            core.advance(
                self.program,
                self.tableau,
                self.records,
                end,
                start,
                pivots,
                max_segments,
                max_nonzeros,
            )
        )

    def take_segments(self) -> Segments:
        """Return the segments recorded since the last call, and make room for more."""
        counters = self.tableau.counters
        segments = Segments.of(self.records, int(counters[4])).copy()
        counters[9] += counters[4]
        counters[[4, 6, 7, 10]] = 0
        return segments


def _regular(k: int) -> None:
    if k < 0:
        raise SingularKernel("the kernel of the basis is singular to working accuracy")

"""The arrays that the compiled pivots work on, and the names of the scalars in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.compiling import by_address
from sparseopt.problems.base import Array

from ..settings import CHANGES, ENTRIES_PER_SEGMENT, SEGMENTS

(
    LAM, DELTA, TOP, PRIMAL_TOLERANCE, DUAL_TOLERANCE,
    SLOWEST_VALUE, SLOWEST_MULTIPLIER, DRIFT, REFRESHED_AT, DOUBT,
) = range(10)  # fmt: skip
"""Entries of :attr:`Tableau.position`.

The position on the path is lam + eps delta for an infinitely small eps; TOP is the upper end of the
current segment. Values up to PRIMAL_TOLERANCE, multipliers up to DUAL_TOLERANCE and their rates up
to SLOWEST_VALUE, SLOWEST_MULTIPLIER are rounding errors of zero (those of a code c are the entries
``PRIMAL_TOLERANCE + (c & 1)`` and ``SLOWEST_VALUE + (c & 1)``). DRIFT is what the last refresh
corrected since the one before, at either one's lam, relative to the largest value of its kind;
REFRESHED_AT is lam there. DOUBT is the largest sign so far that digits are lost: an entry of the
inverse, a ray's largest entry over the pivot's, or a drift in units of 1e-16.
"""

(
    KERNEL, AGE, IDLE, PIVOTS, SEGMENTS_HERE, SEGMENTS_BEFORE, CHANGED,
    FIRST, REFINED, FRESH_END, SPARSE_THETA, SPARSE_NU,
) = range(12)  # fmt: skip
"""Entries of :attr:`Tableau.counters`.

KERNEL is the size k of the kernel, AGE the number of pivots since it was factored, IDLE that since
the last segment, PIVOTS that of all. SEGMENTS_HERE counts the segments in the records,
SEGMENTS_BEFORE those taken out before, CHANGED the entries of :attr:`Tableau.changed`.
Flags, 0 or 1: FIRST, no segment was recorded yet; REFINED, rays are refined once; FRESH_END, the
last segment is to come from a fresh kernel; SPARSE_THETA, variables at kinks are zero; SPARSE_NU,
so are the multipliers of rows on pieces.
"""

LAPACK_SIZE, LAPACK_LEADING, LAPACK_ROOM, LAPACK_INFO, LAPACK_PIVOTS = range(5)
"""Entries of :attr:`Tableau.lapack`: the order of a matrix, the length of a row of the array that
it is in, the size of the room, what a routine reports, and the first of the row exchanges."""

_LAPACK_BLOCK = 64
"""Columns that LAPACK's dgetri works on together, where it has the room (its ILAENV)."""

THETA, NU, CHANGE = range(3)
"""Columns of :attr:`Records.ptr`."""


@by_address
class DenseProgram(NamedTuple):
    """A program with a dense matrix, in the engine's units.

    `A` is m x p in C order and `AT` its transpose in C order, so that rows and columns are
    contiguous. The kinks ``kinks[:, kink_ptr[i]:kink_ptr[i + 1]]`` and slopes
    ``slopes[:, slope_ptr[i]:slope_ptr[i + 1]]`` of the n = p + m coordinates, variables first,
    have the components (constant, rate in lam, symbolic perturbation).
    """

    A: Array
    AT: Array
    kink_ptr: Array
    slope_ptr: Array
    kinks: Array
    slopes: Array


@by_address
class Tableau(NamedTuple):
    """A basis of a dense program with its values, and where the path is.

    Attributes
    ----------
    codes, recorded : int arrays of shape (n,)
        Code 2k: on piece k; code 2k + 1: at kink k; now, and when last recorded.
    w, low, high : arrays of shape (3, n)
        The quantity of each coordinate that may move (its value on a piece, its multiplier at a
        kink) and the two limits that it must stay between.
    C, R : int arrays of shape (cap,)
        Variables on pieces and rows at kinks; the first k entries count.
    place : int array of shape (n,)
        Position of a coordinate in C or R.
    kernel, inverse : arrays of shape (cap, cap)
        B = A[R, C] and its inverse, whose rows belong to C.
    position : array
        Scalars: LAM, DELTA, TOP, ...
    counters : int array
        Counters and flags: KERNEL, AGE, IDLE, ...
    changed : int array
        Coordinates whose codes changed since the last segment.
    ray, block_ray : arrays of shape (n,)
        Step directions of the coordinate whose event it is, and of the one that blocks it.
    work : array of shape (6, n)
        Room for the vectors of one step.
    lapack : int array of shape (LAPACK_PIVOTS + cap,)
        What LAPACK takes by address, 32 bits each: LAPACK_SIZE, ...
    lapack_work : array
        Room for its routines.
    travel : array of shape (3,)
        How far the coordinate whose event it is may go until it meets its own next limit.
    """

    codes: Array
    recorded: Array
    w: Array
    low: Array
    high: Array
    C: Array
    R: Array
    place: Array
    kernel: Array
    inverse: Array
    position: Array
    counters: Array
    changed: Array
    ray: Array
    block_ray: Array
    work: Array
    lapack: Array
    lapack_work: Array
    travel: Array


@by_address
class Records(NamedTuple):
    """Room for S segments of a path.

    `bounds` (S, 2) holds low and high; `objective` (S, 3) the quadratic in lam - low of
    -sum_i nu_i t_i. The entries of segment s in the theta, nu and change arrays are
    ``ptr[s, THETA]:ptr[s + 1, THETA]`` and so on, shape (S + 1, 3): values at the lower end and
    rates of all coefficients and multipliers that are not zero.
    """

    bounds: Array
    objective: Array
    ptr: Array
    theta_index: Array
    theta_value: Array
    theta_rate: Array
    nu_index: Array
    nu_value: Array
    nu_rate: Array
    change_index: Array
    change_code: Array


def new_tableau(shape: tuple[int, int], codes: Array, lam: float, top: float) -> Tableau:
    """Return the arrays for a basis of an m x p program at lam.

    Parameters
    ----------
    shape : (int, int)
        (m, p).
    codes : int array of shape (p + m,)
        Copied.
    lam : float
        Where the walk stands.
    top : float
        The upper end of the first segment.

    Returns
    -------
    Tableau
        Without values: to be refreshed.
    """
    m, p = shape
    n, cap = m + p, min(m, p)
    counters = np.zeros(12, np.int64)
    counters[FIRST] = 1
    position = np.zeros(10)
    position[LAM], position[TOP], position[REFRESHED_AT] = lam, top, lam
    codes = codes.astype(np.int64)
    return Tableau(
        codes=codes,
        recorded=codes.copy(),
        w=np.zeros((3, n)),
        low=np.zeros((3, n)),
        high=np.zeros((3, n)),
        C=np.zeros(cap, np.int64),
        R=np.zeros(cap, np.int64),
        place=np.zeros(n, np.int64),
        kernel=np.empty((cap, cap)),
        inverse=np.empty((cap, cap)),
        position=position,
        counters=counters,
        changed=np.empty(CHANGES, np.int64),
        ray=np.zeros(n),
        block_ray=np.zeros(n),
        work=np.empty((6, n)),
        lapack=np.zeros(LAPACK_PIVOTS + cap, np.int32),
        lapack_work=np.empty(_LAPACK_BLOCK * cap),
        travel=np.empty(3),
    )


def new_records(
    shape: tuple[int, int], room: int = SEGMENTS, entries: int = ENTRIES_PER_SEGMENT * SEGMENTS
) -> Records:
    """Return room for some segments of an m x p program, with so many entries in all.

    Parameters
    ----------
    shape : (int, int)
        (m, p).
    room : int
        Number of segments. Default: SEGMENTS.
    entries : int
        Entries of coefficients, and of multipliers. Default: ENTRIES_PER_SEGMENT for each segment.

    Returns
    -------
    Records
    """
    m, p = shape
    theta, nu = (max(entries, 2 * size) for size in (p, m))
    changes = max(2 * CHANGES, 4 * room)
    return Records(
        bounds=np.empty((room, 2)),
        objective=np.empty((room, 3)),
        ptr=np.zeros((room + 1, 3), np.int64),
        theta_index=np.empty(theta, np.int64),
        theta_value=np.empty(theta),
        theta_rate=np.empty(theta),
        nu_index=np.empty(nu, np.int64),
        nu_value=np.empty(nu),
        nu_rate=np.empty(nu),
        change_index=np.empty(changes, np.int64),
        change_code=np.empty(changes, np.int64),
    )


def with_twice_the_room(records: Records, count: int) -> Records:
    """Return records with the first `count` segments of the given ones, and twice their room.

    Parameters
    ----------
    records : Records
    count : int
        Number of segments to keep.

    Returns
    -------
    Records
    """
    used = dict(zip(("theta", "nu", "change"), records.ptr[count], strict=True))
    wider = {}
    for name, array in records._asdict().items():
        filled = used.get(name.partition("_")[0], count + (name == "ptr"))
        wider[name] = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
        wider[name][:filled] = array[:filled]
    wider["ptr"] = wider["ptr"][:-1]
    return Records(**wider)

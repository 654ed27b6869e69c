r"""Integer variables whose columns are multiples of one another, merged into one.

Of the sizes 1, ..., r that a bar of a truss may have, at most one is chosen: x_1 + ... + x_r <= 1,
and everywhere else x_t has t times the coefficients of x_1. Then Y = x_1 + 2 x_2 + ... is all that
matters. A tree over Y has a branch "Y >= 1"; one over the x_t must say which size it is, and its
branch x_t = 0 leaves the relaxation as it is, where another size takes over.

A **group** is a set of integer variables with columns a_t = t a, t = 1, ..., in the costs, the
cones, the matrices and all rows but those that only members of the group are in. It is merged if
each integer value of Y in its range is that of some choice of the members that these rows allow:
then the two problems have the same optimum. (For a bound alone it would suffice that Y has that
range, which is what the checker proves.)
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SecondOrderCone, SemidefiniteBlock
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Result

from ..settings import MERGED_CHOICES


@dataclass(frozen=True, eq=False)
class _Group:
    """Members in the order of their multiples, the first of which is 1.

    Attributes
    ----------
    members, times : int arrays of shape (k,)
    choices : array of shape (values, k)
        Values of the members for each value of Y, the least one first.
    least : float
        The least value of Y.
    """

    members: Array
    times: Array
    choices: Array
    least: float


class Merged:
    """A problem with the groups merged, and the way back.

    Parameters
    ----------
    given : MISDP
    groups : list of _Group

    Attributes
    ----------
    given : MISDP
    problem : MISDP
        The first member of each group takes the place of Y, the others are left out. Rows in which
        a group is no multiple of Y stay, without coefficients and sides.
    """

    def __init__(self, given: MISDP, groups: list[_Group]) -> None:
        self.given, self._groups = given, groups
        n = len(given.c)
        keep, whole = np.ones(n, dtype=bool), np.flatnonzero(given.integer)
        self._times = np.ones(n, dtype=np.int64)
        self._into = np.arange(n)
        lower, upper = given.lower.copy(), given.upper.copy()
        own = np.zeros(given.A.shape[0], dtype=bool)
        for group in groups:
            first = group.members[0]
            keep[group.members[1:]] = False
            self._times[group.members], self._into[group.members] = group.times, first
            lower[first], upper[first] = group.least, group.least + len(group.choices) - 1
            own |= _other_rows(given.A, group.members, group.times)
        self._kept = np.flatnonzero(keep)
        self._whole = whole
        if not groups:
            self.problem = given
            return
        A = sp.csr_array(sp.diags_array(np.where(own, 0.0, 1.0)) @ given.A[:, self._kept])
        A.eliminate_zeros()
        self.problem = MISDP(
            c=given.c[self._kept],
            A=A,
            row_lower=np.where(own, -np.inf, given.row_lower),
            row_upper=np.where(own, np.inf, given.row_upper),
            lower=lower[self._kept],
            upper=upper[self._kept],
            integer=given.integer[self._kept],
            cones=[
                SecondOrderCone(F=cone.F[:, self._kept], g=cone.g, rotated=cone.rotated)
                for cone in given.cones
            ],
            blocks=[
                SemidefiniteBlock(F=block.F[:, self._kept], F0=block.F0) for block in given.blocks
            ],
            sense=given.sense,
            offset=given.offset,
        )

    def down(self, x: Array) -> Array:
        """Return a point of the given problem, (n,), as one of the merged problem."""
        sums = np.bincount(self._into, self._times * x, minlength=len(x))
        return np.asarray(sums[self._kept])

    def up(self, x: Array) -> Array:
        """Return a point of the merged problem, whose integers are integral, in the given one."""
        whole = np.empty(len(self.given.c))
        whole[self._kept] = x
        for group in self._groups:
            whole[group.members] = group.choices[round(whole[group.members[0]] - group.least)]
        return whole

    def answer(self, result: Result) -> Result:
        """Return a result of the merged problem as one of the given problem."""
        if not self._groups:
            return result
        changes: dict[str, Any] = {}
        if result.x is not None:
            x = self.up(result.x)
            changes = {"x": x, "objective": self.given.objective(x)}
        certificate = result.certificate
        if certificate is not None:
            place = {int(j): k for k, j in enumerate(self._whole)}
            arrays = {
                **certificate.arrays,
                "merged_into": np.array([place[j] for j in self._into[self._whole].tolist()]),
                "merged_times": self._times[self._whole],
            }
            changes["certificate"] = replace(certificate, arrays=arrays)
        return result.with_changes(**changes)


def merge(problem: MISDP) -> Merged:
    """Return the problem with all groups merged.

    Problems with a variable without bounds, which may have rays, with matrices of rank one and with
    indicators stay as they are.

    Parameters
    ----------
    problem : MISDP

    Notes
    -----
    O(nnz log nnz), and :data:`MERGED_CHOICES` choices of each group's members.
    """
    ends = np.concatenate([problem.lower, problem.upper])
    ranked = any(block.rank_one for block in problem.blocks)
    if ranked or problem.indicators or not np.isfinite(ends).all():
        return Merged(problem, [])
    found = (_group(problem, members, times) for members, times in _parallel(problem))
    return Merged(problem, [group for group in found if group is not None])


def _parallel(problem: MISDP) -> list[tuple[Array, Array]]:
    """Return members and multiples of the groups, by what their columns are."""
    fixed = [problem.c[None], *(cone.F for cone in problem.cones)]
    fixed += [block.F for block in problem.blocks]
    A = sp.csr_array(problem.A)
    shared = np.zeros(A.shape[0], dtype=bool)
    while True:
        columns = sp.csc_array(sp.vstack([*map(sp.csr_array, fixed), A[shared]], format="csc"))
        columns.eliminate_zeros()
        groups: dict[bytes, list[tuple[float, int]]] = {}
        for j in np.flatnonzero(problem.integer).tolist():
            here = slice(columns.indptr[j], columns.indptr[j + 1])
            rows, values = columns.indices[here], columns.data[here]
            if len(rows):
                # Rounded, since multiples are rounded: those that differ are sorted out below.
                shape = np.round(values / abs(values[0]), 9) + 0.0
                key = rows.astype(np.int64).tobytes() + shape.tobytes()
                groups.setdefault(key, []).append((abs(float(values[0])), j))
        several = [group for group in groups.values() if len(group) > 1]
        owner = np.full(len(problem.c), -1)
        for number, group in enumerate(several):
            owner[[j for _, j in group]] = number
        more = shared.copy()
        for i in np.flatnonzero(~shared).tolist():
            owners = owner[A.indices[A.indptr[i] : A.indptr[i + 1]]]
            more[i] = len(owners) > 0 and bool((owners != owners[0]).any() or owners[0] < 0)
        if not several or (more == shared).all():
            break
        shared = more
    found = []
    for group in several:
        sizes, members = (np.array(part) for part in zip(*sorted(group), strict=True))
        times = np.rint(sizes / sizes[0]).astype(np.int64)
        first = columns[:, [members[0]]].toarray()
        same = [
            np.array_equal(columns[:, [j]].toarray(), t * first)
            for j, t in zip(members.tolist(), times.tolist(), strict=True)
        ]
        if sum(same) > 1:
            found.append((members[same], times[same]))
    return found


def _other_rows(A: sp.csr_array, members: Array, times: Array) -> Array:
    """Return which rows hold the members by other multiples than `times`."""
    part = A[:, members].toarray()
    return np.asarray((part != part[:, [0]] * times).any(axis=1))


def _group(problem: MISDP, members: Array, times: Array) -> _Group | None:
    """Return a group if its members reach every value of Y, else None."""
    low, high = np.ceil(problem.lower[members]), np.floor(problem.upper[members])
    own = np.flatnonzero(_other_rows(problem.A, members, times))
    rows = problem.A[own].toarray()
    inside = rows[:, members]
    if np.count_nonzero(rows) != np.count_nonzero(inside):
        # One of those that were sorted out is in such a row.
        return None
    below, above = problem.row_lower[own], problem.row_upper[own]
    most = float(times @ high)
    for a, top in zip(inside, above, strict=True):
        if (a > 0.0).all() and np.isfinite(top):
            room = max(0.0, top - float(a @ low))
            most = min(most, float(times @ low) + float(np.floor(room * (times / a).max() + 1e-9)))
    least = float(times @ low)
    if most - least + 1 > MERGED_CHOICES:
        return None
    if not len(own) and (times == 1).all():
        steps = np.arange(most - least + 1)[:, None]
        before = np.concatenate([[0.0], np.cumsum(high - low)[:-1]])
        return _Group(members, times, low + np.clip(steps - before, 0.0, high - low), least)
    if np.prod(high - low + 1.0) > MERGED_CHOICES:
        return None
    choices: dict[int, Array] = {}
    ranges = [np.arange(a, b + 1.0) for a, b in zip(low, high, strict=True)]
    for choice in map(np.array, itertools.product(*ranges)):
        value = inside @ choice
        if (value >= below).all() and (value <= above).all():
            choices.setdefault(round(times @ choice - least), choice)
    if sorted(choices) != list(range(round(most - least) + 1)):
        return None
    return _Group(members, times, np.array([choices[k] for k in sorted(choices)]), least)

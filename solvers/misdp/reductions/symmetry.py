r"""Symmetries of a MISDP: found by colours, and used at each node, or by rows from the start.

Variables, lines of matrices and rows get colours that symmetries keep: first by their numbers, then
by the colours of what they meet, until nothing more is told apart (colour refinement). A symmetry
that takes x_o to x_f shows when both get a colour of their own and refinement ends in the same
colours; where these leave variables or lines alike, further ones are singled out one after the
other (individualisation, as McKay and Piperno 2014 describe it). Where entries of matrices have
both signs, each line is there twice, with either sign. Colours are 64-bit hashes, and
each move that they suggest is compared number by number before it counts.

What is done with symmetries is in :mod:`sparseopt.proofs.misdp_symmetry`. A variable of the largest
orbit leads it; then those symmetries are looked at that leave it in place, and so on. Where the
whole group is small, its elements serve at each node (:mod:`sparseopt.solvers.misdp.tree.orbits`);
else rows do. The two together would be wrong: few symmetries of the problem keep such rows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.misdp_symmetry import SymmetryTest, followers, ordered
from sparseopt.result import Result

from ..settings import SYMMETRY_ENTRIES, SYMMETRY_GROUP, SYMMETRY_NUMBERS, SYMMETRY_REFINEMENTS
from .merging import Merged
from .mirrors import Mirrored


class Ordered:
    """A merged problem with rows by symmetry, and the way back.

    Parameters
    ----------
    merged : Merged or Mirrored
    leaders : int array of shape (R,)
    variables, lines : int arrays of shapes (R, n) and (R, lines)
        The symmetries of :func:`sparseopt.proofs.misdp_symmetry.ordered`.
    group : tuple of int arrays of shapes (G, n) and (G, lines), optional

    Attributes
    ----------
    problem : MISDP
        With R more rows.
    group : tuple of arrays or None
        All symmetries of the problem, where they are few: then there are no rows.
    """

    def __init__(
        self,
        merged: Merged | Mirrored,
        leaders: Array,
        variables: Array,
        lines: Array,
        group: tuple[Array, Array] | None = None,
    ) -> None:
        self._merged = merged
        self.group = group
        self._leaders, self._variables, self._lines = leaders, variables, lines
        self.problem = merged.problem
        if len(leaders):
            self.problem = ordered(merged.problem, leaders, variables)
            self._others = followers(leaders, variables)

    def down(self, x: Array) -> Array:
        """Return a point of the given problem, or one that is symmetric to it, in this one.

        Parameters
        ----------
        x : array of shape (n,)
            NaN where a value is not known.
        """
        x = self._merged.down(x)
        for f in dict.fromkeys(self._leaders.tolist()):
            own = np.flatnonzero(self._leaders == f)
            values = np.nan_to_num(x[self._others[own]], nan=-np.inf)
            k = int(np.argmax(values))
            if values[k] > x[f]:
                moved = np.empty_like(x)
                moved[self._variables[own[k]]] = x
                x = moved
        return x

    def up(self, x: Array) -> Array:
        """Return a point of this problem, whose integers are integral, in the given one."""
        return self._merged.up(x)

    def answer(self, result: Result) -> Result:
        """Return a result of this problem as one of the given problem."""
        certificate = result.certificate
        if len(self._leaders) and certificate is not None:
            arrays = {
                **certificate.arrays,
                "symmetry_leaders": self._leaders,
                "symmetry_variables": self._variables,
                "symmetry_lines": self._lines,
            }
            result = result.with_changes(certificate=replace(certificate, arrays=arrays))
        return self._merged.answer(result)


def order(merged: Merged | Mirrored) -> Ordered:
    """Return a merged problem with its symmetries, or rows by them where they are many.

    Parameters
    ----------
    merged : Merged or Mirrored

    Notes
    -----
    Where all integers differ in their numbers: two refinements, O(nnz).
    """
    problem = merged.problem
    n, S = len(problem.c), sum(block.size for block in problem.blocks)
    found = _Finder(problem).table() if _covered(problem) else []
    group = _group(found, n, S)
    if group is not None or not np.isfinite(np.concatenate([problem.lower, problem.upper])).all():
        # What is unbounded is told by rays of the problem as it is.
        found = []
    leaders = np.array([f for f, _ in found], dtype=np.int64)
    variables, lines = np.empty((len(found), n), np.int64), np.empty((len(found), S), np.int64)
    for k, (_, move) in enumerate(found):
        variables[k], lines[k] = move.variables, move.signed_lines(S)
    return Ordered(merged, leaders, variables, lines, group)


def _group(found: list[tuple[int, _Move]], n: int, S: int) -> tuple[Array, Array] | None:
    """Return all symmetries that a table gives, each as one of a leader's after one of the next's.

    None where there are none or too many.
    """
    levels = {f: [move for g, move in found if g == f] for f, _ in found}
    count = math.prod(1 + len(moves) for moves in levels.values())
    if not levels or count > SYMMETRY_GROUP or count * (n + S) > SYMMETRY_NUMBERS:
        return None
    group = [_Move(np.arange(n), np.arange(len(found[0][1].lines)))]
    for moves in reversed(levels.values()):
        group += [later.after(move) for move in moves for later in group]
    variables = np.array([move.variables for move in group])
    return variables, np.array([move.signed_lines(S) for move in group])


def _covered(problem: MISDP) -> bool:
    """Return whether symmetries are looked for: integers with ends, no ranks or cones, small."""
    if problem.cones or problem.indicators or not problem.integer.any():
        return False
    if any(block.rank_one for block in problem.blocks):
        return False
    ends = np.concatenate([problem.lower[problem.integer], problem.upper[problem.integer]])
    if not np.isfinite(ends).all():
        return False
    entries = problem.A.nnz + sum(block.F.nnz + len(block.F0) for block in problem.blocks)
    return bool(entries <= SYMMETRY_ENTRIES)


class _Move(NamedTuple):
    """Where variables and S lines go; where signs count, S lines of other signs are behind them."""

    variables: Array
    lines: Array

    def signed_lines(self, S: int) -> Array:
        """Return where the S lines go; -1 - r is r with another sign."""
        to = self.lines[:S]
        return np.where(to < S, to, S - 1 - to)

    def after(self, other: _Move) -> _Move:
        """Return this move after another one."""
        return _Move(self.variables[other.variables], self.lines[other.lines])

    def back(self) -> _Move:
        """Return the move that undoes this one."""
        return _Move(np.argsort(self.variables), np.argsort(self.lines))


class _Finder:
    """Finds symmetries of one problem, as long as the number of refinements allows."""

    def __init__(self, problem: MISDP) -> None:
        self._problem = problem
        self._colouring = _Colouring(problem)
        self._lines = sum(block.size for block in problem.blocks)
        self._left = SYMMETRY_REFINEMENTS

    def table(self) -> list[tuple[int, _Move]]:
        """Return leaders with the symmetries that take another variable of their orbit there."""
        problem, found = self._problem, list[tuple[int, _Move]]()
        width = len(problem.c) + sum(block.size for block in problem.blocks)
        moving = problem.integer & (problem.lower < problem.upper)
        colours = self._refined(self._colouring.first())
        leaders: set[int] = set()
        while self._left > 0:
            cells = [cell for cell in _cells(colours[0]) if moving[cell[0]] and len(cell) > 1]
            cells = [cell for cell in cells if int(cell[0]) not in leaders]
            if not cells:
                break
            cell = max(cells, key=lambda cell: (len(cell), abs(problem.c[cell[0]])))
            leader = int(cell[0])
            orbit = self._orbit(leader, cell, colours)
            if (len(found) + len(orbit)) * width > SYMMETRY_NUMBERS:
                break
            found += [(leader, move) for move in orbit]
            leaders.add(leader)
            colours = self._refined(_singled(colours, 0, leader))
        return found

    def _orbit(self, leader: int, cell: Array, colours: _Colours) -> list[_Move]:
        """Return a symmetry from each variable of the leader's orbit to the leader, itself not."""
        n, lines = len(colours[0]), len(colours[1])
        itself = _Move(np.arange(n), np.arange(lines))
        reached = {leader: itself}
        steps: list[_Move] = []
        outside: set[int] = set()
        target = self._refined(_singled(colours, 0, leader))
        for other in cell.tolist():
            if other in reached or other in outside:
                continue
            move = self._matched(self._refined(_singled(colours, 0, other)), target)
            if move is None:
                outside |= _reached({other: itself}, steps).keys()
                continue
            steps += [move, move.back()]
            reached = _reached(reached, steps)
            outside |= _reached(dict.fromkeys(outside, itself), steps).keys()
        del reached[leader]
        return list(reached.values())

    def _matched(self, own: _Colours, target: _Colours) -> _Move | None:
        """Return a symmetry that takes what has one colour to what has the same in `target`."""
        for mine, theirs in zip(own, target, strict=True):
            if not np.array_equal(np.sort(mine), np.sort(theirs)):
                return None
        # Variables tell lines apart by signs only where one line is known.
        for kind in (1, 0) if self._colouring.signed else (0, 1):
            alike = [cell for cell in _cells(own[kind]) if len(cell) > 1]
            if not alike:
                continue
            signed = self._with_signs(own, target) if kind and self._colouring.signed else None
            if signed is not None:
                return self._matched(*map(self._refined, signed)) if self._left > 0 else None
            cell = min(alike, key=lambda cell: int(own[kind][cell[0]]))
            one = int(cell[0])
            others = np.flatnonzero(target[kind] == own[kind][one]).tolist()
            if kind and self._colouring.signed:
                # All signs of lines that have entries together may change.
                both = others[0] + self._lines in others
                others = [other for other in others if other < self._lines] if both else others
            # What a symmetry can leave in place it shall.
            others.sort(key=lambda other: other != one)
            singled = self._refined(_singled(own, kind, one))
            for other in others:
                if self._left <= 0:
                    return None
                move = self._matched(singled, self._refined(_singled(target, kind, other)))
                if move is not None:
                    return move
            return None
        places = [np.empty(len(mine), dtype=np.int64) for mine in own]
        for place, mine, theirs in zip(places, own, target, strict=True):
            place[np.argsort(mine)] = np.argsort(theirs)
        move = _Move(*places)
        return move if self._test.holds(move.variables, move.signed_lines(self._lines)) else None

    def _with_signs(self, own: _Colours, target: _Colours) -> tuple[_Colours, _Colours] | None:
        """Choose signs where nothing else is left to choose, one for all that has entries together.

        None where two lines look alike by more than their signs.
        """
        S = self._lines
        for _, L in (own, target):
            open_ = L[:S] == L[S:]
            if len(np.unique(L)) != 2 * S - open_.sum():
                return None
        open_ = np.flatnonzero(own[1][:S] == own[1][S:])
        ones = open_[np.unique(self._colouring.parts[open_], return_index=True)[1]]
        order = np.argsort(target[1][:S])
        others = order[np.searchsorted(target[1][:S], own[1][ones], sorter=order)]
        return _singled(own, 1, ones), _singled(target, 1, others)

    @cached_property
    def _test(self) -> SymmetryTest:
        return SymmetryTest(self._problem)

    def _refined(self, colours: _Colours) -> _Colours:
        self._left -= 1
        return self._colouring.refined(colours)


_Colours = tuple[Array, Array]
"""Of the variables and of the lines, unsigned 64-bit numbers."""


class _Colouring:
    """A problem as what colours are refined by."""

    def __init__(self, problem: MISDP) -> None:
        self._problem = problem
        A = sp.coo_array(problem.A)
        self._row, self._in_row, self._row_value = A.row, A.col, _hashed(A.data)
        self._sides = _mixed(_hashed(problem.row_lower) + _mixed(_hashed(problem.row_upper)))
        self._lines = sum(block.size for block in problem.blocks)
        entries, constants = self._entries()
        first, second = (np.concatenate([entries[1 + k], constants[k]]) for k in (0, 1))
        self.parts = connected(self._lines, first, second)
        inside = entries[3][entries[1] != entries[2]]
        self.signed = bool((inside < 0.0).any() and (inside > 0.0).any())
        column, first, second, value = self._signed(*entries)
        self._column, self._first, self._second = column, first, second
        self._value = _mixed(_hashed(value) + (first == second).astype(np.uint64))
        _, above, below, constant = self._signed(np.zeros_like(constants[0]), *constants)
        self._above, self._below = above, below
        if self.signed:
            # Each line and the same with another sign belong together.
            each = np.arange(self._lines)
            self._above = np.concatenate([above, each])
            self._below = np.concatenate([below, each + self._lines])
            constant = np.concatenate([constant, np.full(self._lines, np.inf)])
        self._constant = _hashed(constant)

    def _entries(self) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Return (variable, line, line, number) of the matrices, and of their constants."""
        parts: list[tuple[Array, Array, Array, Array]] = []
        constants: list[tuple[Array, Array, Array]] = []
        begin = 0
        for block in self._problem.blocks:
            r, c = triangle(block.size)
            F = sp.coo_array(block.F)
            parts.append((F.col, r[F.row] + begin, c[F.row] + begin, F.data))
            at = np.flatnonzero(block.F0)
            constants.append((r[at] + begin, c[at] + begin, block.F0[at]))
            begin += block.size
        zero, none = np.zeros(0, dtype=np.int64), np.zeros(0)
        return (
            tuple(
                np.concatenate(part) for part in zip(*parts, (zero, zero, zero, none), strict=True)
            ),
            tuple(
                np.concatenate(part) for part in zip(*constants, (zero, zero, none), strict=True)
            ),
        )

    def _signed(self, column: Array, r: Array, c: Array, v: Array) -> tuple[Array, ...]:
        """Return entries with those that lines of other signs have, where signs count."""
        S, off = self._lines, r != c
        if not self.signed:
            return column, r, c, v
        rows = np.concatenate([r, r + S, r[off] + S, r[off]])
        columns = np.concatenate([c, c + S, c[off], c[off] + S])
        values = np.concatenate([v, v, -v[off], -v[off]])
        return np.concatenate([column, column, column[off], column[off]]), rows, columns, values

    def first(self) -> _Colours:
        """Return the colours by the variables' own numbers and the orders of the matrices."""
        problem, V = self._problem, np.zeros(len(self._problem.c), dtype=np.uint64)
        for numbers in (problem.c, problem.lower, problem.upper, problem.integer.astype(float)):
            V = _mixed(V + _hashed(numbers))
        sizes = [np.full(block.size, float(block.size)) for block in problem.blocks]
        return V, _hashed(np.concatenate([np.zeros(0), *sizes, *(sizes if self.signed else [])]))

    def refined(self, colours: _Colours) -> _Colours:
        """Return the colours by those around, until nothing more is told apart."""
        V, L = colours
        count = 0
        while True:
            told = len(np.unique(V)) + len(np.unique(L))
            if told == count:
                return V, L
            count = told
            V, L = self._round(V, L)

    def _round(self, V: Array, L: Array) -> _Colours:
        rows = _sums(self._sides, self._row, _mixed(self._row_value + V[self._in_row]))
        of_variable = _sums(
            np.zeros_like(V), self._in_row, _mixed(self._row_value ^ _mixed(rows)[self._row])
        )
        first, second = L[self._first], L[self._second]
        of_variable = _sums(of_variable, self._column, _mixed(self._value ^ (first + second)))
        entry = _mixed(self._value + V[self._column])
        of_line = _sums(np.zeros_like(L), self._first, _mixed(entry ^ second))
        off = self._first != self._second
        of_line = _sums(of_line, self._second[off], _mixed(entry ^ first)[off])
        above, below = L[self._above], L[self._below]
        of_line = _sums(of_line, self._above, _mixed(self._constant + below))
        off = self._above != self._below
        of_line = _sums(of_line, self._below[off], _mixed(self._constant + above)[off])
        return _mixed(V + _mixed(of_variable)), _mixed(L + _mixed(of_line))


def _reached(start: dict[int, _Move], steps: list[_Move]) -> dict[int, _Move]:
    """Return the variables that steps lead to, with what takes each where its start is taken."""
    reached, waiting = dict(start), list(start)
    while waiting:
        at = waiting.pop()
        for step in steps:
            place = int(step.back().variables[at])
            if place not in reached:
                reached[place] = reached[at].after(step)
                waiting.append(place)
    return reached


def _cells(colours: Array) -> list[Array]:
    """Return what has the same colour, in the order of the places."""
    order = np.argsort(colours, kind="stable")
    ends = np.flatnonzero(np.diff(colours[order].astype(np.uint64))) + 1
    return list(np.split(order, ends))


def _singled(colours: _Colours, kind: int, places: int | Array) -> _Colours:
    """Return the colours with one that a variable (0) or a line (1) has alone."""
    changed = [part.copy() for part in colours]
    here = np.atleast_1d(places)
    changed[kind][here] = _mixed(changed[kind][here] ^ np.uint64(1))
    return changed[0], changed[1]


def connected(count: int, first: Array, second: Array) -> Array:
    """Return the least member of each one's connected component in an undirected graph.

    Every round takes the least label of the neighbours, and then that one's own label. (SciPy's
    takes a tenth of a second to import.)

    Parameters
    ----------
    count : int
        Vertices.
    first, second : int arrays of shape (edges,)

    Returns
    -------
    int array of shape (count,)
    """
    label, before = np.arange(count), None
    while before is None or not np.array_equal(label, before):
        before = label
        label = label.copy()
        np.minimum.at(label, before[first], before[second])
        np.minimum.at(label, before[second], before[first])
        label = label[label]
    return label


def _hashed(values: Array) -> Array:
    """Return 64-bit hashes of numbers; zeros have one sign."""
    return _mixed((np.asarray(values, dtype=float) + 0.0).view(np.uint64))


def _mixed(x: Array) -> Array:
    """Return the hashes of 64-bit numbers (the finaliser of SplitMix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _sums(start: Array, places: Array, values: Array) -> Array:
    """Return the numbers with the values added at their places, in any order."""
    total = start.copy()
    np.add.at(total, places, values)
    return total

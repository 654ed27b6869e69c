"""Ratio tests: which coordinate meets its limit first, with ties told apart symbolically.

A position on the path is the pair (lam, delta): lam + eps delta for an infinitely small eps > 0.
The kinks and slopes carry a random perturbation eps, so that no two coordinates meet
their limits at the same position, and no pivot is without progress: a lexicographic rule
against cycling whose order is decided by the first component unless that is a tie within rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

__all__ = ["Block", "Event", "first_block", "next_event"]

_RATE = 1e-13
"""A coordinate that moves slower than this, relative to the fastest, does not move."""
_PIVOT = 1e-10
"""Smallest ray entry, relative to the largest, that may block."""
_STABLE = 1e-5
"""Among ties, entries this much smaller than the largest are passed over."""


class Event(NamedTuple):
    """The next coordinate that meets a limit as lam decreases."""

    coordinate: int
    upper: bool
    lam: float
    delta: float


class Block(NamedTuple):
    """The first coordinate that blocks a step along a ray; upper tells which limit it meets."""

    coordinate: int
    upper: bool
    step: float


def next_event(
    w: Array, low: Array, high: Array, lam: float, delta: float, tolerance: Array
) -> Event | None:
    """Return the first event at or below the position (lam, delta), or None.

    Parameters
    ----------
    w, low, high : arrays of shape (3, n)
        See :class:`~sparseopt.solvers.homotopy.basis.Basis`.
    lam, delta : float
        The current position.
    tolerance : array of shape (n,)
        Slack within which limits count as met.
    """
    slack, rate, tie = [], [], []
    for sign, limit in ((1.0, low), (-1.0, high)):
        with np.errstate(invalid="ignore"):
            slack.append(sign * ((w[0] - limit[0]) + lam * (w[1] - limit[1])))
        rate.append(sign * (w[1] - limit[1]))
        tie.append(sign * (w[2] - limit[2]))
    slacks, rates, ties = np.concatenate(slack), np.concatenate(rate), np.concatenate(tie)
    fastest = np.abs(rates).max(initial=0.0)
    moving = np.flatnonzero((rates > _RATE * fastest) & np.isfinite(slacks))
    if len(moving) == 0:
        return None
    slacks, rates, ties = slacks[moving], rates[moving], ties[moving]
    drop = np.maximum(slacks, 0.0) / rates
    room = np.tile(tolerance, 2)[moving]
    reach = float(((np.maximum(slacks, 0.0) + room) / rates).min())
    tied = np.flatnonzero(drop <= reach)
    order = -ties[tied] / rates[tied]
    here = drop[tied] * rates[tied] <= room[tied]
    order = np.where(here, np.minimum(order, delta), order)
    best = int(np.argmax(order))
    choice = int(moving[tied[best]])
    n = w.shape[1]
    fall = float(drop[tied[best]])
    return Event(choice % n, choice >= n, lam - fall, float(order[best]))


def first_block(
    w: Array,
    low: Array,
    high: Array,
    ray: Array,
    lam: float,
    delta: float,
    tolerance: Array,
    own: tuple[Array, int],
) -> Block | None:
    """Return the first coordinate to meet a limit when w moves along `ray`, or None.

    Parameters
    ----------
    w, low, high : arrays of shape (3, n)
    ray : array of shape (n,)
    lam, delta : float
        The position at which the step is made.
    tolerance : array of shape (n,)
    own : (travel, coordinate)
        How far the coordinate that starts the move may go by itself, shape (3,): to the other
        slope, or to its next kink; infinite where nothing stops it.
    """
    travel, mover = own
    size = np.abs(ray)
    size[mover] = 0.0
    candidates = np.flatnonzero(size > _PIVOT * max(1.0, size.max(initial=0.0)))
    up = ray[candidates] > 0.0
    limit = np.where(up, high[:, candidates], low[:, candidates])
    finite = np.isfinite(limit[0])
    candidates, up, limit = candidates[finite], up[finite], limit[:, finite]
    distance = np.where(up, 1.0, -1.0) * (limit - w[:, candidates])
    speed = size[candidates]
    room = tolerance[candidates]
    if np.isfinite(travel[0]):
        distance = np.column_stack([distance, travel])
        speed = np.append(speed, 1.0)
        candidates = np.append(candidates, mover)
        up = np.append(up, True)
        room = np.append(room, tolerance[mover])
    if len(candidates) == 0:
        return None
    slack = np.maximum(distance[0] + lam * distance[1], 0.0)
    step = slack / speed
    tied = np.flatnonzero(step <= ((slack + room) / speed).min())
    tied = tied[speed[tied] >= _STABLE * speed[tied].max()]
    order = (distance[2, tied] + delta * distance[1, tied]) / speed[tied]
    best = int(tied[np.argmin(order)])
    return Block(int(candidates[best]), bool(up[best]), float(step[best]))

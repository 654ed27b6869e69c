"""The arrays that the compiled pivots work on."""

from __future__ import annotations

from typing import NamedTuple

from sparseopt.problems.base import Array

__all__ = ["DenseProgram", "Records", "Tableau"]


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


class Tableau(NamedTuple):
    """A basis of a dense program with its values, and where the path is.

    Attributes
    ----------
    codes, told : int arrays of shape (n,)
        Code 2k: on piece k; code 2k + 1: at kink k; now, and when last recorded.
    w, low, high : arrays of shape (3, n)
        The quantity of each coordinate that may move (its value on a piece, its multiplier at a
        kink) and the two limits that it must stay between.
    C, R : int arrays of shape (cap,)
        Variables on pieces and rows at kinks; the first k entries count.
    where : int array of shape (n,)
        Position of a coordinate in C or R.
    kernel, inverse : arrays of shape (cap, cap)
        A[R, C] and its inverse, whose rows belong to C.
    position : array
        (lam, delta, top, drift, primal tolerance, dual tolerance, smallest rate, lam at the last
        refresh). `drift` is what the last refresh corrected since the one before, at either
        one's lam, relative to the largest value of its kind.
    counters : int array
        Kernel size, pivots since the last refresh, pivots without progress, nothing told yet,
        segments, touched, used theta, used changes, pivots in all, segments told before, used nu,
        whether rays are refined, whether the last segment is to come from a fresh kernel.
    touched : int array
        Coordinates whose codes changed since the last segment.
    ray, answer : arrays of shape (n,)
    work : array of shape (4, n)
        Room for the vectors of one step.
    travel : array of shape (3,)
        How far the coordinate that moves first may go.
    """

    codes: Array
    told: Array
    w: Array
    low: Array
    high: Array
    C: Array
    R: Array
    where: Array
    kernel: Array
    inverse: Array
    position: Array
    counters: Array
    touched: Array
    ray: Array
    answer: Array
    work: Array
    travel: Array


class Records(NamedTuple):
    """Room for the segments of a path.

    `bounds` (S, 2) holds low and high; `objective` (S, 3) the quadratic in lam - low of
    -sum_i nu_i t_i; `ends` (S, 3) where the entries of each segment end in the theta, nu and
    change arrays: values at the lower end and rates of all entries that are not zero.
    """

    bounds: Array
    objective: Array
    ends: Array
    theta_index: Array
    theta_value: Array
    theta_rate: Array
    nu_index: Array
    nu_value: Array
    nu_rate: Array
    change_index: Array
    change_code: Array

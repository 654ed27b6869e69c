"""Print the processor seconds that numba takes to compile the functions below: a unit of work.

They are of the kind that the engines are made of, and are never to be changed: the record of
compile_time.py is in this unit.
"""

import math
import time

import numba
import numpy as np


def factorise(A, L):
    """Cholesky, row by row."""
    n = A.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if total <= 0.0:
                    return False
                L[i, i] = math.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    return True


def solve(L, b, x):
    """Two triangles."""
    n = len(b)
    for i in range(n):
        x[i] = (b[i] - np.dot(L[i, :i], x[:i])) / L[i, i]
    for i in range(n - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, n):
            total -= L[k, i] * x[k]
        x[i] = total / L[i, i]


def sift(heap, key, count, at):
    """Push an entry of a heap down."""
    while True:
        child = 2 * at + 1
        if child >= count:
            return
        if child + 1 < count and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[heap[at]] <= key[heap[child]]:
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


def ratio(x, d, lower, upper, where):
    """The step to the first bound, and which it is."""
    best, leaves = np.inf, -1
    for i in range(len(x)):
        if d[i] > 1e-9:
            step = (upper[i] - x[i]) / d[i]
        elif d[i] < -1e-9:
            step = (lower[i] - x[i]) / d[i]
        else:
            continue
        if step < best or (step == best and where[i] < where[leaves]):
            best, leaves = step, i
    return best, leaves


def sweep(ptr, index, value, r, x, shrink):
    """Coordinate descent with a soft threshold on sparse columns."""
    most = 0.0
    for j in range(len(ptr) - 1):
        square, product = 0.0, 0.0
        for t in range(ptr[j], ptr[j + 1]):
            square += value[t] ** 2
            product += value[t] * r[index[t]]
        if square == 0.0:
            continue
        old = x[j]
        wish = product + square * old
        x[j] = np.sign(wish) * max(abs(wish) - shrink, 0.0) / square
        for t in range(ptr[j], ptr[j + 1]):
            r[index[t]] -= value[t] * (x[j] - old)
        most = max(most, abs(x[j] - old))
    return most


def knapsack(loss, ptr, most):
    """A dynamic program over tables."""
    best = np.zeros(most + 1)
    choice = np.zeros((len(ptr) - 1, most + 1), dtype=np.int64)
    for j in range(len(ptr) - 1):
        row = np.full(most + 1, np.inf)
        for K in range(most + 1):
            for k in range(min(K, ptr[j + 1] - ptr[j] - 1) + 1):
                total = best[K - k] + loss[ptr[j] + k]
                if total < row[K]:
                    row[K], choice[j, K] = total, k
        best = row
    return best, choice


def main() -> None:
    """Compile for the types of the engines."""
    vector, matrix, whole = numba.float64[::1], numba.float64[:, ::1], numba.int64[::1]
    number, count = numba.float64, numba.int64
    began = time.process_time()
    for function, types in (
        (factorise, (matrix, matrix)),
        (solve, (matrix, vector, vector)),
        (sift, (whole, vector, count, count)),
        (ratio, (vector, vector, vector, vector, whole)),
        (sweep, (whole, whole, vector, vector, vector, number)),
        (knapsack, (vector, whole, count)),
    ):
        numba.njit(types, nogil=True, error_model="numpy")(function)
    print(time.process_time() - began)


if __name__ == "__main__":
    main()

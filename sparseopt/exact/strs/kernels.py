"""The matrices of kernel selection."""

# mypy: ignore-errors

from __future__ import annotations

from fractions import Fraction

from ..common.rationals import DIGITS, ZERO, decimal, exact, exacts
from ..common.verdicts import Clock, Unproven


def kernel_terms(params, arrays):
    """A, a and the size of what the squared MMD is a difference of, linear or quadratic.

    With k_s(u, v) = exp(-(u_s - v_s)^2 / (2 tau_s^2)) for each pair of observations, a is twice the
    sum of k with the pairs' weights in the squared MMD; A is that of k k', or minus lam times the
    covariance of the rows' means. The quadratic kernel is covered without the variance. Values of k
    are integers over 10^40.
    """
    lam, quadratic = exact(params["lam"]), params["kernel"] == "quadratic"
    if params["kernel"] not in ("linear", "quadratic") or (quadratic and lam):
        raise Unproven(f"the kernel {params['kernel']} with lam = {float(lam):g} is not covered")
    Z = [exacts(row) for row in arrays["x"].rows() + arrays["y"].rows()]
    n, N, width = arrays["x"].shape[0], len(Z), [2 * v for v in exacts(arrays["bandwidth"].values)]
    m, D, paired = N - n, len(width), 2 * n == N
    share = {True: Fraction(1, n * (n - 1)), False: Fraction(1, m * (m - 1))}
    share[None] = -Fraction(1, n * (n - 1) if paired else n * m)
    line, square = {w: [0] * D for w in share}, {w: [[0] * D for _ in range(D)] for w in share}
    rows = [[[0, 0] for _ in range(D)] for _ in range(N)]
    for i in range(N):
        Clock.check()
        for j in range(i, N):
            same = (i < n) == (j < n)
            k = [
                int(DIGITS.scaleb(DIGITS.exp(decimal(-((u - v) ** 2) / w)), 40))
                for u, v, w in zip(Z[i], Z[j], width, strict=True)
            ]
            for s, v in enumerate(k):
                rows[i][s][j >= n] += v
                rows[j][s][i >= n] += v * (i != j)
            if i == j or (paired and j - i == n):
                continue
            group = i < n if same else None
            for s, v in enumerate(k):
                line[group][s] += v
                for t in range(s + 1 if quadratic else 0):
                    square[group][s][t] += v * k[t]
    unit = 10**40
    a = [2 * sum(share[w] * line[w][s] for w in share) / unit for s in range(D)]
    sizes = [2 * sum(abs(share[w]) * line[w][s] for w in share) / unit for s in range(D)]
    if quadratic:
        c = exact(params["c"])
        sizes += [2 * c * v for v in sizes]
        sizes += [
            2 * sum(abs(share[w]) * square[w][s][s] for w in share) / unit**2 for s in range(D)
        ]
        lower = [
            [2 * sum(share[w] * square[w][s][t] for w in share) / unit**2 for t in range(s + 1)]
            for s in range(D)
        ]
        A = [[lower[max(s, t)][min(s, t)] for t in range(D)] for s in range(D)]
        return A, [2 * c * v for v in a], max(sizes)
    V = covariances([[m * v[0] - n * v[1] for v in row] for row in rows], n, unit)
    return [[-lam * v for v in row] for row in V], a, max(sizes)


def covariances(means, n, unit):
    """The variance of the squared MMD as a matrix.

    Means of the kernel's rows come times both numbers of observations and the unit.
    """
    N, D = len(means), len(means[0])
    m = N - n
    if n == m:
        groups = [
            (4, [list(map(int.__sub__, *pair)) for pair in zip(means[:n], means[n:], strict=True)])
        ]
    else:
        groups = [(Fraction(8 * m, N), means[:n]), (Fraction(8 * n, N), means[n:])]
    V = [[ZERO] * D for _ in range(D)]
    for factor, own in groups:
        count, columns = len(own), list(zip(*own, strict=True))
        whole = (n * m * unit) ** 2
        for s in range(D):
            for t in range(D):
                centred = count * sum(map(int.__mul__, columns[s], columns[t])) - sum(
                    columns[s]
                ) * sum(columns[t])
                V[s][t] += factor * Fraction(centred, count**2 * whole)
    return V

"""Robust subspaces."""

# mypy: ignore-errors

from __future__ import annotations

import math
from fractions import Fraction

from .common.algebra import dot, fdot, largest_eigenvalues, solve, transpose
from .common.rationals import ONE, ZERO, exacts, near, power, root_up
from .common.statements import finish
from .common.verdicts import FEASIBLE, Clock, Refuted, Unproven


def check_robust(header, arrays, result):
    """The sum of distances from the span of W, and a bound for all subspaces.

    It is at least sum u_i'x_i - (the k largest eigenvalues of (X'U + U'X) / 2), for all u_i with
    |u_i| <= 1, and sum u_i = 0 where the centre is free.
    """
    X, k = [exacts(row) for row in arrays["X"].rows()], header["params"]["k"]
    N, n, centred = len(X), len(X[0]), header["params"].get("centre") is not None
    table, certificate = result["x"], result["certificate"]
    if certificate is None:
        raise Unproven("there is no certificate")
    if table.shape != (n, k + centred):
        raise Refuted("the answer has another shape")
    W = transpose([exacts(row) for row in table.rows()])
    middle = [sum(column) / N if centred else ZERO for column in zip(*X, strict=True)]
    unit = sum(
        (root_up(sum((a - b) ** 2 for a, b in zip(x, middle, strict=True))) for x in X), ZERO
    )
    for i, v in enumerate(W[:k]):
        for j, w in enumerate(W[: i + 1]):
            if abs(dot(v, w) - (i == j)) > FEASIBLE:
                raise Refuted("the basis is not orthonormal")
    shift = W[k] if centred else middle
    value, off = ZERO, []
    G = [[dot(v, w) for w in W[:k]] for v in W[:k]]
    for x in X:
        Clock.check()
        p = [a - b for a, b in zip(x, shift, strict=True)]
        along = [dot(p, w) for w in W[:k]]
        part = solve([dict(enumerate(row)) for row in G], along, k)
        off.append(
            [a - dot(part, column) for a, column in zip(p, zip(*W[:k], strict=True), strict=True)]
        )
        value += root_up(sum(v * v for v in off[-1]))
    evidence = certificate["arrays"] | {"floor": certificate["values"].get("floor")}
    U = directions(evidence, X, middle, W, k, shift, off)
    U = [[Fraction(v) for v in u] for u in U]
    if centred:
        mean = [sum(column) / N for column in zip(*U, strict=True)]
        U = [[a - b for a, b in zip(u, mean, strict=True)] for u in U]
        longest = max(ONE, *(root_up(dot(u, u)) for u in U))
        U = [[v / longest for v in u] for u in U]
    else:
        lengths = [max(ONE, root_up(dot(u, u))) for u in U]
        U = [[v / length for v in u] for u, length in zip(U, lengths, strict=True)]
    P = [[a - b for a, b in zip(x, middle, strict=True)] for x in X]
    cross = [[dot(a, b) for b in zip(*U, strict=True)] for a in zip(*P, strict=True)]
    S = [[(cross[i][j] + cross[j][i]) / 2 for j in range(n)] for i in range(n)]
    proven = sum(cross[i][i] for i in range(n)) - sum(largest_eigenvalues(S, k), ZERO)
    proven = max(ZERO, proven)
    # Residuals are sums of n + k products: rounded by a billionth of this at most.
    rounded = max(Fraction(1, 10**6), Fraction(10**9 * (n + k + 4), 2**52))
    finish(result, value, proven, unit, max(value, unit * rounded))
    return f"optimal up to the gap stated: the sum of distances is at least {near(proven):.12g}"


def directions(arrays, X, origin, W, k, shift, off):
    """The vectors that a certificate "inliers" or "relaxation" describes, in floats: a guess."""
    get = lambda name: arrays[name].rows() if len(arrays[name].shape) > 1 else arrays[name].values  # noqa: E731
    points = [[near(a - b) for a, b in zip(x, origin, strict=True)] for x in X]
    flat = [v for x in X for v in x]
    high, low = near(max(flat) - min(origin)), near(max(origin) - min(flat))
    size = 2.0 ** round(math.log2(max(high, low))) if max(high, low) > 0.0 else 1.0
    points = [[v / size for v in row] for row in points]
    if "complement" in arrays:
        matrix, floor = get("complement"), arrays["floor"]
        away = get("shift") if "shift" in arrays else [0.0] * len(origin)
        found = []
        for row in points:
            r = [fdot(line, [a - b for a, b in zip(row, away, strict=True)]) for line in matrix]
            length = max(math.sqrt(fdot(r, r)), floor)
            found.append([v / length for v in r])
        return found
    inlier, cross, metric = get("inlier"), get("cross"), get("metric")
    basis = [list(map(float, w)) for w in W[:k]]
    away = [near(a - b) / size for a, b in zip(shift, origin, strict=True)]
    part = [fdot(away, w) for w in basis]
    away = [
        a - fdot(part, column) for a, column in zip(away, zip(*basis, strict=True), strict=True)
    ]
    centre = get("middle") if "middle" in arrays else [0.0] * k
    found = []
    for row, inside, r in zip(points, inlier, off, strict=True):
        if not inside:
            unit = power(max(map(abs, r)))
            r = [float(v / unit) for v in r]
            length = math.sqrt(fdot(r, r)) or 1.0
            found.append([v / length for v in r])
            continue
        z = [fdot(w, [a - b for a, b in zip(row, away, strict=True)]) for w in basis]
        lifted = [*z, 1.0] if "middle" in arrays else z
        w = [-sum(map(float.__mul__, lifted, column)) for column in zip(*cross, strict=True)]
        part = [fdot(w, b) for b in basis]
        w = [a - fdot(part, column) for a, column in zip(w, zip(*basis, strict=True), strict=True)]
        length = max(1.0, math.sqrt(fdot(w, w)))
        w = [v / length for v in w]
        v = [fdot(line, [a - b for a, b in zip(z, centre, strict=True)]) for line in metric]
        scale = math.sqrt(max(0.0, 1.0 - fdot(w, w))) / (math.sqrt(fdot(v, v)) or 1.0)
        found.append(
            [a + scale * fdot(v, c) for a, c in zip(w, zip(*basis, strict=True), strict=True)]
        )
    return found

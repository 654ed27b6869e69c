"""Instances of the parametric models as sums of piecewise-linear functions."""

# mypy: ignore-errors

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from ..common.algebra import Matrix, dense, gram, sparse, transpose
from ..common.rationals import ONE, ZERO, exact, exacts
from ..common.verdicts import Unproven
from .programs import Function, Program


def programs(header, arrays):
    """The general form of a parametric instance; one for each column where it falls apart."""
    model = MODELS.get(header["kind"])
    if model is None:
        raise Unproven(f"instances of the kind {header['kind']!r} are not covered")
    return model(header["params"], arrays)


def piecewise_linear(_params, arrays):
    rows, p = sparse(arrays, "A")
    parts = [listed_functions(arrays, name) for name in ("phi", "psi")]
    return [Program(Matrix(rows, p), *parts, exacts(arrays["offset"].values))]


def listed_functions(arrays, name):
    """Functions whose kinks lie one after another; each has one slope more than kinks."""
    ptr, *parts = (
        arrays[f"{name}_{part}"].values
        for part in ("ptr", "kink", "kink_rate", "slope", "slope_rate")
    )
    kinks = list(zip(exacts(parts[0]), exacts(parts[1]), strict=True))
    slopes = [
        (exact(value), exact(rate)) if math.isfinite(value) else None
        for value, rate in zip(*parts[2:], strict=True)
    ]
    return [
        Function(kinks[begin:end], slopes[begin + i : end + i + 1])
        for i, (begin, end) in enumerate(pairwise(ptr))
    ]


def linear_program(params, arrays):
    rows, n = sparse(arrays, "A")
    b, b_bar, c, c_bar = (exacts(arrays[k].values) for k in ("b", "b_bar", "c", "c_bar"))
    phi = [Function(constant(0), [None, (-s, -r)]) for s, r in zip(c, c_bar, strict=True)]
    flat = (ZERO, ZERO)
    if params["form"] == "inequality":
        psi = [Function([t], [flat, None]) for t in zip(b, b_bar, strict=True)]
    else:
        psi = [Function([t, t], [None, flat, None]) for t in zip(b, b_bar, strict=True)]
    return [Program(Matrix(rows, n), phi, psi, sign=-1)]


def lad_lasso(params, arrays):
    return [check_loss(params, arrays, Fraction(1, 2), 2)]


def quantile_lasso(params, arrays):
    return [check_loss(params, arrays, exact(params["tau"]), 1)]


def check_loss(params, arrays, tau, scale):
    """The scaled sum of rho_tau(y - X theta), where rho_tau(t) = t (tau - [t < 0])."""
    y, rows = exacts(arrays["y"].values), dense(arrays["X"])
    psi = [
        Function(constant(t), constant(-scale * k * tau, scale * k * (1 - tau)))
        for t, k in zip(y, weights(arrays, "sample_weights", len(rows)), strict=True)
    ]
    return penalised(arrays, rows, psi, params.get("fit_intercept"))


def l1_svm(params, arrays):
    signs, rows = exacts(arrays["y"].values), dense(arrays["X"])
    count = weights(arrays, "sample_weights", len(rows))
    psi = [Function(constant(1), constant(-k, 0)) for k in count]
    return [penalised(arrays, rows, psi, params.get("fit_intercept", True), signs)]


def penalised(arrays, rows, psi, intercept, signs=None):
    """Losses of the rows, and lam times a weighted l1 norm; the intercept is the last variable."""
    d = arrays["X"].shape[1]
    w = weights(arrays, "weights", d)
    if intercept:
        w = [*w, ZERO]
        rows = [{**row, d: ONE} for row in rows]
    if signs is not None:
        rows = [{j: a * t for j, a in row.items()} for row, t in zip(rows, signs, strict=True)]
    phi, offset = within([lam_absolute(a) for a in w], arrays, 1)
    return Program(Matrix(rows, len(w)), phi, psi, offset)


def compressed_sensing(_params, arrays):
    d = arrays["X"].shape[1]
    return [l1_program(dense(arrays["X"]), d, exacts(arrays["y"].values), arrays)]


def dantzig_selector(params, arrays):
    y, rows, d = exacts(arrays["y"].values), dense(arrays["X"]), arrays["X"].shape[1]
    count = weights(arrays, "sample_weights", len(rows))
    divisor = sum(count) if params.get("scale") == "n" else ONE
    counted = [k * t for k, t in zip(count, y, strict=True)]
    A = Matrix(rows, d)
    y, sums, total = A.transposed(counted), A.transposed(count), sum(count)
    rows = gram(rows, d, divisor, count)
    if params.get("fit_intercept"):
        # The products of the centred data.
        level = sum(counted) / total
        y = [a - s * level for a, s in zip(y, sums, strict=True)]
        parts = [s / (divisor * total) for s in sums]
        rows = [
            {j: row.get(j, ZERO) - s * parts[j] for j in range(d)}
            for row, s in zip(rows, sums, strict=True)
        ]
    return [l1_program(rows, d, [a / divisor for a in y], arrays)]


def lpd(params, arrays):
    rows, d = covariance(params, arrays)
    return [l1_program(rows, d, exacts(arrays["delta"].values), arrays)]


def clime(params, arrays):
    rows, d = covariance(params, arrays)
    only = arrays["only"].values if "only" in arrays else range(d)
    return [l1_program(rows, d, [Fraction(i == k) for i in range(d)], arrays) for k in only]


def covariance(params, arrays):
    if "X" not in arrays:
        return sparse(arrays, "S")
    d, samples = arrays["X"].shape[1], dense(arrays["X"])
    return gram(samples, d, exact(params["divisor"]), [ONE] * len(samples)), d


def matrix_dantzig(_params, arrays):
    center = [exacts(row) for row in arrays["Y"].rows()]
    return [kronecker_program(transpose(arrays["Z"].rows()), arrays["X"].rows(), center, arrays)]


def differential_network(params, arrays):
    left, right = arrays["S_Y"].rows(), arrays["S_X"].rows()
    sign = 1 if params["sign"] == "y-x" else -1
    center = [
        [sign * (exact(a) - exact(b)) for a, b in zip(*pair, strict=True)]
        for pair in zip(right, left, strict=True)
    ]
    return [kronecker_program(left, right, center, arrays)]


def kronecker_program(left, right, center, arrays):
    """An l1 program whose rows are the Kronecker products of two matrices' rows."""
    width = len(left[0]) * len(right[0])
    if len(left) * len(right) * width > 4_000_000:
        raise Unproven("too large: a Kronecker product of more than 4 million entries")
    rows = [
        {
            j2 * len(right[0]) + j1: Fraction(a) * Fraction(b)
            for j2, a in enumerate(l)
            for j1, b in enumerate(r)
            if a and b
        }
        for l in left
        for r in right
    ]
    return l1_program(rows, width, [v for row in transpose(center) for v in row], arrays)


def l1_program(rows, width, center, arrays):
    """The weighted l1 norm, with |row - center| <= lam times the row's weight."""
    w, r = weights(arrays, "weights", width), weights(arrays, "row_weights", len(rows))
    psi = [band(c, k) for c, k in zip(center, r, strict=True)]
    phi, offset = within([absolute(a) for a in w], arrays, 0)
    return Program(Matrix(rows, width), phi, psi, offset)


MODELS = {
    "piecewise-linear-program": piecewise_linear,
    "parametric-lp": linear_program,
    "lad-lasso": lad_lasso,
    "quantile-lasso": quantile_lasso,
    "l1-svm": l1_svm,
    "dantzig-selector": dantzig_selector,
    "compressed-sensing": compressed_sensing,
    "lpd": lpd,
    "clime": clime,
    "matrix-dantzig": matrix_dantzig,
    "differential-network": differential_network,
}


def weights(arrays, name, count):
    """Stated weights, those of a matrix column by column; ones where none are stated."""
    if name not in arrays:
        return [ONE] * count
    if len(arrays[name].shape) == 1:
        return exacts(arrays[name].values)
    return exacts(v for row in transpose(arrays[name].rows()) for v in row)


def constant(*values):
    return [(exact(v) if not isinstance(v, Fraction) else v, ZERO) for v in values]


def absolute(weight):
    return Function(constant(0), constant(-weight, weight))


def lam_absolute(weight):
    return Function(constant(0), [(ZERO, -weight), (ZERO, weight)])


def within(functions, arrays, power):
    """Functions with the one kink 0 on their bounds, and the constant that 0 at first kinks costs.

    The offset multiplies lam ** power.
    """
    out, offset = list(functions), [ZERO, ZERO, ZERO]
    ends = arrays["bounds"].rows() if "bounds" in arrays else ([], [])
    for j, (low, high) in enumerate(zip(*ends, strict=True)):
        left, right = functions[j].slopes
        kinks, slopes = [(ZERO, ZERO)], []
        if low < 0 and math.isfinite(low):
            kinks.insert(0, (exact(low), ZERO))
            offset[power] += left[power] * exact(low)
        slopes += [None] * math.isfinite(low) + [left] * (low < 0)
        if high > 0 and math.isfinite(high):
            kinks.append((exact(high), ZERO))
        if low == 0 and high == 0:
            kinks.append((ZERO, ZERO))
        slopes += [right] * (high > 0 or low == 0) + [None] * math.isfinite(high)
        out[j] = Function(kinks, slopes)
    return out, offset


def band(center, radius):
    return Function([(center, -radius), (center, radius)], [None, (ZERO, ZERO), None])

r"""A second opinion on a statement: every number in it follows from the others, or it is refuted.

Nothing here is shared with the code that released: every entry is read as strictly as a stranger's
file, dimensions are counted again, the truncation is bounded by the mass that the features leave
out anywhere in the ranges, the sensitivity follows from it, and delta is the integral of the
privacy loss by Gauss-Legendre quadrature, with what discrete noise adds to it.

What is left out beyond degree c, :math:`T_c(x) = \sum_{k > c} \varphi_k(x)^2`, is not monotone in
abs(x), so the ends of a range are not enough. With the derivatives of the whole feature vector,
:math:`\|\varphi'\| = 1` and :math:`\|\varphi''\| = \sqrt 3` in length scales, next to a point y

.. math:: \sqrt{T_c(x)} \le \sqrt{T_c(y)} + |x - y| \Big(1 - \sum_{k \le c} \varphi_k'(y)^2
          \Big)^{1/2} + \tfrac{\sqrt 3}{2} (x - y)^2 .
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sparseopt.private.statement import Statement

_SLACK = Fraction(1, 10**9)
_AGREE = 1e-6
_MOST_FEATURES = 10**6
_MOST_POINTS = 10**6
"""Ten times what the widest column takes that can be released."""

_MOST_WORK = 2 * 10**9
"""Points times degrees of all columns together, some ten seconds."""

_MOST_PAIRS = 1000
"""Of a curve: each is an integral of some milliseconds."""

_REACH = 40.0
"""A normal variable is below minus this with a probability of less than 1e-300."""

_TAIL = 30.0
"""Discrete noise is compared with continuous noise up to this many standard deviations."""


@dataclass(frozen=True)
class AuditReport:
    """What an audit found.

    Attributes
    ----------
    holds : bool
        Whether the statement follows from its own facts, and the noise was not seeded.
    epsilon, delta : float
        What the stated sensitivity and noise give at the stated epsilon; NaN where it cannot be
        read.
    messages : tuple of str
        What is wrong, or what was found right.
    """

    holds: bool
    epsilon: float
    delta: float
    messages: tuple[str, ...]


def audit(statement: Statement) -> AuditReport:
    """Derive epsilon and delta of a statement again.

    Parameters
    ----------
    statement : Statement

    Returns
    -------
    AuditReport
    """
    try:
        facts = _read(statement.data)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        message = f"the statement cannot be read: {type(error).__name__}: {error}"
        return AuditReport(False, math.nan, math.nan, (message,))
    wrong = _features(facts) + _sensitivity(facts) + _records(facts)
    delta = _delta(facts, facts["epsilon"])
    if not delta <= facts["delta"] * (1.0 + _AGREE):
        wrong.append(f"delta is {delta:.6g} at epsilon {facts['epsilon']}, not {facts['delta']}")
    for epsilon, stated in facts["curve"]:
        again = _delta(facts, epsilon)
        if not again <= stated * (1.0 + _AGREE):
            wrong.append(f"the curve states {stated:.6g} at epsilon {epsilon}, not {again:.6g}")
    if facts["mechanism"] != "discrete Gaussian":
        wrong.append(f"the mechanism {facts['mechanism']!r} is none that is known here")
    if facts["noise"] != "operating system":
        wrong.append("the noise was not the operating system's: NOT PRIVATE")
    if wrong:
        return AuditReport(False, facts["epsilon"], delta, tuple(wrong))
    right = (
        f"({facts['epsilon']:g}, {delta:.9g})-differential privacy follows from noise and "
        "sensitivity"
    )
    return AuditReport(True, facts["epsilon"], delta, (right,))


# ---- reading, as a stranger's file


def _read(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries with the types and within the ranges that they must have."""
    facts = dict(data)
    for name, least, most in (
        ("grid_bits", 1, 60),
        ("sensitivity_squared", 1, 2**200),
        ("variance", 2**40, 2**400),
        ("dimension", 1, _MOST_FEATURES + 1),
    ):
        facts[name] = _integer(name, data[name], least, most)
    facts["epsilon"] = _real("epsilon", data["epsilon"], 0.0, 50.0)
    facts["delta"] = _real("delta", data["delta"], 0.0, 1.0)
    facts["count_weight"] = _real("count_weight", data["count_weight"], 0.0, 1.0)
    if len(_list("curve", data["curve"])) > _MOST_PAIRS:
        raise ValueError(f"the curve has more than {_MOST_PAIRS} pairs")
    facts["curve"] = [
        (_real("an epsilon", epsilon, 0.0, 50.0), _real("a delta", delta, 0.0, 1.0))
        for epsilon, delta in _list("curve", data["curve"])
    ]
    if not (facts["epsilon"] > 0.0 and 0.0 < facts["delta"] < 1.0):
        raise ValueError("epsilon and delta are not within their ranges")
    facts["map"] = _read_map(data["map"])
    return facts


def _only(name: str, data: Any, entries: tuple[str, ...]) -> Mapping[str, Any]:
    """Return an object that has these entries and no others: nothing is said that nobody audits."""
    if not isinstance(data, Mapping) or set(data) != set(entries):
        raise ValueError(f"{name} is {data!r:.80}; expected an object with {', '.join(entries)}")
    return data


def _read_map(data: Any) -> dict[str, Any]:
    data = _only("the map", data, _MAP)
    columns, names = [], set()
    for column in _list("columns", data["columns"]):
        kind = ("order", *_BOUNDS) if isinstance(column, Mapping) and "order" in column else _LEVELS
        column = _only("a column", column, ("name", *kind))
        if type(column["name"]) not in (str, int):
            raise ValueError("a column has no name")
        names.add(column["name"])
        if "order" in column:
            numbers = {k: _real(k, column[k], -math.inf, math.inf) for k in _BOUNDS}
            order = _integer("order", column["order"], 1, _MOST_FEATURES)
            positive = numbers["length"] > 0.0
            radius = (numbers["high"] - numbers["low"]) / 2.0 / numbers["length"] if positive else 0
            if not 0.0 < radius < math.inf:
                raise ValueError(f"column {column['name']!r} has the bounds {numbers}")
            columns.append({"name": column["name"], "order": order, "radius": radius})
        else:
            columns.append({"name": column["name"], "levels": _levels(column["levels"])})
    if not columns or len(names) < len(columns):
        raise ValueError("there is no column, or two have one name")
    product = _list("product", data["product"])
    numeric = {column["name"] for column in columns if "order" in column}
    share = _real("share", data["share"], 0.0, 1.0)
    if any(name not in numeric for name in product) or len(set(product)) < len(product):
        raise ValueError(f"the product {product} is not one of different numeric columns")
    if share > 0.0 and not product:
        raise ValueError("a product without columns has a share")
    degree = data["degree"]
    if isinstance(degree, list) and share > 0.0:
        degree = [_integer("degree", one, 0, _MOST_FEATURES) for one in degree]
        if len(degree) != len(product):
            raise ValueError("there is not one degree for each column of the product")
    else:
        degree = _integer("degree", degree, *((0, _MOST_FEATURES) if share > 0.0 else (-1, -1)))
    return {
        "columns": columns,
        "label": None if data["label"] is None else _levels(data["label"]),
        "product": product,
        "degree": degree,
        "share": share,
        "tolerance": _real("tolerance", data["tolerance"], 1e-12, 1.0),
        "dimension": _integer("dimension", data["dimension"], 1, _MOST_FEATURES),
    }


_BOUNDS, _LEVELS = ("low", "high", "length"), ("levels",)
_MAP = ("columns", "label", "product", "degree", "share", "tolerance", "dimension")


def _integer(name: str, value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} is {value!r:.40}; expected an integer from {least} to {most}")
    return value


def _real(name: str, value: Any, least: float, most: float) -> float:
    if type(value) not in (int, float) or not least <= value <= most or math.isinf(float(value)):
        raise ValueError(f"{name} is {value!r:.40}; expected a number from {least} to {most}")
    return float(value)


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is {value!r:.40}; expected a list")
    return value


def _levels(value: Any) -> list[Any]:
    """Return the levels: different ones, none of them twice as another type or word."""
    levels = _list("levels", value)
    if not levels or len({_as_read(level) for level in levels}) < len(levels):
        raise ValueError(f"levels are {levels!r:.80}; expected different ones")
    return levels


def _as_read(level: Any) -> Any:
    """Return a level as whoever guesses types may read it: a word of a number is that number."""
    if type(level) not in (str, int, float, bool):
        if level is None:
            return None
        raise ValueError(f"a level is {level!r:.40}; expected a word or a number")
    word = str(level).strip().lower()
    try:
        number = float({"true": "1", "false": "0"}.get(word, word))
    except ValueError:
        return level
    return None if math.isnan(number) else float(f"{number:.6g}" if number % 1.0 else number)


# ---- deriving


def _features(facts: Mapping[str, Any]) -> list[str]:
    """Count the features again, and bound what the truncation leaves out."""
    stated, wrong, rows = facts["map"], [], 0
    tolerance, columns, degree = stated["tolerance"], stated["columns"], stated["degree"]
    radius_of = {c["name"]: c["radius"] for c in columns if "order" in c}
    radii = [radius_of[name] for name in stated["product"]] if stated["share"] > 0.0 else []
    own = [c for c in columns if "order" in c]  # in the sum, if there is one; true in any case
    if stated["share"] < 1.0:
        rows += sum(c["order"] if "order" in c else len(c["levels"]) for c in columns)
    degrees = degree if radii and isinstance(degree, list) else [degree] * len(radii)
    if radii:
        rows += _count(degree, len(radii))
    if rows * len(stated["label"] or [None]) > _MOST_FEATURES:
        return [f"the map has more than {_MOST_FEATURES} features"]
    needed = {*zip(radii, degrees, strict=True), *((c["radius"], c["order"] - 1) for c in own)}
    if sum(_points(radius, tolerance) * (most + 1) for radius, most in needed) > _MOST_WORK:
        return ["what the features leave out takes too long to bound"]
    left_out = {key: _left_out(*key, tolerance) for key in needed}
    if radii:
        tails = [left_out[key] for key in zip(radii, degrees, strict=True)]
        if isinstance(degree, list):
            left = 1.0 - math.prod(1.0 - min(1.0, tail[-1]) for tail in tails)
        else:
            left = _left_out_together(tails, degree)
        if not left <= tolerance:
            wrong.append(f"degree {degree} may leave out {left:.3g} of the product kernel")
    for column in own:
        left = left_out[column["radius"], column["order"] - 1][-1]
        if not left <= tolerance:
            wrong.append(
                f"order {column['order']} may leave out {left:.3g} of the kernel of "
                f"{column['name']!r}"
            )
    rows *= 1 if stated["label"] is None else len(stated["label"])
    counted = facts["count_weight"] > 0.0
    others = {stated["dimension"], facts["dimension"] - counted} - {rows}
    if others:
        wrong.append(f"the map has {rows} features; the statement says {min(others)}")
    if counted != (facts["neighbours"] == "add-remove"):
        wrong.append("records are counted under noise exactly where their number is protected")
    return wrong


def _count(degree: int | list[int], columns: int) -> int:
    """Return the number of products of features, or a larger one than is read."""
    if isinstance(degree, list):
        logs = math.fsum(math.log1p(one) for one in degree)
        return math.prod(one + 1 for one in degree) if logs < 40.0 else _MOST_FEATURES + 1
    # comb(40, 20) is larger
    return math.comb(degree + columns, columns) if min(degree, columns) < 20 else _MOST_FEATURES + 1


def _points(radius: float, tolerance: float) -> int:
    """Return how many points of a column's range are looked at."""
    points = radius / min(0.02, math.sqrt(0.1 * math.sqrt(tolerance)))
    return int(min(points, 2.0 * _MOST_POINTS)) + 2


def _left_out(radius: float, degree: int, tolerance: float) -> np.ndarray:
    """Bound the mass beyond each degree 0, ..., `degree` for all abs(x) <= radius, see the module.

    The grid is so fine that the term in (x - y)^2 is 2% of the root of the tolerance.
    """
    points = _points(radius, tolerance)
    if points > _MOST_POINTS or points * (degree + 1) > 100 * _MOST_POINTS:
        return np.array([math.inf])
    y, step = np.linspace(0.0, radius, points, retstep=True)
    rho, reach = math.sqrt(2.0) - 1.0, step / 2.0
    before, now = np.zeros(points), (1.0 - rho**2) ** 0.25 * np.exp(-rho / (1.0 + rho) * y**2)
    mass, slope, found = np.zeros(points), np.zeros(points), np.empty(degree + 1)
    for k in range(degree + 1):
        mass += now**2
        slope += (math.sqrt(2.0 * rho * k) * before - 2.0 * rho / (1.0 + rho) * y * now) ** 2
        roots = np.sqrt(np.maximum(0.0, 1.0 - mass))
        roots += reach * np.sqrt(np.maximum(0.0, 1.0 - slope)) + math.sqrt(0.75) * reach**2
        found[k] = float(roots.max()) ** 2
        after = math.sqrt(2.0 * rho / (k + 1)) * y * now - rho * math.sqrt(k / (k + 1)) * before
        before, now = now, after
    return found


def _left_out_together(columns: list[np.ndarray], degree: int) -> float:
    """Bound the mass beyond a total degree: of each column that which is largest is taken.

    A distribution whose every tail is the bound is above all those of the column, so the sum of
    such variables is above the total degree anywhere in the ranges.
    """
    kept = np.array([1.0])
    for tails in columns:
        if len(tails) <= degree:
            return math.inf
        tails = np.minimum.accumulate(np.minimum(1.0, tails))
        kept = np.convolve(kept, -np.diff(tails, prepend=1.0))[: degree + 1]
    return 1.0 - float(kept.sum())


def _sensitivity(facts: Mapping[str, Any]) -> list[str]:
    """Derive the sensitivity from the lengths of records' vectors, and from rounding."""
    unit, d = 2 ** facts["grid_bits"], facts["map"]["dimension"]
    if facts["neighbours"] == "replace-one":
        squared = 2 + 2 * Fraction(facts["map"]["tolerance"])
        rounding = Fraction(math.sqrt(d))  # two vectors, each by at most sqrt(d) / 2
    elif facts["neighbours"] == "add-remove":
        weight = Fraction(facts["count_weight"])
        if (weight * unit).denominator != 1:
            return [f"the count's weight {float(weight)} is no multiple of the grid's step"]
        squared = 1 + weight**2
        rounding = Fraction(math.sqrt(d)) / 2
    else:
        return [f"neighbours is {facts['neighbours']!r}"]
    needed = (Fraction(math.sqrt(squared + _SLACK)) * unit + rounding) ** 2
    if facts["sensitivity_squared"] < needed:
        return [
            f"the squared sensitivity is stated as {facts['sensitivity_squared']}, at least "
            f"{float(needed):.9g} is needed"
        ]
    return []


def _records(facts: Mapping[str, Any]) -> list[str]:
    """Check that sums fit, and that the mean's noise is that of the sum over the records."""
    records, stated = facts["records"], facts["noise_of_mean"]
    if facts["neighbours"] == "add-remove":
        said = records is not None or stated is not None
        return ["the number of records is protected, and the statement says it"] if said else []
    if type(records) is not int or not 1 <= records * 2 ** facts["grid_bits"] <= 2**62:
        return [f"the number of records is {records!r:.40}: their sums are not exact"]
    noise = math.sqrt(facts["variance"]) / 2 ** facts["grid_bits"] / records
    if type(stated) is not float or not math.isclose(noise, stated, rel_tol=_AGREE):
        return [f"{records} records give the mean the noise {noise:.6g}, not {stated!r:.40}"]
    return []


def _delta(facts: Mapping[str, Any], epsilon: float) -> float:
    r"""Bound delta of the discrete noise.

    The ratio of its probabilities to those of rounded continuous noise is within
    :math:`e^{\pm\tau}` up to `_TAIL` standard deviations, see :mod:`sparseopt.private.gaussian`.
    That alone makes a loss of :math:`2 \tau`, which is part of delta where epsilon is less.
    """
    variance, d = int(facts["variance"]), int(facts["dimension"])
    eta = math.sqrt(facts["sensitivity_squared"] / variance)
    tau = 1.01 * d * ((_TAIL + eta) ** 2 + 1.0) / (24.0 * variance)
    if tau > 1.0:
        return 1.0
    rest = 2.0 * d * math.exp(-(_TAIL**2) / 2.0) * (1.0 + math.exp(epsilon))
    rest += max(0.0, math.exp(2.0 * tau) - math.exp(epsilon))
    return min(1.0, math.exp(tau) * _continuous_delta(eta, max(0.0, epsilon - 2.0 * tau)) + rest)


def _continuous_delta(eta: float, epsilon: float) -> float:
    """Integrate (1 - e^(epsilon - loss)) over losses above epsilon.

    The privacy loss of Gaussian noise is normal with mean eta^2 / 2 and variance eta^2.
    """
    least = (epsilon - eta * eta / 2.0) / eta
    nodes, weights = _legendre()
    width = 0.25
    panels = np.arange(round(2.0 * _REACH / width))[:, None] + (nodes + 1.0) / 2.0
    z = max(least, -_REACH) + width * panels
    density = np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    mass = (-np.expm1(eta * (least - z)) * density) @ weights * (width / 2.0)
    return float(np.sum(mass))


@functools.cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes of a Gauss-Legendre rule on [-1, 1] and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    return nodes, weights

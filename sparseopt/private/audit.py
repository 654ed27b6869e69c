"""A second opinion on a statement: every number in it follows from the others, or it is refuted.

Nothing here is shared with the code that released: dimensions are counted again, the truncation is
bounded by the remaining mass of the features at the ends of the ranges, the sensitivity follows
from it, and delta is the integral of the privacy loss by Gauss-Legendre quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sparseopt.private.statement import Statement

__all__ = ["AuditReport", "audit"]

_SLACK = Fraction(1, 10**9)
_AGREE = 1e-6


@dataclass(frozen=True)
class AuditReport:
    """What an audit found.

    Attributes
    ----------
    holds : bool
        Whether the statement follows from its own facts, and the noise was not seeded.
    epsilon, delta : float
        What the stated sensitivity and noise give at the stated epsilon.
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
    data, wrong = statement.data, []
    try:
        wrong += _features(data)
        wrong += _sensitivity(data)
        wrong += _records(data)
        delta = _delta(data, float(data["epsilon"]))
        if delta > float(data["delta"]) * (1.0 + _AGREE):
            wrong.append(f"delta is {delta:.6g} at epsilon {data['epsilon']}, not {data['delta']}")
        for epsilon, stated in data["curve"]:
            again = _delta(data, float(epsilon))
            if again > float(stated) * (1.0 + _AGREE) + 1e-14:
                wrong.append(f"the curve states {stated:.6g} at epsilon {epsilon}, not {again:.6g}")
        if data["mechanism"] != "discrete Gaussian":
            wrong.append(f"the mechanism {data['mechanism']!r} is none that is known here")
        if data["noise"] != "operating system":
            wrong.append("the noise was not the operating system's: NOT PRIVATE")
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        wrong.append(f"the statement cannot be read: {type(error).__name__}: {error}")
        delta = math.nan
    epsilon = float(data["epsilon"]) if isinstance(data["epsilon"], (int, float)) else math.nan
    if wrong:
        return AuditReport(False, epsilon, delta, tuple(wrong))
    right = f"({epsilon:g}, {delta:.9g})-differential privacy follows from noise and sensitivity"
    return AuditReport(True, epsilon, delta, (right,))


def _features(data: Mapping[str, Any]) -> list[str]:
    """Count the features again, and bound what the truncation leaves out."""
    facts, wrong = data["map"], []
    share, tolerance = float(facts["share"]), float(facts["tolerance"])
    numbers = {column["name"]: column for column in facts["columns"] if "order" in column}
    rows = 0
    if share < 1.0:
        rows += sum(c["order"] if "order" in c else len(c["levels"]) for c in facts["columns"])
    if share > 0.0:
        names, degree = facts["product"], int(facts["degree"])
        rows += math.comb(degree + len(names), len(names))
        masses = [_masses(_radius(numbers[name]), degree) for name in names]
        kept = masses[0]
        for mass in masses[1:]:
            kept = np.convolve(kept, mass)[: degree + 1]
        if 1.0 - float(kept.sum()) > tolerance:
            wrong.append(f"degree {degree} leaves out {1.0 - kept.sum():.3g} of the product kernel")
    for name, column in numbers.items() if share < 1.0 else ():
        left = 1.0 - float(_masses(_radius(column), column["order"] - 1).sum())
        if left > tolerance:
            wrong.append(f"order {column['order']} leaves out {left:.3g} of the kernel of {name!r}")
    rows *= 1 if facts["label"] is None else len(facts["label"])
    counted = float(data["count_weight"]) > 0.0
    if not rows == facts["dimension"] == data["dimension"] - counted:
        wrong.append(f"the map has {rows} features; the statement says {data['dimension']}")
    if counted != (data["neighbours"] == "add-remove"):
        wrong.append("records are counted under noise exactly where their number is protected")
    return wrong


def _radius(column: Mapping[str, Any]) -> float:
    low, high, length = (float(column[name]) for name in ("low", "high", "length"))
    if not (low < high and length > 0.0 and math.isfinite(high - low)):
        raise ValueError(f"column {column['name']!r} has the bounds {low}, {high}")
    return (high - low) / 2.0 / length


def _masses(x: float, degree: int) -> np.ndarray:
    """Return the squares of the Hermite features 0, ..., degree at x, which add up to 1 in all."""
    rho = math.sqrt(2.0) - 1.0
    before, now = 0.0, (1.0 - rho * rho) ** 0.25 * math.exp(-rho * x * x / (1.0 + rho))
    found = [now * now]
    for k in range(degree):
        after = math.sqrt(2.0 * rho / (k + 1)) * x * now - rho * math.sqrt(k / (k + 1)) * before
        before, now = now, after
        found.append(now * now)
    return np.array(found)


def _sensitivity(data: Mapping[str, Any]) -> list[str]:
    """Derive the sensitivity from the lengths of records' vectors, and from rounding."""
    unit, d = 2 ** int(data["grid_bits"]), int(data["map"]["dimension"])
    if data["neighbours"] == "replace-one":
        squared = 2 + 2 * Fraction(float(data["map"]["tolerance"]))
        rounding = Fraction(math.sqrt(d))  # two vectors, each by at most sqrt(d) / 2
    elif data["neighbours"] == "add-remove":
        squared = 1 + Fraction(float(data["count_weight"])) ** 2
        rounding = Fraction(math.sqrt(d)) / 2
    else:
        return [f"neighbours is {data['neighbours']!r}"]
    needed = (Fraction(math.sqrt(squared + _SLACK)) * unit + rounding) ** 2
    if data["sensitivity_squared"] < needed:
        return [
            f"the squared sensitivity is stated as {data['sensitivity_squared']}, at least "
            f"{float(needed):.9g} is needed"
        ]
    return []


def _records(data: Mapping[str, Any]) -> list[str]:
    """Check that the noise of the mean is that of the sum over the number of records."""
    records, stated = data["records"], data["noise_of_mean"]
    if data["neighbours"] == "add-remove":
        said = records is not None or stated is not None
        return ["the number of records is protected, and the statement says it"] if said else []
    if not (type(records) is int and records >= 1):
        return [f"the number of records is {records!r}"]
    noise = math.sqrt(data["variance"]) / 2 ** int(data["grid_bits"]) / records
    if not math.isclose(noise, stated, rel_tol=_AGREE):
        return [f"{records} records give the mean the noise {noise:.6g}, not {stated:.6g}"]
    return []


def _delta(data: Mapping[str, Any], epsilon: float) -> float:
    """Integrate (1 - e^(epsilon - loss)) over losses above epsilon.

    The privacy loss of Gaussian noise is normal with mean eta^2 / 2 and variance eta^2.
    """
    squared, variance = int(data["sensitivity_squared"]), int(data["variance"])
    eta = math.sqrt(squared / variance)
    least = (epsilon - eta * eta / 2.0) / eta
    nodes, weights = np.polynomial.legendre.leggauss(60)
    total, width = 0.0, 0.25
    for k in range(200):
        z = least + width * (k + (nodes + 1.0) / 2.0)
        density = np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
        total += float(weights @ (-np.expm1(eta * (least - z)) * density)) * width / 2.0
    return total

r"""Second-order cones in the interior-point method: Nesterov and Todd's scaling of slacks.

For :math:`s, z` inside the cone, :math:`J = \operatorname{diag}(1, -1, \dots, -1)`,
:math:`\bar s = s / \sqrt{s'Js}` and :math:`\bar z` alike, the scaling

.. math:: W^2 = \eta^2 (2 w w' - J), \qquad
          w = \frac{\bar s + J \bar z}{\sqrt{2 + 2 \bar s'\bar z}}, \qquad
          \eta^2 = \sqrt{s'Js \,/\, z'Jz}

takes both to the same point, :math:`\lambda = W z = W^{-1} s`. A direction solves
:math:`\lambda \circ (W\,dz + W^{-1} ds) = \mu e - \lambda \circ \lambda` with the product
:math:`a \circ c = (a'c, a_0 c_1 + c_0 a_1)` of vectors, so that
:math:`dz = \mu s^{-1} - z - W^{-2} ds` with :math:`s^{-1} = Js / s'Js`; a predictor takes
:math:`W^{-1} (\lambda \backslash (W^{-1} ds \circ W dz))` more off it.

All is O(m) for a cone of length m, and :math:`G'W^{-2}G` is of rank one beside the squares of the
rows, however long the cone is.

References
----------
Nesterov, Todd (1997); Andersen, Roos, Terlaky (2003); Vandenberghe (2010), "The CVXOPT linear and
quadratic cone program solvers", for the formulas.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled_inside


@compiled_inside
def cone_norm(u: Array) -> float:
    """Return the root of u'Ju; NaN outside of the cone."""
    squares = 0.0
    for i in range(1, u.shape[0]):
        squares += u[i] * u[i]
    tail = sqrt(squares)
    return sqrt((u[0] - tail) * (u[0] + tail)) if u[0] > tail else np.nan


@compiled_inside(once=True)
def scale_cone(s: Array, z: Array, w: Array) -> float:
    """Write w; return eta^2, or NaN where s or z is not inside the cone."""
    of_s, of_z = cone_norm(s), cone_norm(z)
    inner = 0.0
    for i in range(s.shape[0]):
        inner += s[i] / of_s * (z[i] / of_z)
    root = sqrt(2.0 + 2.0 * inner)
    squares = 1.0
    for i in range(1, s.shape[0]):
        w[i] = (s[i] / of_s - z[i] / of_z) / root
        squares += w[i] * w[i]
    # w'Jw = 1.
    w[0] = sqrt(squares)
    eta_squared: float = of_s / of_z
    return eta_squared


@compiled_inside
def apply_scaling(w: Array, eta: float, inverse: bool, u: Array, out: Array) -> None:
    """Write W u, or W^-1 u, to out, which may be u."""
    sign = -1.0 if inverse else 1.0
    inner, head = 0.0, u[0]
    for i in range(1, u.shape[0]):
        inner += w[i] * u[i]
    factor = 1.0 / eta if inverse else eta
    out[0] = factor * (w[0] * head + sign * inner)
    along = sign * head + inner / (1.0 + w[0])
    for i in range(1, u.shape[0]):
        out[i] = factor * (u[i] + along * w[i])


@compiled_inside
def unscale_twice(w: Array, eta_squared: float, u: Array, out: Array) -> None:
    """Write W^-2 u to out, which may be u."""
    inner = w[0] * u[0]
    for i in range(1, u.shape[0]):
        inner -= w[i] * u[i]
    out[0] = (2.0 * inner * w[0] - u[0]) / eta_squared
    for i in range(1, u.shape[0]):
        out[i] = (u[i] - 2.0 * inner * w[i]) / eta_squared


@compiled_inside(once=True)
def second_order_term(
    w: Array, eta_squared: float, z: Array, ds: Array, dz: Array, room: Array, out: Array
) -> None:
    r"""Write what a predictor's steps take off dz to out.

    Parameters
    ----------
    w, z, ds, dz : arrays of shape (m,)
    room : array of shape (3, m) or larger
    """
    m, eta = w.shape[0], sqrt(eta_squared)
    level, first, second = room[0, :m], room[1, :m], room[2, :m]
    apply_scaling(w, eta, False, z, level)
    apply_scaling(w, eta, True, ds, first)
    apply_scaling(w, eta, False, dz, second)
    # first o second.
    inner, head, other = 0.0, first[0], second[0]
    for i in range(m):
        inner += first[i] * second[i]
        out[i] = head * second[i] + other * first[i]
    out[0] = inner
    # level \ out.
    size = cone_norm(level)
    total = level[0] * out[0]
    for i in range(1, m):
        total -= level[i] * out[i]
    total /= size * size
    for i in range(1, m):
        out[i] = (out[i] - total * level[i]) / level[0]
    out[0] = total
    apply_scaling(w, eta, True, out, out)


@compiled_inside
def cone_step(u: Array, step: Array, longest: float) -> float:
    """Return the largest t up to `longest` with u + t step in the cone; -1 after a failure."""
    size = cone_norm(u)
    head = u[0] * step[0]
    for i in range(1, u.shape[0]):
        head -= u[i] * step[i]
    head /= size * size
    # The step where u is the unit: u + t step is in the cone where e + t (head, tail) is.
    along = (head + step[0] / size) / (u[0] / size + 1.0) / size
    squares = 0.0
    for i in range(1, u.shape[0]):
        part = step[i] / size - along * u[i]
        squares += part * part
    falls = sqrt(squares) - head
    if falls != falls:
        return -1.0
    return longest if falls * longest <= 1.0 else 1.0 / falls

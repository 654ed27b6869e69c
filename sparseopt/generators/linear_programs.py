"""Random parametric linear programs, feasible and bounded for every lam >= 0."""

from __future__ import annotations

import numpy as np

from sparseopt.generators.draws import (
    Normals,
    choice,
    normals,
    positive_part,
    product,
    require_at_most,
    require_positive,
    stream,
)
from sparseopt.problems import ParametricLP, Pieces, PiecewiseLinearProgram
from sparseopt.problems.base import Array


def parametric_lp(
    *,
    seed: int = 0,
    m: int = 20,
    n: int = 30,
    form: str = "inequality",
    integer: bool = False,
) -> ParametricLP:
    r"""Random parametric LP, feasible and bounded for every lam >= 0.

    A is Gaussian. With nonnegative x, x1, s, s1, z, z1, half of whose entries are zero, and
    multipliers u, u1,

    .. math:: b = Ax + s,\; \bar b = Ax_1 + s_1,\quad c = A'u - z,\; \bar c = A'u_1 - z_1:

    :math:`x + \lambda x_1` is feasible and :math:`u + \lambda u_1` is dual feasible for every
    lam >= 0. In the equality form s = s1 = 0, and u, u1 may have any sign; in the inequality form
    they are nonnegative, half of them zero.

    Parameters
    ----------
    seed : int, default 0
    m, n : int
        Rows and columns; the equality form needs m <= n.
    form : {"inequality", "equality"}, default "inequality"
        (1.3) or (1.2) of the paper.
    integer : bool, default False
        Round 2 times every random number to an integer: small integer data, many ties.

    Raises
    ------
    ParamError
        When a size is not positive, form is unknown, or m > n in the equality form.

    Notes
    -----
    Draws, in this order: A by rows (m n normals), x, x1 (n each), s, s1 (m each), u, u1 (m each),
    z, z1 (n each), all normal; a nonnegative vector is the positive part of its normals. s and s1
    are drawn in both forms.
    """
    require_positive(m=m, n=n)
    kind = choice("form", form, "inequality", "equality")
    equality = kind == "equality"
    if equality:
        require_at_most("m", m, n)
    normal = normals(stream(seed), integer)
    A = normal((m, n))
    x, x1 = (positive_part(normal(n)) for _ in range(2))
    s, s1 = (positive_part(normal(m)) for _ in range(2))
    u, u1 = (normal(m) for _ in range(2))
    z, z1 = (positive_part(normal(n)) for _ in range(2))
    if equality:
        s, s1 = np.zeros(m), np.zeros(m)
    else:
        u, u1 = positive_part(u), positive_part(u1)
    return ParametricLP(
        A,
        b=product(A, x) + s,
        b_bar=product(A, x1) + s1,
        c=product(A.T, u) - z,
        c_bar=product(A.T, u1) - z1,
        form=kind,
    )


def piecewise_linear(
    *, seed: int = 0, m: int = 6, p: int = 5, integer: bool = False
) -> PiecewiseLinearProgram:
    r"""Random small program in the general form: 1 to 3 kinks, and all of them move with lam.

    Each of the p + m functions has 1 to 3 kinks and 2 to 4 slopes, all affine in lam with random
    rates; each outer slope is infinite (a bound) with probability 1/4. The functions are laid
    around an affine primal point :math:`\theta + \lambda\theta_1`, which stays between the first
    and the last kink where there are bounds, and around affine multipliers
    :math:`\nu + \lambda\nu_1`, which stay between the outer slopes. So the program is feasible,
    bounded and convex for every lam >= 0; the two are in general not optimal.

    Parameters
    ----------
    seed : int, default 0
    m, p : int
        Rows and variables.
    integer : bool, default False
        Round 2 times every random number to an integer: kinks meet, slopes are equal, ties.

    Raises
    ------
    ParamError
        When a size is not positive.

    Notes
    -----
    Draws, in this order: A by rows (m p normals), theta, theta1 (p normals each), nu, nu1 (m
    each); then for each of the p variables and of the m rows: the number q of kinks (``integers``
    from 1 to 3), which outer slopes are infinite (two uniforms), q normals for the kinks and q for
    their rates, q + 1 for the slopes and q + 1 for theirs.
    """
    require_positive(m=m, p=p)
    rng = stream(seed)
    normal = normals(rng, integer)
    A = normal((m, p))
    theta, theta1 = normal(p), normal(p)
    nu, nu1 = normal(m), normal(m)
    phi = [
        _random_function(rng, normal, *point)
        for point in zip(theta, theta1, -product(A.T, nu), -product(A.T, nu1), strict=True)
    ]
    psi = [
        _random_function(rng, normal, *point)
        for point in zip(product(A, theta), product(A, theta1), nu, nu1, strict=True)
    ]
    return PiecewiseLinearProgram(A, Pieces.concatenate(*phi), Pieces.concatenate(*psi))


def _random_function(
    rng: np.random.Generator, normal: Normals, z: float, z1: float, v: float, v1: float
) -> Pieces:
    """Return one convex function around the point (z, v) with the rates (z1, v1)."""
    q = int(rng.integers(1, 4))
    bounded = rng.random(2) < 0.25
    kinks, kink_rates = _ladder(normal((2, q)), z, z1)
    slopes, slope_rates = _ladder(normal((2, q + 1)), v, v1)
    if q == 1 and bounded[1]:
        # A single kink can bound one side only, and the point belongs below it.
        bounded[0] = False
        kinks, kink_rates = 2.0 * z - kinks, 2.0 * z1 - kink_rates
    if bounded[0]:
        slopes[0], slope_rates[0] = -np.inf, 0.0
    if bounded[1]:
        slopes[-1], slope_rates[-1] = np.inf, 0.0
    return Pieces(np.array([0, q], dtype=np.int64), kinks, kink_rates, slopes, slope_rates)


def _ladder(gaps: Array, at: float, rate: float) -> tuple[Array, Array]:
    """Return increasing values and rates: the first below (at, rate), all others above it."""
    steps = np.cumsum(np.abs(gaps), axis=1)
    steps[:, 1:] -= steps[:, :1]
    steps[:, 0] *= -1.0
    return at + steps[0], rate + steps[1]

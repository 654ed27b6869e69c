"""Delta of Gaussian noise down to 1e-100: accurate, so that what is released passes its audit."""

import math

import numpy as np
import pytest
from scipy.stats import norm
from thorough import first

from sparseopt import ParamError, private
from sparseopt.private.audit import _continuous_delta
from sparseopt.private.gaussian import calibrate, discreteness, gaussian_delta, with_discreteness

X = private.FeatureMap([private.Number("x", 0.0, 1.0)])
EPSILONS = [1e-9, 1e-6, 1e-3, 0.1, 1.0, 10.0, 50.0]
DELTAS = [1e-100, 1e-90, 1e-60, 1e-40, 1e-30, 1e-20, 1e-10, 1e-5, 0.1, 0.99]

REFERENCE = [
    (2.0**-17, 2.0**-14, 5.7605688714081091e-22),
    (2.0**-10, 2.0**-7, 7.4021605717460586e-20),
    (2.0**-30, 2.0**-26, 3.6902434521647868e-68),
    (2.0**-5, 0.5, 1.5897393196927195e-60),
    (2.0**-4, 1.0, 4.0810479593166378e-60),
    (0.078125, 1.0, 8.1453027588073249e-40),
    (0.25, 4.0, 7.2630116645767246e-59),
    (1.0, 1.0, 0.12693673750664395),
    (1.5, 16.0, 2.2779067738815911e-24),
    (8.0, 32.0, 0.45087745378757507),
    (0.5, 0.0, 0.19741265136584745),
    (12.0, 4.0, 0.9999999861702835),
]
"""eta, epsilon and delta by the formula of Balle and Wang, with 50 digits of mpmath."""


@pytest.mark.parametrize(("eta", "epsilon", "delta"), REFERENCE)
def test_small_deltas_have_twelve_digits(eta, epsilon, delta):
    assert gaussian_delta(eta, epsilon) == pytest.approx(delta, rel=1e-12)
    assert _continuous_delta(eta, epsilon) == pytest.approx(delta, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_deltas_are_those_of_many_digits(epsilon, delta):
    mpmath = pytest.importorskip("mpmath")
    eta = calibrate(epsilon, delta)
    with mpmath.workdps(50):
        a, b = (mpmath.mpf(epsilon) / eta + sign * mpmath.mpf(eta) / 2 for sign in (-1, 1))
        exact = mpmath.ncdf(-a) - mpmath.exp(epsilon) * mpmath.ncdf(-b)
        assert abs(gaussian_delta(eta, epsilon) / exact - 1) < 1e-12
        assert 1 - 1e-9 < exact / delta < 1 + 1e-12


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", first(3, DELTAS))
def test_what_is_released_passes_its_audit(epsilon, delta):
    call = {"features": X, "epsilon": epsilon, "delta": delta}
    report = private.audit(private.release({"x": [0.5]}, **call).statement)
    assert report.holds, report.messages
    assert report.delta == pytest.approx(delta, rel=1e-8)


@pytest.mark.parametrize("tau", [1e-6, 1e-3])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.9, 2.0, 2.1, 50.0])
def test_a_loss_of_the_grid_above_epsilon_is_part_of_delta(tau, share):
    eta, epsilon = 1e-3, share * tau
    x = (epsilon - 2.0 * tau) / eta
    needed = norm.cdf(eta / 2.0 - x) - math.exp(x * eta) * norm.cdf(-eta / 2.0 - x)
    assert with_discreteness(eta, epsilon, tau, 0.0) >= math.exp(tau) * needed * (1.0 - 1e-9)


def test_noise_beyond_all_numbers_is_refused():
    with pytest.raises(ParamError, match="beyond all numbers"):
        private.release({"x": [0.5]}, features=X, epsilon=1e-60, delta=1e-70)


@pytest.mark.thorough
def test_a_ledger_counts_what_discrete_noise_adds():
    ledger = private.Ledger(epsilon=1.0, delta=1e-5)
    stated = [
        private.release(
            {"x": np.full(10, 0.5)}, features=X, epsilon=0.3, delta=1e-6, ledger=ledger
        ).statement
        for _ in range(3)
    ]
    eta = math.sqrt(sum(one.eta**2 for one in stated))
    sigma = math.sqrt(stated[0].data["variance"])
    tau, beta = discreteness(eta, sigma, stated[0].data["dimension"])
    assert ledger.spent == pytest.approx(
        with_discreteness(eta, 1.0, 3.0 * tau, 3.0 * beta), rel=1e-13
    )
    assert ledger.spent >= gaussian_delta(eta, 1.0)

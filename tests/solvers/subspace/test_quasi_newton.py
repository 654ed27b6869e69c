"""L-BFGS against SciPy's, and where values or slopes say nothing."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from sparseopt.solvers.subspace.quasi_newton import iterates


def logistic(seed):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(60, 20)), rng.normal(size=60)

    def objective(x):
        r = A @ x - b
        return float(np.logaddexp(r, -r).sum()), A.T @ np.tanh(r)

    return objective, rng.normal(size=20)


def separable(seed):
    """A function that is not convex, in units from 1e-3 to 1e3."""
    rng = np.random.default_rng(seed)
    d = 10.0 ** rng.uniform(-3.0, 3.0, 15)

    def objective(x):
        return float(0.5 * d @ x**2 + np.cos(x).sum()), d * x - np.sin(x)

    return objective, 3.0 * rng.normal(size=15)


def banana(dimension):
    return lambda x: (float(rosen(x)), rosen_der(x)), np.full(dimension, -1.2)


@pytest.mark.parametrize(
    "case", [banana(2), banana(20), *map(logistic, range(4)), *map(separable, range(4))]
)
def test_the_values_are_scipys_in_as_many_steps(case):
    objective, start = case
    other = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxcor": 20, "gtol": 1e-10, "ftol": 0.0, "maxiter": 2000},
    )
    values = []

    def counted(x):
        values.append(objective(x)[0])
        return objective(x)

    end = start
    for end, value in itertools.islice(iterates(counted, start, 1e-10), 2000):
        assert value == objective(end)[0]
    value, gradient = objective(end)
    assert value <= other.fun + 1e-12 * (1.0 + abs(other.fun))
    assert np.abs(gradient).max() <= max(1e-9, 10.0 * np.abs(other.jac).max())
    near = np.minimum.accumulate(values) <= other.fun + 1e-9 * (1.0 + abs(other.fun))
    assert np.argmax(near) <= 1.25 * other.nfev + 5


def test_values_never_rise_by_more_than_rounding():
    objective, start = banana(10)
    values = [objective(start)[0], *(value for _, value in iterates(objective, start, 1e-10))]
    assert (np.diff(values) <= 1e-15 * (1.0 + np.abs(values[1:]))).all()


def test_where_it_is_not_finite_is_too_far():
    def objective(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.sum(x - np.log(x))), 1.0 - 1.0 / x

    start = np.array([1e-3, 5.0, 0.7])
    *_, (end, _) = iterates(objective, start, 1e-10)
    np.testing.assert_allclose(end, 1.0, atol=1e-9)


@pytest.mark.parametrize("slope", [0.0, 1e-12])
def test_nothing_is_searched_at_a_stationary_point(slope):
    assert list(iterates(lambda x: (1.0, np.full(3, slope)), np.zeros(3), 1e-10)) == []


def test_a_slope_that_no_value_shows_ends_it_soon():
    asked = []

    def objective(x):
        asked.append(x)
        return 1.0, np.full(2, 1e-3)

    assert list(iterates(objective, np.zeros(2), 1e-10)) == []
    assert len(asked) <= 60


def test_the_gradient_falls_where_values_are_equal_up_to_rounding():
    def objective(x):
        return 1e6 + float(x @ x) * 1e-3, 2e-3 * x

    *_, (end, _) = iterates(objective, np.array([1e-3, -2e-3]), 1e-12)
    assert np.abs(objective(end)[1]).max() <= 1e-12

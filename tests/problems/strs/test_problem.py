"""The data of the sparse trust-region subproblem: what is accepted, and what is said otherwise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sparseopt
from sparseopt import Verdict
from sparseopt.errors import ProblemError
from sparseopt.problems import STRS, STRSPath

ENTRIES = st.floats(-1e3, 1e3, allow_nan=False)


@pytest.mark.thorough
@given(arrays(float, (4, 4), elements=ENTRIES), arrays(float, 4, elements=ENTRIES))
def test_the_objective_is_the_quadratic_form_plus_the_linear_one(M, z):
    a = M[0]
    problem = STRS(A=M + M.T, a=a, d=4)
    terms = sum(2 * M[i, j] * z[i] * z[j] for i in range(4) for j in range(4))
    expected = terms + sum(a[i] * z[i] for i in range(4))
    size = 1 + np.abs(M).max() * np.abs(z).max() * max(1, np.abs(z).max())
    assert problem.objective(z) == pytest.approx(expected, abs=1e-12 * size)


def test_residuals_measure_norm_and_cardinality():
    problem = STRS(A=np.eye(3), d=1)
    assert problem.residuals(np.array([0.0, -1.0, 0.0])) == {"norm": 0.0, "cardinality": 0.0}
    assert problem.residuals(np.array([0.0, 3.0, 4.0])) == {"norm": 4.0, "cardinality": 1.0}


def test_no_linear_term_is_a_zero_one():
    A = np.diag([1.0, 2.0])
    assert STRS(A=A, d=1).fingerprint() == STRS(A, [0.0, 0.0], 1).fingerprint()


def test_asymmetry_is_named_with_its_place_and_size():
    A = np.eye(3)
    A[2, 0] = 0.25
    with pytest.raises(ProblemError, match=r"A\[0, 2\] = 0.0 and A\[2, 0\] = 0.25 differ by 0.25"):
        STRS(A=A, d=1)


def test_asymmetry_of_rounding_is_averaged():
    A = np.array([[1.0, 0.5], [0.5 + 1e-13, 1.0]])
    problem = STRS(A=A, d=1)
    assert (problem.A == problem.A.T).all()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"A": np.ones((2, 3)), "d": 1}, "A"),
        ({"A": [[1.0, np.nan], [np.nan, 1.0]], "d": 1}, "A"),
        ({"A": [["a"]], "d": 1}, "A"),
        ({"A": np.zeros((0, 0)), "d": 1}, "A"),
        ({"A": np.eye(2), "a": [1.0], "d": 1}, "a"),
        ({"A": np.eye(2), "a": [1.0, np.inf], "d": 1}, "a"),
        ({"A": np.eye(2), "d": 0}, "d"),
        ({"A": np.eye(2), "d": 3}, "d"),
        ({"A": np.eye(2), "d": 1.0}, "d"),
        ({"A": np.eye(2), "d": True}, "d"),
        ({"A": np.eye(2)}, "d"),
    ],
)
def test_bad_data_names_the_field(given, field):
    with pytest.raises(ProblemError) as error:
        STRS(**given)
    assert error.value.field == field
    assert str(error.value).startswith(field)


@pytest.mark.thorough
@given(arrays(float, (6, 3), elements=st.floats(-100, 100, allow_nan=False)))
def test_from_data_agrees_with_numpy(X):
    covariance = STRS.from_data(X, 2, kind="covariance").A
    np.testing.assert_allclose(covariance, np.cov(X.T), atol=1e-11 * (1 + np.abs(X).max() ** 2))


def test_correlation_is_invariant_to_the_units_of_the_columns():
    X = np.random.default_rng(0).normal(size=(10, 3))
    scaled = X * np.array([1e-150, 1e150, -1.0]) + np.array([0.0, 2e150, 5.0])
    flip = np.array([1.0, 1.0, -1.0])
    np.testing.assert_allclose(
        STRS.from_data(scaled, 1).A, STRS.from_data(X, 1).A * np.outer(flip, flip), atol=1e-13
    )


@pytest.mark.parametrize(
    ("X", "kind", "words"),
    [
        ([[1.0, 2.0]], "covariance", "at least 2 observations"),
        ([[1.0, 2.0], [1.0, 3.0]], "correlation", r"constant columns, \[0\]"),
        ([[1.0, 2.0], [2.0, 3.0]], "gram", "'correlation' or 'covariance'"),
    ],
)
def test_data_without_the_matrix_asked_for(X, kind, words):
    with pytest.raises(ProblemError, match=words):
        STRS.from_data(np.array(X), 1, kind=kind)


def test_a_constant_column_has_no_covariance():
    X = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    assert STRS.from_data(X, 1, kind="covariance").A[0].tolist() == [0.0, 0.0]


def test_negative_variances_are_refused():
    with pytest.raises(ProblemError, match=r"S\[1, 1\] is -1.0"):
        STRS.from_covariance(np.diag([1.0, -1.0]), 1)


def test_values_are_compared_at_the_size_of_the_data():
    A = np.array([[0.01, 0.02], [0.02, -0.03]])
    assert STRS(A=A, d=1).value_unit == 0.03
    assert STRS(A=A, a=[0.0, -0.5], d=1).value_unit == 0.5
    assert STRSPath.of(STRS(A=A, d=1)).value_unit == 0.03
    # Never looser than at size 1, and defined without any data.
    assert STRS(A=100.0 * A, d=1).value_unit == 1.0
    assert STRS(A=0.0 * A, d=1).value_unit == 1.0


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["strs-bnb", "strs-oa", "strs-admm", "truncation"])
def test_gaps_do_not_depend_on_the_unit_of_the_data(backend):
    rng = np.random.default_rng(3)
    M = rng.normal(size=(9, 9))
    # Powers of two do not round; 2^-60 is about 1e-18.
    plain, tiny, huge = (
        sparseopt.solve(STRS(A=2.0**k * (M + M.T), d=3), backend=backend) for k in (0, -60, 60)
    )
    assert tiny.status is huge.status is plain.status
    assert tiny.gap == pytest.approx(plain.gap, abs=1e-15)
    assert huge.gap == pytest.approx(plain.gap, abs=1e-15)
    assert {r.verdict for r in (plain, tiny, huge)} == {Verdict.VERIFIED}

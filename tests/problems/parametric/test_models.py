"""What each model is: its objective in closed form, its data, its limits, its invariances."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import BOUNDED, MODELS, case
from textbook_lp import solve_textbook

import sparseopt
from sparseopt.errors import ParamError, ProblemError
from sparseopt.problems import (
    CLIME,
    L1SVM,
    LPD,
    CompressedSensing,
    DantzigSelector,
    DifferentialNetwork,
    LADLasso,
    MatrixDantzig,
    QuantileLasso,
)

rng = np.random.default_rng(11)


def path_of(problem, **question):
    return sparseopt.solve(problem, backend="homotopy", check=False, **question).path


def optimum(problem, lam):
    return sparseopt.solve(problem, backend="homotopy", check=False, lam=lam).objective


# ---- all models


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), lam=st.floats(0.0, 10.0))
def test_the_closed_form_is_the_general_forms_value(model, seed, lam):
    problem = case(model, seed)
    program = problem.canonical()
    theta = np.random.default_rng(seed).normal(size=program.A.shape[1])
    expected = program.value(theta, lam)
    assert problem.objective(theta, lam) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert len(problem.coefficient_names) == len(theta)
    assert problem.l1_norm(theta) == pytest.approx(program.phi.value(theta, 1.0).sum())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(8))
def test_files_keep_the_problem(model, seed, tmp_path):
    problem = case(model, seed)
    sparseopt.save(problem, tmp_path / "a.npz")
    again = sparseopt.load(tmp_path / "a.npz")
    assert again.fingerprint() == problem.fingerprint()
    assert again.size == problem.size


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("model", MODELS)
def test_other_backends_agree_on_the_whole_path(model):
    for seed in range(3):
        problem = case(model, seed)
        own = path_of(problem)
        if own is None:
            continue
        result = sparseopt.solve(problem, backend="highs")
        assert str(result.verdict) == "verified"
        for lam in np.linspace(float(own.low[-1]) * (1 + 1e-6), float(own.low[0]), 5):
            assert result.path.objective_at(lam) == pytest.approx(
                own.objective_at(lam), rel=1e-8, abs=1e-8
            )


@pytest.mark.thorough
@pytest.mark.parametrize("model", ["compressed-sensing", "lpd"])
def test_signs_flip_without_a_change_of_basis_among_the_cases(model):
    """A coefficient passes through zero: the code goes from one side to the other at once."""
    flips = 0
    for seed in range(200):
        result = sparseopt.solve(case(model, seed), backend="homotopy", check=False)
        if result.path is None:
            continue
        arrays, p = result.certificate.arrays, result.path.shape[1]
        codes = arrays["codes"].copy()
        for begin, end in zip(arrays["change_ptr"][:-1], arrays["change_ptr"][1:], strict=True):
            where, new = arrays["changed"][begin:end], arrays["change_code"][begin:end]
            flips += len(where) == 1 and where[0] < p and {codes[where[0]], new[0]} == {0, 2}
            codes[where] = new
    assert flips > 0


@pytest.mark.parametrize("model", MODELS)
def test_a_column_of_infinite_or_missing_numbers_is_refused(model):
    problem = case(model, 0)
    values, arrays = problem.payload()
    for name, array in arrays.items():
        for bad in (np.nan, np.inf):
            broken = array.copy()
            broken[(0,) * array.ndim] = bad
            with pytest.raises(ProblemError, match=rf"^{name}\["):
                type(problem).from_payload(values, {**arrays, name: broken})


# ---- bounds


@pytest.mark.parametrize("model", BOUNDED)
@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_kept_by_files_and_by_the_general_form(model, seed, tmp_path):
    problem = case(model, seed, bounded=True)
    sparseopt.save(problem, tmp_path / "a.npz")
    again = sparseopt.load(tmp_path / "a.npz")
    assert again.fingerprint() == problem.fingerprint() != case(model, seed).fingerprint()
    np.testing.assert_array_equal(again.bounds, problem.bounds)
    program, (low, high) = problem.canonical(), problem.bounds
    theta = rng.normal(size=program.A.shape[1])
    theta[: len(low)] = np.clip(theta[: len(low)], low, high)
    for lam in (0.0, 0.7):
        assert problem.objective(theta, lam) == pytest.approx(program.value(theta, lam), rel=1e-12)
        assert problem.residuals(theta, lam)["bounds"] == 0.0
    moved = theta.copy()
    moved[0] = max(low[0], -9.0) - 1.0
    outside = 1.0 if np.isfinite(low[0]) else 0.0
    assert problem.residuals(moved, 1.0)["bounds"] == pytest.approx(outside)


def test_bounds_that_bind_nobody_change_no_solution():
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    plain, wide = (path_of(LADLasso(X, y, bounds=ends)) for ends in (None, (-50.0, 50.0)))
    np.testing.assert_allclose(plain.knots, wide.knots, rtol=1e-10)
    for lam in plain.knots[1:]:
        np.testing.assert_allclose(plain.at(lam), wide.at(lam), atol=1e-10)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["highs", "cvxpy"])
@pytest.mark.parametrize("model", BOUNDED)
def test_other_backends_keep_the_bounds(model, backend):
    problem = case(model, 3, bounded=True)
    own = path_of(problem)
    lam = 0.5 * float(own.low[0]) + 0.5 * float(own.low[-1])
    found = sparseopt.solve(problem, backend=backend, lam=lam)
    assert found.objective == pytest.approx(own.objective_at(lam), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("bounds", "named"),
    [
        ((0.5, 1.0), r"bounds\[0, 0\] is 0.5; expected low <= 0"),
        ((-1.0, [1.0, -2.0]), r"bounds\[1, 1\] is -2; expected high >= 0"),
        ((np.nan, 1.0), r"bounds\[0, 0\] is nan"),
        ((-1e30, 1.0), r"bounds\[0, 0\] is -1e\+30; .* -inf where there is no bound"),
        ((np.inf, np.inf), r"bounds\[0, 0\] is inf"),
        ((0.0, [1.0, 2.0, 3.0]), r"bounds has shape \(3,\); expected \(2,\)"),
        ((0.0, "many"), "bounds"),
        ((0.0,), r"expected \(low, high\)"),
        (1.0, r"expected \(low, high\)"),
    ],
)
def test_bounds_that_are_none_are_refused(bounds, named):
    with pytest.raises(ProblemError, match=named):
        LADLasso(np.eye(2), np.ones(2), bounds=bounds)


def test_an_answer_outside_of_the_bounds_is_refuted():
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    free = LADLasso(X, y)
    result = sparseopt.solve(free, lam=0.1)
    bounded = free.with_changes(bounds=(0.0, 0.5 * np.abs(result.x).max()))
    lie = replace(result, problem=bounded, fingerprint=None)
    assert str(sparseopt.check(bounded, lie).verdict) == "refuted"
    assert sparseopt.solve(bounded, lam=0.1).objective > result.objective


# ---- quantile lasso


def test_the_level_one_half_is_half_the_lad_lasso():
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    lad, median = LADLasso(X, y, fit_intercept=True), QuantileLasso(X, y, 0.5, fit_intercept=True)
    for lam in (0.2, 1.0, 5.0):
        assert optimum(median, lam / 2.0) == pytest.approx(optimum(lad, lam) / 2.0, rel=1e-10)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.8])
def test_the_intercept_alone_is_a_quantile(tau):
    """At large lam only the intercept is left, with a share of at most tau below it."""
    y = rng.normal(size=41)
    problem = QuantileLasso(rng.normal(size=(41, 3)), y, tau, fit_intercept=True)
    *theta, beta = sparseopt.solve(problem, lam=1e3, check=False).x
    assert theta == [0.0] * 3
    assert np.sum(y < beta) <= tau * 41 <= np.sum(y <= beta)


def test_levels_mirror_each_other():
    X, y = rng.normal(size=(15, 4)), rng.normal(size=15)
    for lam in (0.1, 1.0):
        one, other = (QuantileLasso(X, s * y, tau) for s, tau in ((1.0, 0.3), (-1.0, 0.7)))
        assert optimum(one, lam) == pytest.approx(optimum(other, lam), rel=1e-10)


@pytest.mark.parametrize("tau", [0.0, 1.0, -0.1, 1.5, float("nan"), True, "0.5", None, [0.5]])
def test_levels_outside_the_open_interval_are_refused(tau):
    with pytest.raises(ProblemError, match=r"^tau is .*strictly between 0 and 1"):
        QuantileLasso(np.eye(2), np.ones(2), tau)


# ---- compressed sensing


def test_few_measurements_of_a_sparse_vector_give_it_back():
    X = rng.normal(size=(40, 100))
    truth = np.zeros(100)
    truth[:5] = [3.0, -2.0, 1.0, -1.0, 0.5]
    path = path_of(CompressedSensing(X, X @ truth))
    np.testing.assert_allclose(path.at(0.0), truth, atol=1e-9)


def test_a_column_of_ones_without_weight_is_an_intercept():
    X, y = rng.normal(size=(10, 3)), rng.normal(size=10)
    wide = CompressedSensing(np.column_stack([X, np.ones(10)]), y + 7.0, weights=[1, 1, 1, 0])
    narrow = CompressedSensing(np.column_stack([X, np.ones(10)]), y, weights=[1, 1, 1, 0])
    lam = 0.5 * (np.ptp(y) / 2.0)
    lam = max(lam, float(path_of(narrow).low[-1]))
    assert optimum(wide, lam) == pytest.approx(optimum(narrow, lam), rel=1e-9)


def test_too_many_measurements_end_at_the_chebyshev_fit():
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    path = path_of(CompressedSensing(X, y))
    assert path.stopped_by == "infeasible_below"
    end = float(path.low[-1])
    assert np.abs(y - X @ path.at(end)).max() == pytest.approx(end, rel=1e-10)
    assert solve_textbook(CompressedSensing(X, y), 0.999 * end)[0] == "infeasible"


# ---- linear discriminants


def test_the_identity_soft_thresholds_the_difference():
    delta = np.array([3.0, -2.0, 0.5])
    path = path_of(LPD(np.eye(3), delta))
    for lam in (2.5, 1.0, 0.2, 0.0):
        expected = np.sign(delta) * np.maximum(np.abs(delta) - lam, 0.0)
        np.testing.assert_allclose(path.at(lam), expected, atol=1e-14)


@pytest.mark.parametrize(("ddof", "divisor"), [(0, 16), (2, 14)])
def test_a_discriminant_is_built_from_two_samples(ddof, divisor):
    x, y = rng.normal(size=(7, 3)), rng.normal(size=(9, 3)) + 5.0
    problem = LPD.from_samples(x, y, ddof=ddof, names=["a", "b", "c"])
    scatter = 6 * np.cov(x.T) + 8 * np.cov(y.T)
    np.testing.assert_allclose(problem.S, scatter / divisor, rtol=1e-12)
    np.testing.assert_allclose(problem.delta, x.mean(axis=0) - y.mean(axis=0), rtol=1e-12)
    assert problem.coefficient_names == ["a", "b", "c"]


def test_with_enough_observations_the_path_ends_at_the_full_discriminant():
    x, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    problem = LPD.from_samples(x, y)
    expected = np.linalg.solve(problem.S, problem.delta)
    np.testing.assert_allclose(path_of(problem).at(0.0), expected, rtol=1e-9)


def test_equal_weights_on_both_sides_rescale_the_variables():
    x, y = rng.normal(size=(20, 4)), rng.normal(size=(20, 4)) + 1.0
    w = np.array([1.0, 10.0, 0.1, 2.0])
    plain = LPD.from_samples(x / w, y / w)
    weighted = LPD.from_samples(x, y, weights=w, row_weights=w)
    one, two = path_of(plain), path_of(weighted)
    for lam in np.linspace(0.01, 1.2, 7):
        np.testing.assert_allclose(w * two.at(lam), one.at(lam), atol=1e-9)


# ---- support vector machines


def test_labels_and_features_can_change_sign_together():
    X, y = rng.normal(size=(15, 4)), np.repeat([1.0, -1.0], [7, 8])
    for lam in (0.5, 2.0):
        assert optimum(L1SVM(X, y), lam) == pytest.approx(optimum(L1SVM(X, -y), lam), rel=1e-10)
        plain, turned = (L1SVM(s * X, s * y, fit_intercept=False) for s in (1.0, -1.0))
        assert optimum(plain, lam) == pytest.approx(optimum(turned, lam), rel=1e-10)


def test_without_features_the_smaller_class_is_lost():
    y = np.repeat([1.0, -1.0], [3, 8])
    assert optimum(L1SVM(np.zeros((11, 1)), y), 1.0) == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 1], r"y\[0\] is 0; expected the labels -1 and 1, found 0, 1: give np.where"),
        ([1, 2, 1], r"y\[1\] is 2; expected the labels -1 and 1, found 1, 2"),
        ([1, 1, 1], "y holds the label 1 alone"),
        ([-1, -1, -1], "y holds the label -1 alone"),
    ],
)
def test_labels_are_checked(y, message):
    with pytest.raises(ProblemError, match=message):
        L1SVM(np.eye(3), y)


# ---- precision matrices


def test_a_precision_matrix_is_built_from_data_and_ends_at_the_inverse():
    X = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 4))
    problem = CLIME.from_data(X, ddof=1, names=list("abcd"))
    np.testing.assert_allclose(problem.S, np.cov(X.T), rtol=1e-12)
    np.testing.assert_allclose(CLIME.from_data(X).S, np.cov(X.T, ddof=0), rtol=1e-12)
    path = path_of(problem)
    np.testing.assert_allclose(
        problem.matrix(path.at(0.0)), np.linalg.inv(problem.S), rtol=1e-7, atol=1e-9
    )
    assert problem.coefficient_names[:5] == ["a,a", "b,a", "c,a", "d,a", "a,b"]


def test_the_columns_make_up_the_whole():
    problem = CLIME.from_data(rng.normal(size=(20, 5)), weights=[1, 2, 0, 1, 1])
    assert problem.columns == 5
    for lam in (0.3, 0.1):
        parts = [optimum(problem.column(i), lam) for i in range(5)]
        assert optimum(problem, lam) == pytest.approx(sum(parts), rel=1e-9)
    whole = problem.canonical().psi.kink
    assert np.array_equal(whole, problem.row_kinks().ravel())
    own = [problem.column(i).canonical().psi.kink for i in range(5)]
    assert np.array_equal(whole, np.concatenate(own))


@pytest.mark.parametrize("i", [-1, 5, 1.0, True, "0"])
def test_columns_that_are_none_are_refused(i):
    with pytest.raises(ParamError, match="none of the 5 columns, 0 to 4"):
        CLIME(np.eye(5)).column(i)


def test_the_symmetric_estimate_takes_the_smaller_entry_with_its_sign():
    estimate = np.array([[1.0, -2.0, 3.0], [-1.0, 2.0, -0.5], [-3.0, 4.0, 5.0]])
    expected = np.array([[1.0, -1.0, 3.0], [-1.0, 2.0, -0.5], [3.0, -0.5, 5.0]])
    for problem in (CLIME(np.eye(3)), DifferentialNetwork(np.eye(3), np.eye(3))):
        theta = estimate.ravel(order="F")
        assert problem.matrix(theta).tolist() == estimate.tolist()
        assert problem.symmetrised(theta).tolist() == expected.tolist()


def test_entries_of_their_own_weight_are_a_matrix_problem():
    """The adaptive form, here with an unpenalised diagonal, as the docstring of CLIME says."""
    S = CLIME.from_data(rng.normal(size=(25, 4))).S
    W = 1.0 - np.eye(4)
    whole = MatrixDantzig(S, np.eye(4), np.eye(4), weights=W)
    for lam in (0.3, 0.05):
        parts = [optimum(LPD(S, np.eye(4)[i], weights=W[:, i]), lam) for i in range(4)]
        assert optimum(whole, lam) == pytest.approx(sum(parts), rel=1e-9)


# ---- differences of networks


@pytest.mark.parametrize(("sign", "factor"), [("y-x", 1.0), ("x-y", -1.0)])
def test_the_sign_says_which_difference_is_estimated(sign, factor):
    x, y = rng.normal(size=(30, 3)), rng.normal(size=(25, 3)) @ rng.normal(size=(3, 3))
    problem = DifferentialNetwork.from_samples(x, y, sign=sign)
    np.testing.assert_allclose(problem.S_X, np.cov(x.T, ddof=0), rtol=1e-12)
    np.testing.assert_allclose(problem.S_Y, np.cov(y.T, ddof=0), rtol=1e-12)
    expected = factor * (np.linalg.inv(problem.S_Y) - np.linalg.inv(problem.S_X))
    delta = problem.matrix(path_of(problem).at(0.0))
    np.testing.assert_allclose(delta, expected, rtol=1e-6, atol=1e-8)


def test_a_difference_is_a_case_of_the_matrix_problem():
    one, two = (CLIME.from_data(rng.normal(size=(12, 3))).S for _ in range(2))
    special, general = DifferentialNetwork(one, two), MatrixDantzig(one, two, one - two)
    for lam in (0.3, 0.1, 0.02):
        assert optimum(special, lam) == pytest.approx(optimum(general, lam), rel=1e-9)
    np.testing.assert_array_equal(special.matrix_map.as_array(), general.matrix_map.as_array())


def test_equal_networks_have_no_difference():
    S = CLIME.from_data(rng.normal(size=(12, 3))).S
    assert not path_of(DifferentialNetwork(S, S)).at(0.0).any()


def test_one_product_of_unknowns_is_solved_by_hand():
    """|2 D 3 - 12| <= lam: D = (12 - lam) / 6."""
    path = path_of(MatrixDantzig([[2.0]], [[3.0]], [[12.0]]))
    assert path.at(6.0)[0] == pytest.approx(1.0)
    assert path.at(0.0)[0] == pytest.approx(2.0)


# ---- samples and matrices


def test_constant_variables_have_exactly_no_variance():
    """The mean of 0.1 repeated is not 0.1: what is left would be a variance of 1e-34."""
    X = np.column_stack([np.full(7, 0.1), rng.normal(size=7)])
    for S in (
        CLIME.from_data(X).S,
        LPD.from_samples(X, X + 1.0).S,
        DifferentialNetwork.from_samples(X, X).S_Y,
    ):
        assert not S[0].any()
        assert not S[:, 0].any()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CLIME.from_data(np.ones((1, 3))), "X has 1 row; expected at least 2"),
        (lambda: CLIME.from_data(np.ones((3, 2)), ddof=3), "ddof is 3; expected an integer from 0"),
        (lambda: CLIME.from_data(np.ones((3, 2)), ddof=0.5), "ddof is 0.5"),
        (lambda: CLIME.from_data([[1e200], [-1e200]]), "the covariance of X overflows"),
        (lambda: CLIME.from_data([[1.0], [np.nan]]), r"X\[1, 0\] is nan"),
        (lambda: LPD.from_samples(np.ones((1, 3)), np.ones((1, 3))), "at least 3 observations"),
        (lambda: LPD.from_samples(np.ones((5, 3)), np.ones((5, 2))), "y has 2 columns; expected 3"),
        (lambda: LPD.from_samples(np.ones((5, 3)), np.ones((0, 3))), r"y has shape \(0, 3\)"),
        (
            lambda: DifferentialNetwork.from_samples(np.ones((5, 3)), np.ones((1, 3))),
            "y has 1 row; expected at least 2",
        ),
        (
            lambda: DifferentialNetwork(np.eye(2), np.eye(3)),
            r"S_Y has shape \(3, 3\); expected \(2, 2\)",
        ),
        (lambda: DifferentialNetwork(np.eye(2), np.eye(2), sign="x"), "sign is 'x'; expected"),
        (lambda: MatrixDantzig(np.eye(2), np.eye(3), np.eye(2)), r"Y has shape .*\(2, 3\)"),
        (lambda: MatrixDantzig(np.eye(2), np.eye(2), np.eye(2), [1.0, 1.0]), "weights has shape"),
        (lambda: MatrixDantzig([[1]], [[1]], [[1]], [[-1]]), r"weights\[0, 0\] is -1"),
        (lambda: LPD(np.ones((2, 3)), np.ones(2)), r"S has shape \(2, 3\); expected a square"),
        (lambda: CLIME(np.eye(2), names=["a"]), "names has 1 entries; expected 2"),
    ],
)
def test_data_that_do_not_fit_are_refused(build, message):
    with pytest.raises(ProblemError, match=message):
        build()


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("S", lambda S: LPD(S, np.ones(2))),
        ("S", CLIME),
        ("S_X", lambda S: DifferentialNetwork(S, np.eye(2))),
        ("S_Y", lambda S: DifferentialNetwork(np.eye(2), S)),
    ],
)
def test_an_asymmetric_matrix_is_refused_with_its_asymmetry(name, build):
    with pytest.raises(ProblemError, match=rf"^{name} is not symmetric: .* differ by 0.25"):
        build(np.array([[1.0, 0.5], [0.25, 1.0]]))
    S = getattr(build(np.array([[1.0, 0.5], [0.5 + 1e-13, 1.0]])), name)
    assert np.array_equal(S, S.T)


@pytest.mark.parametrize(
    "problem",
    [
        DantzigSelector(np.eye(2), np.ones(2)),
        CompressedSensing(np.eye(2), np.ones(2)),
        LPD(np.eye(2), np.ones(2)),
        CLIME(np.eye(2)),
        DifferentialNetwork(np.eye(2), np.eye(2)),
        MatrixDantzig(np.eye(2), np.eye(2), np.eye(2)),
        QuantileLasso(np.eye(2), np.ones(2), 0.3),
        L1SVM(np.eye(2), [1, -1]),
    ],
    ids=lambda problem: problem.kind,
)
def test_points_of_another_length_are_refused(problem):
    p = problem.canonical().A.shape[1]
    for length in (p - 1, p + 1):
        with pytest.raises(ProblemError, match=rf"x has shape \({length},\)"):
            problem.objective(np.zeros(length), 1.0)


@pytest.mark.parametrize(
    "problem", [QuantileLasso(np.eye(2), np.ones(2), 0.3), L1SVM(np.eye(2), [1, -1])]
)
def test_a_penalised_objective_needs_lam(problem):
    with pytest.raises(ProblemError, match="give lam"):
        problem.objective(np.zeros(len(problem.penalty_weights)))

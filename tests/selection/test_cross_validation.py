"""Cross-validation against brute force, and in the corners."""

import json
from dataclasses import replace

import numpy as np
import pytest
from selection_examples import LOSSES, brute_force_errors, examples, regression
from sklearn.model_selection import KFold

import sparseopt
from sparseopt.errors import ParamError
from sparseopt.problems import (
    L1SVM,
    CompressedSensing,
    DantzigSelector,
    LADLasso,
    ParametricLP,
    QuantileLasso,
)
from sparseopt.selection import check_loss, cross_validate
from sparseopt.selection import training as training_module

FOLDS = list(KFold(4).split(np.zeros((40, 1))))
CASES = [
    ("dantzig", "squared"),
    ("dantzig", "absolute"),
    ("dantzig-n", "squared"),
    ("compressed", "squared"),
    ("lad", "absolute"),
    ("lad", "squared"),
    ("quantile", "check"),
    ("svm", "hinge"),
    ("svm", "misclassification"),
]


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize(("name", "loss"), CASES)
def test_the_error_is_known_at_every_lam_and_its_minimum_is_global(name: str, loss: str) -> None:
    problem = examples()[name]
    cv = cross_validate(problem, FOLDS, loss)
    grid = np.linspace(cv.curve.end, 1.1 * cv.knots[0], 150)
    errors = brute_force_errors(problem, FOLDS, loss, grid)
    np.testing.assert_allclose(cv.curve(grid), errors, rtol=1e-9, atol=1e-9)
    assert cv.value <= errors.min() + 1e-12
    # The value is what brute force finds there.
    there = brute_force_errors(problem, FOLDS, loss, np.array([cv.lam]))[0]
    assert abs(there - cv.value) <= 1e-9
    np.testing.assert_array_equal(cv.x, cv.result.path.at(cv.lam))
    assert cv.result.verdict == "verified"


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("name", "loss"), CASES)
def test_one_standard_error_is_the_largest_lam_within(name: str, loss: str) -> None:
    problem = examples()[name]
    cv = cross_validate(problem, FOLDS, loss, rule="1se")
    assert cv.lam == cv.lam_1se >= cv.lam_min
    limit = float(cv.curve(cv.lam_min) + cv.standard_error(cv.lam_min))
    assert float(cv.curve(cv.lam)) <= limit + 1e-9
    # Beyond the piece that holds it no lam is within.
    piece = int(cv.curve.piece(cv.lam))
    after = cv.curve.high[piece] if cv.curve.flat[piece] else cv.lam
    beyond = np.linspace(after, max(1.1 * cv.knots[0], after), 300)[1:]
    assert (cv.curve(beyond) >= limit - 1e-9).all()


def test_the_standard_error_is_that_of_the_folds() -> None:
    cv = cross_validate(examples()["dantzig"], FOLDS)
    at = float(cv.knots[3])
    errors = [float(curve(at)) for curve in cv.fold_curves]
    # Folds of equal size: the ordinary standard error of their mean.
    assert abs(float(cv.standard_error(at)) - np.std(errors, ddof=1) / 2.0) <= 1e-12
    np.testing.assert_allclose(cv.fold_errors[:, 3], errors)
    assert cv.errors[3] == cv.curve(at)
    assert cv.standard_errors[3] == cv.standard_error(at)


@pytest.mark.thorough
def test_the_scales_of_lam_give_the_same_choice() -> None:
    X, y = regression()
    plain = cross_validate(DantzigSelector(X, y), FOLDS)
    divided = cross_validate(DantzigSelector(X, y, scale="n"), FOLDS)
    assert abs(plain.lam / len(y) - divided.lam) <= 1e-9 * divided.lam
    lad = cross_validate(LADLasso(X, y), FOLDS)
    median = cross_validate(QuantileLasso(X, y, 0.5), FOLDS, check_loss(0.5))
    assert abs(lad.lam - 2.0 * median.lam) <= 1e-9 * lad.lam
    assert abs(lad.value - 2.0 * median.value) <= 1e-9


@pytest.mark.thorough
def test_factors_of_the_folds_stand_for_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = regression(n=90, d=6)
    for scale in ("none", "n"):
        problem = DantzigSelector(X, y, scale=scale)
        factors = cross_validate(problem, 5)
        unparted = [(train[:-1], test) for train, test in factors.folds]
        other = cross_validate(problem, unparted)
        with monkeypatch.context() as patch:
            patch.setattr(training_module, "_TALL", np.inf)
            rows = cross_validate(problem, 5)
            rows_unparted = cross_validate(problem, unparted)
        for one, two in ((factors, rows), (other, rows_unparted)):
            assert len(one.knots) == len(two.knots)
            np.testing.assert_allclose(one.knots, two.knots, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(one.fold_errors, two.fold_errors, rtol=1e-9)
            assert abs(one.lam - two.lam) <= 1e-9 * one.lam


@pytest.mark.thorough
def test_a_fold_that_ends_early_ends_the_range() -> None:
    X, y = regression(n=30, d=3)
    cv = cross_validate(CompressedSensing(X, y), 5)
    ends = []
    for train, _ in cv.folds:
        path = sparseopt.solve(CompressedSensing(X[train], y[train])).path
        assert path.stopped_by == "infeasible_below"
        ends.append(path.low[-1])
    whole = sparseopt.solve(CompressedSensing(X, y)).path
    assert abs(cv.curve.end - max(*ends, whole.low[-1])) <= 1e-9
    assert len(cv.notes) == 6
    assert all("infeasible_below" in note for note in cv.notes)
    with pytest.raises(ParamError, match="lies outside the range"):
        cv.curve(0.5 * cv.curve.end)


def test_a_path_that_a_limit_cut_short_is_noted():
    problem = examples()["lad"]
    cut = sparseopt.solve(problem, max_knots=4)
    cut = cut.with_changes(
        status="feasible", limit="time", path=replace(cut.path, stopped_by="time")
    )
    cv = cross_validate(problem, FOLDS, result=cut)
    assert cv.curve.end == cut.path.low[-1] > 0.0
    assert cv.notes == (f"the path of all data ends at {cv.curve.end:g}: time",)


def test_a_saturated_path_is_compared_to_its_end() -> None:
    X, y = regression(n=12, d=30)
    cv = cross_validate(DantzigSelector(X, y), 4)
    assert cv.curve.end == 0.0
    grid = np.linspace(0.0, cv.knots[0], 150)
    assert cv.value <= brute_force_errors(cv.problem, cv.folds, "squared", grid).min() + 1e-9


def test_pure_noise_chooses_the_null_model() -> None:
    X, _ = regression(n=40, d=5)
    y = np.random.default_rng(8).standard_normal(40)
    y -= X @ np.linalg.lstsq(X, y, rcond=None)[0]
    cv = cross_validate(DantzigSelector(X, y), FOLDS)
    assert cv.nonzeros == 0
    assert cv.interval[1] == np.inf
    json.dumps(cv.summary(), allow_nan=False, default=float)


@pytest.mark.thorough
@pytest.mark.parametrize("value", [0.0, 2.5])
def test_constant_responses(value: float) -> None:
    X, _ = regression()
    y = np.full(40, value)
    for problem in (
        DantzigSelector(X, y),
        LADLasso(X, y, fit_intercept=True),
        QuantileLasso(X, y, 0.3, fit_intercept=True),
        CompressedSensing(X, y),
    ):
        cv = cross_validate(problem, FOLDS)
        grid = np.linspace(cv.curve.end, cv.knots[0] * 1.1 + 1.0, 25)
        loss = "check" if problem.kind == "quantile-lasso" else cv.loss
        assert cv.value <= brute_force_errors(problem, FOLDS, loss, grid).min() + 1e-12
    intercept = cross_validate(LADLasso(X, y, fit_intercept=True), FOLDS)
    assert intercept.value == 0.0
    assert intercept.support.tolist() == ([8] if value else [])


@pytest.mark.thorough
def test_integer_data_with_ties() -> None:
    rng = np.random.default_rng(2)
    X = rng.integers(-2, 3, size=(40, 6)).astype(float)
    X[:, 5] = X[:, 0]
    y = rng.integers(-3, 4, size=40).astype(float)
    for problem in (LADLasso(X, y), DantzigSelector(X, y), L1SVM(X, np.where(y > 0, 1.0, -1.0))):
        cv = cross_validate(problem, FOLDS)
        grid = np.linspace(0.0, cv.knots[0], 150)
        assert cv.value <= cv.curve(grid).min() + 1e-12
        loss = {"check(0.3)": "check"}.get(cv.loss, cv.loss)
        here = brute_force_errors(problem, FOLDS, loss, np.array([cv.lam]))[0]
        assert abs(here - cv.value) <= 1e-9


def test_lam_min_ends_the_range_on_the_scale_of_the_problem() -> None:
    problem = examples()["dantzig"]
    whole, part = cross_validate(problem, FOLDS), cross_validate(problem, FOLDS, lam_min=12.0)
    assert part.curve.end == 12.0
    lam = np.linspace(12.0, 60.0, 50)
    np.testing.assert_allclose(part.curve(lam), whole.curve(lam), rtol=1e-12)
    assert not part.notes
    again = cross_validate(problem, FOLDS, lam_min=12.0, result=whole.result)
    assert abs(again.lam - part.lam) <= 1e-9


def test_progress_is_told() -> None:
    heard: list[str] = []
    cross_validate(examples()["lad"], FOLDS, on_progress=lambda p: heard.append(p.text))
    assert heard == [f"fold {k} of 4" for k in (1, 2, 3, 4)]


def test_the_table_and_the_summary() -> None:
    cv = cross_validate(examples()["dantzig"], FOLDS)
    frame = cv.to_frame()
    assert list(frame) == ["lam", "error", "standard_error"]
    assert len(frame) == len(cv.knots)
    summary = json.loads(json.dumps(cv.summary(), allow_nan=False))
    assert summary["lam"] == cv.lam
    assert set(summary["coefficients"]) == {f"x{j}" for j in cv.support}


def test_the_picture_shows_both_choices() -> None:
    from matplotlib.figure import Figure

    cv = cross_validate(examples()["lad"], FOLDS)
    ax = cv.plot(Figure().add_subplot())
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[1] == f"minimum: lam = {cv.lam_min:.4g}"
    assert labels[2].endswith(f"lam = {cv.lam_1se:.4g}")


def test_what_cannot_be_cross_validated_is_refused() -> None:
    X, y = regression()
    lp = ParametricLP(A=np.eye(1), b=[1.0], b_bar=[0.0], c=[1.0], c_bar=[0.0])
    with pytest.raises(ParamError, match="does not hold observations"):
        cross_validate(lp)
    with pytest.raises(ParamError, match="expected 'min' or '1se'"):
        cross_validate(DantzigSelector(X, y), rule="2se")  # type: ignore[arg-type]
    with pytest.raises(ParamError, match="expected one of: squared"):
        cross_validate(DantzigSelector(X, y), loss="cubic")
    with pytest.raises(ParamError, match="classes -1 and 1"):
        cross_validate(DantzigSelector(X, y), loss="hinge")
    with pytest.raises(ParamError, match="needs a level"):
        cross_validate(DantzigSelector(X, y), loss="check")
    other = sparseopt.solve(DantzigSelector(X, 2.0 * y))
    with pytest.raises(ParamError, match="belongs to another problem"):
        cross_validate(DantzigSelector(X, y), result=other)
    point = sparseopt.solve(DantzigSelector(X, y), lam=3.0)
    with pytest.raises(ParamError, match="solve without lam="):
        cross_validate(DantzigSelector(X, y), result=point)


def test_the_losses_are_those_of_the_textbook() -> None:
    from sparseopt.selection.losses import named_loss

    rng = np.random.default_rng(0)
    f = np.append(rng.normal(size=20), [0.0, 1.0, -1.0])
    for name, expected in LOSSES.items():
        y = np.where(rng.random(23) < 0.5, 1.0, -1.0)
        assert abs(named_loss(name, 0.3).total(y, f) - expected(y, f).sum()) <= 1e-12


def test_folds_whose_test_part_has_no_weight_are_left_out():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((20, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(20)
    labels = np.repeat(np.arange(5), 4)
    weights = np.where(labels == 2, 0.0, 1.0)
    cv = cross_validate(LADLasso(X, y, sample_weights=weights), folds=labels, rule="1se")
    some = labels != 2
    rest = cross_validate(LADLasso(X[some], y[some]), folds=labels[some], rule="1se")
    assert len(cv.folds) == 4
    assert cv.lam_1se == pytest.approx(rest.lam_1se)
    assert cv.value == pytest.approx(rest.value)
    parts = [(np.flatnonzero(labels != k), np.flatnonzero(labels == k)) for k in (1, 2)]
    with pytest.raises(ParamError, match="of 2 folds 1 have a test part with any weight"):
        cross_validate(LADLasso(X, y, sample_weights=weights), folds=parts)

"""Stability selection: frequencies against brute force, bounds against their formulas."""

import json
import math

import numpy as np
import pytest
from selection_examples import examples, regression, share, training

import sparseopt
from sparseopt.errors import ParamError
from sparseopt.problems import DantzigSelector, LADLasso
from sparseopt.selection import error_bound, stability_selection
from sparseopt.selection.stability import _halves


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", ["dantzig", "dantzig-n", "compressed", "lad", "svm"])
def test_frequencies_are_those_of_the_solutions(name: str) -> None:
    problem = examples()[name]
    result = stability_selection(problem, pairs=4, lam_min=1.5, seed=2)
    halves = list(_halves(problem, 4, 2))
    grid = np.linspace(result.lam, 1.05 * result.runs.high[np.isfinite(result.runs.high)].max(), 60)
    chosen = np.zeros((len(grid), len(problem.coefficient_names)))
    ever = 0
    free = problem.penalty_weights == 0.0
    for rows in halves:
        path = sparseopt.solve(training(problem, rows), check=False).path
        factor = share(problem, rows)
        nonzero = np.array([np.abs(path.at(lam * factor)) > 1e-12 for lam in grid])
        chosen += nonzero
        knots = path.knots[path.knots > result.lam * factor]
        inside = [np.nextafter(lam, 0.0) for lam in knots]
        on_path = np.array([np.abs(path.at(lam)) > 1e-300 for lam in inside])
        ever += int((on_path | nonzero[0]).any(axis=0)[~free].sum())
    chosen = np.where(free, 1.0, chosen / len(halves))
    for lam, expected in zip(grid, chosen, strict=True):
        np.testing.assert_allclose(result.frequency_at(lam), expected, atol=1e-12)
    assert (result.frequency >= chosen.max(axis=0) - 1e-12).all()
    assert result.subsamples == 8
    assert result.mean_chosen == ever / 8


def test_the_largest_frequency_is_that_of_some_lam() -> None:
    problem = examples()["lad"]
    result = stability_selection(problem, pairs=6, lam_min=0.0)
    places = np.concatenate([result.runs.low, result.runs.high])
    places = places[np.isfinite(places)]
    around = np.concatenate([places, np.nextafter(places, 0.0)])
    around = around[around >= result.lam]
    brute = np.max([result.frequency_at(lam) for lam in around], axis=0)
    np.testing.assert_array_equal(result.frequency, brute)


def test_halves_are_disjoint_and_keep_the_classes() -> None:
    problem = examples(n=41)["svm"]
    halves = list(_halves(problem, 3, 0))
    assert len(halves) == 6
    for one, two in zip(halves[::2], halves[1::2], strict=True):
        assert len(np.intersect1d(one, two)) == 0
        assert len(one) == len(two) == 20
        assert problem.y[one].sum() == problem.y[two].sum()


def test_signals_are_chosen_and_the_bound_is_kept() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 60))
    y = 2.0 * X[:, 5] - 2.0 * X[:, 17] + rng.standard_normal(100)
    result = stability_selection(DantzigSelector(X, y), pairs=15, false_choices=0.5)
    assert set(result.support[:2].tolist()) == {5, 17}
    assert result.bound <= 0.5
    assert result.bound == error_bound(result.mean_chosen, 60, 0.75, 15)
    # The range reaches as far as the bound lets it: one more choice is too many.
    more = result.runs.mean_chosen(np.nextafter(result.lam, 0.0), np.ones(60, bool))
    assert error_bound(more, 60, 0.75, 15) > 0.5
    assert (np.diff(result.frequency[result.support]) <= 0.0).all()
    fitted = result.refit()
    least_squares = np.linalg.lstsq(X[:, result.support], y, rcond=None)[0]
    np.testing.assert_allclose(fitted[result.support], least_squares, rtol=1e-9)


def test_the_seed_decides() -> None:
    problem = examples()["dantzig"]
    one, two, three = (stability_selection(problem, pairs=3, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.runs.low, two.runs.low)
    assert one.runs.low.shape != three.runs.low.shape or (one.runs.low != three.runs.low).any()


def test_the_bounds_of_the_papers() -> None:
    # Meinshausen, Buhlmann (2010), theorem 1, and the constants of Shah, Samworth (2013).
    assert math.isclose(error_bound(10, 1000, 0.9, kind="general"), 100 / (0.8 * 1000))
    assert math.isclose(error_bound(10, 1000, 0.7, 50), 0.1 / (2 * (0.4 - 0.01)))
    assert math.isclose(error_bound(10, 1000, 0.9, 50), 0.1 * 4 * (0.1 + 0.01) / 1.02)


def test_the_unimodal_bound_holds_only_where_it_is_proven() -> None:
    # q / p above 1 / sqrt(3), or a threshold too small for that share: the general bound.
    for q, threshold in ((60.0, 0.9), (50.0, 0.68)):
        general = error_bound(q, 100, threshold, kind="general")
        assert error_bound(q, 100, threshold) == general
    assert error_bound(50.0, 100, 0.7) < error_bound(50.0, 100, 0.7, kind="general")
    thresholds = np.linspace(0.505, 1.0, 100)
    for q in (1.0, 20.0, 57.0, 90.0):
        for threshold in thresholds:
            general = error_bound(q, 100, threshold, kind="general")
            assert 0.0 < error_bound(q, 100, threshold) <= general


def test_the_bound_grows_with_the_choices() -> None:
    for threshold in (0.55, 0.68, 0.75, 0.9):
        bounds = [error_bound(q, 50, threshold, 20) for q in np.linspace(0.0, 50.0, 400)]
        assert (np.diff(bounds) >= 0.0).all()


def test_progress_summary_table_and_picture() -> None:
    from matplotlib.figure import Figure

    heard: list[str] = []
    problem = examples()["lad"]
    result = stability_selection(problem, pairs=2, on_progress=lambda p: heard.append(p.text))
    assert heard[-1] == "subsample 4 of 4"
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert list(summary["frequencies"]) == [problem.coefficient_names[j] for j in result.support]
    frame = result.to_frame()
    assert frame.frequency.tolist() == result.frequency.tolist()
    ax = result.plot(Figure().add_subplot())
    assert ax.get_ylabel() == "selection frequency"


def test_the_range_that_is_known_ends_with_the_first_path() -> None:
    X, y = regression()
    result = stability_selection(DantzigSelector(X, y), pairs=3)
    with pytest.raises(ParamError, match="below the end of the paths"):
        result.frequency_at(0.5 * result.runs.end - 1.0)
    short = stability_selection(examples()["compressed"], pairs=3, lam_min=0.0)
    assert short.lam > 0.0
    assert "ends the range" in short.notes[0]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"threshold": 0.5}, "above 1/2"),
        ({"threshold": 1.1}, "above 1/2"),
        ({"pairs": 0}, "pairs must be"),
        ({"false_choices": 0.0}, "false_choices must be"),
        ({"bound": "r-concave"}, "expected 'unimodal' or 'general'"),
    ],
)
def test_what_is_out_of_range_is_refused(asked: dict, says: str) -> None:
    with pytest.raises(ParamError, match=says):
        stability_selection(examples()["dantzig"], **asked)


def test_something_must_be_there_to_choose() -> None:
    X, y = regression(n=20, d=3)
    with pytest.raises(ParamError, match="nothing to choose"):
        stability_selection(LADLasso(X, y, weights=np.zeros(3)))

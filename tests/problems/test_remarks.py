"""Notes about data that nobody centred or scaled, and about repeated points."""

import re

import numpy as np
import pytest

import sparseopt
from sparseopt.problems import (
    CLIME,
    L1SVM,
    DantzigSelector,
    LADLasso,
    MMDSubspace,
    MomentSubspace,
    QuantileLasso,
    RobustSubspace,
    SparseRegression,
    SufficientReduction,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X @ [1.0, 2.0, 0.0, 0.0] + RNG.normal(size=60)
LABELS = np.sign(Y)
UNITS = X * [1e-3, 1.0, 1.0, 1e3]

FINE = {
    "dantzig": DantzigSelector(X, Y),
    "lad": LADLasso(X, Y),
    "few rows": LADLasso(X[:9] + 50.0, Y[:9]),
    "intercept": LADLasso(X + 50.0, Y + 50.0, fit_intercept=True),
    "a column of ones": QuantileLasso(np.column_stack([X, np.ones(60)]), Y + 50.0, tau=0.5),
    "weights": DantzigSelector(UNITS, Y, weights=[1e-3, 1.0, 1.0, 1e3]),
    "svm": L1SVM(X, LABELS),
    "clime": CLIME(np.cov(X.T)),
    "subset": SparseRegression(X, Y, k=1, ridge=1.0),
    "subspace": RobustSubspace(X, k=2),
    "a point twice": MomentSubspace(np.vstack([X, X[:1]]), k=2),
    "small integers": MMDSubspace(RNG.integers(0, 2, (60, 30)) * 1.0, k=2, bandwidth=1.0),
}
FLAT = np.column_stack([X, np.full(60, 5.0)])


@pytest.mark.parametrize("name", FINE)
def test_nothing_is_said_of_ordinary_data(name):
    assert FINE[name].remarks() == ()


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (LADLasso(X, Y + 50.0), r"no intercept: y \(mean 50.*Give fit_intercept=True"),
        (
            DantzigSelector(X + np.array([0.0, 0.0, 9.0, 50.0]), Y, names=list("abcd")),
            "2 of 4.*'d'",
        ),
        (QuantileLasso(X + 1e9, Y, tau=0.3, fit_intercept=True), None),
        (DantzigSelector(UNITS, Y), r"e\+06 \(from 'x0' to 'x3'\).*Scale"),
        (LADLasso(UNITS + 7.0 * UNITS.std(axis=0), Y, fit_intercept=True), r"e\+06"),
        (L1SVM(UNITS, LABELS), "Scale"),
        (CLIME(np.cov(UNITS.T), names=list("abcd")), "from 'a' to 'd'.*correlation"),
        (SparseRegression(X, Y + 50.0, k=1, ridge=1.0), "Centre the columns and y"),
    ],
)
def test_offsets_and_units_are_remarked_on(problem, words):
    remarks = problem.remarks()
    assert len(remarks) == (words is not None)
    if words is not None:
        assert re.search(words, remarks[0])


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (RobustSubspace(FLAT, k=2), r"x4 is 5 everywhere.*through 0.*Give centre='estimate'"),
        (RobustSubspace(FLAT, k=2, norm="l1"), "Give centre='estimate'"),
        (RobustSubspace(FLAT, k=2, centre="estimate"), "without a part in the subspace"),
        (MomentSubspace(FLAT, k=2), "Centre the columns"),
        (SufficientReduction(FLAT, Y, k=2), "without a part in the subspace"),
        (RobustSubspace(0.0 * FLAT[:, 3:] + X[:, :2], k=1), None),
        (RobustSubspace(FLAT - [0, 0, 0, 0, 5.0], k=2), "x4 is 0 everywhere.*without a part"),
        (RobustSubspace(np.vstack([X, X[:9]]), k=2), "9 of 69 points repeat others"),
        (RobustSubspace(np.vstack([X, np.zeros((5, 4)), -np.zeros((5, 4))]), k=2), "9 of 70"),
        (RobustSubspace(X[[0, 1] * 30], k=2), "60 points, 2 of them distinct"),
        (RobustSubspace(X[[0, 1, 2] * 20], k=2), "57 of 60 points repeat others"),
    ],
)
def test_constant_columns_and_repeated_points_are_remarked_on(problem, words):
    remarks = problem.remarks()
    assert len(remarks) == (words is not None)
    if words is not None:
        assert re.search(words, remarks[0])
        assert sparseopt.solve(problem).notes[-1] == remarks[0]


def test_a_result_has_the_remarks_and_a_wide_matrix_is_looked_at_in_parts():
    wide = np.random.default_rng(1).normal(size=(12, 5001)) + 40.0
    problem = LADLasso(wide, wide[:, 0] - 40.0)
    (remark,) = problem.remarks()
    assert "834 of 834" in remark
    result = sparseopt.solve(problem, lam=1e6)
    assert result.notes[-1] == remark

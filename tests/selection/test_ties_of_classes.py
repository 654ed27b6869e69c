"""Cross-validation and stability of the SVM where its minimiser is not unique: the stated rule."""

import numpy as np
import pytest

import sparseopt
from sparseopt.problems import L1SVM
from sparseopt.selection import cross_validate, stability_selection


def tied(seed):
    """Return an SVM on few rounded numbers and two equal columns: ties everywhere."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(16, 3)))
    X[:, 2] = X[:, 1]
    labels = np.where(X[:, 0] + rng.normal(size=16) > 0.0, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    return L1SVM(X, labels)


@pytest.mark.thorough
def test_the_error_is_that_of_the_vertices_of_the_paths():
    problem = tied(3)
    cv = cross_validate(problem, folds=4, seed=0)
    assert any("several coefficients" in note for note in cv.notes)
    for lam in (0.31, 0.77, 1.9):
        total = 0.0
        for train, test in cv.folds:
            part = L1SVM(problem.X[train], problem.y[train])
            beta = sparseopt.solve(part, backend="homotopy").path.at(lam * _scale(problem, part))
            margin = problem.y[test] * (problem.X[test] @ beta[:-1] + beta[-1])
            total += np.maximum(0.0, 1.0 - margin).sum()
        assert abs(cv.curve(lam) - total / len(problem.y)) < 1e-9
    again = cross_validate(tied(3), folds=4, seed=0)
    assert again.lam == cv.lam
    assert again.value == cv.value


def _scale(whole, part):
    """Return what lam of a part is where lam of the whole is 1: the loss is a sum."""
    return len(part.y) / len(whole.y)


def test_stability_follows_the_same_rule():
    stable = stability_selection(tied(5), pairs=5, threshold=0.6, lam_min=0.5, seed=1)
    assert any("several coefficients" in note for note in stable.notes)
    again = stability_selection(tied(5), pairs=5, threshold=0.6, lam_min=0.5, seed=1)
    assert np.array_equal(stable.frequency, again.frequency)

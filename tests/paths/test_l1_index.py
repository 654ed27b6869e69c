"""The path indexed by the bound on the l1 norm: the paper's form (2.12) of the SVM."""

import numpy as np
import pytest
from random_models import case
from textbook_lp import solve_bounded_svm
from thorough import first

import sparseopt
from sparseopt.errors import ParamError
from sparseopt.paths.l1_bound import L1BoundPath
from sparseopt.problems import L1SVM, DantzigSelector, LADLasso


def svm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    return L1SVM(X, np.where(X[:, 0] + rng.normal(size=30) > 0.0, 1.0, -1.0))


def bounded(problem, **question):
    return L1BoundPath(problem, sparseopt.solve(problem, check=False, **question).path)


@pytest.mark.thorough
@pytest.mark.parametrize("block", first(1, range(4)))
def test_every_bound_gives_an_optimum_of_the_bounded_problem(block):
    rng = np.random.default_rng(block)
    for seed in range(25 * block, 25 * block + 25):
        problem = case("l1-svm", seed)
        path = bounded(problem)
        end = path.knots[-1]
        for t in (0.0, end, 1.1 * end + 0.1, *rng.choice(path.knots, 1), *rng.uniform(0, end, 3)):
            theta = path.at(t)
            assert problem.l1_norm(theta) <= t + 1e-9 * (1.0 + t), seed
            status, least = solve_bounded_svm(problem, t)
            assert status == "optimal"
            assert path.objective_at(t) == pytest.approx(least, rel=1e-8, abs=1e-8), seed


def test_between_knots_the_norm_is_the_bound():
    problem = svm()
    path = bounded(problem)
    assert len(path) > 2
    for t in np.linspace(0.0, path.knots[-1], 23):
        assert problem.l1_norm(path.at(t)) == pytest.approx(t, abs=1e-12)


def test_lam_is_the_rate_at_which_the_loss_falls():
    path = bounded(svm())
    t, lam = path.knots, np.array([path.lam_at(t) for t in path.knots])
    loss = np.array([path.objective_at(t) for t in path.knots])
    np.testing.assert_allclose(-np.diff(loss) / np.diff(t), lam[:-1], rtol=1e-9)
    assert (np.diff(lam) <= 0.0).all()
    assert lam[-1] == 0.0
    middle = 0.5 * (t[:-1] + t[1:])
    assert [path.lam_at(m) for m in middle] == lam[:-1].tolist()


def test_the_svm_begins_at_zero_and_separates_with_least_norm():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 30))
    problem = L1SVM(X, np.where(X[:, 0] > 0.0, 1.0, -1.0))
    result = sparseopt.solve(problem)
    path = result.path
    assert not path.at(path.knots[0])[:-1].any()
    assert path.stopped_by == "lam_min"
    assert path.low[-1] == 0.0 < path.high[-1]
    assert problem.loss(path.at(0.0)) == pytest.approx(0.0, abs=1e-12)
    index = L1BoundPath(problem, path)
    least = index.knots[-1]
    assert solve_bounded_svm(problem, least)[1] == pytest.approx(0.0, abs=1e-9)
    assert solve_bounded_svm(problem, 0.99 * least)[1] > 1e-4
    assert np.array_equal(index.at(10.0 * least), path.at(0.0))


def test_it_serves_every_penalised_model_and_its_weights():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(15, 3)), rng.normal(size=15)
    problem = LADLasso(X, y, fit_intercept=True, weights=[1.0, 2.0, 0.0])
    path = bounded(problem)
    for t in np.linspace(0.0, path.knots[-1], 7):
        theta = path.at(t)
        assert abs(theta[0]) + 2.0 * abs(theta[1]) == pytest.approx(t, abs=1e-12)


def test_a_path_that_stopped_early_says_so_beyond_its_end():
    problem = svm()
    whole = sparseopt.solve(problem, check=False).path
    part = bounded(problem, lam_min=float(whole.low[1]))
    assert part.at(part.knots[-1]).tolist() == whole.at(whole.low[1]).tolist()
    with pytest.raises(ParamError, match="solve it down to a smaller lam"):
        part.at(part.knots[-1] + 1.0)


@pytest.mark.parametrize("bound", [-1.0, float("nan")])
def test_bounds_that_are_none_are_refused(bound):
    with pytest.raises(ParamError, match="expected a number >= 0"):
        bounded(svm()).at(bound)


def test_other_problems_and_paths_are_refused():
    problem = svm()
    path = sparseopt.solve(problem, check=False).path
    with pytest.raises(ParamError, match="no l1 penalty"):
        L1BoundPath(DantzigSelector(np.eye(2), np.ones(2)), path)
    with pytest.raises(ParamError, match="whole path of this problem"):
        L1BoundPath(svm(), None)
    with pytest.raises(ParamError, match="whole path of this problem"):
        L1BoundPath(L1SVM(np.ones((2, 50)), [1, -1]), path)
    grid = sparseopt.solve(problem, lam=[1.0, 0.5], check=False).path
    with pytest.raises(ParamError, match="GridPath"):
        L1BoundPath(problem, grid)


def test_the_table_and_the_picture():
    pd = pytest.importorskip("pandas")
    problem = svm()
    path = bounded(problem)
    frame = path.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["bound"].tolist() == path.knots.tolist()
    assert frame["loss"].tolist() == [path.objective_at(t) for t in path.knots]
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = path.plot(figure.add_subplot())
    assert ax.lines or ax.collections

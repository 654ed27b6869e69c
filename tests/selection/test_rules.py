"""One verb for all rules, from a problem, a result or a path; networks; new data in a problem."""

import math

import numpy as np
import pytest
from selection_examples import examples, regression

import sparseopt
from sparseopt.errors import BackendError, ParamError, ProblemError
from sparseopt.problems import CLIME, CompressedSensing, DantzigSelector, LADLasso, ParametricLP
from sparseopt.selection import (
    CriterionResult,
    CVResult,
    NetworkResult,
    StabilityResult,
    TheoryResult,
    network_criterion,
    select,
)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("by", "kind"),
    [
        ("cv", CVResult),
        ("aic", CriterionResult),
        ("ebic", CriterionResult),
        ("theory", TheoryResult),
        ("stability", StabilityResult),
    ],
)
def test_a_result_a_path_and_a_problem_choose_alike(by: str, kind: type) -> None:
    problem = examples()["lad"]
    result = sparseopt.solve(problem)
    options = {"pairs": 3} if by == "stability" else {}
    chosen = [
        result.select(by, **options),
        result.path.select(by, problem, **options),
        select(problem, by, **options),
    ]
    assert all(type(one) is kind and one.by == by for one in chosen)
    assert len({one.lam for one in chosen}) == 1
    if by != "stability":
        assert chosen[0].result is result


@pytest.mark.parametrize(
    ("by", "option", "says"),
    [
        ("bic", "folds", "'bic' has no option 'folds'; it takes gamma, sigma, max_df, lam_min, b"),
        ("cv", "gamma", "the rule 'cv' has no option 'gamma'; it takes folds, loss, rule, seed,"),
        ("theory", "folds", "'theory' has no option 'folds'; it takes sigma, n, alpha, c, seed, b"),
        ("stability", "kind", "the rule 'stability' has no option 'kind'"),
        ("ebic", "kind", "the rule 'ebic' has no option 'kind'"),
    ],
)
def test_an_option_of_another_rule_is_named_with_those_that_there_are(by, option, says) -> None:
    problem = examples()["lad"]
    for choose in (sparseopt.solve(problem).select, lambda *a, **k: select(problem, *a, **k)):
        with pytest.raises(ParamError, match=says):
            choose(by, **{option: 3})


def test_a_rule_or_a_problem_that_is_not_there() -> None:
    problem = examples()["lad"]
    with pytest.raises(ParamError, match="no rule 'gcv'"):
        select(problem, "gcv")
    result = sparseopt.solve(problem).with_changes(problem=None)
    with pytest.raises(ParamError, match="without its problem"):
        result.select("bic")
    path = sparseopt.solve(problem).path
    with pytest.raises(ParamError, match="9 coefficients and the problem 8"):
        path.select("bic", examples()["dantzig"])
    lp = ParametricLP(A=np.eye(1), b=[-1.0], b_bar=[0.0], c=[1.0], c_bar=[0.0])
    with pytest.raises(ParamError, match="does not hold observations"):
        select(lp, "bic")


def test_a_problem_without_a_path_is_told() -> None:
    problem = CompressedSensing(np.zeros((2, 1)), [1.0, 2.0], row_weights=[0.0, 1.0])
    with pytest.raises(BackendError, match="has no path"):
        select(problem, "bic")


def clime() -> CLIME:
    X = np.random.default_rng(0).standard_normal((120, 6))
    X[:, 1:] += 0.8 * X[:, :-1]
    return CLIME.from_data(X)


@pytest.mark.parametrize("kind", ["aic", "bic", "ebic"])
def test_a_network_has_the_least_criterion_of_all_knots(kind: str) -> None:
    problem = clime()
    chosen = network_criterion(problem, 120, kind)
    assert isinstance(chosen, NetworkResult)
    price = {"aic": 2.0, "bic": math.log(120), "ebic": math.log(120) + 2.0 * math.log(6)}[kind]

    def criterion(omega: np.ndarray) -> float:
        sign, logdet = np.linalg.slogdet(omega)
        if sign <= 0.0 or np.linalg.eigvalsh(omega).min() <= 0.0:
            return math.inf
        edges = np.count_nonzero(np.triu(np.abs(omega) > 1e-9, 1))
        return 120 * (np.trace(problem.S @ omega) - logdet) + price * edges

    path = chosen.result.path
    values = [criterion(problem.symmetrised(path.at(lam))) for lam in path.knots]
    assert chosen.value <= min(values) + 1e-9
    assert abs(criterion(chosen.matrix) - chosen.value) <= 1e-9
    assert chosen.edges == np.count_nonzero(np.triu(chosen.matrix, 1))
    np.testing.assert_array_equal(chosen.matrix, chosen.matrix.T)


def test_a_long_path_of_a_network_is_looked_at_twice() -> None:
    problem = clime()
    full, coarse = network_criterion(problem, 120), network_criterion(problem, 120, looks=10)
    assert len(coarse.knots) < len(full.knots)
    assert full.value <= coarse.value + 1e-9


def test_a_network_needs_its_observations() -> None:
    with pytest.raises(ParamError, match="give n="):
        select(clime(), "ebic")
    with pytest.raises(ParamError, match="n is 1"):
        select(clime(), "ebic", n=1)
    with pytest.raises(ParamError, match="gamma is 3"):
        select(clime(), "ebic", n=120, gamma=3)
    with pytest.raises(ParamError, match="no estimate of one precision matrix"):
        network_criterion(examples()["lad"], 40)
    assert select(clime(), "bic", n=120).by == "bic"


def test_new_data_share_the_old_and_solve_the_same() -> None:
    X, y = regression()
    weights = np.linspace(0.5, 1.5, 8)
    for problem in (DantzigSelector(X, y), LADLasso(X, y, fit_intercept=True)):
        other = problem.with_changes(y=-2.0 * y, weights=weights)
        assert np.shares_memory(other.X, problem.X)
        fresh = type(problem)(X, -2.0 * y, weights=weights, **intercept(problem))
        assert other.fingerprint() == fresh.fingerprint()
        np.testing.assert_array_equal(
            sparseopt.solve(other, lam=3.0).x, sparseopt.solve(fresh, lam=3.0).x
        )
        assert problem.y is not other.y


def intercept(problem: object) -> dict:
    return {"fit_intercept": True} if isinstance(problem, LADLasso) else {}


def test_new_data_are_validated() -> None:
    X, y = regression()
    problem = DantzigSelector(X, y)
    with pytest.raises(ProblemError, match="no tau; it has: X, y"):
        problem.with_changes(tau=0.5)
    with pytest.raises(ProblemError, match=r"y has shape \(39,\)"):
        problem.with_changes(y=y[1:])

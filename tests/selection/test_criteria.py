"""AIC, BIC and EBIC against brute force along the path."""

import math

import numpy as np
import pytest
from selection_examples import LOSSES, Array, examples, predictors, regression

import sparseopt
from sparseopt.errors import ParamError
from sparseopt.problems import CompressedSensing, DantzigSelector, LADLasso, QuantileLasso
from sparseopt.selection import information_criterion


def brute_force(problem, kind: str, theta: Array, gamma: float = 1.0, sigma=None) -> float:
    n = len(problem.y)
    f = predictors(problem, np.arange(n), theta)
    loss = {"lad-lasso": "absolute", "quantile-lasso": "check"}.get(problem.kind, "squared")
    total = float(LOSSES[loss](problem.y, f).sum())
    free = problem.penalty_weights == 0.0
    k = int(np.count_nonzero(theta[~free]))
    df = k + int(free.sum())
    times = n if loss == "squared" else 2 * n
    fit = times * math.log(total / n) if sigma is None else total / sigma**2
    if kind == "aic":
        return fit + 2 * df
    more = 2 * gamma * math.log(math.comb(int((~free).sum()), k)) if kind == "ebic" else 0.0
    return fit + math.log(n) * df + more


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kind", ["aic", "bic", "ebic"])
@pytest.mark.parametrize("name", ["dantzig", "dantzig-n", "compressed", "lad", "quantile"])
def test_no_solution_on_the_path_has_a_smaller_criterion(name: str, kind: str) -> None:
    problem = examples()[name]
    chosen = information_criterion(problem, kind)
    path = chosen.result.path
    grid = np.append(np.linspace(path.low[-1], 1.1 * path.knots[0], 300), path.knots)
    values = [brute_force(problem, kind, path.at(lam)) for lam in grid]
    assert chosen.value <= min(values) + 1e-9
    assert abs(brute_force(problem, kind, chosen.x) - chosen.value) <= 1e-9
    np.testing.assert_allclose(chosen.x, path.at(chosen.lam), atol=1e-12)
    # Not just the best knot's neighbour: at the knots, the values are those of the solutions.
    at_knots = [brute_force(problem, kind, path.at(lam)) for lam in chosen.knots[:-1]]
    np.testing.assert_allclose(chosen.values[:-1], at_knots, rtol=1e-9)


def test_a_known_sigma() -> None:
    problem = examples()["dantzig"]
    chosen = information_criterion(problem, "aic", sigma=1.5)
    path = chosen.result.path
    values = [brute_force(problem, "aic", path.at(lam), sigma=1.5) for lam in path.knots]
    assert chosen.value <= min(values) + 1e-9
    assert abs(brute_force(problem, "aic", chosen.x, sigma=1.5) - chosen.value) <= 1e-9


@pytest.mark.thorough
def test_the_minimum_can_lie_between_two_knots() -> None:
    # The Dantzig selector does not minimise the squares: they have a minimum inside a segment.
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((8, 3)) @ np.array([[1, 0.9, 0.5], [0, 0.4, 0.8], [0, 0, 0.3]])
        problem = DantzigSelector(X, rng.standard_normal(8))
        chosen = information_criterion(problem, "aic", max_df=3, check=False)
        if chosen.nonzeros and np.abs(chosen.knots - chosen.lam).min() > 1e-6 * chosen.knots[0]:
            found += 1
            assert chosen.value < chosen.values.min()
    assert found


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kind", ["bic", "ebic"])
def test_ties_do_not_depend_on_rounding(kind: str) -> None:
    # Small whole numbers have degenerate knots, and weights of 2 are doubled rows but for rounding.
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(8, 40)), int(rng.integers(1, 8))
        X = rng.integers(-2, 3, (n, d)).astype(float)
        y = X[:, 0] + rng.integers(-2, 3, n)
        spread = np.sqrt(1.0 + np.var(X, axis=0))
        one, two = (
            information_criterion(problem, kind, check=False)
            for problem in (
                LADLasso(X, y, True, spread, sample_weights=np.full(n, 2.0)),
                LADLasso(np.r_[X, X], np.r_[y, y], True, spread),
            )
        )
        assert one.interval == pytest.approx(two.interval, rel=1e-9, abs=1e-12)
        assert one.lam == pytest.approx(two.lam, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(one.x, two.x, atol=1e-9)


def test_equal_values_are_those_that_rounding_can_move() -> None:
    problem = examples()["lad"]
    chosen = information_criterion(problem, "bic")
    loss, df = float(chosen.loss(chosen.lam)), chosen.nonzeros
    tie = chosen.formula.tie(loss, df)
    n = len(problem.y)
    terms = abs(2 * n * math.log(loss / n)) + math.log(n) * df + 2 * n
    assert tie == pytest.approx(1e-12 * terms)
    known = information_criterion(examples()["dantzig"], "bic", sigma=2.0)
    loss = float(known.loss(known.lam))
    assert known.formula.tie(loss, 0) == pytest.approx(1e-12 * loss / 4.0)


def test_without_gamma_ebic_is_bic() -> None:
    problem = examples()["lad"]
    bic, ebic = (
        information_criterion(problem, "bic"),
        information_criterion(problem, "ebic", gamma=0.0),
    )
    assert (bic.lam, bic.value) == (ebic.lam, ebic.value)


def test_a_larger_gamma_chooses_no_larger_model() -> None:
    problem = DantzigSelector(*regression(n=50, d=60, seed=4))
    result = sparseopt.solve(problem, check=False)
    sizes = [
        information_criterion(problem, "ebic", gamma=gamma, result=result).nonzeros
        for gamma in (0.0, 0.5, 1.0)
    ]
    assert sizes == sorted(sizes, reverse=True)


def test_a_saturated_fit_does_not_win() -> None:
    X, y = regression(n=16, d=40)
    for problem in (DantzigSelector(X, y), LADLasso(X, y), CompressedSensing(X, y)):
        result = sparseopt.solve(problem, check=False)
        chosen = information_criterion(problem, "bic", result=result)
        assert chosen.max_df == 8
        assert chosen.nonzeros <= 8
        free = information_criterion(problem, "bic", max_df=16, result=result)
        assert free.nonzeros > 8
    with pytest.raises(ParamError, match="no model of the path has at most 0"):
        information_criterion(LADLasso(X, y, fit_intercept=True), "bic", max_df=0)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_constant_responses(value: float) -> None:
    X, _ = regression()
    y = np.full(40, value)
    flat = information_criterion(QuantileLasso(X, y, 0.5, fit_intercept=True), "bic")
    assert flat.support.tolist() == ([8] if value else [])
    if value == 0.0:
        assert information_criterion(DantzigSelector(X, y), "bic").nonzeros == 0


def test_lam_min_restricts_a_longer_path() -> None:
    problem = examples()["dantzig"]
    whole = information_criterion(problem, "aic")
    lam_min = float(whole.knots[2])
    part = information_criterion(problem, "aic", lam_min=lam_min, result=whole.result)
    assert part.lam >= lam_min
    assert part.knots[-1] == lam_min


def test_the_model_needs_a_likelihood_and_the_values_a_range() -> None:
    problems = examples()
    with pytest.raises(ParamError, match="no likelihood"):
        information_criterion(problems["svm"], "bic")
    with pytest.raises(ParamError, match="expected 'aic', 'bic' or 'ebic'"):
        information_criterion(problems["lad"], "dic")  # type: ignore[arg-type]
    with pytest.raises(ParamError, match="gamma is 2"):
        information_criterion(problems["lad"], "ebic", gamma=2)
    with pytest.raises(ParamError, match="leave it out"):
        information_criterion(problems["lad"], "ebic", sigma=1.0)
    with pytest.raises(ParamError, match="sigma is 0"):
        information_criterion(problems["dantzig"], "ebic", sigma=0)


def test_the_table_and_the_picture() -> None:
    from matplotlib.figure import Figure

    chosen = information_criterion(examples()["dantzig"], "bic")
    frame = chosen.to_frame()
    assert list(frame) == ["lam", "bic", "df", "loss"]
    ax = chosen.plot(Figure().add_subplot())
    assert ax.get_ylabel() == "BIC"


def test_a_grid_is_no_path() -> None:
    problem = examples()["dantzig"]
    with pytest.raises(ParamError, match="a grid path"):
        information_criterion(problem, result=sparseopt.solve(problem, lam=[3.0, 2.0]))


def test_a_minimum_that_is_not_attained_is_approached_from_its_side() -> None:
    # With 9 of 9 coefficients the binomial of EBIC is 1, with 8 of them it is 9: at the knot where
    # one vanishes the criterion is larger than just below.
    rng = np.random.default_rng(281)
    n, d = int(rng.integers(8, 30)), int(rng.integers(1, 20))
    X = rng.integers(-2, 3, (n, d)).astype(float)
    problem = CompressedSensing(X, X[:, 0] + rng.standard_normal(n))
    chosen = information_criterion(problem, "ebic", check=False)
    assert chosen.nonzeros == 9
    assert math.isclose(brute_force(problem, "ebic", chosen.x), chosen.value, rel_tol=1e-9)
    above = chosen.knots[chosen.knots > chosen.lam].min()
    assert 0.0 < above - chosen.lam < 1e-4 * above
    assert chosen.values[chosen.knots == above] > chosen.value + 1.0

"""Pages with a slider: they hold the path itself, nothing else, and need nothing else."""

import json
import re

import numpy as np
import pytest

import sparseopt
from sparseopt import estimators
from sparseopt.errors import ParamError
from sparseopt.paths.parametric import GridPath
from sparseopt.pictures import to_html
from sparseopt.problems import DantzigSelector, LADLasso
from sparseopt.solvers.homotopy.quantiles import quantile_path

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(30, 4)), RNG.normal(size=30)


def held(page):
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(data[1])


def at(data, value):
    """The coefficients as the page computes them."""
    s = next(s for s, low in enumerate(data["low"]) if low <= value)
    theta = np.zeros(len(data["names"]))
    for k in range(data["ptr"][s], data["ptr"][s + 1]):
        step = value - data["low"][s]
        theta[data["index"][k]] = data["value"][k] + step * data["rate"][k]
    return theta


@pytest.mark.parametrize("problem", [DantzigSelector(X, Y), LADLasso(X, Y, fit_intercept=True)])
def test_the_page_has_the_exact_path(problem):
    result = sparseopt.solve(problem)
    data, path = held(result.to_html()), result.path
    assert data["verdict"] == "verified"
    for lam in (0.0, 0.37 * path.knots[0], *path.knots, 2.0 * path.knots[0]):
        np.testing.assert_array_equal(at(data, lam), path.at(lam))
    assert held(path.to_html())["verdict"] is None
    title = {"lad-lasso": "LAD lasso", "dantzig-selector": "Dantzig selector"}[problem.kind]
    assert f"<h1>{title}</h1>" in result.to_html()


def test_levels_have_a_page():
    path = quantile_path(np.column_stack([X, np.ones(30)]), Y, np.ones(30), [*"abcd", "intercept"])
    data = held(to_html(path))
    for level in (0.02, 0.5, 0.9):
        np.testing.assert_array_equal(at(data, level), path.at(level))


def test_a_page_begins_at_the_lam_or_the_level_of_the_estimator():
    table = np.column_stack([X[:, 0], np.full(30, 2.0), X])  # these two add nothing
    chosen = estimators.LADLasso(rule="bic").fit(X, Y)
    data = held(to_html(chosen))
    assert data["start"] == chosen.lam_
    np.testing.assert_allclose(at(data, chosen.lam_), [*chosen.coef_, chosen.intercept_])
    process = estimators.QuantileProcess(quantile=0.3).fit(table, Y)
    data = held(to_html(process))
    assert data["start"] == 0.3 and data["names"] == ["x0", "x3", "x4", "x5", "intercept"]
    own = process.coef_[[0, 3, 4, 5]]
    np.testing.assert_allclose(at(data, 0.3), [*own, process.intercept_])
    odds = estimators.QuantileProcess(lam=1.0).fit(X, Y)
    assert held(to_html(odds))["start"] is None is held(to_html(chosen.path_))["start"]


def test_names_cannot_break_the_page(tmp_path):
    names = ['</script><img src="x">', "a & b", "ä", '"']
    result = sparseopt.solve(DantzigSelector(X, Y, names=names))
    sparseopt.plot(result, file=tmp_path / "x.html", title="<b>")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert held(page)["names"] == names
    assert page.count("</script>") == 2 and "<b>" not in page
    assert "http" not in page and "src=" not in page.replace('src=\\"', "")


def test_what_has_no_page_says_so():
    grid = GridPath(np.ones(1), np.ones((1, 1)), np.ones((1, 1)), *np.ones((2, 1)), ["a"], "grid")
    with pytest.raises(ParamError, match="slider"):
        to_html(grid)

"""Choosing the budget of a graph: against the definitions, budget by budget."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import sparseopt
from sparseopt.cli import main
from sparseopt.errors import ParamError
from sparseopt.generators import graph_sample, ising_lattice_sample
from sparseopt.problems import BudgetTables, Candidates, L0GraphicalModel
from sparseopt.selection import error_bound, select


@pytest.fixture(scope="module")
def gaussian():
    return graph_sample("band", n=50, d=12, d0=4, rho=0.5).model


@pytest.fixture(scope="module")
def ising():
    model = ising_lattice_sample(n=120, rows=3, columns=3, sweeps=30).model
    return L0GraphicalModel(model.X, model.candidates, loss="ising", ridge=0.01)


def rows(model, some):
    return L0GraphicalModel(
        np.asarray(model.X)[some],
        model.candidates,
        loss=model.loss,
        scaling=model.scaling,
        ridge=model.ridge,
    )


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kind", ["aic", "bic", "ebic"])
@pytest.mark.parametrize("name", ["gaussian", "ising"])
def test_no_budget_has_a_smaller_criterion(name, kind, request):
    model = request.getfixturevalue(name)
    path = sparseopt.solve(model, check=False).path
    chosen = path.select(kind)
    n = model.X.shape[0]
    each = 2.0 if kind == "aic" else math.log(n)
    for place, K in enumerate(path.budgets):
        x = path.at(K)
        losses = model.node_losses(x)
        fit = (n * np.log(losses) if name == "gaussian" else 2 * n * losses).sum()
        sizes = np.diff(model.candidates.ptr)
        node = np.repeat(np.arange(len(sizes)), sizes)
        k = np.bincount(node[x != 0], minlength=len(sizes))
        value = fit + each * k.sum()
        if kind == "ebic":
            value += 2 * sum(math.log(math.comb(d, c)) for d, c in zip(sizes, k, strict=True))
        assert chosen.values[place] == pytest.approx(value, rel=1e-9)
    assert chosen.value == chosen.values.min()
    assert chosen.nonzeros <= chosen.budget
    assert np.count_nonzero(chosen.x) == chosen.nonzeros
    np.testing.assert_array_equal(np.flatnonzero(chosen.x), chosen.support)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["gaussian", "ising"])
@pytest.mark.parametrize("rule", ["min", "1se"])
def test_cross_validation_has_the_error_of_every_budget(name, rule, request):
    model = request.getfixturevalue(name)
    folds = 4 if rule == "min" else 8
    chosen = select(model, "cv", folds=folds, rule=rule, seed=3)
    X, n = np.asarray(model.X, dtype=float), model.X.shape[0]
    null = model.null_losses()
    errors = np.zeros(len(chosen.budgets))
    for train, test in chosen.folds:
        path = sparseopt.solve(rows(model, train), check=False).path
        for K in chosen.budgets:
            B = path.coefficients(K).toarray()
            fitted = X[test] @ B.T
            if name == "gaussian":
                loss = (X[test] - fitted) ** 2
            else:
                loss = np.logaddexp(0.0, -X[test] * fitted)
            errors[K] += (loss / null).sum() / n
    np.testing.assert_allclose(chosen.values, errors, rtol=1e-9)
    best = int(np.argmin(errors))
    assert chosen.budget_min == best
    within = np.flatnonzero(errors <= errors[best] + chosen.standard_errors[best])
    assert chosen.budget_1se == within[0]
    assert chosen.budget == (best if rule == "min" else within[0])


def test_stability_counts_the_halves(gaussian):
    found = select(gaussian, "stability", pairs=6, budget=14, edges="and")
    assert found.subsamples == 12
    shares = found.frequency.toarray()
    np.testing.assert_allclose(shares * 12, np.rint(shares * 12), atol=1e-9)
    np.testing.assert_array_equal(shares, shares.T)
    assert found.mean_chosen == pytest.approx(np.triu(shares).sum())
    np.testing.assert_array_equal(found.graph().toarray(), shares >= 0.75)
    # The halves again, from the definition.
    rng = np.random.default_rng(0)
    total = np.zeros((12, 12))
    for _ in range(6):
        order = rng.permutation(50)
        for half in (order[:25], order[25:50]):
            path = sparseopt.solve(rows(gaussian, np.sort(half)), check=False).path
            total += path.graph(14, "and").toarray()
    np.testing.assert_allclose(shares, total / 12)


def test_stability_spends_what_the_bound_allows(gaussian):
    found = select(gaussian, "stability", pairs=5, false_choices=1.5)
    assert found.bound <= 1.5
    more = select(gaussian, "stability", pairs=5, budget=found.budget + 1)
    assert more.bound > 1.5
    sizes = gaussian.candidates.adjacency()
    p = (sizes + sizes.T).nnz // 2
    assert found.bound == error_bound(found.mean_chosen, p, 0.75, 5)


def test_every_backend_can_be_asked(gaussian):
    exact = select(gaussian, "bic", backend="l0-tables")
    lasso = select(gaussian, "bic", backend="l1-neighbourhood")
    assert exact.value <= lasso.value + 1e-9


def test_tables_summaries_and_pictures(gaussian, tmp_path):
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    pytest.importorskip("pandas", reason="needs pandas")
    from matplotlib.figure import Figure

    for chosen in (select(gaussian, "cv", folds=3), select(gaussian, "ebic")):
        assert len(chosen.to_frame()) == gaussian.total + 1
        json.dumps(chosen.summary())
        ax = chosen.plot(Figure().add_subplot())
        assert f"K = {chosen.budget}" in [t.get_text() for t in ax.get_legend().get_texts()]
    found = select(gaussian, "stability", pairs=2)
    assert found.to_frame()["chosen"].sum() == found.nonzeros
    json.dumps(found.summary())
    found.plot(Figure().add_subplot())


def test_the_command_line_selects(gaussian, tmp_path):
    file = tmp_path / "graph.npz"
    sparseopt.save(gaussian, file)
    told = CliRunner().invoke(main, ["select", str(file), "--by", "bic", "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.output)["budget"] == select(gaussian, "bic").budget
    told = CliRunner().invoke(main, ["select", str(file), "--by", "cv", "--folds", "3"])
    assert told.exit_code == 0
    assert "budget" in told.output
    told = CliRunner().invoke(main, ["select", str(file), "--by", "bic", "--refit"])
    assert told.exit_code == 2


def test_what_cannot_be_chosen_is_refused(gaussian):
    path = sparseopt.solve(gaussian, check=False).path
    with pytest.raises(ParamError, match="no rule 'theory' for graphs"):
        path.select("theory")
    with pytest.raises(ParamError, match="without its problem"):
        path.with_problem(None).select("bic")
    with pytest.raises(ParamError, match="have data"):
        select(BudgetTables([[1.0, 0.0]]), "bic")
    with pytest.raises(ParamError, match="gamma"):
        path.select("ebic", gamma=2.0)
    with pytest.raises(ParamError, match="another problem"):
        other = L0GraphicalModel(gaussian.X, Candidates.window(12, 3))
        path.select("bic", other)
    with pytest.raises(ParamError, match="rule is"):
        path.select("cv", rule="max")
    with pytest.raises(ParamError, match="budget is 99"):
        path.select("stability", budget=99)
    with pytest.raises(ParamError, match="fold 0 cannot be solved"):
        path.select("cv", folds=[(np.arange(4), np.arange(4, 50)), (np.arange(20), [30])])
    copies = np.asarray(gaussian.X).copy()
    copies[:, 1] = copies[:, 0]
    with pytest.raises(ParamError, match="fitted perfectly"):
        select(L0GraphicalModel(copies, gaussian.candidates), "bic")


def test_halves_cannot_split_weights():
    X = np.random.default_rng(0).normal(size=(40, 4))
    model = L0GraphicalModel(X, Candidates.window(4, 2), sample_weights=np.full(40, 2.0))
    with pytest.raises(ParamError, match="leave out sample_weights"):
        select(model, "stability")


def test_an_option_of_another_rule_is_named_with_those_that_there_are(gaussian):
    says = "the rule 'bic' of a graph has no option 'folds'; it takes gamma, backend, options"
    with pytest.raises(ParamError, match=says):
        select(gaussian, "bic", folds=3)

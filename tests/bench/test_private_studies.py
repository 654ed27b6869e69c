"""What the studies of private releases measure, on small sizes."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from sparseopt.bench.studies.private import _private_peers as peers
from sparseopt.bench.studies.private import (
    private_classifiers,
    private_kernel,
    private_mixture,
    private_promises,
)

SMALL = {"draws": 400}


def rows_of(promise, case="both", **more):
    unit = {"promise": promise, "case": case, **SMALL, **more}
    return list(private_promises.STUDY.do(unit, Path()))


@pytest.mark.parametrize(
    ("promise", "case"),
    [
        *(("sensitivity", name) for name in ("product", "sum", "both")),
        *(("hostile", word) for word in ("replace-one", "add-remove")),
    ],
)
def test_promises_are_kept(promise, case):
    assert not [row for row in rows_of(promise, case) if "complaint" in row]


def test_too_little_noise_is_found():
    rng = np.random.default_rng(0)
    eta = 1.0 / 3.730632  # (1, 1e-5)
    draws = rng.normal(size=(2, 100_000))
    for factor, found in ((1.0, False), (1.3, True)):
        low, estimate = private_promises._told_apart(draws[0], draws[1] + factor * eta, 1.0, 1e-5)
        assert (low[1] > low[3]) is found and estimate[1] == pytest.approx(factor, rel=0.15)


def test_a_sampler_of_another_width_is_found(monkeypatch):
    normal = np.random.default_rng(0).normal
    for width, kept in ((1000.0, True), (1100.0, False)):
        monkeypatch.setattr(
            private_promises,
            "discrete_gaussian",
            lambda _, count, width=width: np.rint(normal(size=count, scale=width)).tolist(),
        )
        complaints = [row for row in rows_of("sampler", "1000", draws=50_000) if "complaint" in row]
        assert (not complaints) is kept


@pytest.mark.thorough
def test_the_mixture_is_drawn(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    monkeypatch.setattr(private_mixture, "_ATOMS", 144)
    unit = {"epsilon": "picture", "seed": 0, "records": 2500}
    assert list(private_mixture.STUDY.do(unit, tmp_path)) == []
    panels = np.split(imread(tmp_path / "private-mixture.png")[:, :, :3], 4, axis=1)
    assert all(1.0 - panel.mean() > 0.01 for panel in panels)


def test_rho_gives_epsilon_and_delta():
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")
    for epsilon, delta in ((1.0, 1e-5), (0.1, 1e-5), (3.0, 1e-9)):
        rho = peers.zcdp(epsilon, delta)
        # Below what Gaussian noise of that rho has, and not by much.
        loss = accounting.GaussianPrivacyLoss(1.0 / np.sqrt(2.0 * rho))
        assert 0.05 * delta < loss.get_delta_for_epsilon(epsilon) <= delta


def test_a_single_column_takes_the_nearest_counts():
    rng = np.random.default_rng(3)
    for _ in range(10):
        noisy = rng.normal(scale=30.0, size=6)
        near = peers._on_simplex(noisy, 20.0)
        sums = {"type": "eq", "fun": lambda p: p.sum() - 20.0}
        found = minimize(
            lambda p, noisy=noisy: ((p - noisy) ** 2).sum(),
            np.full(6, 20.0 / 6.0),
            bounds=[(0.0, None)] * 6,
            constraints=[sums],
        )
        assert near.min() >= 0.0 and near.sum() == pytest.approx(20.0)
        assert near == pytest.approx(found.x, abs=1e-3)
    drawn = np.bincount(peers._with_counts(np.array([2.5, 0.0, 7.5]), 10, rng), minlength=3)
    assert drawn.tolist() in ([3, 0, 7], [2, 0, 8])


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::UserWarning:mbi")
def test_parts_are_fitted_as_one_model_would_be():
    """The model of a chain, a pair and a single column against mbi's model of all at once."""
    mbi = pytest.importorskip("mbi")
    rng = np.random.default_rng(5)
    sizes = {"a": 3, "b": 2, "c": 4, "d": 3, "e": 2, "f": 5}
    codes = {name: rng.integers(0, size, 400) for name, size in sizes.items()}
    codes["b"] = codes["a"] // 2
    data = peers._Measured(codes, sizes, rng)
    tables = [*((name,) for name in sizes), ("a", "b"), ("b", "c"), ("d", "e"), ("f",)]
    for table in tables[:6]:
        data.measure(table, 4.0)
    data.fit()
    for table in tables[6:]:
        data.measure(table, 2.0)
    data.fit()
    measured = [one for part in set(data.parts.values()) for one in part.measured]
    domain = mbi.Domain.fromdict(sizes)
    whole = mbi.estimation.MirrorDescent().estimate(
        domain,
        [mbi.LinearMeasurement(noisy, names, stddev=sd) for names, noisy, sd in measured],
        known_total=400.0,
        iters=2000,
    )
    assert len(set(data.parts.values())) == 3
    for pair in (("a", "b"), ("a", "c"), ("a", "d"), ("e", "d"), ("f", "c")):
        expected = np.asarray(whole.project(pair).datavector())
        assert data.expected(pair) == pytest.approx(expected, abs=0.5)
    cliques = [names for names, _, _ in measured]
    for pair in (("a", "c"), ("c", "d"), ("f", "a")):
        size = mbi.junction_tree.hypothetical_model_size(domain, [*cliques, pair])
        assert data.size_with(pair) == pytest.approx(size)
    drawn = data.draw()
    assert set(drawn) == set(sizes) and all(len(values) == 400 for values in drawn.values())
    counts = np.bincount(drawn["a"] * 2 + drawn["b"], minlength=6)
    assert np.abs(counts - data.expected(("a", "b"))).max() <= 6.0


def test_hermite_features_need_fewer_than_fourier():
    rows = list(private_kernel.STUDY.do({"first": 0, "end": 2}, Path()))
    error = {(row["method"], row["features"]): row["difference"] for row in rows}
    assert error["Hermite", 5] < error["Fourier", 500] < error["Fourier", 2]
    assert error["Hermite", 40] < 1e-12


@pytest.mark.parametrize("method", ["real", "Hermite", "Fourier"])
def test_classifiers_learn_from_synthetic_rows(method):
    made = private_classifiers._METHODS[method]
    split = private_classifiers._split("iris", 0)
    X, y = made(split, 50.0, np.random.default_rng(0), 0)
    assert X.shape == (75, 4) and private_classifiers._auc(X, y, split) > 0.85


def test_without_mbi_the_reason_is_said(monkeypatch):
    monkeypatch.setattr(private_classifiers, "find_spec", lambda name: None)
    unit = {"data": "iris", "method": "AIM", "first": 0, "end": 2}
    assert "pip install mbi" in next(iter(private_classifiers.STUDY.do(unit, Path())))["skipped"]


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["MST", "AIM"])
def test_marginal_methods_keep_the_pair_that_depends(method):
    pytest.importorskip("mbi")
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 3000)
    codes = {"a": a, "b": (a + (rng.random(3000) < 0.1)) % 3, "c": rng.integers(0, 2, 3000)}
    sizes = {"a": 3, "b": 3, "c": 2}
    found = peers.marginals(method, codes, sizes, epsilon=3.0, delta=1e-6, rng=rng)
    assert (found["a"] == found["b"]).mean() == pytest.approx(0.9, abs=0.05)
    assert set(found) == set(sizes) and len(found["c"]) == 3000

"""The checker's fits, against those of paths and of the engine: three codes for one formula."""

import numpy as np
import pytest

from sparseopt import SolveParams
from sparseopt.backend import Control
from sparseopt.checking.budget import fits
from sparseopt.checking.budget.products import products, tell_losses
from sparseopt.problems import Candidates, L0GraphicalModel
from sparseopt.proofs import neighbours
from sparseopt.solvers.l0.tables.gaussian import gaussian_tables
from sparseopt.solvers.l0.tables.ising import ising_tables


def gaussian(rng: np.random.Generator) -> L0GraphicalModel:
    X = rng.normal(size=(30, 8)) * 10.0 ** rng.integers(-3, 4, size=8)
    if rng.random() < 0.5:
        X[:, 2] = X[:, 1] - 3.0 * X[:, 4]
        X[:, 6] = X[:, 7] + 10.0 ** rng.uniform(-4, -2) * X[:, 6]
    ridge = float(rng.choice([0.0, 1e-3]))
    return L0GraphicalModel(X, Candidates.window(8, int(rng.integers(1, 7))), ridge=ridge)


def ising(rng: np.random.Generator) -> L0GraphicalModel:
    X = rng.choice([-1, 1], size=(25, 8))
    X[:2] = [[1] * 8, [-1] * 8]
    if rng.random() < 0.5:
        X[:, 2] = X[:, 1]
    ridge = float(rng.choice([0.0, 1e-2]))
    candidates = Candidates.window(8, int(rng.integers(1, 6)))
    return L0GraphicalModel(X, candidates, loss="ising", ridge=ridge)


@pytest.fixture(params=[True, False], ids=["all columns at once", "node by node"])
def reduced(request, monkeypatch):
    """Reduce X as a whole, or the columns of each node."""
    if not request.param:
        monkeypatch.setattr(fits, "_REDUCED", 0)


@pytest.mark.usefixtures("reduced")
@pytest.mark.parametrize("draw", [gaussian, ising])
@pytest.mark.parametrize("seed", range(15))
def test_the_three_agree(draw, seed):
    problem = draw(np.random.default_rng(seed))
    search = gaussian_tables if draw is gaussian else ising_tables
    found = search(problem, Control(SolveParams()), 1)
    assert found.done.all()
    null = problem.null_losses().repeat(problem.candidates.sizes + 1)
    by_checker = fits.support_losses(problem, found.mask)
    by_path = neighbours.support_losses(problem, found.mask)
    # Columns are at angles down to 2e-7, which make 1e-9 of rounding errors on some processors.
    np.testing.assert_allclose(by_checker / null, found.loss / null, rtol=0, atol=1e-9)
    np.testing.assert_allclose(by_checker / null, by_path / null, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("reduced")
@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_squares_are_the_smallest_of_dependent_neighbours_too(ridge):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5))
    for combined in (X[:, 0], X[:, 0] - X[:, 1], X[:, 0] + 1e-9 * X[:, 3]):
        X[:, 2] = combined
        problem = L0GraphicalModel(X, ~np.eye(5, dtype=bool), ridge=ridge)
        supports = np.zeros(25, dtype=np.int64)
        supports[[4, 9, 14, 19, 24]] = 15
        losses = fits.support_losses(problem, supports)
        for j in range(5):
            A = np.delete(X, j, axis=1)
            A = np.vstack([A, np.sqrt(20 * ridge) * np.eye(4)])
            y = np.append(X[:, j], np.zeros(4))
            rest = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
            assert losses[5 * j + 4] == pytest.approx(rest @ rest / 20, rel=1e-9, abs=1e-12)
            assert losses[5 * j] == pytest.approx(np.square(X[:, j]).mean())


def test_few_nodes_at_a_time(monkeypatch):
    problem = gaussian(np.random.default_rng(3))
    supports = gaussian_tables(problem, Control(SolveParams()), 1).mask
    expected = fits.support_losses(problem, supports)
    monkeypatch.setattr(fits, "_REDUCED", 0)
    monkeypatch.setattr(fits, "_ENTRIES", 500)
    null = problem.null_losses().repeat(problem.candidates.sizes + 1)
    found = fits.support_losses(problem, supports)
    np.testing.assert_allclose(found / null, expected / null, rtol=0, atol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_products_tell_what_they_know_and_nothing_else(ridge):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 6))
    X[:, 1] = X[:, 0] + 0.05 * X[:, 1]
    X[:, 5] = X[:, 2] - X[:, 3] + 1e-3 * X[:, 5]
    problem = L0GraphicalModel(X, Candidates.window(6, 5), ridge=ridge)
    supports = np.tile(np.arange(32), (6, 1))
    nodes = np.flatnonzero(problem.candidates.sizes == 5)
    gram = products(problem, nodes, 5, None)
    losses = np.empty((len(nodes), 32))
    tell_losses(gram, supports[: len(nodes)], losses)
    for at, j in enumerate(nodes):
        for support in range(32):
            own = problem.candidates.of(j)[[k for k in range(5) if support >> k & 1]]
            A = np.vstack([X[:, own], np.sqrt(40 * ridge) * np.eye(len(own))])
            y = np.append(X[:, j], np.zeros(len(own)))
            rest = np.square(y - A @ np.linalg.lstsq(A, y, rcond=None)[0]).sum() / 40
            R = np.linalg.qr(A / np.linalg.norm(A, axis=0), mode="r")
            narrow = len(own) and np.square(np.diagonal(R)).min() < 1e-2
            good = rest >= 1e-3 * gram[at, 5, 5]
            assert np.isnan(losses[at, support]) == (narrow or not good)
            if good and not narrow:
                assert losses[at, support] == pytest.approx(rest, rel=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_logistic_fits_do_not_depend_on_where_they_begin(seed):
    rng = np.random.default_rng(seed)
    Z = rng.choice([-1.0, 1.0], size=(6, 3, 40))
    shares = rng.dirichlet(np.full(40, 5.0))
    for observations in (
        fits.Observations.of(Z, shares),
        fits.Observations(Z, np.tile(shares, (6, 1))),
    ):
        beta, loss = fits.logistic_fits(observations, 0.01)
        again, same = fits.logistic_fits(observations, 0.01, 3.0 * rng.normal(size=(6, 3)))
        np.testing.assert_allclose(again, beta, atol=1e-6)
        np.testing.assert_allclose(same, loss, rtol=1e-12)
        plain = np.logaddexp(0.0, -(beta[:, None, :] @ Z)[:, 0]) @ shares
        np.testing.assert_allclose(loss, plain + 0.01 * np.square(beta).sum(axis=1), rtol=1e-13)


@pytest.mark.parametrize("k", range(2, 9))
def test_products_tell_no_loss_of_chains_of_columns(k):
    """Each column is near what was new in the one before it: no angle is narrow, the end is."""
    sine = 0.101
    R = np.zeros((24, k + 1))
    R[0, 0] = 1.0
    for j in range(1, k):
        R[j - 1, j], R[j, j] = np.sqrt(1.0 - sine * sine), sine
    R[k - 1, k], R[k, k] = 0.8, 0.6
    columns = np.linalg.qr(np.random.default_rng(k).normal(size=(24, 24)))[0] @ R
    losses = np.empty((1, 1))
    tell_losses((columns.T @ columns)[None], np.array([[2**k - 1]]), losses)
    assert np.isnan(losses[0, 0]) or abs(losses[0, 0] - 0.36) <= 1e-11
    assert np.isnan(losses[0, 0]) == (k > 3)

"""Problems of sparse data have the solutions of the same problems of dense data."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import sparseopt
from sparseopt.checking.parametric.evaluation.rational import Budget, entries
from sparseopt.problems import (
    L1SVM,
    CompressedSensing,
    DantzigSelector,
    LADLasso,
    QuantileLasso,
)
from sparseopt.proofs.double_double import exact_block
from sparseopt.solvers.homotopy.candidates.products import rough_product
from sparseopt.solvers.homotopy.program import ScaledProgram

N, D = 24, 60


def data(seed):
    """Return X, y, labels and weights; some columns are empty, and some rows do not count."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((N, D)) < 0.3, rng.normal(size=(N, D)) + 0.5, 0.0)
    X[:, rng.choice(D, 3, replace=False)] = 0.0
    y = 3.0 + X[:, :4] @ rng.normal(size=4) + 0.2 * rng.normal(size=N)
    return X, y, np.where(y > np.median(y), 1.0, -1.0), rng.integers(0, 4, N).astype(float)


CASES = {
    "dantzig": lambda X, y, s, w: DantzigSelector(X, y),
    "dantzig, intercept": lambda X, y, s, w: DantzigSelector(X, y, fit_intercept=True),
    "dantzig, weighted intercept": lambda X, y, s, w: DantzigSelector(
        X, y, scale="n", fit_intercept=True, sample_weights=w
    ),
    "dantzig, weights": lambda X, y, s, w: DantzigSelector(X, y, sample_weights=w),
    "sensing": lambda X, y, s, w: CompressedSensing(X[:, :N], y, sample_weights=w),
    "lad": lambda X, y, s, w: LADLasso(X, y, fit_intercept=True),
    "quantile": lambda X, y, s, w: QuantileLasso(X, y, 0.3, sample_weights=w),
    "svm": lambda X, y, s, w: L1SVM(X, s),
}


def verdict_for(problem, result):
    """Return the verdict on a result as one of another problem."""
    claim = result.with_changes(problem=problem, fingerprint=None)
    return sparseopt.check(problem, claim).verdict


@pytest.mark.thorough(after=10)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("case", CASES)
def test_paths_are_those_of_the_dense_data(case, seed):
    X, *rest = data(seed)
    dense, sparse = (CASES[case](M, *rest) for M in (X, sp.csr_array(X)))
    assert sp.issparse(sparse.X)
    ours, theirs = (sparseopt.solve(problem, max_nonzeros=12) for problem in (sparse, dense))
    assert ours.verdict == theirs.verdict == "verified"
    assert verdict_for(dense, ours) == "verified"
    top = theirs.path.high[np.isfinite(theirs.path.high)].max()
    low = max(ours.path.low[-1], theirs.path.low[-1])
    for lam in np.linspace(1.01 * top, low + 1e-6 * top, 7):
        values = (result.path.objective_at(lam) for result in (ours, theirs))
        np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("backend", ["highs", "highs-ccg"])
@pytest.mark.parametrize("case", CASES)
def test_other_backends_take_sparse_data(case, backend):
    X, *rest = data(3)
    problem = CASES[case](sp.csr_array(X), *rest)
    lam = 0.3 * sparseopt.solve(problem, max_knots=1).path.low[0]
    both = [sparseopt.solve(problem, backend=name, lam=lam) for name in (backend, "homotopy")]
    assert [result.verdict for result in both] == ["verified", "verified"]
    assert both[0].objective == pytest.approx(both[1].objective, rel=1e-9)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("case", list(CASES)[:4])
def test_a_lie_about_sparse_data_is_refuted(case):
    X, *rest = data(4)
    problem = CASES[case](sp.csr_array(X), *rest)
    result = sparseopt.solve(problem, max_nonzeros=8)
    used = result.path.theta.index[0]
    X[np.abs(X[:, used]).argmax(), used] *= 1.001
    assert verdict_for(CASES[case](sp.csr_array(X), *rest), result) == "refuted"


@pytest.mark.parametrize("case", list(CASES)[:4])
def test_products_in_single_precision_are_within_their_errors(case):
    X, *rest = data(5)
    program = ScaledProgram.from_program(CASES[case](sp.csr_array(X), *rest).canonical())
    product = rough_product(program.A, program, False)
    names = np.arange(0, D, 7)
    v = np.random.default_rng(0).normal(size=(len(names), 5))
    rough, errors = product.times(names, product.right(names, v), None)
    exact = program.times(names, v)
    assert (np.abs(rough - exact) <= product.size[:, None] * errors).all()
    assert np.abs(rough - exact).max() > 0.0
    some = np.array([3, 1, 40])
    part, _ = product.times(names, product.right(names, v), some)
    np.testing.assert_allclose(part, rough[some], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", list(CASES)[:4])
def test_exact_entries_are_those_that_the_products_round(case):
    X, *rest = data(6)
    A = CASES[case](sp.csr_array(X), *rest).matrix_map
    rows, columns = np.array([5, 0, 9]), np.array([9, 2, 5, 30])
    block = A.block(rows, columns)
    found = exact_block(A, rows, columns)
    np.testing.assert_allclose(found.high, block, rtol=1e-12, atol=1e-12)
    exact = entries(A, rows, columns, Budget())
    table = [[float(row.get(k, 0)) for k in range(len(columns))] for row in exact]
    np.testing.assert_allclose(table, found.high, rtol=1e-15, atol=1e-15)


def test_files_and_fingerprints_keep_sparse_data(tmp_path):
    X, *rest = data(7)
    problem = CASES["dantzig, intercept"](sp.csr_array(X), *rest)
    sparseopt.save(problem, tmp_path / "sparse.npz")
    again = sparseopt.load(tmp_path / "sparse.npz")
    assert sp.issparse(again.X)
    assert again.fingerprint() == problem.fingerprint()
    assert problem.intercept(np.zeros(D)) == pytest.approx(rest[0].mean())


def test_criteria_choose_as_for_dense_data():
    X, y, *_ = data(8)
    models = [DantzigSelector(M, y, fit_intercept=True) for M in (X, sp.csr_array(X))]
    picked = [sparseopt.select(sparseopt.solve(m, max_nonzeros=8), by="bic") for m in models]
    assert picked[0].lam == pytest.approx(picked[1].lam, rel=1e-9)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("intercept", [False, True])
def test_neither_solving_nor_checking_makes_the_data_dense(intercept):
    """Dense data would take 320 MB, their Gram matrix 3.2 GB."""
    rng = np.random.default_rng(0)
    n, d = 2000, 20_000
    X = sp.random_array((n, d), density=2e-3, random_state=rng, format="csr")
    y = X[:, :10] @ np.ones(10) + 0.1 * rng.normal(size=n)
    problem = DantzigSelector(X, y, fit_intercept=intercept)
    tracemalloc.start()
    result = sparseopt.solve(problem, max_knots=8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.verdict == "verified"
    assert peak < 100e6

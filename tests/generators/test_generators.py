"""The synthetic designs: what the paper says of them, and that a seed gives one problem."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from thorough import first

from sparseopt import generators
from sparseopt.errors import ParamError
from sparseopt.problems import (
    CLIME,
    L1SVM,
    LPD,
    CompressedSensing,
    DifferentialNetwork,
    ParametricLP,
    Pieces,
    PiecewiseLinearProgram,
    QuantileLasso,
)

NAMES = [
    "dantzig-4.1",
    "dantzig-4.3",
    "lad-4.1",
    "lad-4.3",
    "quantile-4.3",
    "compressed-sensing",
    "parametric-lp",
    "piecewise-linear",
    "lpd",
    "l1-svm",
    "clime",
    "differential-network-4.4",
    "scale-free-graph",
    "block-graph",
    "band-graph",
    "sensor-field",
    "ising-lattice",
    "mean-shift",
    "covariance-shift",
    "gaussian-laplace",
    "gaussian-mixture",
    "spiked-covariance",
    "expression-modules",
    "sparse-regression",
    "sparse-logistic-regression",
    "kernel-selection",
    "strs-misdp",
    "cardinality-least-squares",
    "k-partitioning",
    "truss-topology",
    "restricted-isometry",
    "sparse-directions",
    "max-cut",
    "clustering",
    "optimal-design",
    "sensor-placement",
    "network-design",
    "sparse-component",
    "cardinality-portfolio",
    "minimum-bisection",
    "stable-set",
    "line-switching",
    "random-misdp",
    "outlier-columns",
    "corrupted-entries",
    "haystack",
    "bent-curve",
    "two-directions",
    "skewed-directions",
    "index-model",
    "embedding-fit",
]


@pytest.mark.thorough
def test_every_generator_is_listed_described_and_runs_with_its_defaults() -> None:
    assert generators.names() == NAMES
    for name in NAMES:
        assert generators.describe(name).endswith(".")
        assert "seed" not in generators.settings(name)
        assert generators.generate(name).size


@pytest.mark.parametrize("name", first(12, NAMES))
def test_a_seed_gives_one_problem_and_another_seed_another(name: str) -> None:
    first = generators.generate(name, seed=3).fingerprint()
    assert generators.generate(name, seed=3).fingerprint() == first
    assert generators.generate(name, seed=4).fingerprint() != first


def _digest(name: str) -> float:
    """A number that changes with any draw: the finite entries, each times its place."""
    _, arrays = generators.generate(name, seed=20260101).payload()
    dense = {key: a.toarray() if sp.issparse(a) else a for key, a in arrays.items()}
    entries = np.concatenate([np.ravel(dense[key]) for key in sorted(dense)])
    finite = np.where(np.isfinite(entries), entries, 0.0)
    return math.fsum(finite * np.sin(np.arange(len(finite))))


# Fixed for good: a change means that a published name, size and seed gives another problem.
STREAMS = {
    "dantzig-4.1": 104.950005577,
    "dantzig-4.3": 40.5474914225,
    "lad-4.1": 110.311895438,
    "lad-4.3": 79.5101296854,
    "parametric-lp": -14.1008748911,
    "piecewise-linear": -20.721051626,
    "quantile-4.3": 40.5474914225,
    "compressed-sensing": 420.730662175,
    "lpd": -0.376786375924,
    "l1-svm": 436.480310975,
    "clime": -1.20270278203,
    "differential-network-4.4": 54.6646301104,
    "scale-free-graph": 961.563106816,
    "block-graph": 759.657183606,
    "band-graph": 843.784267797,
    "sensor-field": 9150.26959958,
    "ising-lattice": 371.394149599,
    "mean-shift": -0.353874791665,
    "covariance-shift": -0.0487553332833,
    "gaussian-laplace": -0.00643705619998,
    "gaussian-mixture": -0.188464664952,
    "spiked-covariance": 29.1094160361,
    "expression-modules": 4.35070874632,
    "sparse-regression": 33.6202212385,
    "sparse-logistic-regression": -366.378768743,
    "kernel-selection": -24.3726602399,
    "strs-misdp": -8.30847188113,
    "cardinality-least-squares": -48.8978447736,
    "k-partitioning": -15.6403576256,
    "truss-topology": 8.79010663229,
    "restricted-isometry": 12.2899175564,
    "sparse-directions": 9.62435828679,
    "max-cut": -23.08119612,
    "clustering": -23.8730202796,
    "optimal-design": -0.10585189612,
    "sensor-placement": 29.9768265605,
    "network-design": 3.50284915317,
    "sparse-component": -0.0956868805889,
    "cardinality-portfolio": -14.3458932643,
    "minimum-bisection": 6.72093277037,
    "stable-set": 10.3740929051,
    "line-switching": 1.37504242732,
    "random-misdp": 3.8328629478,
    "outlier-columns": -978.722923778,
    "corrupted-entries": -57.005016306113,
    "haystack": 7.64264050136,
    "bent-curve": -54.6043394176,
    "two-directions": -96.2329497047,
    "skewed-directions": 30.142941966196,
    "index-model": 9.48712546511,
    "embedding-fit": 18.4601189323,
}


@pytest.mark.parametrize("name", NAMES)
def test_the_problems_of_a_seed_do_not_change_between_versions(name: str) -> None:
    assert _digest(name) == pytest.approx(STREAMS[name], rel=1e-10)


def test_the_design_of_section_41() -> None:
    X, y, theta = generators.regression_41(seed=5)
    assert X.shape == (100, 250)
    np.testing.assert_allclose(np.linalg.norm(X, axis=0), 10.0, rtol=1e-14)
    assert np.count_nonzero(theta) == 8
    # chi-square with 100 degrees of freedom: 6 standard deviations around its mean
    assert abs(np.sum((y - X @ theta) ** 2) - 100.0) < 6.0 * math.sqrt(200.0)


def test_settings_of_section_41() -> None:
    X, y, theta = generators.regression_41(seed=5, n=30, d=40, s=40, sigma=0.0, unit=True)
    np.testing.assert_allclose(np.linalg.norm(X, axis=0), 1.0, rtol=1e-14)
    np.testing.assert_allclose(y, X @ theta, atol=1e-12)
    bounded = generators.regression_41(seed=5, n=30, d=40, s=40, absolute=True)[2]
    assert np.abs(theta).min() < 1.0 < np.abs(bounded).min()


def test_the_design_of_section_43() -> None:
    X, _, theta = generators.regression_43(seed=5, d=1000)
    assert X.shape == (200, 1000)
    np.testing.assert_allclose(np.linalg.norm(X, axis=0), math.sqrt(200.0), rtol=1e-14)
    assert np.count_nonzero(theta) == 20
    assert np.count_nonzero(generators.regression_43(n=5, d=10)[2]) == 1


def test_the_lad_design_differs_in_its_noise_alone() -> None:
    X, y, theta = generators.regression_43(seed=1, n=5000, d=20, noise="t2")
    lad = generators.lad_43(seed=1, n=5000, d=20)
    np.testing.assert_array_equal(lad.X, generators.dantzig_43(seed=1, n=5000, d=20).X)
    np.testing.assert_array_equal(lad.y, y)
    epsilon = y - X @ theta
    # The median of abs(t(2)) is sqrt(2/3), that of abs(normal) 0.674; and its tails are heavy.
    assert abs(np.median(np.abs(epsilon)) - math.sqrt(2.0 / 3.0)) < 0.05
    assert np.abs(epsilon).max() > 10.0


def test_the_usual_values_of_lam() -> None:
    # The two rules as the paper prints them, and the level of the noise.
    paper_41, paper_43 = 100 * math.sqrt(math.log(250) / 100), 2 * math.sqrt(math.log(500) / 200)
    assert generators.stopping_value(100, 250, factor=1.0) == pytest.approx(paper_41)
    assert generators.stopping_value(200, 500, scale="n", factor=2.0) == pytest.approx(paper_43)
    assert generators.stopping_value(100, 250, unit=True) == pytest.approx(
        math.sqrt(2 * math.log(250))
    )
    record = generators.provenance("dantzig-4.1", seed=7, sigma="2")
    assert record["seed"] == 7
    assert record["settings"] == {**generators.settings("dantzig-4.1"), "sigma": 2.0}
    assert record["lam"]["paper"] == pytest.approx(2 * paper_41)
    assert record["lam"]["noise"] == pytest.approx(2 * math.sqrt(2) * paper_41)
    lad = generators.provenance("lad-4.1", sigma=2.0)
    assert lad["lam"]["paper"] == pytest.approx(paper_41)
    assert "lam" not in generators.provenance("parametric-lp")


def test_the_noise_stays_below_its_level() -> None:
    inside = 0
    for seed in range(20):
        X, y, theta = generators.regression_41(seed=seed)
        inside += np.abs(X.T @ (y - X @ theta)).max() <= 1.2 * generators.stopping_value(100, 250)
    assert inside >= 19


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("form", ["inequality", "equality"])
@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0, 50.0])
def test_parametric_lps_are_feasible_and_bounded(form: str, integer: bool, lam: float) -> None:
    from scipy.optimize import linprog

    for seed in range(5):
        problem = generators.parametric_lp(seed=seed, m=6, n=9, form=form, integer=integer)
        assert isinstance(problem, ParametricLP)
        assert problem.form == form
        if integer:
            assert not np.any(problem.b % 1.0)
        rows = {"inequality": "ub", "equality": "eq"}[form]
        answer = linprog(
            -(problem.c + lam * problem.c_bar),
            **{f"A_{rows}": problem.A, f"b_{rows}": problem.b + lam * problem.b_bar},
        )
        assert answer.status == 0, answer.message


@pytest.mark.thorough
@pytest.mark.parametrize("integer", [False, True])
def test_piecewise_linear_programs_have_moving_kinks_and_a_finite_value(integer: bool) -> None:
    from scipy.optimize import linprog

    seen = set()
    for seed in range(30):
        problem = generators.piecewise_linear(seed=seed, integer=integer)
        for pieces in (problem.phi, problem.psi):
            seen.update(pieces.counts.tolist())
            assert np.any(pieces.kink_rate != 0.0)
            assert np.any(pieces.slope_rate != 0.0)
        for lam in (0.0, 1.0, 20.0):
            assert linprog(**_epigraph(problem, lam)).status == 0
    assert seen == {1, 2, 3}


def _epigraph(problem: PiecewiseLinearProgram, lam: float) -> dict[str, object]:
    """min sum t over (theta, t) with t_i above every linear piece of f_i, for linprog."""
    m, p = problem.A.shape
    Z = np.vstack([np.eye(p), problem.A.as_array()])
    functions = Pieces.concatenate(problem.phi, problem.psi)
    kinks, slopes = functions.kinks_at(lam), functions.slopes_at(lam)
    rows, right = [], []
    for i in range(p + m):
        at = kinks[functions.ptr[i] : functions.ptr[i + 1]]
        slope = slopes[functions.slope_ptr[i] : functions.slope_ptr[i + 1]]
        value = np.concatenate([[0.0], np.cumsum(np.diff(at) * slope[1:-1])])
        for k, s in enumerate(slope):
            anchor = max(k - 1, 0)
            t = np.zeros(p + m)
            if np.isfinite(s):
                t[i] = -1.0
                rows.append(np.concatenate([s * Z[i], t]))
                right.append(s * at[anchor] - value[anchor])
            else:
                rows.append(np.concatenate([np.sign(s) * Z[i], t]))
                right.append(np.sign(s) * at[anchor])
    return {
        "c": np.concatenate([np.zeros(p), np.ones(p + m)]),
        "A_ub": np.array(rows),
        "b_ub": np.array(right),
        "bounds": (None, None),
    }


def test_the_quantile_design_is_that_of_section_43_at_a_level() -> None:
    X, y, theta = generators.regression_43(seed=2, n=4000, d=20, noise="t2")
    problem = generators.quantile_43(seed=2, n=4000, d=20, noise="t2", tau=0.75)
    assert isinstance(problem, QuantileLasso)
    np.testing.assert_array_equal(problem.X, X)
    np.testing.assert_array_equal(problem.y, y)
    # The subgradient at the truth, with its intercept, stays below the recommended lam.
    record = generators.provenance("quantile-4.3", seed=2, n=4000, d=20, noise="t2", tau=0.75)
    residual = y - X @ theta
    below = residual < np.quantile(residual, 0.75)
    correlation = np.abs(X.T @ (0.75 - below)).max()
    assert 0.3 * record["lam"]["noise"] < correlation < 1.2 * record["lam"]["noise"]
    assert (
        generators.provenance("quantile-4.3", sigma=9.0)["lam"]
        == (generators.provenance("quantile-4.3")["lam"])
    )


def test_measurements_for_compressed_sensing_are_exact_unless_asked_otherwise() -> None:
    exact = generators.compressed_sensing(seed=1, n=30, d=40, s=3)
    assert isinstance(exact, CompressedSensing)
    noisy = generators.compressed_sensing(seed=1, n=30, d=40, s=3, sigma=1e-3)
    np.testing.assert_array_equal(exact.X, noisy.X)
    assert 0.0 < np.abs(exact.y - noisy.y).max() < 1e-2
    # y is a combination of 3 columns, and theta is the only solution so sparse.
    import sparseopt

    theta = sparseopt.solve(exact, lam=0.0).x
    assert np.count_nonzero(np.abs(theta) > 1e-9) == 3


@pytest.mark.parametrize(
    ("covariance", "rho", "second"), [("ar", 0.8, 0.64), ("tridiagonal", 0.45, 0.0)]
)
def test_two_classes_have_the_covariance_and_the_means(
    covariance: str, rho: float, second: float
) -> None:
    x, y = generators.two_classes(
        seed=1, n=20000, d=6, s=2, rho=rho, covariance=covariance, shift=3.0
    )
    problem = generators.lpd(seed=1, n=20000, d=6, s=2, rho=rho, covariance=covariance, shift=3.0)
    assert isinstance(problem, LPD)
    np.testing.assert_allclose(problem.delta, x.mean(axis=0) - y.mean(axis=0))
    # 6 standard errors of a mean of 20000 and of an entry of the covariance
    np.testing.assert_allclose(problem.delta, [3.0, 3.0, 0.0, 0.0, 0.0, 0.0], atol=0.06)
    np.testing.assert_allclose(np.diag(problem.S), 1.0, atol=0.06)
    np.testing.assert_allclose(np.diag(problem.S, 1), rho, atol=0.06)
    np.testing.assert_allclose(np.diag(problem.S, 2), second, atol=0.06)


def test_labels_come_from_few_features_and_some_are_flipped() -> None:
    flipped = generators.l1_svm(seed=4, n=200, d=300, s=5)
    clean = generators.l1_svm(seed=4, n=200, d=300, s=5, separable=True)
    assert isinstance(flipped, L1SVM)
    np.testing.assert_array_equal(flipped.X, clean.X)
    assert np.count_nonzero(flipped.y != clean.y) == 10
    # 5 signs give the labels: the features that vary with them most are found again
    chosen = np.argsort(-np.abs(clean.X.T @ clean.y))[:5]
    score = clean.X[:, chosen] @ np.sign(clean.X[:, chosen].T @ clean.y)
    np.testing.assert_array_equal(np.sign(score), clean.y)
    same = generators.l1_svm(seed=4, n=200, d=300, s=5, flipped=0.0)
    assert same.fingerprint() == clean.fingerprint()


def test_the_chain_has_a_tridiagonal_precision() -> None:
    X = generators.gaussian_chain(seed=3, n=50000, d=5)
    expected = np.eye(5) + 0.4 * (np.eye(5, k=1) + np.eye(5, k=-1))
    np.testing.assert_allclose(np.linalg.inv(np.cov(X.T)), expected, atol=0.06)
    problem = generators.clime(seed=3, n=50, d=5)
    assert isinstance(problem, CLIME)
    np.testing.assert_allclose(
        problem.S, np.cov(generators.gaussian_chain(seed=3, n=50, d=5).T, bias=True)
    )


def test_the_design_of_section_44() -> None:
    # With D1 known, the two precision matrices differ by D1 + 2 abs(smallest eigenvalue) I.
    x, y, D1 = generators.networks_44(seed=3, n=200000, d=4, sparsity=0.3)
    np.testing.assert_array_equal(D1, D1.T)
    assert np.count_nonzero(np.triu(D1)) == 3
    D = D1 + 2.0 * abs(np.linalg.eigvalsh(D1)[0]) * np.eye(4)
    difference = np.linalg.inv(np.cov(y.T)) - np.linalg.inv(np.cov(x.T))
    np.testing.assert_allclose(difference, D, atol=0.05 * np.abs(D).max())
    assert isinstance(generators.differential_network_44(seed=3, d=4), DifferentialNetwork)
    for d, sparsity in ((25, 0.02), (100, 0.02), (150, 0.002)):
        record = generators.provenance("differential-network-4.4", d=d, sparsity=sparsity)
        assert record["max_nonzeros"] == pytest.approx(sparsity * d * d, rel=0.3)


def test_strings_of_the_command_line_are_converted() -> None:
    typed = generators.generate("dantzig-4.1", seed=1, n=20, d=30, s=2, unit=True, sigma=0.5)
    words = {"n": "20", "d": "30", "s": "2", "unit": "true", "sigma": "0.5"}
    assert generators.generate("dantzig-4.1", seed=1, **words).fingerprint() == typed.fingerprint()


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("dantzig", {}, "there are: dantzig-4.1"),
        ("dantzig-4.1", {"rows": 3}, "no setting 'rows'; it has: n=100, d=250"),
        ("dantzig-4.1", {"n": "many"}, "n must be int, got 'many'; its settings are: n=100"),
        ("dantzig-4.1", {"n": 2.5}, "n must be int"),
        ("dantzig-4.1", {"unit": "perhaps"}, "unit must be bool"),
        ("dantzig-4.1", {"n": 0}, "n must be at least 1"),
        ("dantzig-4.1", {"d": 5, "s": 6}, "s must be at most 5"),
        ("dantzig-4.1", {"sigma": -1.0}, "sigma must be a finite number >= 0"),
        ("dantzig-4.1", {"sigma": "inf"}, "sigma must be a finite number >= 0"),
        ("dantzig-4.1", {"scale": "d"}, "scale must be one of none, n"),
        ("dantzig-4.3", {"density": 0.0}, "density must be in"),
        ("parametric-lp", {"form": "standard"}, "form must be one of inequality, equality"),
        ("parametric-lp", {"form": "equality", "m": 9, "n": 8}, "m must be at most 8"),
        ("quantile-4.3", {"noise": "cauchy"}, "noise must be one of normal, t2"),
        ("compressed-sensing", {"s": 1001}, "s must be at most 1000"),
        ("lpd", {"covariance": "identity"}, "covariance must be one of ar, tridiagonal"),
        ("lpd", {"rho": 1.0}, "rho must be strictly between -1 and 1"),
        ("lpd", {"covariance": "tridiagonal", "rho": 0.6}, "rho must be between -0.5 and 0.5"),
        ("l1-svm", {"flipped": 1.5}, "flipped must be in [0, 1]"),
        ("clime", {"n": 1}, "n must be at least 2"),
        ("clime", {"neighbour": 0.7}, "neighbour must be between -0.5 and 0.5"),
        ("differential-network-4.4", {"sparsity": 0.0}, "sparsity must be in (0, 1]"),
        ("piecewise-linear", {"p": -1}, "p must be at least 1"),
        ("piecewise-linear", {"seed": -1}, "seed must be an integer >= 0"),
        ("piecewise-linear", {"seed": "one"}, "seed must be an integer >= 0"),
    ],
)
def test_a_wrong_call_is_told_what_exists(name: str, given: dict, expected: str) -> None:
    with pytest.raises(ParamError) as error:
        generators.generate(name, **given)
    assert expected in str(error.value)

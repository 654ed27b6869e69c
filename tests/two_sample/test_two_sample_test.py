"""Two-sample tests: the statistic, its permutations, the level, what is selected and shown."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from sparseopt.errors import ParamError, ProblemError, UnsupportedProblem
from sparseopt.problems import KernelSelection
from sparseopt.problems.twosample.statistics.two_samples import TwoSample
from sparseopt.two_sample import (
    false_discovery_proportion,
    non_discovery_proportion,
    two_sample_test,
)
from sparseopt.two_sample.permutation import (
    FeatureStatistic,
    GramStatistic,
    KernelStatistic,
    ScoreStatistic,
    permutation_test,
)

SELECTIONS = ["strs", "quadratic", "gaussian", "sparse-logistic", "none"]
QUICK = {"restarts": 1, "iterations": 2}


def shifted(n=60, m=60, D=8, size=1.5, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, D)), rng.standard_normal((m, D))
    y[:, min(3, D - 1)] += size
    return x, y


def options(selection):
    return QUICK if selection in ("quadratic", "gaussian", "kernel") else None


def first_two(x, y):
    return [0, 1]


def named(value):
    """A name that is the same in every process."""
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("n", "m"), [(5, 5), (5, 7)])
@pytest.mark.parametrize("kernel", ["linear", "quadratic", "gaussian"])
def test_permutations_of_the_gram_matrix_are_those_of_the_samples(kernel, n, m):
    x, y = shifted(n, m, 3)
    samples = TwoSample.of(x, y, kernel)
    z = np.array([0.6, 0.0, -0.8])
    pooled = np.concatenate([x, y])
    statistic = GramStatistic(samples.gram(z, pooled, pooled), n)
    orders = np.array([np.random.default_rng(s).permutation(n + m) for s in range(5)])
    values = statistic.values(np.vstack([np.arange(n + m), orders]))
    assert values[0] == pytest.approx(samples.mmd(z), abs=1e-13)
    for order, value in zip(orders, values[1:], strict=True):
        shuffled = TwoSample(
            pooled[order[:n]], pooled[order[n:]], kernel, samples.bandwidth, samples.c
        )
        assert value == pytest.approx(shuffled.mmd(z), abs=1e-13)


@pytest.mark.parametrize(("n", "m"), [(145, 145), (150, 137)])
@pytest.mark.parametrize("kernel", ["linear", "quadratic", "gaussian"])
def test_large_samples_need_no_gram_matrix(kernel, n, m, monkeypatch):
    monkeypatch.setattr("sparseopt.problems.twosample.statistics.linear._CHUNK", 10_000)
    x, y = shifted(n, m, 3)
    samples = TwoSample.of(x, y, kernel)
    z = np.array([0.6, 0.0, -0.8])
    pooled = np.concatenate([x, y])
    orders = np.array([np.random.default_rng(s).permutation(n + m) for s in range(9)])
    held = GramStatistic(samples.gram(z, pooled, pooled), n)
    passing = KernelStatistic(samples, z, pooled, n)
    np.testing.assert_allclose(passing.values(orders), held.values(orders), atol=1e-14)
    assert held.rounding <= passing.rounding
    found = samples.features(z, pooled)
    assert (found is not None) == (kernel == "linear")
    if found is not None:
        features = FeatureStatistic(samples, z, pooled, n, *found)
        np.testing.assert_allclose(features.values(orders), held.values(orders), atol=1e-13)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kernel", ["quadratic", "gaussian"])
def test_single_precision_is_within_its_rounding(kernel, monkeypatch):
    # The fewest observations that it is used for: its error falls with their number. Two values
    # may be off by twice the error, and must still count as equal.
    x, y = shifted(2400, 1696, 3)
    samples = TwoSample.of(x, y, kernel)
    pooled, z = np.concatenate([x, y]), np.array([0.6, 0.0, -0.8])
    orders = np.array([np.random.default_rng(s).permutation(4096) for s in range(40)])
    statistic = KernelStatistic(samples, z, pooled, 2400)
    single, loose = statistic.values(orders), statistic.rounding
    monkeypatch.setattr("sparseopt.two_sample.permutation._SINGLE", 4097)
    double = statistic.values(orders)
    error = np.abs(single - double).max()
    assert statistic.rounding < 2 * error < loose


def test_a_test_of_large_samples_is_the_same(monkeypatch):
    x, y = shifted(60, 60, 3)
    held = [two_sample_test(x, y, kernel, n_permutations=99) for kernel in ("strs", "none")]
    monkeypatch.setattr("sparseopt.two_sample.selecting._HELD", 0)
    passing = [two_sample_test(x, y, kernel, n_permutations=99) for kernel in ("strs", "none")]
    for one, two in zip(held, passing, strict=True):
        assert two.statistic == pytest.approx(one.statistic, abs=1e-13)
        assert two.p_value == one.p_value


def test_the_p_value_counts_values_at_least_as_large():
    scores = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    value, p, null = permutation_test(ScoreStatistic(scores, 3), 2000, np.random.default_rng(0))
    assert value == 1.0
    assert p == (1 + (null == 1.0).sum()) / 2001
    # 1 of the 20 ways to choose 3 of 6; 6 standard errors.
    assert abs(p - 0.05) < 6 * np.sqrt(0.05 * 0.95 / 2000)
    every = [
        ScoreStatistic(scores, 3).values(np.array([[*chosen, *rest]]))[0]
        for chosen in itertools.combinations(range(6), 3)
        for rest in [sorted(set(range(6)) - set(chosen))]
    ]
    assert np.mean(null) == pytest.approx(np.mean(every), abs=0.1)


@pytest.mark.thorough
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3, 0.7])
@pytest.mark.parametrize("n_permutations", [19, 99, 199])
def test_the_threshold_and_the_p_value_agree(alpha, n_permutations):
    for seed in range(20):
        x, y = shifted(9, 11, 2, size=0.7, seed=seed)
        test = two_sample_test(x, y, "none", alpha=alpha, n_permutations=n_permutations, seed=seed)
        assert test.reject == (test.statistic > test.threshold)
    strict = two_sample_test(x, y, "none", alpha=1e-3, n_permutations=19)
    assert not strict.reject and strict.threshold == np.inf


def test_equal_values_count_whatever_the_rounding():
    gram = np.full((40, 40), 1.0 / 3.0)
    _, p, _ = permutation_test(GramStatistic(gram, 20), 50, np.random.default_rng(0))
    assert p == 1.0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("selection", "trials"), [("strs", 60), ("none", 200), (first_two, 200)], ids=named
)
def test_the_level_is_kept(selection, trials):
    rejected = 0
    for seed in range(trials):
        x, y = shifted(12, 14, 3, size=0.0, seed=seed)
        d = 1 if selection == "strs" else None
        test = two_sample_test(
            x, y, selection, d=d, alpha=0.1, n_permutations=49, seed=seed, check=False
        )
        rejected += test.reject
    low, high = binom.interval(0.9998, trials, 0.1)
    assert low <= rejected <= high


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("m", [60, 45])
def test_a_shift_is_found(selection, m):
    if selection == "sparse-logistic":
        pytest.importorskip("sklearn", reason="the baseline is scikit-learn's")
    x, y = shifted(60, m, 8)
    d = None if selection == "none" else 2
    test = two_sample_test(x, y, selection, d=d, options=options(selection))
    assert test.reject and test.p_value <= 0.01
    assert test.statistic > test.threshold
    if selection == "none":
        assert test.test_sizes == (60, m)
    else:
        assert test.selected[0] == 3
        assert len(test.selected) <= 2
        assert test.test_sizes == (30, m - round(m / 2))
    assert (test.result is not None) == (selection in ("strs", "quadratic", "gaussian"))


def test_the_linear_selection_is_certified():
    test = two_sample_test(*shifted(), d=2)
    assert test.result.verdict == "verified"
    assert "verified" in str(test)


def test_a_change_of_variance_is_invisible_to_logistic_regression():
    """Example 3.1 of the paper."""
    pytest.importorskip("sklearn", reason="the baseline is scikit-learn's")
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((2, 300, 6))
    y[:, 2] *= 2.0
    assert not two_sample_test(x, y, "sparse-logistic", d=1).reject
    kernel = two_sample_test(x, y, "strs", d=1)
    assert kernel.reject and kernel.selected.tolist() == [2]


def test_a_kernel_of_the_user():
    test = two_sample_test(*shifted(), "kernel", kernel=lambda u, v: u @ v.T, d=1, options=QUICK)
    assert test.reject and test.selected.tolist() == [3]
    with pytest.raises(ParamError, match="needs the kernel"):
        two_sample_test(*shifted(), "kernel")


@pytest.mark.parametrize(
    "answer", [[3, 4], np.eye(8)[3], np.arange(8) == 3, np.array([3])], ids=str
)
def test_a_selection_of_the_user(answer):
    test = two_sample_test(*shifted(), lambda x, y: answer)
    assert test.reject and 3 in test.selected
    assert np.linalg.norm(test.z) == pytest.approx(1.0)


@pytest.mark.parametrize("answer", [[8], [], [-1], np.zeros(8), np.ones(7), "three", None], ids=str)
def test_a_selection_that_selects_nothing_is_refused(answer):
    with pytest.raises(ProblemError, match=r"returned|nothing"):
        two_sample_test(*shifted(), lambda x, y: answer)


def test_lam_and_d_are_chosen_on_the_training_part():
    x, y = shifted(80, 90, 6)
    test = two_sample_test(x, y, d=[1, 3], lam="cv", n_permutations=99)
    assert len(test.candidates) == 8
    assert (test.d, test.lam) == (test.candidates[0].d, test.candidates[0].lam)
    keys = [(each.p_value, -each.score) for each in test.candidates]
    assert keys == sorted(keys)
    y[:] += 100.0
    halves = two_sample_test(x, y, d=1, lam=[0.1, 1.0], n_permutations=99)
    assert all(each.p_value == 0.01 for each in halves.candidates)


def test_the_same_seed_gives_the_same_test():
    first, second = (two_sample_test(*shifted(), d=2, seed=5) for _ in range(2))
    assert first.p_value == second.p_value
    np.testing.assert_array_equal(first.null, second.null)
    other = two_sample_test(*shifted(), d=2, seed=6)
    assert not np.array_equal(first.null, other.null)


def test_the_test_of_all_variables_is_symmetric():
    """The bandwidth must not know which sample is x, or the permutations would be wrong."""
    x, y = shifted(20, 25, 4)
    for kernel in ("linear", "quadratic", "gaussian"):
        there = two_sample_test(x, y, "none", kernel=kernel)
        back = two_sample_test(y, x, "none", kernel=kernel)
        assert there.statistic == pytest.approx(back.statistic, abs=1e-12)
        mixed = two_sample_test(x[::-1], y[::-1], "none", kernel=kernel)
        assert mixed.statistic == pytest.approx(there.statistic, abs=1e-12)


@pytest.mark.parametrize("selection", ["strs", "quadratic", "gaussian"])
def test_the_witness_function(selection):
    x, y = shifted(30, 30, 4, size=3.0)
    test = two_sample_test(x, y, selection, d=1, options=options(selection))
    points = np.zeros((2, 4))
    points[:, 3] = [0.0, 3.0]
    samples = test.chosen.samples
    K = [samples.gram(test.z, points, sample).mean(axis=1) for sample in (test.x_test, test.y_test)]
    np.testing.assert_allclose(test.witness(points), K[0] - K[1], atol=1e-14)
    # Positive where x is denser.
    assert test.witness(points)[0] > 0.0 > test.witness(points)[1]
    with pytest.raises(ProblemError, match="all 4 variables"):
        test.witness(points[:, :3])


def test_proportions():
    assert false_discovery_proportion([0, 1, 7], [0, 1, 2, 3]) == pytest.approx(1 / 3)
    assert non_discovery_proportion(np.array([0, 1, 7]), [0, 1, 2, 3]) == 0.5
    assert false_discovery_proportion([], [1]) == 0.0
    assert non_discovery_proportion([1], []) == 0.0
    assert (false_discovery_proportion([5], [1]), non_discovery_proportion([5], [1])) == (1.0, 1.0)


@pytest.mark.parametrize("mask", [[True, False], np.array([True]), np.array([0.5, 0.0])])
def test_proportions_take_indices_only(mask):
    with pytest.raises(ParamError, match=r"truth holds .*; expected indices"):
        false_discovery_proportion([0], mask)
    with pytest.raises(ParamError, match=r"selected holds .*; expected indices"):
        non_discovery_proportion(mask, [0])


def test_too_few_permutations_are_said():
    x, y = shifted()
    test = two_sample_test(x, y, d=1, n_permutations=18)
    assert not test.reject and "take 19 or more" in test.notes[0]
    enough = two_sample_test(x, y, d=1, n_permutations=19)
    assert enough.reject and enough.notes == ()


@pytest.mark.parametrize("selection", ["strs", "quadratic", "gaussian"])
def test_columns_that_are_constants_of_their_own_have_no_variance(selection):
    x, y = np.ones((20, 3)), np.full((20, 3), 2.0)
    test = two_sample_test(x, y, selection, d=2, options=options(selection))
    assert test.lam == 0.0 and test.reject


@pytest.mark.parametrize("backend", ["truncation", "strs-bnb", "brute-force"])
def test_backends_of_the_subproblem_select(backend):
    x, y = shifted()
    own = two_sample_test(x, y, d=2)
    other = two_sample_test(x, y, d=2, backend=backend)
    assert other.result.backend == backend and other.result.problem.kind == "strs"
    np.testing.assert_allclose(other.z, own.z, atol=1e-8)
    assert other.p_value == own.p_value
    with pytest.raises(UnsupportedProblem, match=f"{backend} does not take twosample"):
        two_sample_test(x, y, "gaussian", d=2, backend=backend)


def test_constant_columns():
    x, y = shifted(20, 20, 3)
    x[:, 0] = y[:, 0] = 4.0
    assert two_sample_test(x, y, d=1).selected.tolist() != [0]
    flat = two_sample_test(np.ones((10, 2)), np.ones((12, 2)))
    assert (flat.p_value, flat.reject, flat.statistic) == (1.0, False, 0.0)


def test_names_come_from_data_frames():
    pandas = pytest.importorskip("pandas", reason="data frames are pandas'")
    x, y = shifted(30, 30, 4)
    x, y = (pandas.DataFrame(sample, columns=list("abcd")) for sample in (x, y))
    test = two_sample_test(x, y, d=1)
    assert test.selected_names == ["d"]
    assert test.summary()["names"] == ["d"]
    with pytest.raises(ProblemError, match=r"x has 'a', which y has not \(e, b, c, d\)"):
        two_sample_test(x, y.rename(columns={"a": "e"}))
    with pytest.raises(ProblemError, match="y has 'e', which x has not"):
        two_sample_test(x, y.assign(e=0.0))
    with pytest.raises(ProblemError, match="in different orders"):
        two_sample_test(x, y[list("dcba")])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": np.ones((3, 8))}, "x has 3 observations"),
        ({"x": np.ones((6, 8)), "split": 0.5}, "split=0.5 gives 3"),
        ({"y": np.ones((60, 7))}, "y has 7 columns"),
        ({"y": shifted()[0]}, "the same sample: there is"),
        ({"y": shifted()[0][::-1]}, "the same sample in another order"),
        ({"x": np.full((60, 8), np.nan)}, "nan"),
        ({"x": np.ones(60)}, "a single variable is a matrix with one column"),
        ({"selection": "lasso"}, "sparse-logistic, none"),
        ({"selection": "strs", "kernel": "gaussian"}, "give selection='kernel', or 'none'"),
        ({"d": 0}, "d is 0"),
        ({"d": [1, 9]}, "d is 9"),
        ({"d": []}, "at least one"),
        ({"lam": -1.0}, "lam is -1.0"),
        ({"lam": "best"}, "'auto' or 'cv'"),
        ({"selection": "none", "d": 2}, "d is for the selections strs, .*; leave it out for none"),
        ({"selection": first_two, "d": 2}, "leave it out for first_two"),
        ({"selection": "none", "lam": 1.0}, "lam is for the selections strs, quadratic, gaussian"),
        ({"selection": "sparse-logistic", "lam": "cv"}, "leave it out for sparse-logistic"),
        ({"selection": "none", "backend": "nonsense"}, "backend is for the selections strs"),
        ({"selection": first_two, "options": {"restarts": 2}}, "options is for the selections"),
        ({"selection": "none", "split": 0.5}, "splits nothing: leave split out"),
        ({"alpha": 1.0}, "alpha is 1.0"),
        ({"split": 0.0}, "split is 0.0"),
        ({"n_permutations": 0}, "n_permutations is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"names": ["a"]}, "names has 1"),
        ({"x": shifted(12)[0], "lam": "cv"}, "halves it again"),
    ],
)
def test_bad_input_is_named(change, words):
    x, y = shifted()
    with pytest.raises((ProblemError, ParamError), match=words):
        two_sample_test(**{"x": x, "y": y, **change})


@pytest.mark.thorough
def test_it_is_shown(tmp_path):
    test = two_sample_test(*shifted(), d=2, names=[f"<{s}>" for s in range(8)])
    assert "the samples differ" in str(test)
    assert "&lt;3&gt;" in test._repr_html_()
    matplotlib = pytest.importorskip("matplotlib", reason="pictures are matplotlib's")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    for draw in (
        test.plot,
        test.plot_witness,
        lambda: test.plot_witness(variables=["<3>"]),
        lambda: test.plot_witness(variables=[0, 3]),
    ):
        ax = draw()
        ax.figure.savefig(tmp_path / "picture.png")
        assert ax.get_xlabel()
        pyplot.close(ax.figure)
    for wrong in (["<9>"], [9], [0, 1, 2], []):
        with pytest.raises(ParamError, match="variable"):
            test.plot_witness(variables=wrong)


@pytest.mark.parametrize("selection", ["strs", "gaussian", "sparse-logistic", "none"])
@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_numbers_whose_squares_fail_are_refused(selection, factor):
    x, y = np.random.default_rng(0).standard_normal((2, 20, 3))
    x[:, 1] *= factor
    y[:, 1] *= factor
    with pytest.raises(ProblemError, match=r"column 1 .* rescale"):
        two_sample_test(x, y, selection)
    with pytest.raises(ProblemError, match=r"column 1 .* rescale"):
        KernelSelection(x, y, d=1)

"""The weights of a two-sample test: their signs, and how the automatic lam weighs the variance."""

import numpy as np
import pytest

from sparseopt.errors import ParamError
from sparseopt.generators import two_samples
from sparseopt.problems import KernelSelection
from sparseopt.two_sample import two_sample_test

COMMON = {"d": 6, "n_permutations": 19, "check": False, "time_limit": 1.0}


def draw():
    samples = two_samples("mean-shift", n=60, D=15, d=3, seed=4)
    return samples.x, samples.y


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("selection", "lam"), [("strs", "auto"), ("quadratic", 0.3)])
def test_positive_weights_are_those_of_the_same_optimum(selection, lam):
    options = {"restarts": 2, "iterations": 5} if selection == "quadratic" else None
    settings = {**COMMON, "lam": lam, "options": options}
    signed = two_sample_test(*draw(), selection, **settings)
    test = two_sample_test(*draw(), selection, signs="positive", **settings)
    np.testing.assert_array_equal(test.result.x, signed.z)
    assert (signed.z < 0.0).any() and (test.z >= 0.0).all()
    assert test.selected.tolist() == [s for s in signed.selected if signed.z[s] > 0.0]
    kept = np.maximum(signed.z, 0.0)
    np.testing.assert_allclose(test.z, kept / np.linalg.norm(kept), atol=1e-15)
    assert test.lam == signed.lam


def test_where_no_weight_is_positive_their_sizes_are_taken():
    # Samples that interleave are closer to each other than to themselves.
    x = np.arange(0.0, 40.0, 2.0)[:, None]
    test = two_sample_test(x, x + 1.0, d=1, n_permutations=19, lam=0.0, signs="positive")
    assert test.result.x[0] == -1.0
    assert test.z[0] == 1.0
    assert "sizes" in test.notes[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"signs": "negative"}, "'any' or 'positive'"),
        ({"signs": "positive", "selection": "gaussian"}, "leave it out for gaussian"),
        ({"signs": "positive", "selection": "none"}, "leave it out for none"),
    ],
)
def test_bad_signs_are_named(settings, words):
    with pytest.raises(ParamError, match=words):
        two_sample_test(*draw(), **settings)


def test_the_automatic_lam_is_a_share_of_the_ratio_at_the_largest_mmd():
    x, y = draw()
    test = two_sample_test(x, y, **COMMON)
    first = two_sample_test(x, y, **{**COMMON, "lam": 0.0})
    samples = first.result.problem.samples
    ratio = samples.mmd(first.z) / samples.variance(first.z)
    assert test.lam == pytest.approx(ratio / 16.0, rel=1e-9)


def test_it_scales_with_the_kernel():
    """A kernel of twice the values has the same selection with half of lam."""
    x, y = draw()

    def once(u, v):
        return np.exp(-((u[:, None] - v[None]) ** 2).sum(axis=-1) / 8.0)

    def twice(u, v):
        return 2.0 * once(u, v)

    options = {"restarts": 1, "iterations": 0, "curvature": False}
    lams = [
        two_sample_test(
            x[:30, :3],
            y[:30, :3],
            "kernel",
            kernel=kernel,
            options=options,
            **{**COMMON, "d": 1},
        ).lam
        for kernel in (once, twice)
    ]
    assert lams[0] == pytest.approx(2.0 * lams[1], rel=1e-6)
    assert lams[0] > 0.0


def test_a_large_lam_prefers_a_small_variance():
    x, y = draw()
    d, bandwidth = 2, 1.0
    variances = []
    for lam in (0.0, 1.0, 100.0):
        test = two_sample_test(x, y, bandwidth=bandwidth, **{**COMMON, "d": d, "lam": lam})
        problem = test.result.problem
        assert isinstance(problem, KernelSelection)
        variances.append(problem.samples.variance(test.z))
    assert variances[0] >= variances[1] >= variances[2]
    assert variances[0] > variances[2]


def test_the_bandwidths_are_those_of_one_variable():
    """With weights of norm 1 a distance is as large as in one column, not as in all together."""
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((25, 30)), rng.standard_normal((20, 30))
    x[:, 0] = y[:, 0] = 7.0
    medians = np.median(np.abs(x[:, None] - y[None]), axis=(0, 1))[1:] ** 2
    gaussian = KernelSelection(x, y, "gaussian", d=3)
    np.testing.assert_allclose(gaussian.bandwidth, np.median(medians), rtol=1e-12)
    quadratic = KernelSelection(x, y, "quadratic", d=3)
    assert quadratic.c == pytest.approx(np.sqrt(np.median(medians)), rel=1e-12)
    np.testing.assert_allclose(quadratic.bandwidth[1:], medians, rtol=1e-12)


@pytest.mark.thorough
def test_a_gaussian_kernel_of_unit_weights_sees_a_change_of_variance():
    x, y = np.random.default_rng(6).standard_normal((2, 200, 40))
    y[:, :4] *= 1.8
    test = two_sample_test(x, y, "gaussian", d=4, options={"restarts": 2, "iterations": 5})
    assert test.reject
    assert set(test.selected.tolist()) == {0, 1, 2, 3}

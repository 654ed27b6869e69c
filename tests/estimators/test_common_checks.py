"""scikit-learn's own checks over all estimators, none of them expected to fail."""

import gc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import _enforce_estimator_tags_y, parametrize_with_checks

from sparseopt import estimators
from sparseopt.compiling.kernel import Kernel, override
from sparseopt.compiling.mode import Mode

SMALLER = {
    # The checks have 15 observations of 30 columns: several lines fit them without a penalty, and
    # columns each other without a ridge.
    "QuantileProcess": {"lam": 5.0},
    "BestSubset": {"ridge": 0.1},
    "GaussianGraphL0": {"ridge": 0.1, "candidates": 3},
    # Many directions explain 15 responses, and a search ends at them up to 1e-8.
    "SufficientSubspace": {"backend": "opg"},
    "StabilitySelector": {"pairs": 2},
    # The checks have as few as three observations of a class, which cannot be split.
    "TwoSampleTest": {"selection": "none", "n_permutations": 19},
}

# What is private needs public facts of each column, which the checks cannot give.
NAMES = [
    name
    for name in estimators.__all__
    if hasattr(getattr(estimators, name), "fit") and not name.startswith("Private")
]


def small(name):
    """Return the estimator with settings that are quick on the checks' data: two folds suffice."""
    cls = getattr(estimators, name)
    folds = {"cv": 2} if "cv" in cls().get_params() else {}
    return cls(**folds | SMALLER.get(name, {}))


ALL = {name: small(name) for name in NAMES}
FIRST = (*("LADLasso", "GaussianGraphL0", "TwoSampleTest", "SparsePCA"),)
"""One for each kind of data: a response, none, classes, a transformer."""


def known_failures(estimator):
    """The check of 1.6 names classes after the first row, so that they differ where it shuffles."""
    labels = [_enforce_estimator_tags_y(estimator, np.array(y)) for y in ([0, 1], [1, 0])]
    if (labels[0] == labels[1][::-1]).all() or not hasattr(estimator, "decision_function"):
        return {}
    checks = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
    return dict.fromkeys(checks, "the check mixes the classes up")


@parametrize_with_checks(
    [ALL[name] for name in FIRST],
    expected_failed_checks=known_failures,
)
def test_estimator(estimator, check):
    check(estimator)


@pytest.mark.thorough
@parametrize_with_checks(
    [each for name, each in ALL.items() if name not in FIRST],
    expected_failed_checks=known_failures,
)
def test_estimator_like_those(estimator, check):
    check(estimator)


def forms():
    """Return for each kernel how many combinations of types it runs compiled in this process."""
    kernels = [each for each in gc.get_objects() if isinstance(each, Kernel)]
    return {
        f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}": len(kernel._linked)
        + len(kernel.dispatcher.signatures if "dispatcher" in vars(kernel) else ())
        for kernel in kernels
    }


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_data_of_other_types_and_layouts_compile_nothing(name):
    rng = np.random.default_rng(0)
    X = np.round(8.0 * rng.normal(size=(24, 4)))
    y = np.where(X[:, 0] + rng.normal(size=24) > 0.0, 1, -1)
    if "Ising" in name:
        X = np.where(X > 0.0, 1.0, -1.0)
    with override(Mode.NOW):
        clone(ALL[name]).fit(X, y)
        before = forms()
        read_only = X.copy()
        read_only.setflags(write=False)
        for data in (np.asfortranarray(X), X.astype("float32"), X.astype("int64"), read_only):
            clone(ALL[name]).fit(data, y.astype(float))
    after = forms()
    # A kernel that is first needed now has its one form; none has another.
    assert {k: n for k, n in after.items() if n > max(1, before.get(k, 0))} == {}
    assert any(after.values())

"""scikit-learn's own checks over all estimators, none of them expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseopt import estimators

SMALLER = {
    # Without a penalty several lines fit 15 observations of 30 columns.
    "QuantileProcess": {"lam": 1.0},
    "StabilitySelector": {"pairs": 2},
    # The checks have as few as three observations of a class, which cannot be split.
    "TwoSampleTest": {"selection": "none", "n_permutations": 19},
}

# What is private needs public facts of each column, which the checks cannot give.
ALL = {
    name: getattr(estimators, name)(**SMALLER.get(name, {}))
    for name in estimators.__all__
    if hasattr(getattr(estimators, name), "fit") and name != "PrivateSynthesizer"
}
REPEATED = ("DantzigSelectorCV", "LADLassoCV", "QuantileLassoCV")
"""They differ from others in their default rule alone, which the l1 classifier has, too."""


@parametrize_with_checks([each for name, each in ALL.items() if name not in REPEATED])
def test_estimator(estimator, check):
    check(estimator)


@pytest.mark.thorough
@parametrize_with_checks([ALL[name] for name in REPEATED])
def test_estimator_with_another_default(estimator, check):
    check(estimator)

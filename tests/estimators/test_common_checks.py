"""scikit-learn's own checks over all estimators, none of them expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseopt import estimators

SMALLER = {
    # Without a penalty several lines fit 15 observations of 30 columns.
    "QuantileProcess": {"lam": 1.0},
    "StabilitySelector": {"pairs": 2},
}

# What is private needs public facts of each column, which the checks cannot give.
GENERAL = [name for name in estimators.__all__ if name != "PrivateSynthesizer"]
ALL = [getattr(estimators, name)(**SMALLER.get(name, {})) for name in GENERAL]


@parametrize_with_checks([each for each in ALL if hasattr(each, "fit")])
def test_estimator(estimator, check):
    check(estimator)

"""scikit-learn's own checks over all estimators, none of them expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseopt import estimators

ALL = [getattr(estimators, name) for name in estimators.__all__]


@parametrize_with_checks([cls() for cls in ALL if hasattr(cls, "fit")])
def test_estimator(estimator, check):
    check(estimator)

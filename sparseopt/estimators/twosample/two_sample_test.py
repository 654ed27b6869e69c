"""Whether two samples differ."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from sparseopt.estimators.common.columns import given_names, refuse_beyond
from sparseopt.estimators.twosample.two_sample_selector import TwoSampleSelector
from sparseopt.problems.base import Array
from sparseopt.two_sample.procedure import two_sample_test


class TwoSampleTest(TwoSampleSelector):
    """Whether two classes differ: selection on one part of the data, permutations on the other.

    There are no sample weights: the test permutes independent observations, of which repeated rows
    are none.

    The parameters of :class:`TwoSampleSelector`, with "none" as a `selection` (all variables, and
    every observation is tested: `n_variables` and `split` do not count), and

    Parameters
    ----------
    alpha : float, default 0.05
    n_permutations : int, default 999
    split : float, default 0.5
        The share of each class that the selection gets.

    Attributes
    ----------
    pvalue_, statistic_ : float
    reject_ : bool
    test_ : sparseopt.two_sample.TwoSampleTest
    weights_, support_, classes_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sparseopt.estimators import TwoSampleTest
    >>> data = load_iris(as_frame=True)
    >>> two = data.target > 0
    >>> TwoSampleTest(n_variables=2).fit(data.data[two], data.target[two]).pvalue_
    0.001
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TwoSampleSelector._parameter_constraints,
        "selection": [StrOptions({"strs", "quadratic", "gaussian", "none"})],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "n_permutations": [Interval(Integral, 1, None, closed="left")],
        "split": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        *,
        n_variables: int = 3,
        selection: str = "strs",
        alpha: float = 0.05,
        n_permutations: int = 999,
        split: float = 0.5,
        backend: Any = "auto",
        time_limit: float | None = 60.0,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            n_variables=n_variables,
            selection=selection,
            backend=backend,
            time_limit=time_limit,
            random_state=random_state,
        )
        self.alpha = alpha
        self.n_permutations = n_permutations
        self.split = split

    def _select(self, one: Array, two: Array) -> None:
        asked: dict[str, Any] = {}
        if self.selection != "none":
            refuse_beyond(self, "n_variables", one.shape[1])
            asked = {"d": min(int(self.n_variables), one.shape[1]), "split": float(self.split)}
        self.test_ = two_sample_test(
            one,
            two,
            self.selection,
            alpha=float(self.alpha),
            n_permutations=int(self.n_permutations),
            seed=int(self.random_state),
            names=given_names(self),
            backend=self.backend,
            time_limit=self.time_limit,
            **asked,
        )
        self.weights_, self.reject_ = self.test_.z, self.test_.reject
        self.pvalue_, self.statistic_ = self.test_.p_value, self.test_.statistic

"""Synthetic rows from one private release, as an estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sparseopt.private import FeatureMap, release, synthesise
from sparseopt.private.ledger import Ledger

__all__ = ["PrivateSynthesizer"]


class PrivateSynthesizer(BaseEstimator):  # type: ignore[misc]
    """Release the mean embedding of a table once, and sample rows of the fitted distribution.

    There is no `random_state`: the noise is the operating system's. What `features` says (bounds,
    levels, length scales) must be known without a look at the data.

    Parameters
    ----------
    features : FeatureMap
    epsilon : float, default 1
    delta : float, default 1e-6
    neighbours : {"replace-one", "add-remove"}
    atoms : int, default 4096
        For each level of the label, about.
    ledger : Ledger, optional
        Refuses a fit that exceeds its budget.

    Attributes
    ----------
    statement_ : Statement
        What holds, for :func:`sparseopt.private.audit`.
    embedding_ : PrivateEmbedding
    synthesis_ : Synthesis
        The atoms and their weights; `verdict_` is that of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt import private
    >>> from sparseopt.estimators import PrivateSynthesizer
    >>> features = private.FeatureMap([private.Number("age", 0, 100)])
    >>> model = PrivateSynthesizer(features=features, delta=1e-3, atoms=64)
    >>> rows, _ = model.fit({"age": np.array([23.0, 41.0, 57.0])}).sample(5)
    >>> len(rows["age"])
    5
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "features": [FeatureMap],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "neighbours": [StrOptions({"replace-one", "add-remove"})],
        "atoms": [Interval(Integral, 1, None, closed="left")],
        "ledger": [Ledger, None],
    }

    def __init__(
        self,
        *,
        features: FeatureMap | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        neighbours: str = "replace-one",
        atoms: int = 4096,
        ledger: Ledger | None = None,
    ) -> None:
        self.features = features
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.atoms = atoms
        self.ledger = ledger

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Release once, and fit the distribution.

        Parameters
        ----------
        X : data frame or mapping of str to array of shape (N,)
        y : array_like of shape (N,), optional
            The label, where the features have one.
        """
        assert self.features is not None  # validated
        self.embedding_ = release(
            X,
            self.features,
            epsilon=self.epsilon,
            delta=self.delta,
            label=None if y is None else np.asarray(y),
            neighbours=self.neighbours,
            ledger=self.ledger,
        )
        self.statement_ = self.embedding_.statement
        self.synthesis_ = synthesise(self.embedding_, self.atoms)
        self.verdict_ = str(self.synthesis_.result.verdict)
        return self

    def sample(self, n_samples: int = 1, random_state: int = 0) -> tuple[Any, Any]:
        """Draw rows; post-processing, so that a seed gives nothing away.

        Parameters
        ----------
        n_samples : int, default 1
        random_state : int, default 0

        Returns
        -------
        table : dict of str to array of shape (n_samples,)
        label : array of shape (n_samples,) or None
        """
        check_is_fitted(self)
        return self.synthesis_.sample(n_samples, random_state)

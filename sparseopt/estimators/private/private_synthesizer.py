"""Synthetic rows from one private release, as an estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from sparseopt.estimators.private.private_mean_embedding import PrivateMeanEmbedding
from sparseopt.private import FeatureMap, move_atoms, synthesise
from sparseopt.private.ledger import Ledger

__all__ = ["PrivateSynthesizer"]


class PrivateSynthesizer(PrivateMeanEmbedding):
    """Release the mean embedding of a table once, and sample rows of the fitted distribution.

    Parameters
    ----------
    features, bounds, classes, epsilon, delta, neighbours, ledger
        As for :class:`PrivateMeanEmbedding`.
    atoms : int, default 4096
        For each level of the label, about.
    moves : int, default 0
        Rounds in which the atoms with weight are moved, a heuristic
        (:func:`sparseopt.private.move_atoms`).

    Attributes
    ----------
    statement_, embedding_, mean_, noise_
        As for :class:`PrivateMeanEmbedding`.
    synthesis_ : Synthesis
        The atoms and their weights; `verdict_` is that of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.estimators import PrivateSynthesizer
    >>> model = PrivateSynthesizer(bounds={"age": (0, 100)}, delta=1e-3, atoms=64)
    >>> rows, _ = model.fit({"age": np.array([23.0, 41.0, 57.0])}).sample(5)
    >>> len(rows["age"])
    5
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PrivateMeanEmbedding._parameter_constraints,
        "atoms": [Interval(Integral, 1, None, closed="left")],
        "moves": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        features: FeatureMap | None = None,
        bounds: Any = None,
        classes: Any = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        neighbours: str = "replace-one",
        atoms: int = 4096,
        moves: int = 0,
        ledger: Ledger | None = None,
    ) -> None:
        super().__init__(
            features=features,
            bounds=bounds,
            classes=classes,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            ledger=ledger,
        )
        self.atoms = atoms
        self.moves = moves

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Release once, and fit the distribution.

        Parameters
        ----------
        X : data frame, mapping of str to array of shape (N,), or array of shape (N, columns)
        y : array_like of shape (N,), optional
            The label, where the features have one.
        """
        super().fit(X, y)
        self.synthesis_ = synthesise(self.embedding_, self.atoms)
        if self.moves:
            self.synthesis_ = move_atoms(self.embedding_, self.synthesis_, rounds=self.moves)
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

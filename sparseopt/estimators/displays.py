"""Pictures of fitted estimators, by the library's own drawing (needs matplotlib)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparseopt.errors import ParamError
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.l1 import column_names

__all__ = ["ComponentsDisplay", "CrossValidationDisplay", "GraphDisplay", "PathDisplay"]


class _Display:
    """What is drawn, and where it was drawn last: ``ax_`` and ``figure_``."""

    shown: Any

    def plot(self, ax: Any = None, **style: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: the only axes of a new pyplot figure.
        **style
            Of :func:`sparseopt.plot`.

        Returns
        -------
        self
        """
        self.ax_ = self.shown.plot(ax=ax, **style)
        self.figure_ = self.ax_.figure
        return self


class PathDisplay(_Display):
    """The coefficients as functions of lam, and the lam that was chosen.

    Parameters
    ----------
    shown : Result
        With the path.
    lam : float, optional
        Where a line is drawn.
    """

    def __init__(self, shown: Any, lam: float | None = None) -> None:
        self.shown = shown
        self.lam = lam

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **style: Any) -> Self:
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator with a path
        ax, **style
            As for :meth:`plot`.

        Returns
        -------
        PathDisplay
        """
        check_is_fitted(estimator)
        lam = getattr(estimator, "lam_", None)
        return cls(estimator.result_, lam).plot(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> Self:
        if self.lam is not None:
            # The line is at a lam, so that the axis must be one of lam.
            style.setdefault("x", "log" if self.lam > 0.0 else "lam")
        super().plot(ax, **style)
        low, high = sorted(self.ax_.get_xlim())
        if self.lam is not None and style["x"] != "l1norm" and low <= self.lam <= high:
            self.ax_.axvline(self.lam, color="0.4", linewidth=0.8, linestyle="--")
        return self


class CrossValidationDisplay(_Display):
    """The cross-validated error as a function of lam, or an information criterion.

    Parameters
    ----------
    shown : Selection
    """

    def __init__(self, shown: Any) -> None:
        self.shown = shown

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **style: Any) -> Self:
        """Draw what the rule of a fitted estimator compared.

        Parameters
        ----------
        estimator : fitted estimator whose rule chose lam
        ax, **style
            As for :meth:`plot`.

        Raises
        ------
        ParamError
            When lam was given, so that nothing was compared.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "selection_"):
            raise ParamError(f"no rule chose anything for this {type(estimator).__name__}")
        return cls(estimator.selection_).plot(ax, **style)


def names_of(estimator: Any) -> list[str]:
    """Return the names of the columns that the estimator was fitted with: x0, x1, ... of arrays.

    Parameters
    ----------
    estimator : fitted
    """
    names = getattr(estimator, "feature_names_in_", None)
    return column_names(None if names is None else list(names), estimator.n_features_in_)


def edge_weights(estimator: Any) -> Array:
    """Return partial correlations, differences or standardised coefficients; 0 without an edge.

    A coefficient is that of columns of standard deviation 1, the mean of both directions.

    Parameters
    ----------
    estimator : fitted CLIME, DifferentialNetwork, GaussianGraphL0, IsingGraphL0 or \
NeighbourhoodGraph

    Returns
    -------
    array of shape (d, d), symmetric
    """
    if hasattr(estimator, "precision_"):
        root = np.sqrt(np.abs(np.diag(estimator.precision_)))
        root[root == 0.0] = 1.0
        return np.asarray(-estimator.precision_ / np.outer(root, root))
    if hasattr(estimator, "difference_"):
        return np.asarray(estimator.difference_)
    coef = estimator.coef_.toarray() * estimator.scale_ / estimator.scale_[:, None]
    return np.asarray(estimator.graph_.toarray() * (coef + coef.T) / 2.0)


class GraphDisplay:
    """The edges between variables, as lines between points on a circle, by sign and size.

    Parameters
    ----------
    weights : array of shape (d, d)
        Symmetric; 0 where there is no edge.
    names : sequence of str
    """

    def __init__(self, weights: Array, names: Any) -> None:
        self.weights = weights
        self.names = list(names)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the partial correlations, differences or coefficients of a fitted estimator.

        Parameters
        ----------
        estimator : fitted CLIME, DifferentialNetwork, GaussianGraphL0 or IsingGraphL0
        ax : matplotlib Axes, optional

        Returns
        -------
        GraphDisplay
        """
        check_is_fitted(estimator)
        return cls(edge_weights(estimator), names_of(estimator)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        self
        """
        import matplotlib.pyplot as plt

        self.ax_ = plt.subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        angle = 2.0 * np.pi * np.arange(len(self.names)) / len(self.names)
        x, y = np.cos(angle), np.sin(angle)
        rows, columns = np.nonzero(np.triu(self.weights, 1))
        largest = np.abs(self.weights[rows, columns]).max(initial=0.0) or 1.0
        for i, j in zip(rows, columns, strict=True):
            size = self.weights[i, j] / largest
            color, style = ("#0072b2", "-") if size > 0.0 else ("#d55e00", "--")
            self.ax_.plot(
                x[[i, j]], y[[i, j]], color=color, linestyle=style, linewidth=0.3 + 2.7 * abs(size)
            )
        self.ax_.plot(x, y, "o", color="0.3", markersize=4)
        for name, u, v in zip(self.names, x, y, strict=True):
            side = "left" if u > 0.1 else "right" if u < -0.1 else "center"
            self.ax_.text(1.08 * u, 1.08 * v, name, ha=side, va="center", fontsize=8)
        self.ax_.set(aspect="equal", xlim=(-1.6, 1.6), ylim=(-1.3, 1.3))
        self.ax_.axis("off")
        return self


class ComponentsDisplay:
    """The loadings of sparse components, one row of bars for each.

    Parameters
    ----------
    components : array of shape (k, d)
    names : sequence of str
    shares : array of shape (k,)
        Of the variance.
    """

    def __init__(self, components: Array, names: Any, shares: Array) -> None:
        self.components = components
        self.names = list(names)
        self.shares = shares

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the components of a fitted SparsePCA.

        Parameters
        ----------
        estimator : fitted SparsePCA
        ax : matplotlib Axes, optional

        Returns
        -------
        ComponentsDisplay
        """
        check_is_fitted(estimator)
        shares = estimator.adjusted_variance_ratio_
        return cls(estimator.components_, names_of(estimator), shares).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it; variables that no component uses are left out.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        self
        """
        import matplotlib.pyplot as plt

        self.ax_ = plt.subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        used = np.flatnonzero((self.components != 0.0).any(axis=0))
        place, height = np.arange(len(used)), 0.8 / len(self.components)
        for k, (v, share) in enumerate(zip(self.components, self.shares, strict=True)):
            label = f"component {k + 1}: {share:.1%} of the variance"
            at = place + height * (k - (len(self.components) - 1) / 2.0)
            self.ax_.barh(at, v[used], height, label=label)
        self.ax_.set_yticks(place, [self.names[j] for j in used])
        self.ax_.invert_yaxis()
        self.ax_.axvline(0.0, color="0.4", linewidth=0.6)
        self.ax_.set_xlabel("loading")
        self.ax_.legend(fontsize=8)
        return self

"""Pictures of fitted estimators, by the library's own drawing (needs matplotlib)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparseopt.errors import ParamError
from sparseopt.estimators.common.columns import names_of
from sparseopt.estimators.parametric.quantile_process import QuantileProcess
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.paths.parametric import ParametricPath
from sparseopt.paths.quantiles import QuantilePath
from sparseopt.problems.base import Array

__all__ = ["ComponentsDisplay", "CrossValidationDisplay", "GraphDisplay", "PathDisplay"]


_BESIDE, _TALL = 20, 6.4
"""Names around a circle that stand beside each other; inches of a figure with more."""
_MARGIN, _LINE = 1.8, 0.2
"""Inches of a figure without its rows, and of each row."""


class _Display:
    """What is drawn, and where it was drawn last: ``ax_`` and ``figure_``."""

    shown: Any
    _style: Mapping[str, Any] = MappingProxyType({})

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
        self.ax_ = self.shown.plot(ax=ax, **{**self._style, **style})
        self.figure_ = self.ax_.figure
        return self


class PathDisplay(_Display):
    """The coefficients as functions of lam, and the lam that was chosen.

    Of every quantile at once they are functions of the level, and of a path over budgets or sizes
    the objective is drawn.

    Parameters
    ----------
    shown : Result
        With the path.
    at : float, optional
        The lam, level, budget or size where a line is drawn.
    """

    def __init__(self, shown: Any, at: float | None = None) -> None:
        self.shown = shown
        self.at = at
        if at is not None and isinstance(shown.path, ParametricPath | ColumnwisePath):
            # The line is at a lam, so that the axis must be one of lam.
            self._style = {"x": "log" if at > 0.0 else "lam"}

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
        if not hasattr(estimator, "path_"):
            raise ParamError(f"a {type(estimator).__name__} has no path to draw")
        at, label = _chosen(estimator)
        drawn = cls(estimator.result_, at).plot(ax, **style)
        if label:
            drawn.ax_.set_xlabel(label)
        return drawn

    def plot(self, ax: Any = None, **style: Any) -> Self:
        super().plot(ax, **style)
        low, high = sorted(self.ax_.get_xlim())
        if self.at is not None and style.get("x") != "l1norm" and low <= self.at <= high:
            self.ax_.axvline(self.at, color="0.5", linewidth=0.8, linestyle="--")
        return self


def _chosen(estimator: Any) -> tuple[float | None, str]:
    """Return where on its path an estimator is, and what else the horizontal axis is called."""
    if isinstance(estimator, QuantileProcess):
        level = float(estimator.quantile)
        if isinstance(estimator.path_, QuantilePath):
            return level, ""
        return level / (1.0 - level), "odds of the level"
    if hasattr(estimator, "size_"):
        return estimator.size_, "number of variables"
    return getattr(estimator, "lam_", getattr(estimator, "budget_", None)), ""


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
            When no rule chose, or the rule compared nothing ("theory").
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "selection_"):
            name = type(estimator).__name__
            raise ParamError(f"this {name} holds nothing that a rule compared")
        return cls(estimator.selection_).plot(ax, **style)


_ON_WHITE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a67c00", "#333333")
_ON_BLACK = ("#56b4e9", "#ff9955", "#3ddbb0", "#e8a5cb", "#e6c200", "#dddddd")
"""After Okabe and Ito: colours that colour-blind readers can tell apart."""


def _axes(ax: Any, height: float = 0.0) -> Any:
    """Return the axes that were given, or those of a new figure that makes room for names.

    A new figure is so many inches high, or as high as others where that is more.
    """
    import matplotlib.pyplot as plt

    if ax is not None:
        return ax
    width, usual = plt.rcParams["figure.figsize"]
    return plt.subplots(figsize=(width, max(usual, height)), layout="constrained")[1]


def _colours(ax: Any) -> tuple[str, ...]:
    """Return the colours of a picture; matplotlib's style says whether it is dark."""
    from matplotlib.colors import to_rgb

    return _ON_BLACK if sum(to_rgb(ax.get_facecolor())) < 1.5 else _ON_WHITE


_GRAPHS = ("precision_", "difference_", "graph_")
"""What estimators of graphs have, one or another."""


def edge_weights(estimator: Any) -> Array:
    """Return partial correlations, differences or standardised coefficients; 0 without an edge.

    A coefficient is that of columns of standard deviation 1, the mean of the directions chosen.

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
    ends = (coef != 0.0) + (coef.T != 0.0).astype(int)
    return np.asarray(estimator.graph_.toarray() * (coef + coef.T) / np.maximum(ends, 1))


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
        estimator : fitted CLIME, DifferentialNetwork, GaussianGraphL0, IsingGraphL0 or \
NeighbourhoodGraph
        ax : matplotlib Axes, optional

        Returns
        -------
        GraphDisplay

        Raises
        ------
        ParamError
            When the estimator has no graph.
        """
        check_is_fitted(estimator)
        if not any(hasattr(estimator, name) for name in _GRAPHS):
            raise ParamError(f"a {type(estimator).__name__} has no graph to draw")
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
        self.ax_ = _axes(ax, _TALL if len(self.names) > _BESIDE else 0.0)
        self.figure_ = self.ax_.figure
        positive, negative = _colours(self.ax_)[:2]
        angle = 2.0 * np.pi * np.arange(len(self.names)) / len(self.names)
        x, y = np.cos(angle), np.sin(angle)
        rows, columns = np.nonzero(np.triu(self.weights, 1))
        largest = np.abs(self.weights[rows, columns]).max(initial=0.0) or 1.0
        for i, j in zip(rows, columns, strict=True):
            size = self.weights[i, j] / largest
            color, style = (positive, "-") if size > 0.0 else (negative, "--")
            self.ax_.plot(
                x[[i, j]], y[[i, j]], color=color, linestyle=style, linewidth=0.3 + 2.7 * abs(size)
            )
        self.ax_.plot(x, y, "o", color="0.5", markersize=4)
        if not len(rows):
            self.ax_.set_title("no edges", fontsize="medium")
        turned = len(self.names) > _BESIDE
        for name, u, v, phi in zip(self.names, x, y, np.degrees(angle), strict=True):
            side = "left" if u > 0.1 else "right" if u < -0.1 else "center"
            how: dict[str, Any] = {"ha": side, "va": "center", "fontsize": 8}
            if turned:
                # Along the rays, so that names meet no others; none stands on its head.
                left = 90.0 < phi < 270.0
                how |= {"ha": "right" if left else "left", "rotation_mode": "anchor"}
                how["rotation"] = phi - 180.0 if left else phi
            self.ax_.text(1.08 * u, 1.08 * v, name, **how)
        height = 1.9 if turned else 1.3
        self.ax_.set(aspect="equal", xlim=(-max(1.6, height), max(1.6, height)))
        self.ax_.set_ylim(-height, height)
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
        if not hasattr(estimator, "adjusted_variance_ratio_"):
            raise ParamError(f"{type(estimator).__name__} has no sparse components to draw")
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
        used = np.flatnonzero((self.components != 0.0).any(axis=0))
        self.ax_ = _axes(ax, _MARGIN + _LINE * len(used))
        self.figure_ = self.ax_.figure
        colours = itertools.cycle(_colours(self.ax_))
        place, height = np.arange(len(used)), 0.8 / len(self.components)
        for k, (v, share) in enumerate(zip(self.components, self.shares, strict=True)):
            label = f"component {k + 1}: {share:.1%} of the variance"
            at = place + height * (k - (len(self.components) - 1) / 2.0)
            self.ax_.barh(at, v[used], height, label=label, color=next(colours))
        self.ax_.set_yticks(place, [self.names[j] for j in used])
        self.ax_.invert_yaxis()
        self.ax_.axvline(0.0, color="0.5", linewidth=0.6)
        self.ax_.set_xlabel("loading")
        # Below the bars, which may be anywhere; a title stands above them.
        self.ax_.legend(
            fontsize="small", frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14)
        )
        return self

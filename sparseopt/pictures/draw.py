"""The verb :func:`plot`, whatever is drawn, and pictures in files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparseopt.cards import NamedValues
from sparseopt.errors import ParamError
from sparseopt.families import families
from sparseopt.installed import resolve
from sparseopt.io.files import replacing
from sparseopt.paths.base import PathResult
from sparseopt.pictures.bars import plot_values
from sparseopt.pictures.graphs import plot_budgets, plot_graph, plot_roc
from sparseopt.pictures.selection import (
    plot_criterion,
    plot_cross_validation,
    plot_knots,
    plot_stability,
)
from sparseopt.pictures.slider import save_page
from sparseopt.pictures.style import check_picture
from sparseopt.pictures.subspaces import plot_subspace
from sparseopt.pictures.two_sample import plot_null, plot_weights
from sparseopt.pictures.two_sample import plot_witness as draw_witness
from sparseopt.problems.base import Problem
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.problems.subspace.base import SubspaceProblem
from sparseopt.result import Result
from sparseopt.selection.choice import KnotSelection
from sparseopt.selection.criteria import CriterionResult
from sparseopt.selection.cross_validation import CVResult
from sparseopt.selection.graphs.choice import GraphSelection
from sparseopt.selection.graphs.roc import ROC
from sparseopt.selection.graphs.stability import GraphStabilityResult
from sparseopt.selection.rules import TheoryResult
from sparseopt.selection.stability import StabilityResult
from sparseopt.two_sample.result import TwoSampleTest
from sparseopt.verbs import refuse_unknown

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(
    shown: Any, ax: Axes | None = None, *, file: str | PathLike[str] | None = None, **style: Any
) -> Any:
    """Draw a result, a path, a problem, a selection, an ROC curve, a test or a fitted estimator.

    Parameters
    ----------
    shown : object
        Of a Result its path is drawn, by the family's picture of that kind of path, and of a fitted
        estimator the path with its choice
        (:class:`~sparseopt.estimators.PathDisplay`); without a path the coefficients
        (:func:`~sparseopt.pictures.plot_values`); of a subspace the points in it
        (:func:`~sparseopt.pictures.plot_subspace`). Of sparse components their loadings, of a graph
        of neighbours its edges. Of a graphical model that is not solved yet: its candidate edges.
    ax : matplotlib Axes, optional
        Where to draw. Default: the only axes of a new pyplot figure.
    file : path, optional
        Write the picture there instead; ".html" is a page with a slider
        (:func:`~sparseopt.pictures.to_html`).
    **style
        Of the picture; see :mod:`sparseopt.pictures.paths` for those of paths over lam.

    Returns
    -------
    matplotlib Axes, or None for a file
        Nothing else is shown or saved: that is the caller's choice.

    Raises
    ------
    ParamError
        When there is no picture of it, or the picture has no such option.
    BackendUnavailable
        When matplotlib is not installed.
    """
    if file is None:
        return _draw(_answer(shown), ax, **style)
    save_picture(shown, file, **style)
    return None


def _answer(shown: Any) -> Any:
    """Return the result, coefficients or test of a fitted estimator; all else as it is.

    An estimator with a path draws it itself, since it knows its choice.
    """
    if hasattr(shown, "fit") and getattr(shown, "path_", None) is not None:
        return shown
    found = getattr(shown, "result_", getattr(shown, "test_", shown))
    if isinstance(found, Result) and found.path is None and hasattr(shown, "coefficients_"):
        return shown.coefficients_
    return found


@singledispatch
def _draw(shown: Any, ax: Axes | None = None, **style: Any) -> Any:
    if hasattr(shown, "from_estimator"):  # a display, in scikit-learn's word, draws itself
        refuse_unknown(_called(shown), type(shown).plot, style, ("ax",))
        return shown.plot(ax=ax, **style).ax_
    for fitted, display in _DISPLAYS.items():
        if hasattr(shown, fitted):
            return _by(resolve(display).from_estimator)(shown, ax, **style).ax_
    raise ParamError(
        f"there is no picture of a {type(shown).__name__}{_remedy(shown)}; draw a result, a path, "
        "a selection, an ROC curve, a two-sample test, coefficients or a fitted estimator with one"
    )


def _called(shown: Any) -> str:
    return f"the picture of a {type(shown).__name__}"


def _by(picture: Callable[..., Any]) -> Callable[..., Any]:
    """Return what draws by this function, and refuses options that it does not take."""

    def draw(shown: Any, ax: Axes | None = None, **style: Any) -> Any:
        refuse_unknown(_called(shown), picture, style, ("ax",))
        return picture(shown, ax=ax, **style)

    return draw


def _remedy(shown: Any) -> str:
    """Return what can be done to an estimator without a picture; else nothing."""
    if hasattr(shown, "steps"):
        return " of several steps: draw its last one, pipeline[-1]"
    # In scikit-learn's convention a fit sets attributes that end in an underscore.
    if not hasattr(shown, "fit"):
        return ""
    fitted = any(not name.startswith("_") and name.endswith("_") for name in vars(shown))
    return "" if fitted else " that is not fitted: call fit first"


_DISPLAYS = {
    "path_": "sparseopt.estimators:PathDisplay",
    "adjusted_variance_": "sparseopt.estimators:ComponentsDisplay",
    "graph_": "sparseopt.estimators:GraphDisplay",
}
"""What draws the estimators that have this fitted attribute."""


@_draw.register(Result)
def _result(shown: Result, ax: Axes | None = None, **style: Any) -> Axes:
    if isinstance(shown.problem, SubspaceProblem) and shown.x is not None:
        refuse_unknown("the picture of a subspace", plot_subspace, style, ("x", "ax"))
        return plot_subspace(shown.problem, shown.x, ax, **style)
    if shown.path is not None and len(shown.path):
        drawn: Axes = _draw(shown.path, ax, **style)
        return drawn
    if shown.x is not None and hasattr(shown.problem, "coefficient_names"):
        values: Axes = _draw(shown.coefficients, ax, **style)
        return values
    raise ParamError(
        "a picture shows a path or coefficients by name, and this result has neither "
        f"(status {shown.status.value})"
    )


@_draw.register(PathResult)
def _path(shown: PathResult, ax: Axes | None = None, **style: Any) -> Axes:
    for family in families().values():
        if shown.kind in family.pictures:
            drawn: Axes = _by(resolve(family.pictures[shown.kind]))(shown, ax, **style)
            return drawn
    raise ParamError(f"there is no picture of a path of the kind {shown.kind!r}")


@_draw.register(Problem)
def _problem(shown: Problem, ax: Axes | None = None, **style: Any) -> Axes:
    raise ParamError(f"there is no picture of a {shown.kind} before it is solved: plot its result")


@_draw.register(TheoryResult)
def _theory(shown: TheoryResult, ax: Axes | None = None, **style: Any) -> Axes:
    raise ParamError(
        "a picture of a choice shows what was compared, and the rule 'theory' compares nothing: "
        "plot the path (its result), or choose by another rule"
    )


@_draw.register(L0GraphicalModel)
def _model(shown: L0GraphicalModel, ax: Axes | None = None, **style: Any) -> Axes:
    candidates, style = shown.candidates, {"names": shown.names, **style}
    adjacency = candidates.adjacency().astype(bool)
    refuse_unknown(_called(shown), plot_graph, style, ("coordinates", "ax"))
    return plot_graph(adjacency, candidates.coordinates, ax=ax, **style)


@_draw.register(GraphStabilityResult)
def _edges(shown: GraphStabilityResult, ax: Axes | None = None, **style: Any) -> Axes:
    style = {"names": shown.problem.names, **style}
    refuse_unknown(_called(shown), plot_graph, style, ("coordinates", "ax"))
    return plot_graph(shown.graph(), shown.problem.candidates.coordinates, ax=ax, **style)


@_draw.register(ROC)
def _roc(shown: ROC, ax: Axes | None = None, label: str | None = None, **style: Any) -> Axes:
    refuse_unknown(_called(shown), plot_roc, style, ("ax",))
    return plot_roc({label or "path": shown}, ax=ax, **style)


_draw.register(NamedValues)(_by(plot_values))
_draw.register(CVResult)(_by(plot_cross_validation))
_draw.register(CriterionResult)(_by(plot_criterion))
_draw.register(KnotSelection)(_by(plot_knots))
_draw.register(StabilityResult)(_by(plot_stability))
_draw.register(GraphSelection)(_by(plot_budgets))
_draw.register(TwoSampleTest)(_by(plot_null))


def plot_witness(
    test: TwoSampleTest, ax: Axes | None = None, variables: Sequence[int | str] | None = None
) -> Axes:
    """Draw the witness function over one or two variables, and the test samples.

    All other variables are held at their pooled mean.

    Parameters
    ----------
    test : TwoSampleTest
    ax : matplotlib Axes, optional
    variables : one or two indices or names, optional
        By default the two selected ones with the largest weights.

    Raises
    ------
    ParamError
        When there is no such variable, or more than two are asked for.
    """
    given = list(test.selected[:2] if variables is None else variables)
    if not 1 <= len(given) <= 2:
        raise ParamError(f"variables is {variables!r}; expected one or two")
    return draw_witness(test, ax, [test.index_of(one) for one in given])


def save_picture(shown: Any, file: str | PathLike[str], *, title: str = "", **style: Any) -> None:
    """Draw into a picture file, written whole or not at all; its ending chooses the format.

    No display is needed, and no state of pyplot is touched.

    Parameters
    ----------
    shown : object
        What :func:`plot` takes (for ".html" what :func:`to_html` takes); of a two-sample test the
        permutations, the weights of the selected variables, and the witness function.
    file : path
    title : str, optional
    **style
        Passed to :func:`plot`.

    Raises
    ------
    ParamError, BackendUnavailable
        As :func:`plot` and :func:`~sparseopt.pictures.check_picture`.
    ProblemError
        When the file cannot be written.
    """
    if Path(file).suffix.lower() == ".html":
        save_page(shown, file, title)
        return
    shown = _answer(shown)
    check_picture(file)
    from matplotlib.figure import Figure

    if isinstance(shown, TwoSampleTest):
        figure = Figure(figsize=(13.0, 4.0), dpi=150, layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.0, 0.8, 1.2))
        plot_null(shown, left)
        plot_weights(shown, middle)
        plot_witness(shown, right)
        if title:
            figure.suptitle(title, parse_math=False)
    else:
        figure = Figure(figsize=(8.0, 5.0), dpi=150, layout="constrained")
        ax = plot(shown, figure.add_subplot(), **style)
        if title:
            # A dollar sign in a name is not mathematics.
            ax.set_title(title, parse_math=False)
    with replacing(file) as stream:
        # By its name: not every format of matplotlib can be written to a stream.
        figure.savefig(stream.name, format=Path(file).suffix[1:].lower())

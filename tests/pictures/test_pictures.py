"""Pictures beyond paths over lam: matrices, budgets, graphs, tests, and dark styles."""

import numpy as np
import pytest

import sparseopt
from sparseopt.cards import NamedValues
from sparseopt.errors import ParamError
from sparseopt.families import families
from sparseopt.paths.budget import BudgetPath, CountChanges
from sparseopt.problems import CLIME, STRS
from sparseopt.solvers.homotopy.quantiles import quantile_path

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.style  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from sparseopt.pictures import plot_graph, plot_weights  # noqa: E402
from sparseopt.pictures.style import ON_BLACK, ON_WHITE, palette  # noqa: E402
from sparseopt.two_sample import two_sample_test  # noqa: E402


def correlated(d: int = 5):
    return 0.6 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))


def new_axes():
    return Figure().add_subplot()


def test_every_kind_of_path_has_a_picture():
    kinds = {kind for family in families().values() for kind in family.paths}
    drawn = {kind for family in families().values() for kind in family.pictures}
    assert kinds <= drawn


def test_levels_are_drawn_as_steps():
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.normal(size=(30, 2)), np.ones(30)])
    path = quantile_path(Z, rng.normal(size=30), np.ones(30), ["a", "b", "one"])
    ax = sparseopt.plot(path, new_axes(), max_labels=2)
    steps = [patch.get_data() for patch in ax.patches]
    assert len(steps) == 3 and all(np.array_equal(each.edges, path.levels) for each in steps)
    spread = np.ptp(path.theta, axis=0)
    named = {text.get_text() for text in ax.get_legend().get_texts()}
    assert named == {["a", "b", "one"][j] for j in np.argsort(-spread)[:2]}


def test_the_columns_of_a_matrix_are_drawn_without_its_diagonal():
    problem = CLIME(correlated(), names=list("abcde"))
    path = sparseopt.solve(problem, lam_min=0.02).path
    ax = path.plot(new_axes(), x="lam", max_labels=20)
    omega = path.matrix_at(float(path.knots[-1]))
    shown = {text.get_text(): text.xy[1] for text in ax.texts}
    assert shown
    for name, end in shown.items():
        row, column = ("abcde".index(letter) for letter in name.split(", "))
        assert row != column
        assert end == pytest.approx(omega[row, column])
    whole = path.plot(new_axes(), x="lam", max_labels=20, diagonal=True)
    assert "a, a" in {text.get_text() for text in whole.texts}
    # The axis at the top counts what is drawn.
    (top,) = ax.child_axes
    count = top.xaxis.get_major_formatter()
    lam = 0.3
    away = path.matrix_at(lam) - np.diag(np.diag(path.matrix_at(lam)))
    assert count(lam, 0) == str(np.count_nonzero(away))
    with pytest.raises(ParamError, match="l1norm"):
        path.plot(new_axes(), x="l1norm")


def test_budgets_are_drawn_with_what_is_not_proven():
    path = BudgetPath(
        budgets=np.arange(3),
        objective=np.array([4.0, 3.0, 1.0]),
        bound=np.array([4.0, 2.5, 1.0]),
        certified=np.array([True, False, True]),
        changes=CountChanges.from_columns(3, [np.arange(3)]),
        nodes=1,
        stopped_by="budget",
    )
    ax = path.plot(new_axes())
    assert ax.get_xlabel() == "budget K"
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), path.objective)
    ((open_,),) = [collection.get_segments() for collection in ax.collections]
    assert sorted(open_[:, 1].tolist()) == [2.5, 3.0]


def test_a_weighted_graph_shows_sign_and_strength_and_names():
    weights = np.zeros((4, 4))
    weights[0, 1] = weights[1, 0] = 0.8
    weights[2, 3] = weights[3, 2] = -0.4
    ax = plot_graph(weights, ax=new_axes(), names=["a", "b", "costs $", "$"])
    assert [text.get_text() for text in ax.texts] == ["a", "b", "costs $", "$"]
    positive, negative = ax.collections[:2]
    assert positive.get_linewidths()[0] > 1.5 * negative.get_linewidths()[0]
    assert not np.array_equal(positive.get_colors(), negative.get_colors())
    assert ax.get_legend_handles_labels()[1] == ["positive (1)", "negative (1)"]
    with pytest.raises(ParamError, match="4 nodes"):
        plot_graph(weights, ax=new_axes(), names=["a"])


def test_the_selected_variables_of_a_test_are_bars():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 80, 6))
    y[:, 2] += 2.0
    test = two_sample_test(x, y, d=2)
    ax = plot_weights(test, new_axes())
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [test.names[s] for s in test.selected]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(test.z[test.selected])


def test_what_has_no_path_is_drawn_as_bars():
    result = sparseopt.solve(STRS(correlated(), d=2, names=["a", "b", "$c", "d", "e"]))
    ax = sparseopt.plot(result, new_axes())
    names = [label.get_text() for label in ax.get_yticklabels()]
    found = result.coefficients.nonzero()
    assert names == list(found) and len(names) == 2
    assert [bar.get_width() for bar in ax.patches] == list(found.values())
    ax = sparseopt.plot(NamedValues(list("abc"), [1.0, -3.0, 2.0]), new_axes(), max_bars=2)
    assert [bar.get_width() for bar in ax.patches] == [-3.0, 2.0]
    assert ax.get_title() == "the largest 2 of 3"


def test_an_option_that_a_picture_does_not_have_is_named_with_those_that_it_has():
    from sparseopt.estimators import GaussianGraphL0, LADLasso
    from sparseopt.paths.l1_bound import L1BoundPath
    from sparseopt.selection import cross_validate

    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    model = LADLasso().fit(X, X[:, 0])
    folds = cross_validate(model.result_.problem, 3)
    graph = GaussianGraphL0(budget=2).fit(X)
    path = "the picture of a ParametricPath has no option 'show'; it takes x, max_labels, exclude,"
    for shown, says in (
        (model, path),
        (model.result_, path),
        (model.path_, path),
        (L1BoundPath(model.result_.problem, model.path_), "an L1BoundPath has no option 'show'"),
        (folds, "the picture of a CVResult has no option 'show'; it takes none"),
        (model.coefficients_, "a NamedValues has no option 'show'; it takes max_bars, label"),
        (graph.result_.problem, "a L0GraphicalModel has no option 'show'; it takes truth, names"),
        (STRS(correlated(), d=2), "no picture of a strs before it is solved"),
    ):
        with pytest.raises(ParamError, match=says):
            sparseopt.plot(shown, new_axes(), show=True)


def contrast(one: str, other: str) -> float:
    """The ratio of luminances of WCAG 2."""
    values = []
    for colour in (one, other):
        c = np.array(to_rgb(colour))
        linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
        values.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(values) + 0.05) / (min(values) + 0.05)


@pytest.mark.parametrize(
    ("style", "colours"), [("default", ON_WHITE), ("dark_background", ON_BLACK)]
)
def test_colours_follow_the_style_and_can_be_read(style, colours):
    with matplotlib.style.context(style):
        ax = new_axes()
        ax.figure.set_facecolor(matplotlib.rcParams["figure.facecolor"])
        assert palette(ax) is colours
        path = sparseopt.solve(STRS(correlated(), d=2), size=range(1, 4)).path
        assert path.plot(ax).lines[0].get_color() == colours.main
        behind = matplotlib.rcParams["axes.facecolor"]
    # 3 is what WCAG asks of graphical objects and of large text.
    assert min(contrast(one, behind) for one in colours.series) >= 3.0

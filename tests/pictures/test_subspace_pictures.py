"""Pictures of subspaces: which points are marked, and what the axes hold."""

import numpy as np
import pytest

import sparseopt
from sparseopt import ParamError, generators
from sparseopt.problems import RobustSubspace

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib.figure import Figure  # noqa: E402


def drawn(result, **style):
    return sparseopt.plot(result, ax=Figure().add_subplot(), **style)


def count(ax):
    return {line.get_label(): len(line.get_xdata()) for line in ax.get_lines()}


@pytest.fixture(scope="module")
def outliers():
    problem = generators.generate("outlier-columns", N=50, n=6, k=2, delta=0.2)
    return sparseopt.solve(problem)


def test_outliers_are_marked_in_the_projection_and_in_the_distances(outliers):
    ax = drawn(outliers)
    assert count(ax) == {"close to it": 40, "far from it": 10}
    far = ax.get_lines()[1].get_xydata()
    Z = outliers.problem.X[40:] @ outliers.x
    np.testing.assert_allclose(np.sort(np.hypot(*far.T)), np.sort(np.hypot(*Z.T)))
    ax = drawn(outliers, show="outliers")
    assert ax.get_yscale() == "log" and count(ax)["10 far off"] == 10
    highest = ax.get_lines()[0].get_ydata()
    assert highest[0] == pytest.approx(outliers.problem.distances(outliers.x).max())
    assert count(drawn(outliers, show="outliers", beyond=highest[4]))["4 far off"] == 4


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("bent-curve", {"N": 30}),
        ("skewed-directions", {"N": 30, "n": 4}),
        ("index-model", {"N": 30}),
        ("index-model", {"N": 30, "model": "classes"}),
        ("corrupted-entries", {"N": 30, "n": 5}),
    ],
)
@pytest.mark.parametrize("show", ["projection", "outliers"])
def test_every_problem_of_the_family_has_both(name, settings, show, tmp_path):
    result = sparseopt.solve(generators.generate(name, **settings))
    ax = drawn(result, show=show)
    points = sum(len(each.get_offsets()) for each in ax.collections) or sum(
        n for label, n in count(ax).items() if not label.startswith("_child1")
    )
    assert points >= 30
    assert ax.get_xlabel() and ax.get_ylabel()
    sparseopt.plot(result, file=tmp_path / "x.png", show=show)
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_points_of_an_affine_subspace_are_centred():
    X = np.random.default_rng(0).normal(size=(20, 3)) + 100.0
    ax = drawn(sparseopt.solve(RobustSubspace(X, k=1, centre="estimate")))
    assert ax.get_ylabel() == "distance from the subspace"
    assert max(np.abs(line.get_xydata()).max() for line in ax.get_lines()) < 20.0
    # All points alike have no distances at all.
    drawn(sparseopt.solve(RobustSubspace(np.ones((6, 3)), k=1)), show="outliers")


def test_angles_to_another_subspace(outliers):
    turned = np.linalg.qr(outliers.x)[0]
    across = np.linalg.svd(outliers.x.T)[2][-1]
    turned[:, 0] = np.cos(0.5) * turned[:, 0] + np.sin(0.5) * across
    for to in (turned, outliers.with_changes(x=turned)):
        heights = [bar.get_height() for bar in drawn(outliers, show="angles", to=to).patches]
        np.testing.assert_allclose(heights, [0.0, np.degrees(0.5)], atol=1e-6)


@pytest.mark.parametrize(
    ("style", "words"),
    [
        ({"show": "scree"}, "projection, outliers, angles"),
        ({"show": "angles"}, "to is missing"),
        ({"show": "angles", "to": np.ones((4, 1))}, "6 rows"),
    ],
)
def test_what_cannot_be_drawn_is_said(outliers, style, words):
    with pytest.raises(ParamError, match=words):
        drawn(outliers, **style)

"""What a picture of a path shows, measured on the artists that draw it."""

import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from thorough import first

import sparseopt
from sparseopt.errors import BackendUnavailable, ParamError
from sparseopt.paths.parametric import GridPath, ParametricPath, SparseRows

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib.collections import LineCollection, PathCollection  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.text import Text  # noqa: E402

from sparseopt.pictures import check_picture, save_picture  # noqa: E402
from sparseopt.pictures.paths import plot_path  # noqa: E402

ROOT = Path(sparseopt.__file__).parents[1]


def make_path(low, high, at_low, at_high, names=None) -> ParametricPath:
    """A path from its segments' ends and the coefficients there, shape (S, p)."""
    low, high = np.array(low, float), np.array(high, float)
    at_low, at_high = np.array(at_low, float), np.array(at_high, float)
    rows = []
    for s in range(len(low)):
        index = np.flatnonzero((at_low[s] != 0.0) | (at_high[s] != 0.0))
        width = high[s] - low[s]
        moving = np.isfinite(width) and width > 0.0
        rate = (at_high[s] - at_low[s]) / width if moving else 0.0 * at_low[s]
        rows.append((index, at_low[s][index], rate[index]))
    none = (np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    p = at_low.shape[1]
    return ParametricPath(
        low=low,
        high=high,
        theta=SparseRows.stack(rows),
        nu=SparseRows.stack([none] * len(low)),
        objective=np.zeros((len(low), 3)),
        shape=(0, p),
        names=names or [f"x{j}" for j in range(p)],
        stopped_by="lam_min",
    )


def random_path(seed: int, p: int = 6, segments: int = 12, jumps: bool = False) -> ParametricPath:
    """Coefficients that enter one after the other; with `jumps` they step at the knots."""
    rng = np.random.default_rng(seed)
    knots = np.sort(rng.uniform(1.0, 100.0, segments))[::-1]
    at_low = np.zeros((segments, p))
    for s in range(1, segments):
        active = np.arange(p) < s // 2 + 1
        at_low[s] = np.where(active, at_low[s - 1] + rng.exponential(size=p), 0.0)
    signs = np.where(np.arange(p) % 2, -1.0, 1.0)
    at_low *= signs
    at_high = at_low.copy() if jumps else np.vstack([at_low[:1], at_low[:-1]])
    return make_path(knots, [np.inf, *knots[:-1]], at_low, at_high)


def new_axes(figsize=(6.4, 4.8)):
    return Figure(figsize=figsize).add_subplot()


def curves(ax) -> list[np.ndarray]:
    """The polylines, the one with the largest last value first."""
    (lines,) = (c for c in ax.collections if isinstance(c, LineCollection))
    found = [np.asarray(segment) for segment in lines.get_segments()]
    return sorted(found, key=lambda line: -line[-1, 1])


def test_a_jump_is_a_vertical_step_with_both_values():
    path = make_path(
        low=[5.0, 2.0, 0.0],
        high=[np.inf, 5.0, 2.0],
        at_low=[[0.0, 0.0], [3.0, 0.0], [4.0, -1.0]],
        at_high=[[0.0, 0.0], [3.0, 0.0], [4.0, -1.0]],
    )
    first, second = curves(plot_path(path, new_axes()))
    assert first.tolist() == [[5, 0], [5, 3], [2, 3], [2, 4], [0, 4]]
    assert second.tolist() == [[2, 0], [2, -1], [0, -1]]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize("x", ["lam", "log"])
def test_every_point_drawn_is_a_solution(x, jumps):
    path = random_path(1, jumps=jumps)
    lines = curves(plot_path(path, new_axes(), x=x))
    assert len(lines) == 6
    top = path.knots[0]
    owners = np.argsort(-path.at(path.knots[-1]))
    for line, owner in zip(lines, owners, strict=True):
        for lam, value in line:
            ends = path.at(min(lam, top), "both")
            assert min(abs(value - end[owner]) for end in ends) < 1e-12
        assert set(path.knots[path.knots <= line[0, 0]]) <= set(line[:, 0])


def test_log_pieces_are_curved_between_distant_knots():
    path = make_path([100.0, 1.0], [np.inf, 100.0], [[0.0], [99.0]], [[0.0], [0.0]])
    (line,) = curves(plot_path(path, new_axes(), x="log"))
    assert np.allclose(line[:, 1], 100.0 - line[:, 0], atol=1e-12)
    assert np.abs(np.diff(np.log(line[:, 0]))).max() < 0.04


def test_the_l1_norm_grows_to_the_right_and_leaves_the_intercept_out():
    path = make_path(
        low=[4.0, 0.0],
        high=[np.inf, 4.0],
        at_low=[[0.0, 0.0, 9.0], [2.0, -3.0, 9.0]],
        at_high=[[0.0, 0.0, 9.0], [0.0, 0.0, 9.0]],
        names=["a", "b", "intercept"],
    )
    ax = plot_path(path, new_axes(), x="l1norm")
    assert [line.tolist() for line in curves(ax)] == [
        [[0, 0], [0, 0], [5, 2]],
        [[0, 0], [0, 0], [5, -3]],
    ]
    assert ax.get_xlim() == (0.0, 5.0)
    assert {text.get_text() for text in ax.texts} == {"a", "b"}
    shown = plot_path(path, new_axes(), exclude=())
    assert {text.get_text() for text in shown.texts} == {"a", "b", "intercept"}


def test_lam_decreases_to_the_right_and_starts_above_lam_max():
    path = random_path(2)
    for x in ("lam", "log"):
        left, right = plot_path(path, new_axes(), x=x).get_xlim()
        assert left > path.knots[0]
        assert right == path.knots[-1]


def test_a_constant_piece_above_lam_max_is_drawn_beyond_it():
    path = make_path([4.0, 0.0], [np.inf, 4.0], [[1.0], [2.0]], [[1.0], [1.0]])
    (line,) = curves(plot_path(path, new_axes()))
    assert line[0, 0] > 4.0
    assert line[0, 1] == 1.0


def test_log_axis_of_a_path_that_reaches_zero_stops_short_of_it():
    path = make_path([8.0, 2.0, 0.0], [np.inf, 8.0, 2.0], [[0.0], [3.0], [5.0]], [[0.0], [0], [3]])
    ax = plot_path(path, new_axes(), x="log")
    assert ax.get_xlim()[1] == 1.0
    (line,) = curves(ax)
    assert line[-1].tolist() == [1.0, 4.0]


@pytest.mark.thorough
def test_a_path_that_is_one_point():
    for x in ("lam", "log", "l1norm"):
        ax = plot_path(make_path([3.0], [3.0], [[1.0, 0.0]], [[1.0, 0.0]]), new_axes(), x=x)
        ax.figure.draw_without_rendering()
        assert [text.get_text() for text in ax.texts] == ["x0"]
    ended = make_path([2.0, 0.0, 0.0], [np.inf, 2.0, 0.0], [[0], [1], [3]], [[0], [0], [3]])
    (line,) = curves(plot_path(ended, new_axes(), x="log"))
    assert line[-1].tolist() == [1.0, 0.5]
    with pytest.raises(ParamError, match="lam = 0 has no place"):
        plot_path(make_path([0.0], [0.0], [[1.0]], [[1.0]]), new_axes(), x="log")


def test_coefficients_that_stay_zero_are_not_drawn():
    p = 5000
    at_low = np.zeros((3, p))
    at_low[1, 7] = 1.0
    at_low[2, [7, 4000]] = [2.0, -1.0]
    at_high = np.vstack([at_low[:1], at_low[:-1]])
    path = make_path([9.0, 5.0, 1.0], [np.inf, 9.0, 5.0], at_low, at_high)
    ax = plot_path(path, new_axes())
    assert len(curves(ax)) == 2
    assert len(ax.lines) == 1


@pytest.mark.thorough
def test_a_path_of_zeros_can_be_drawn():
    path = make_path([0.0], [np.inf], [[0.0, 0.0]], [[0.0, 0.0]])
    for x in ("lam", "log", "l1norm"):
        ax = plot_path(path, new_axes(), x=x)
        ax.figure.draw_without_rendering()
        assert curves(ax) == []
        assert len(ax.texts) == 0


def test_the_largest_final_coefficients_are_named_and_the_others_grey():
    final = np.array([0.1, -5.0, 2.0, 0.0, 3.0])
    path = make_path([4.0, 0.0], [np.inf, 4.0], [0 * final, final], [0 * final, 0 * final])
    ax = plot_path(path, new_axes(), max_labels=2)
    assert [text.get_text() for text in ax.texts] == ["x1", "x4"]
    (lines,) = (c for c in ax.collections if isinstance(c, LineCollection))
    greys = [to_hex(colour) == "#bbbbbb" for colour in lines.get_colors()]
    ends = [line[-1, 1] for line in lines.get_segments()]
    assert dict(zip(ends, greys, strict=True)) == {0.1: True, 2.0: True, 3.0: False, -5.0: False}
    assert len(plot_path(path, new_axes(), max_labels=0).texts) == 0


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", first(2, range(5)))
@pytest.mark.parametrize("height", [1.2, 2.5, 4.8])
def test_labels_do_not_overlap(seed, height):
    rng = np.random.default_rng(seed)
    final = 1.0 + 1e-3 * rng.normal(size=12)
    final[-2:] = [-1.0, 0.999]
    path = make_path([4.0, 0.0], [np.inf, 4.0], [0 * final, final], [0 * final, 0 * final])
    ax = plot_path(path, new_axes((6.4, height)), max_labels=12)
    ax.figure.draw_without_rendering()
    # An annotation's own extent would hold its arrow too.
    boxes = sorted((Text.get_window_extent(text) for text in ax.texts), key=lambda box: box.y0)
    assert boxes
    for below, above in itertools.pairwise(boxes):
        assert above.y0 >= below.y1
    order = sorted(ax.texts, key=lambda text: text.xyann[1])
    values = [text.xy[1] for text in order]
    assert values == sorted(values)


@pytest.mark.parametrize("x", ["lam", "log"])
def test_the_top_axis_counts_the_nonzeros(x):
    path = random_path(3)
    ax = plot_path(path, new_axes(), x=x)
    (top,) = ax.child_axes
    ax.figure.draw_without_rendering()
    counted = 0
    for place, label in zip(top.get_xticks(), top.get_xticklabels(), strict=True):
        if path.low[-1] <= place <= path.knots[0]:
            counted += 1
            assert label.get_text() == str(np.count_nonzero(path.at(float(place))))
        elif place < path.low[-1]:
            assert label.get_text() == ""
    assert counted >= 2


def make_grid(knots, theta) -> GridPath:
    theta = np.asarray(theta, float)
    return GridPath(
        knots=np.asarray(knots, float),
        theta=theta,
        nu=np.zeros((len(theta), 1)),
        values=np.zeros(len(theta)),
        bounds=np.zeros(len(theta)),
        names=[f"x{j}" for j in range(theta.shape[1])],
        stopped_by="grid",
    )


def test_a_grid_is_drawn_as_markers():
    grid = make_grid([4.0, 2.0, 1.0], [[0, 0, 0], [1, 0, 0], [2, 0, -3]])
    ax = plot_path(grid, new_axes())
    (markers,) = (c for c in ax.collections if isinstance(c, PathCollection))
    assert sorted(map(tuple, markers.get_offsets().tolist())) == [
        (1.0, -3.0),
        (1.0, 2.0),
        (2.0, 0.0),
        (2.0, 1.0),
        (4.0, 0.0),
        (4.0, 0.0),
    ]
    left, right = ax.get_xlim()
    assert left > 4.0 > 1.0 > right
    ax.figure.draw_without_rendering()
    (top,) = ax.child_axes
    labels = dict(zip(top.get_xticks(), (t.get_text() for t in top.get_xticklabels()), strict=True))
    assert labels == {1.0: "2", 2.0: "1", 4.0: "0"}


def test_a_grid_of_one_value_and_a_grid_with_zero():
    for x in ("lam", "log", "l1norm"):
        ax = plot_path(make_grid([2.0], [[1.0, -1.0]]), new_axes(), x=x)
        ax.figure.draw_without_rendering()
        assert len(ax.texts) == 2
    ax = plot_path(make_grid([2.0, 0.0], [[1.0], [5.0]]), new_axes(), x="log")
    assert [text.xy[1] for text in ax.texts] == [1.0]
    with pytest.raises(ParamError, match="lam = 0 has no place"):
        plot_path(make_grid([0.0], [[5.0]]), new_axes(), x="log")


def test_auto_keeps_the_end_of_a_path_in_sight():
    def label(path):
        ax = plot_path(path, new_axes(), x="auto")
        return ax.get_xlabel(), ax.get_xscale()

    zero = [[0.0], [0.0], [0.0]]
    early = make_path([9.0, 0.1, 0.0], [np.inf, 9.0, 0.1], [[0], [9], [10]], [[0], [0], [9]])
    late = make_path([9.0, 0.1, 0.0], [np.inf, 9.0, 0.1], [[0], [1], [10]], [[0], [0], [1]])
    shrinking = make_path([9.0, 0.1, 0.0], [np.inf, 9.0, 0.1], [[2], [1], [10]], [[2], [2], [1]])
    assert label(early) == (r"$\lambda$", "linear")
    assert label(late) == ("l1 norm of the coefficients", "linear")
    assert label(shrinking) == (r"$\lambda$", "linear")
    assert label(make_path([9.0, 0.1, 0.0], [np.inf, 9.0, 0.1], zero, zero))[0] == r"$\lambda$"
    assert label(make_grid([100.0, 10.0, 1.0], zero))[1] == "log"
    assert label(make_grid([100.0, 10.0, 0.0], zero))[1] == "linear"
    assert label(make_grid([3.0, 2.0, 1.0], zero))[1] == "linear"


def test_path_plot_makes_axes_of_its_own_and_shows_nothing(monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("the picture was shown"))
    ax = random_path(4).plot(x="l1norm")
    assert ax.get_xlabel() == "l1 norm of the coefficients"


@pytest.mark.parametrize(
    ("change", "word"),
    [({"x": "alpha"}, "x is 'alpha'"), ({"max_labels": -1}, "max_labels")],
)
def test_arguments_that_make_no_sense(change, word):
    with pytest.raises(ParamError, match=word):
        plot_path(random_path(0), new_axes(), **change)


def test_something_else_than_a_path():
    with pytest.raises(ParamError, match="got list"):
        plot_path([1.0], new_axes())


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "matplotlib" else real(name)
    )
    for call in (lambda: plot_path(random_path(0)), lambda: check_picture("x.png")):
        with pytest.raises(BackendUnavailable, match=r"pip install 'sparseopt\[plot\]'"):
            call()


def test_a_picture_file(tmp_path):
    path = random_path(5)
    save_picture(path, tmp_path / "path.png", title="costs 5$ or 6$", x="log")
    assert (tmp_path / "path.png").read_bytes().startswith(b"\x89PNG")
    save_picture(path, tmp_path / "path.SVG")
    assert b"<svg" in (tmp_path / "path.SVG").read_bytes()
    for name in ("path", "path.foo", "path.json"):
        with pytest.raises(ParamError, match=r"\.png"):
            save_picture(path, tmp_path / name)
        assert not (tmp_path / name).exists()


@pytest.mark.thorough
def test_a_picture_file_needs_no_display_and_no_pyplot(tmp_path):
    code = (
        "import os, sys; os.environ.pop('DISPLAY', None)\n"
        "import numpy as np\n"
        "from sparseopt.paths.parametric import GridPath\n"
        "from sparseopt.pictures import save_picture\n"
        "z = np.zeros(2)\n"
        "path = GridPath(np.array([2.0, 1.0]), np.eye(2), np.eye(2), z, z, ['a', 'b'], 'grid')\n"
        f"save_picture(path, {str(tmp_path / 'x.png')!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.png").stat().st_size > 1000

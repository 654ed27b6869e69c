"""The marginal of a release, of synthetic rows and of real ones."""

import numpy as np
import pytest

from sparseopt import ParamError, private

pytest.importorskip("matplotlib")
from sparseopt.pictures import plot_marginal


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    N = 4000
    label = (rng.random(N) < 0.3).astype(int)
    table = {
        "x": np.where(label, rng.normal(2.0, 0.4, N), rng.normal(-1.0, 0.4, N)),
        "c": rng.choice(["u", "v"], N, p=[0.8, 0.2]),
    }
    columns = (private.Number("x", -4.0, 4.0, 0.8), private.Category("c", ("u", "v")))
    features = private.FeatureMap(columns, label=private.Category("y", (0, 1)))
    with private.insecure(1):
        released = private.release(table, features=features, epsilon=1.0, delta=1e-6, y=label)
    return table, released, private.synthesise(released, 256)


def test_the_band_has_the_truth_and_peaks_where_the_data_are(made):
    from matplotlib.figure import Figure

    table, released, found = made
    ax = Figure().add_subplot()
    assert plot_marginal(released, found, "x", real=table, ax=ax) is ax
    synthetic, real = (line.get_ydata() for line in ax.lines)
    x = ax.lines[0].get_xdata()
    edges = ax.collections[0].get_paths()[0].vertices
    low, high = (np.array([f(edges[edges[:, 0] == each, 1]) for each in x]) for f in (min, max))
    assert ((low <= real) & (real <= high)).mean() > 0.8
    assert abs(x[np.argmax(real)] + 1.0) < 0.4 and abs(x[np.argmax(synthetic)] + 1.0) < 0.4
    assert "NOT PRIVATE" in ax.get_legend().get_texts()[-1].get_text()


def test_levels_have_bars_and_nothing_real_is_drawn_unasked(made):
    from matplotlib.figure import Figure

    _, released, found = made
    ax = plot_marginal(released, found, "c", ax=Figure().add_subplot())
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert not any("real" in word for word in words)
    points = next(line for line in ax.lines if line.get_marker() == "o").get_ydata()
    assert points[0] > points[1]
    with pytest.raises(ParamError, match="there are: x, c"):
        plot_marginal(released, found, "z")

"""The pixels by which two handwritten digits differ (figure 5)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt.bench.definitions.study import Row, Settings, Study
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.pictures.style import ON_WHITE
from sparseopt.problems.base import Array
from sparseopt.two_sample import two_sample_test

_PAIRS = ((0, 6), (8, 9), (3, 8), (7, 9))
_COLOURS = ON_WHITE.main, ON_WHITE.series[6]
"""Of the first digit and of the second."""


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Select 8 of 64 pixels by 20 + 20 images, test them on 5 + 5, and draw what was found."""
    from sklearn.datasets import load_digits

    pixels, label = load_digits(return_X_y=True)
    tests = {}
    for first, second in _PAIRS:
        x, y = pixels[label == first][:25], pixels[label == second][:25]
        test = two_sample_test(x, y, "strs", d=8, split=0.8, names=[f"p{k}" for k in range(64)])
        tests[first, second] = test
        assert test.result is not None
        yield {
            "digits": f"{first} and {second}",
            "p-value": test.p_value,
            "verdict": str(test.result.verdict),
            "pixels": " ".join(str(divmod(int(s), 8)) for s in test.selected),
        }
    if unit["picture"]:
        _draw(tests, pixels, label, folder / "two-sample-digits.png")


def _draw(tests: dict[tuple[int, int], Any], pixels: Array, label: Array, file: Path) -> None:
    """Draw two images with the selected pixels, the permutations, and the witness function."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from sklearn.manifold import TSNE

    # The second digit, neither, the first: the colours of both wherever they appear.
    ends = LinearSegmentedColormap.from_list("ends", [_COLOURS[1], "#EEEEEE", _COLOURS[0]])
    figure = Figure(figsize=(15, 11), dpi=80, layout="constrained")
    axes = figure.subplots(len(tests), 5)
    for row, ((first, second), test) in zip(axes, tests.items(), strict=True):
        for ax, digit in zip(row[:2], (first, second), strict=True):
            ax.imshow(pixels[label == digit][0].reshape(8, 8), cmap="gray_r")
            rows, columns = np.divmod(test.selected, 8)
            frame = {"markerfacecolor": "none", "markeredgewidth": 2.0, "color": ON_WHITE.accent}
            ax.plot(columns, rows, "s", markersize=14, **frame)
            ax.set_title(f"digit {digit}")
        above: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        test.plot(row[2]).legend(fontsize=8, ncols=2, frameon=False, **above)
        here = (label == first) | (label == second)
        images, digit = pixels[here], label[here]
        place = TSNE(random_state=0, init="pca").fit_transform(images * test.z)
        for which, colour in zip((first, second), _COLOURS, strict=True):
            row[3].plot(*place[digit == which].T, ".", color=colour, label=f"{which}")
        row[3].legend(fontsize=8)
        row[3].set_title("selected pixels in 2-D")
        value = test.witness(images)
        largest = np.abs(value).max()
        dots = row[4].scatter(*place.T, c=value, cmap=ends, s=10, vmin=-largest, vmax=largest)
        figure.colorbar(dots, ax=row[4])
        row[4].set_title(f"witness: > 0 as {first}, < 0 as {second}")
        for ax in (*row[:2], *row[3:]):
            ax.set_xticks([])
            ax.set_yticks([])
    figure.savefig(file)


STUDY = Study(
    title="The pixels by which digits differ",
    description="20 + 20 images select d = 8 of 64 pixels, 5 + 5 test them.",
    settings={"picture": True},
    units=lambda settings: [settings],
    do=_do,
    tables=(
        TableSpec(
            title="Selected pixels (row, column), the largest weight first",
            rows=("digits",),
            columns=("value",),
            values=("p-value", "verdict", "pixels"),
            statistic="mean",
        ),
    ),
)

"""The pictures of benchmarks/two_sample.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot

__all__ = ["draw_digits", "draw_objectives", "draw_power", "draw_recovery"]

COLOURS = ("#332288", "#CC6677", "#117733", "#AA4499", "#44AA99", "#882255", "#999933")
"""Paul Tol's "muted" scheme, as in sparseopt.plot."""
GREY = "#999999"


def draw_power(found: Mapping[str, Any], cases: Mapping[str, str], path: Path) -> None:
    """Draw power against n: selected in colour, all variables dashed."""
    figure, axes = pyplot.subplots(
        1, len(cases), figsize=(13, 3.4), sharey=True, layout="constrained"
    )
    for ax, (case, number) in zip(axes, cases.items(), strict=True):
        rows = {
            int(key.rsplit(" ", 1)[1]): row for key, row in found.items() if key.startswith(case)
        }
        colours: dict[str, str] = {}
        for name in next(iter(rows.values())):
            full = name.startswith("full")
            colour = colours.setdefault(
                name.removeprefix("full ").replace("linear", "strs"), COLOURS[len(colours) % 7]
            )
            ax.plot(
                list(rows),
                [row[name] for row in rows.values()],
                color=colour,
                linestyle="--" if full else "-",
                marker="o" if not full else "s",
                label=name,
            )
        ax.set_title(f"case ({number}) {case}")
        ax.set_xlabel("n, to select and to test")
        ax.set_xticks(list(rows))
        ax.set_ylim(-0.03, 1.03)
    axes[0].set_ylabel("power")
    axes[-1].legend(fontsize=7, loc="lower right")
    save(figure, path)


def draw_recovery(
    found: Mapping[str, Any],
    cases: Mapping[str, str],
    selections: Sequence[str],
    true: int,
    path: Path,
) -> None:
    """Draw FDP, NDP and their mean against d."""
    figure, axes = pyplot.subplots(
        len(cases), 3, figsize=(10, 11), sharex=True, sharey=True, layout="constrained"
    )
    for row, (case, number) in zip(axes, cases.items(), strict=True):
        for selection, colour in zip(selections, COLOURS, strict=False):
            d, fdp, ndp = np.array(found[f"{case} {selection}"]).T
            for ax, value in zip(row, (fdp, ndp, (fdp + ndp) / 2.0), strict=True):
                ax.plot(d, value, color=colour, marker=".", label=selection)
        ideal = 1.0 - d / true
        for ax, value in zip(row, (0.0 * d, ideal, ideal / 2.0), strict=True):
            ax.plot(d, value, color=GREY, linestyle="--", label="ideal")
        row[0].set_ylabel(f"case ({number}) {case}")
    for ax, name in zip(axes[0], ("FDP", "NDP", "mean of both"), strict=True):
        ax.set_title(name)
    for ax in axes[-1]:
        ax.set_xlabel("d")
    axes[0, -1].legend(fontsize=8)
    save(figure, path)


def draw_objectives(found: Mapping[str, Any], cases: Mapping[str, str], path: Path) -> None:
    """Draw boxes of the loss against the proven optimum, in percent, on a logarithmic axis."""
    figure, axes = pyplot.subplots(
        len(cases), 1, figsize=(9, 10), sharex=True, sharey=True, layout="constrained"
    )
    for ax, (case, number) in zip(axes, cases.items(), strict=True):
        rows = {key.split(" ", 1)[1]: row for key, row in found.items() if key.startswith(case)}
        methods = list(next(iter(rows.values())))
        width = 0.8 / len(methods)
        for k, (method, colour) in enumerate(zip(methods, COLOURS, strict=False)):
            boxes = ax.boxplot(
                [np.maximum(100.0 * np.array(row[method]), 1e-8) for row in rows.values()],
                positions=np.arange(len(rows)) + (k - (len(methods) - 1) / 2.0) * width,
                widths=0.9 * width,
                patch_artist=True,
                flierprops={"markersize": 3},
                medianprops={"color": "black"},
            )
            for box in boxes["boxes"]:
                box.set_facecolor(colour)
            boxes["boxes"][0].set_label(method)
        sizes = [key.split() for key in rows]
        ax.set_xticks(np.arange(len(rows)), [f"D = {D}\nd = {d}" for D, d in sizes])
        ax.set_yscale("log")
        ax.set_ylabel(f"({number}) {case}\n% below the optimum")
        ax.grid(axis="y", color="#DDDDDD")
    axes[0].legend(fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.supxlabel("losses below 1e-8 % are drawn there", fontsize=8)
    save(figure, path)


def draw_digits(
    tests: Mapping[tuple[int, int], Any],
    pixels: np.ndarray,
    label: np.ndarray,
    path: Path,
    quick: bool,
) -> None:
    """Draw two images with the selected pixels, the permutations, and the witness function."""
    from sklearn.manifold import TSNE

    figure, axes = pyplot.subplots(len(tests), 5, figsize=(15, 11), layout="constrained")
    for row, ((first, second), test) in zip(axes, tests.items(), strict=True):
        for ax, digit in zip(row[:2], (first, second), strict=True):
            ax.imshow(pixels[label == digit][0].reshape(8, 8), cmap="gray_r")
            rows, columns = np.divmod(test.selected, 8)
            ax.plot(columns, rows, "s", markersize=13, markerfacecolor="none", color="red")
            ax.set_xticks([])
            ax.set_yticks([])
            ax.set_title(f"digit {digit}")
        test.plot(row[2])
        row[2].legend(fontsize=7, framealpha=0.85)
        here = (label == first) | (label == second)
        images, digit = pixels[here], label[here]
        weighted = images * test.z
        if quick:
            # The first two principal components: t-SNE takes seconds.
            centred = weighted - weighted.mean(axis=0)
            place = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
        else:
            place = TSNE(random_state=0, init="pca").fit_transform(weighted)
        for which, colour in ((first, COLOURS[0]), (second, COLOURS[1])):
            row[3].plot(*place[digit == which].T, ".", color=colour, label=f"{which}")
        row[3].legend(fontsize=8)
        row[3].set_title("selected pixels in 2-D")
        value = test.witness(images)
        largest = np.abs(value).max()
        dots = row[4].scatter(
            *place.T, c=value, cmap="coolwarm_r", s=10, vmin=-largest, vmax=largest
        )
        figure.colorbar(dots, ax=row[4])
        row[4].set_title(f"witness: > 0 as {first}, < 0 as {second}")
        for ax in row[3:]:
            ax.set_xticks([])
            ax.set_yticks([])
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write the picture and say where."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
    print(f"\nwrote {path}", flush=True)

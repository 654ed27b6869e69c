"""The pictures of benchmarks/two_sample.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot

__all__ = ["draw_digits", "draw_dimension", "draw_objectives", "draw_power", "draw_recovery"]

COLOURS = ("#332288", "#CC6677", "#117733", "#AA4499", "#44AA99", "#882255", "#999933")
"""Paul Tol's "muted" scheme, as in sparseopt.pictures.paths."""
GREY = "#999999"


def draw_power(found: Mapping[str, Any], cases: Mapping[str, str], path: Path) -> None:
    """Draw power as bars with standard errors, a panel for each n; all variables hatched."""
    sizes = sorted({int(key.rsplit(" ", 1)[1]) for key in found})
    figure, axes = pyplot.subplots(
        len(sizes), 1, figsize=(10, 0.8 + 2.6 * len(sizes)), squeeze=False, layout="constrained"
    )
    methods = list(next(iter(found.values())))
    width = 0.85 / len(methods)
    for ax, n in zip(axes[:, 0], sizes, strict=True):
        for k, name in enumerate(methods):
            rejected = [found[f"{case} {n}"][name] for case in cases]
            heights = np.array([np.mean(each) for each in rejected])
            errors = [np.std(each) / np.sqrt(len(each)) for each in rejected]
            full = name.startswith("full")
            colour = _colour(name, methods)
            ax.bar(
                np.arange(len(cases)) + (k - (len(methods) - 1) / 2.0) * width,
                np.maximum(heights, 0.006),
                0.9 * width,
                yerr=errors,
                error_kw={"linewidth": 0.8},
                label=name,
                facecolor="white" if full else colour,
                edgecolor=colour,
                hatch=("////" if "2n" not in name else "....") if full else None,
            )
        ax.set_xticks(range(len(cases)), [f"({number}) {case}" for case, number in cases.items()])
        ax.set_ylabel(f"power, n = {n}")
        ax.set_ylim(0.0, 1.06)
        ax.grid(axis="y", color="#DDDDDD")
        ax.set_axisbelow(True)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), fontsize=8, ncols=5, loc="outside upper center"
    )
    save(figure, path)


def draw_dimension(found: Mapping[str, Any], cases: Mapping[str, str], path: Path) -> None:
    """Draw power against D with standard errors, a panel for each case; all variables dashed."""
    figure, axes = pyplot.subplots(
        2, 2, figsize=(9, 6.5), sharex=True, sharey=True, layout="constrained"
    )
    for ax, (case, number) in zip(axes.flat, cases.items(), strict=False):
        ds = sorted(int(key.rsplit(" ", 1)[1]) for key in found if key.startswith(f"{case} "))
        methods = list(found[f"{case} {ds[0]}"])
        apart = 0.006 * (ds[-1] - ds[0])
        for k, name in enumerate(methods):
            rejected = [found[f"{case} {D}"][name] for D in ds]
            ax.errorbar(
                # Lines that coincide are all seen.
                np.array(ds) + apart * (k - (len(methods) - 1) / 2.0),
                [np.mean(each) for each in rejected],
                [np.std(each) / np.sqrt(len(each)) for each in rejected],
                color=_colour(name, methods),
                linestyle="--" if name.startswith("full") else "-",
                marker="o" if name.startswith("full") else "s",
                markersize=4,
                markerfacecolor="white" if name.startswith("full") else None,
                capsize=2,
                label=name,
            )
        ax.set_title(f"({number}) {case}", fontsize=10)
        ax.set_ylim(-0.03, 1.05)
        ax.grid(color="#DDDDDD")
    for ax in axes[-1]:
        ax.set_xlabel("D")
    for ax in axes[:, 0]:
        ax.set_ylabel("power")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), fontsize=8, ncols=6, loc="outside upper center"
    )
    save(figure, path)


def _colour(name: str, methods: Sequence[str]) -> str:
    """Return one colour for a kernel, with its variables selected and with all of them."""
    selected = [each for each in methods if not each.startswith("full")]
    plain = name.removeprefix("full ").removesuffix(" 2n")
    kernel = "strs" if plain == "linear" else plain
    return COLOURS[selected.index(kernel) % len(COLOURS)]


def draw_recovery(
    found: Mapping[str, Any],
    cases: Mapping[str, str],
    selections: Sequence[str],
    true: int,
    path: Path,
) -> None:
    """Draw FDP, NDP and their mean against d."""
    figure, axes = pyplot.subplots(
        len(cases), 3, figsize=(9, 9.5), sharex=True, sharey=True, layout="constrained"
    )
    for row, (case, number) in zip(axes, cases.items(), strict=True):
        for k, selection in enumerate(selections):
            d, fdp, ndp = np.array(found[f"{case} {selection}"]).T
            for ax, value in zip(row, (fdp, ndp, (fdp + ndp) / 2.0), strict=True):
                # The later the thinner: lines that coincide are all seen.
                width = 1.2 + 1.2 * (len(selections) - 1 - k)
                colour = COLOURS[k % len(COLOURS)]
                ax.plot(d, value, color=colour, linewidth=width, marker="os^Dv"[k], label=selection)
        ideal = 1.0 - d / true
        for ax, value in zip(row, (0.0 * d, ideal, ideal / 2.0), strict=True):
            ax.plot(d, value, color=GREY, linestyle="--", label="ideal")
        row[0].set_ylabel(f"case ({number}) {case}")
    for ax, name in zip(axes[0], ("FDP", "NDP", "mean of both"), strict=True):
        ax.set_title(name)
    for ax in axes[-1]:
        ax.set_xlabel("d")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), fontsize=8, ncols=6, loc="outside upper center"
    )
    save(figure, path)


def draw_objectives(found: Mapping[str, Any], cases: Mapping[str, str], path: Path) -> None:
    """Draw the loss of each seed against the proven optimum, in percent, on a logarithmic axis."""
    figure, axes = pyplot.subplots(
        len(cases), 1, figsize=(9, 9), sharex=True, sharey=True, layout="constrained"
    )
    for ax, (case, number) in zip(axes, cases.items(), strict=True):
        rows = {key.split(" ", 1)[1]: row for key, row in found.items() if key.startswith(case)}
        methods = list(next(iter(rows.values())))
        for k, method in enumerate(methods):
            for at, row in enumerate(rows.values()):
                losses = np.maximum(100.0 * np.array(row[method]), 1e-8)
                place = at + (k - (len(methods) - 1) / 2.0) * 0.8 / len(methods)
                ax.plot(
                    place + np.linspace(-0.06, 0.06, len(losses)),
                    np.sort(losses),
                    "os^D"[k % 4],
                    color=COLOURS[k % len(COLOURS)],
                    markersize=5,
                    label=method if at == 0 else None,
                )
        sizes = [key.split() for key in rows]
        ax.set_xticks(np.arange(len(rows)), [f"D = {D}\nd = {d}" for D, d in sizes])
        ax.set_yscale("log")
        ax.set_ylabel(f"({number}) {case}\n% below the optimum")
        ax.grid(axis="y", color="#DDDDDD")
    figure.legend(
        *axes[0].get_legend_handles_labels(), fontsize=8, ncols=4, loc="outside upper center"
    )
    figure.supxlabel("a dot for each seed; losses below 1e-8 % are drawn there", fontsize=8)
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
    """Write the picture, with at most 128 colours to keep it small, and say where."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = BytesIO()
    figure.savefig(drawn, dpi=80)
    pyplot.close(figure)
    Image.open(drawn).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    print(f"\nwrote {path}", flush=True)

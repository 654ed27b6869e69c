r"""Measure how time and memory of the homotopy engine grow with n, d and the number of knots.

The problem is the Dantzig selector of section 4.3 with 20 nonzero coefficients. Each point is one
process: it solves a small problem first, so that everything is compiled and loaded, then makes the
data, and then solves `--repeats` times. The time is the median processor time of
``sparseopt.solve(..., check=False)`` on one core, which other work on the machine disturbs less
than wall time; the memory is the largest resident size of the process during the solves, less its
size with the data before them.

- n: observations, at a fixed d, the first 100 knots;
- d: variables, at a fixed n, the first 100 knots;
- knots: knots of one path, at fixed n and d.

A line in the log-log plot is a power law; its exponent is fitted by least squares to the larger
half of the points, since constant costs hide it in the smaller half.

Usage
-----
    python benchmarks/scaling.py --plot docs/images/scaling.png     # about a minute
    python benchmarks/scaling.py --sizes tiny --repeats 1
"""

# ruff: noqa: E402, the threads are set before NumPy is imported
from __future__ import annotations

import os

for _variable in (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
):
    os.environ[_variable] = "1"

import argparse
import contextlib
import json
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

NONZEROS = 20
FIXED = ("n", "d", "knots")


@dataclass(frozen=True)
class Point:
    """One problem and what it took; `against` names the size that its line varies."""

    against: str
    n: int
    d: int
    max_knots: int
    knots: int = 0
    seconds: float = 0.0
    megabytes: float = 0.0

    @property
    def x(self) -> int:
        return int(getattr(self, self.against))


SIZES = {
    "full": [
        *(Point("n", n, 2000, 100) for n in (50, 100, 200, 400, 800, 1600)),
        *(Point("d", 200, d, 100) for d in (500, 1000, 2000, 4000, 8000, 16000)),
        *(Point("knots", 400, 2000, knots) for knots in (10, 20, 40, 80, 160, 320, 640)),
    ],
    "tiny": [
        *(Point("n", n, 60, 5) for n in (20, 40)),
        *(Point("d", 20, d, 5) for d in (60, 90)),
        *(Point("knots", 20, 60, knots) for knots in (5, 10)),
    ],
}


# ---- one point, in a process of its own


def measure(point: Point, repeats: int) -> Point:
    """Return the point with its knots, seconds and megabytes filled in."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    job = context.Process(target=_job, args=(there, point, repeats))
    job.start()
    there.close()
    try:
        knots, seconds, megabytes = here.recv()
    except EOFError:
        raise SystemExit(f"the process for {point} died") from None
    finally:
        job.join()
    return replace(point, knots=knots, seconds=seconds, megabytes=megabytes)


def _job(pipe: Any, point: Point, repeats: int) -> None:
    import sparseopt
    from sparseopt import generators

    small = generators.dantzig_43(seed=1, n=20, d=60)
    sparseopt.solve(small, backend="homotopy", lam_min=1.0, check=False)
    problem = generators.dantzig_43(
        seed=1, n=point.n, d=point.d, density=min(NONZEROS / point.d, 1.0)
    )
    before = _start_peak()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        result = sparseopt.solve(
            problem, backend="homotopy", lam_min=0.0, max_knots=point.max_knots, check=False
        )
        times.append(time.process_time() - begin)
    assert result.path is not None
    pipe.send((len(result.path), statistics.median(times), _peak() - before))


def _start_peak() -> float:
    """Forget the largest resident size so far, and return the present one in megabytes."""
    # Elsewhere than on Linux the peak is that of the whole process.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def _peak() -> float:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        unit = 1.0 if sys.platform == "darwin" else 1024.0
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return float(line.split()[1]) * 1024.0 / 1e6


# ---- the table and the picture


def upper_half(points: Sequence[Point]) -> list[Point]:
    """Return the larger half of the points, which a power law is fitted to."""
    return sorted(points, key=lambda point: point.x)[-max(2, (len(points) + 1) // 2) :]


def power_law(points: Sequence[Point], value: str) -> tuple[float, float]:
    """Return the exponent and the factor of the power law through the larger half."""
    upper = upper_half(points)
    x = np.log([point.x for point in upper])
    y = np.log([max(getattr(point, value), 1e-6) for point in upper])
    slope, constant = np.polyfit(x, y, 1)
    return float(slope), float(np.exp(constant))


def lines_of(points: Sequence[Point]) -> dict[str, list[Point]]:
    """Return the points by what they vary."""
    return {against: [point for point in points if point.against == against] for against in FIXED}


def table(points: Sequence[Point]) -> str:
    """Return a Markdown table of the points, and the exponents below it."""
    rows = ["| varied | n | d | knots | time | memory |", "|---|--:|--:|--:|--:|--:|"]
    rows += [
        f"| {p.against} | {p.n} | {p.d} | {p.knots} | {p.seconds:.3g} s | {p.megabytes:.3g} MB |"
        for p in points
    ]
    rows += ["", "| exponent in | of the time | of the memory |", "|---|--:|--:|"]
    rows += [
        f"| {against} | {power_law(line, 'seconds')[0]:.2f} "
        f"| {power_law(line, 'megabytes')[0]:.2f} |"
        for against, line in lines_of(points).items()
    ]
    return "\n".join(rows)


def draw(points: Sequence[Point], target: Path) -> None:
    """Draw time and memory against n, d and the knots, with the fitted power laws."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FormatStrFormatter, LogLocator

    figure, axes = plt.subplots(2, 3, figsize=(10.0, 5.6), sharey="row", layout="constrained")
    units = {"seconds": "time [s]", "megabytes": "memory [MB]"}
    for column, (against, line) in enumerate(lines_of(points).items()):
        line = sorted(line, key=lambda point: point.x)
        x = np.array([point.x for point in line], dtype=float)
        for ax, (value, label) in zip(axes[:, column], units.items(), strict=True):
            y = np.array([getattr(point, value) for point in line])
            power, factor = power_law(line, value)
            fitted = np.array([point.x for point in upper_half(line)], dtype=float)
            ax.loglog(x, y, "o-", color="C0")
            ax.loglog(
                fitted, factor * fitted**power, "--", color="C1", label=f"{against}^{power:.2f}"
            )
            ax.legend(frameon=False)
            ax.set_xticks(x, [f"{value:g}" for value in x])
            ax.minorticks_off()
            ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            ax.grid(alpha=0.3)
            ax.set_ylabel(label if column == 0 else "")
        others = [f"{name} = {getattr(line[0], name)}" for name in FIXED if name != against]
        axes[0, column].set_title(", ".join(others), fontsize=10)
        axes[1, column].set_xlabel(against)
    figure.savefig(target, dpi=120)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all points and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", choices=tuple(SIZES), default="full")
    parser.add_argument("--repeats", type=int, default=5, help="solves of each point (default 5)")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw the picture here")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all numbers here")
    asked = parser.parse_args(arguments)
    if asked.repeats < 1:
        parser.error("--repeats must be at least 1")
    # Lines cross: what two of them have in common is measured once.
    known: dict[tuple[int, int, int], Point] = {}
    points = []
    for point in SIZES[asked.sizes]:
        print(f"... {point.against}: n={point.n} d={point.d}", file=sys.stderr, flush=True)
        key = (point.n, point.d, point.max_knots)
        if key not in known:
            known[key] = measure(point, asked.repeats)
        points.append(replace(known[key], against=point.against))
    print(table(points))
    if asked.plot:
        draw(points, asked.plot)
    if asked.json:
        asked.json.write_text(
            json.dumps([asdict(point) for point in points], indent=1) + "\n", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

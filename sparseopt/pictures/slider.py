"""A path as one page of HTML with a slider, which gives the exact solution at every value."""

from __future__ import annotations

import html
import json
from functools import singledispatch
from importlib.resources import files
from os import PathLike
from typing import Any

import numpy as np

from sparseopt.cards import in_words
from sparseopt.errors import ParamError
from sparseopt.io.files import replacing
from sparseopt.names import intercept_in, with_intercept_name
from sparseopt.paths.parametric import ParametricPath, SparseRows
from sparseopt.paths.quantiles import QuantilePath
from sparseopt.problems.base import Array
from sparseopt.result import Result


def to_html(shown: Any, title: str = "") -> str:
    """Return a path as one self-contained page: no file beside it, nothing from the network.

    The page has every segment of the path, so that the coefficients beside its slider are those of
    ``path.at(lam)``, not of a grid; at a knot where they jump, the limit from larger lam. Of a
    result it also says what the checker says.

    Parameters
    ----------
    shown : Result, ParametricPath, QuantilePath or fitted estimator
        Of an estimator the intercept is that of the columns as they were given, and the slider
        begins at its lam, or level.
    title : str, optional
        Default: the kind of problem.

    Returns
    -------
    str

    Raises
    ------
    ParamError
        When there is no path of lam, or of levels.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseopt
    >>> problem = sparseopt.problems.DantzigSelector(X=np.eye(3), y=[3.0, -2.0, 0.5])
    >>> page = to_html(sparseopt.solve(problem))
    >>> page.startswith("<!doctype html>"), "verified" in page
    (True, True)
    """
    origin, start = getattr(shown, "origin_", None), _start(shown)
    shown = getattr(shown, "result_", shown)
    path, claims = shown, {"verdict": None, "claim": ""}
    if isinstance(shown, Result):
        path = shown.path
        verdict = None if shown.verdict is None else shown.verdict.value
        claims = {"verdict": verdict, "claim": "; ".join(shown.check_messages)}
        title = title or in_words(shown.kind)
    data = {**_data(path), **claims, "start": start}
    if origin is not None:
        data.update(_with_intercept(data, *origin))
    if not data["claim"]:
        data["claim"] = f"{len(data['low'])} segments; ended by: {path.stopped_by}"
    # "</" would end the script that holds the data.
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
    page = files("sparseopt.pictures").joinpath("slider.html").read_text(encoding="utf-8")
    heading = html.escape(title or "Solution path")
    return page.replace("__TITLE__", heading).replace("__DATA__", text)


def _start(shown: Any) -> float | None:
    """Return the lam, or the level, of a fitted estimator; None where the page chooses one."""
    levels = hasattr(shown, "quantiles_")
    path = getattr(shown, "path_", None)
    if levels and not isinstance(path, QuantilePath):
        return None  # a path of the odds
    chosen = getattr(shown, "quantile" if levels else "lam_", None)
    return None if chosen is None or not np.isfinite(chosen) else float(chosen)


def save_page(shown: Any, file: str | PathLike[str], title: str = "") -> None:
    """Write the page of :func:`to_html` into a file, whole or not at all.

    Parameters
    ----------
    shown, title
        As for :func:`to_html`.
    file : path
    """
    page = to_html(shown, title)
    with replacing(file) as stream:
        stream.write(page.encode())


@singledispatch
def _data(path: Any) -> dict[str, Any]:
    what = "a single answer" if path is None else f"a {type(path).__name__}"
    raise ParamError(
        f"a page with a slider shows a path of lam, or of all levels, not {what}: write a picture "
        "(.png, .svg, .pdf)"
    )


@_data.register(ParametricPath)
def _parametric(path: ParametricPath) -> dict[str, Any]:
    return {
        **_segments(path.low, path.high, path.theta, path.names),
        "objective": path.objective.tolist(),
        "affine": bool((path.theta.rate != 0.0).any()),
        "parameter": "lam",
        "word": "lam",
        "axis": "lam, decreasing to the right",
    }


@_data.register(QuantilePath)
def _levels(path: QuantilePath) -> dict[str, Any]:
    count, p = path.theta.shape
    # as a path whose parameter falls
    rows = SparseRows(
        np.arange(count + 1) * p, np.tile(np.arange(p), count),
        path.theta[::-1].ravel(), np.zeros(count * p),
    )  # fmt: skip
    return {
        **_segments(path.levels[-2::-1], path.levels[:0:-1], rows, path.names),
        "objective": None,
        "affine": False,
        "parameter": "quantile",
        "word": "level",
        "axis": "level",
    }


def _with_intercept(data: dict[str, Any], centre: Array, level: float) -> dict[str, Any]:
    """Return the rows with the intercept b + level - centre' theta last, b the path's or 0."""
    d, count = len(centre), len(data["low"])
    if len(data["names"]) == d and level == 0.0 and not centre.any():
        return {}
    row, index = np.repeat(np.arange(count), np.diff(data["ptr"])), np.array(data["index"], int)
    kept, share = index < d, np.append(-centre, 1.0)[index]
    order = np.argsort(np.append(row[kept], np.arange(count)), kind="stable")
    found = {
        "ptr": np.append(0, np.cumsum(np.bincount(row[kept], minlength=count) + 1)).tolist(),
        "index": np.append(index[kept], np.full(count, d))[order].tolist(),
        "names": with_intercept_name(data["names"][:d]),
        "hidden": [d],
    }
    for part, start in (("value", level), ("rate", 0.0)):
        given = np.array(data[part])
        last = start + np.bincount(row, share * given, minlength=count)
        found[part] = np.append(given[kept], last)[order].tolist()
    return found


def _segments(low: Any, high: Any, rows: SparseRows, names: Any) -> dict[str, Any]:
    named = [str(name) for name in names]
    intercept = intercept_in(named)
    return {
        "low": low.tolist(),
        "high": [value if np.isfinite(value) else None for value in high.tolist()],
        "ptr": rows.ptr.tolist(),
        "index": rows.index.tolist(),
        "value": rows.value.tolist(),
        "rate": rows.rate.tolist(),
        "names": named,
        "hidden": [j for j, name in enumerate(named) if name == intercept],
    }

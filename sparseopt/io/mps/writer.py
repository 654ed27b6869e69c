"""An :class:`~sparseopt.io.mps.model.MpsModel` to free MPS, every number in its exact form."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.io.mps.model import MpsModel
from sparseopt.io.mps.reader import INFINITE, MARK
from sparseopt.io.strict_json import dumps


def writable(name: str) -> bool:
    """Return whether free MPS can hold a name: no blanks, and no sign of a comment or marker.

    Parameters
    ----------
    name : str
        Of a row or a column.

    Returns
    -------
    bool
    """
    return name.split() == [name] and name.isprintable() and name[0] not in "*$'\""


def format_mps(model: MpsModel) -> str:
    """Return the text of the model; the same text each time.

    Parameters
    ----------
    model : MpsModel

    Returns
    -------
    str

    Raises
    ------
    ProblemError
        When a finite number is so large that every reader takes it for infinite.
    """
    _require_finite(model)
    return "\n".join(_lines(model)) + "\n"


def _require_finite(model: MpsModel) -> None:
    for what, values in (
        ("right-hand side", model.b),
        ("slope of a right-hand side", model.b_bar),
        ("constant of the objective", model.constant),
        ("range", np.zeros(0) if model.ranges is None else model.ranges),
    ):
        large = values[np.isfinite(values) & (np.abs(values) >= INFINITE)]
        if large.size:
            raise ProblemError(
                f"the {what} {large[0]:g} would be read as infinite: MPS ends below {INFINITE:g}; "
                "save the problem as .npz, or in other units"
            )


def _lines(model: MpsModel) -> Iterator[str]:
    yield MARK + dumps(model.header)
    yield f"NAME {model.name}".rstrip()
    yield "OBJSENSE"
    yield "    MAX" if model.maximize else "    MIN"
    yield "ROWS"
    for name in model.objectives:
        yield f" N {name}"
    for sense, name in zip(model.senses, model.rows, strict=True):
        yield f" {sense} {name}"
    yield "COLUMNS"
    yield from _columns(model)
    yield "RHS"
    yield from _right_hand_sides(model)
    if model.ranges is not None:
        yield "RANGES"
        for i in np.flatnonzero(~np.isnan(model.ranges)):
            yield f" RNG {model.rows[i]} {_text(model.ranges[i])}"
    bounds = list(_bounds(model))
    if bounds:
        yield "BOUNDS"
        yield from bounds
    yield "ENDATA"


def _columns(model: MpsModel) -> Iterator[str]:
    order = np.lexsort((model.entry_row, model.entry_column))
    rows, entries = model.entry_row[order].tolist(), model.entry[order].tolist()
    ends = np.searchsorted(model.entry_column[order], np.arange(len(model.columns) + 1)).tolist()
    costs = list(zip(model.objectives, (model.c, model.c_bar), strict=False))
    for j, name in enumerate(model.columns):
        written = False
        for objective, cost in costs:
            if _matters(cost[j]):
                written = True
                yield f" {name} {objective} {_text(cost[j])}"
        for k in range(ends[j], ends[j + 1]):
            written = True
            yield f" {name} {model.rows[rows[k]]} {entries[k]!r}"
        if not written:
            yield f" {name} {model.objectives[0]} 0.0"


def _right_hand_sides(model: MpsModel) -> Iterator[str]:
    """Yield the sets b and b_bar; minus the constants stand on the N rows."""
    k0, k1, k2 = (0.0 - model.constant).tolist()
    first, second = model.objectives[0], model.objectives[-1]
    for name, side, objective, constant in (
        ("b", model.b, first, k0),
        ("b_bar", model.b_bar, second, k2),
    ):
        written = False
        if constant:
            written = True
            yield f" {name} {objective} {constant!r}"
        if name == "b" and k1:
            yield f" {name} {second} {k1!r}"
        for row, value in zip(model.rows, side, strict=True):
            if _matters(value):
                written = True
                yield f" {name} {row} {_text(value)}"
        if name == "b" and not written:
            # Readers take the first set that they see for b.
            yield f" {name} {model.rows[0]} 0.0"


def _bounds(model: MpsModel) -> Iterator[str]:
    for name, low, high in zip(model.columns, model.lower, model.upper, strict=True):
        if low == high:
            yield f" FX BND {name} {_text(low)}"
        elif np.isneginf(low) and np.isposinf(high):
            yield f" FR BND {name}"
        else:
            if np.isneginf(low):
                yield f" MI BND {name}"
            elif _matters(low):
                yield f" LO BND {name} {_text(low)}"
            if np.isfinite(high):
                yield f" UP BND {name} {_text(high)}"


def _matters(value: float) -> bool:
    """Whether a number must be written: a negative zero must, or it comes back positive."""
    return bool(value != 0.0 or np.signbit(value))


def _text(value: float) -> str:
    return repr(float(value))

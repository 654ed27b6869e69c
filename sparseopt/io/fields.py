"""Reading a JSON object field by field, each with the type that it must have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.io.arrays import decode_array
from sparseopt.problems.base import Array


class Fields:
    """The fields of one JSON object; every error names the field by its full path.

    Parameters
    ----------
    values : mapping
    where : str
        Path of the object in its document, "" for the document.
    entries : callable
        Returns an array of the file beside the document by its name.
    finite : bool, default True
        Whether NaN is refused everywhere, and infinities where they are not asked for. A result
        that is known to be broken may hold them.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        where: str,
        entries: Callable[[str], Array],
        finite: bool = True,
    ) -> None:
        self._values = values
        self._where = where
        self._entries = entries
        self._finite = finite
        self._read: set[str] = set()

    def name(self, field: str) -> str:
        """Return the full path of a field."""
        return f"{self._where}.{field}" if self._where else field

    def error(self, field: str, expected: str) -> ProblemError:
        """Return the error that a field is not what was expected."""
        return ProblemError(
            f"{self.name(field)} is {self._values.get(field)!r:.80}; expected {expected}",
            self.name(field),
        )

    def names(self) -> list[str]:
        """Return the names of the fields."""
        return list(self._values)

    def raw(self, field: str) -> Any:
        """Return the JSON value of a field that must be there."""
        self._read.add(field)
        if field not in self._values:
            raise ProblemError(f"the field {self.name(field)} is missing", self.name(field))
        return self._values[field]

    def is_null(self, field: str) -> bool:
        """Whether the field, which must be there, is null."""
        return self.raw(field) is None

    def end(self) -> None:
        """Raise a ProblemError when there is a field that nobody read."""
        unknown = sorted(set(self._values) - self._read)
        if unknown:
            raise ProblemError(f"the field {self.name(unknown[0])} is unknown")

    def text(self, field: str) -> str:
        value = self.raw(field)
        if not isinstance(value, str):
            raise self.error(field, "text")
        return value

    def choice(self, field: str, choices: Sequence[str]) -> str:
        value = self.text(field)
        if value not in choices:
            raise self.error(field, "one of " + ", ".join(choices))
        return value

    def texts(self, field: str) -> list[str]:
        value = self.raw(field)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(field, "a list of texts")
        return value

    def number(self, field: str, infinite: bool = False) -> float:
        """Return a float; infinities are written as the words "inf" and "-inf"."""
        value = self.raw(field)
        if value in ("inf", "-inf") and (infinite or not self._finite):
            return float(value)
        if value == "nan" and not self._finite:
            return math.nan
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(field, "a number" + (", 'inf' or '-inf'" if infinite else ""))
        return float(value)

    def seconds(self, field: str) -> float:
        value = self.number(field)
        if not value >= 0.0:
            raise self.error(field, "seconds >= 0")
        return value

    def count(self, field: str) -> int:
        value = self.raw(field)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.error(field, "an integer >= 0")
        return value

    def mapping(self, field: str) -> Mapping[str, Any]:
        value = self.raw(field)
        if not isinstance(value, Mapping):
            raise self.error(field, "an object")
        return value

    def object(self, field: str) -> Fields:
        """Return the fields of an object inside this one."""
        return Fields(self.mapping(field), self.name(field), self._entries, self._finite)

    def items(self, field: str) -> list[Fields]:
        """Return one object for each entry of a list, with the entry as its field "value"."""
        value = self.raw(field)
        if not isinstance(value, list):
            raise self.error(field, "a list")
        return [
            Fields({"value": item}, f"{self.name(field)}[{k}]", self._entries, self._finite)
            for k, item in enumerate(value)
        ]

    def vector(self, field: str, length: int | None = None, infinite: bool = False) -> Array:
        """Return a float vector."""
        return self.floats(field, (length,), infinite)

    def floats(self, field: str, shape: tuple[int | None, ...], infinite: bool = False) -> Array:
        """Return a float array whose shape fits (None is any length)."""
        array = self.array(field, infinite)
        if array.dtype.kind != "f" or not _fits(array.shape, shape):
            raise self._shape_error(field, array, "real numbers", shape)
        return array.astype(np.float64, copy=False)

    def indices(self, field: str, length: int | None, low: int, high: int) -> Array:
        """Return an integer vector with all entries in [low, high)."""
        array = self.array(field)
        if array.dtype.kind != "i" or not _fits(array.shape, (length,)):
            raise self._shape_error(field, array, "integers", (length,))
        if array.size and (array.min() < low or array.max() >= high):
            raise ProblemError(f"{self.name(field)}: expected entries from {low} to {high - 1}")
        return array.astype(np.int64, copy=False)

    def array(self, field: str, infinite: bool = True) -> Array:
        """Return an array of any type and shape, without NaN."""
        name = self.name(field)
        array = decode_array(self.raw(field), name, self._entries)
        if array.dtype.kind == "f" and self._finite:
            bad = np.isnan(array) if infinite else ~np.isfinite(array)
            if bad.any():
                at = np.unravel_index(int(np.argmax(bad)), array.shape)
                place = ", ".join(str(int(k)) for k in at)
                raise ProblemError(
                    f"{name}[{place}] is {array[at]}; expected "
                    + ("no NaN" if infinite else "finite numbers"),
                    name,
                )
        return array

    def _shape_error(
        self, field: str, array: Array, what: str, shape: tuple[int | None, ...]
    ) -> ProblemError:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        return ProblemError(
            f"{self.name(field)} holds {array.dtype.name} of shape {list(array.shape)}; expected "
            f"{what} of shape [{wanted}]",
            self.name(field),
        )


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        w is None or n == w for n, w in zip(shape, wanted, strict=True)
    )

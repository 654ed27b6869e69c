"""Reading TOML tables strictly: every complaint names the file, the key and what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from sparseopt.errors import ParamError

_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class Table:
    """One table of a suite file, whose keys are taken one after the other.

    Parameters
    ----------
    values : mapping
    file : str
        The file's name, for messages.
    where : str
        The place in the file: "[suite]", "[[instances]] 2".
    """

    def __init__(self, values: object, file: str, where: str) -> None:
        self.file, self.where = file, where
        if not isinstance(values, Mapping):
            self.refuse(None, values, "a table")
        self._left = dict(values)

    def refuse(self, key: str | None, value: object, expected: str) -> NoReturn:
        """Raise the error that belongs to a key.

        Raises
        ------
        ParamError
            Always.
        """
        place = f"{self.where}" + (f", key {key!r}" if key else "")
        raise ParamError(f"{self.file}: {place} is {value!r:.80}; expected {expected}")

    def has(self, key: str) -> bool:
        """Return whether a key is there and was not taken yet."""
        return key in self._left

    def take(self, key: str, default: Any = None) -> Any:
        """Return a value as it is."""
        return self._left.pop(key, default)

    def text(self, key: str, default: str | None = None, *, required: bool = False) -> str:
        """Return a text; "" without a default."""
        if required and key not in self._left:
            raise ParamError(f"{self.file}: {self.where} has no key {key!r}; expected a text")
        value = self.take(key, default if default is not None else "")
        if not isinstance(value, str):
            self.refuse(key, value, "a text")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self.take(key, default)
        if not isinstance(value, bool):
            self.refuse(key, value, "true or false")
        return value

    def number(self, key: str, default: float) -> float:
        """Return a positive, finite number."""
        value = self.take(key, default)
        real = isinstance(value, int | float) and not isinstance(value, bool)
        if not real or not 0.0 < value < float("inf"):
            self.refuse(key, value, "a number > 0")
        return float(value)

    def count(self, key: str, default: int) -> int:
        """Return an integer >= 1."""
        value = self.take(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            self.refuse(key, value, "an integer >= 1")
        return value

    def memory(self, key: str, default: str) -> int:
        """Return a number of bytes, given as "4 GB" or "512 MiB"."""
        value = self.take(key, default)
        number, _, unit = str(value).strip().partition(" ")
        try:
            amount = float(number) * _UNITS[unit.strip()]
        except (KeyError, ValueError):
            self.refuse(key, value, "an amount of memory such as '4 GB'")
        if not 0 < amount < float("inf"):
            self.refuse(key, value, "an amount of memory such as '4 GB'")
        return int(amount)

    def seeds(self, key: str) -> tuple[int, ...]:
        """Return seeds: a list of integers, or how many of them, counted from 0."""
        value = self.take(key, [0])
        expected = "a list of integers >= 0, or how many seeds (counted from 0)"
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return tuple(range(value))
        if not isinstance(value, list) or not value:
            self.refuse(key, value, expected)
        for seed in value:
            if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
                self.refuse(key, value, expected)
        return tuple(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, () where there is none."""
        value = self.take(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.refuse(key, value, "a list of texts")
        return tuple(value)

    def table(self, key: str) -> dict[str, Any]:
        """Return a table as a dictionary, {} where there is none."""
        value = self.take(key, {})
        if not isinstance(value, Mapping):
            self.refuse(key, value, "a table")
        return dict(value)

    def rows(self, key: str) -> list[Any]:
        """Return a list, [] where there is none."""
        value = self.take(key, [])
        if not isinstance(value, list):
            self.refuse(key, value, "a list")
        return list(value)

    def end(self, known: str) -> None:
        """Refuse whatever was not taken.

        Raises
        ------
        ParamError
            When a key is left; `known` lists those that there are.
        """
        if self._left:
            key = next(iter(self._left))
            raise ParamError(f"{self.file}: {self.where} has no key {key!r}; it has: {known}")

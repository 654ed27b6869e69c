"""What a person sees of an answer: one line, ten lines, or a card in a notebook."""

from __future__ import annotations

import html
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.names import intercept_in
from sparseopt.sketch import bars

if TYPE_CHECKING:
    import pandas as pd

_LISTED = 8
"""Names that are written out."""


_CAPITALS = {"clime", "lad", "lp", "lpd", "misdp", "strs", "svm"}


def in_words(kind: str) -> str:
    """Return a kind of problem as the beginning of a title.

    Parameters
    ----------
    kind : str

    Examples
    --------
    >>> in_words("lad-lasso"), in_words("dantzig-selector")
    ('LAD lasso', 'Dantzig selector')
    """
    words = " ".join(word.upper() if word in _CAPITALS else word for word in kind.split("-"))
    return words[0].upper() + words[1:]


class NamedValues(Mapping[str, float]):
    """Numbers by name, such as coefficients; what is printed are those that are not zero.

    Parameters
    ----------
    names : sequence of str
        Each once, or the last of a name counts.
    values : array of the same length

    Examples
    --------
    >>> table = NamedValues(["age", "bmi", "bp"], np.array([0.0, 5.25, -1.0]))
    >>> table
    bmi   5.25
    bp   -1
    >>> table["age"], len(table)
    (0.0, 3)
    """

    def __init__(self, names: Sequence[str], values: Any) -> None:
        self.names = list(names)
        self.values_ = np.asarray(values, dtype=float)
        self._place = {name: k for k, name in enumerate(self.names)}

    def __getitem__(self, name: str) -> float:
        return float(self.values_[self._place[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)

    def nonzero(self) -> dict[str, float]:
        """Return those that are not zero, the largest first."""
        order = np.argsort(-np.abs(self.values_), kind="stable")
        return {self.names[k]: float(self.values_[k]) for k in order if self.values_[k] != 0.0}

    def slopes(self) -> dict[str, float]:
        """Return those that are not zero, the largest first, without an intercept."""
        last = intercept_in(self.names)
        return {name: value for name, value in self.nonzero().items() if name != last}

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each name (needs pandas)."""
        import pandas as pd

        return pd.DataFrame({"name": self.names, "value": self.values_})

    def short(self) -> str:
        """Return the largest ones in one line, without an intercept."""
        found = self.slopes()
        shown = ", ".join(f"{name} {value:.4g}" for name, value in list(found.items())[:_LISTED])
        more = len(found) - _LISTED
        return shown + (f", and {more} more" if more > 0 else "") if found else "none"

    def __repr__(self) -> str:
        found = self.nonzero()
        wide = max(map(len, found), default=0)
        lines = [f"{name:<{wide}}  {value: .6g}" for name, value in found.items()]
        return "\n".join(lines) if lines else "all of them are zero"

    def sketch(self) -> str:
        """Return the largest ones as bars, an SVG element; without an intercept."""
        return bars(dict(list(self.slopes().items())[:_LISTED]))

    def _repr_html_(self) -> str:
        return _table("", {name: f"{value:.6g}" for name, value in self.nonzero().items()})


class Card:
    """An answer that says in a few words what it is; its numbers are in its attributes."""

    folded: ClassVar[frozenset[str]] = frozenset()
    """The facts that a notebook shows when they are asked for."""

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """Return what a person reads first, by name; entries that are None are left out."""

    def _shown(self) -> dict[str, str]:
        return {name: _word(value) for name, value in self.facts().items() if value is not None}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in list(self._shown().items())[:4])
        return f"{type(self).__name__}({shown})"

    def __str__(self) -> str:
        facts = self._shown()
        wide = max(map(len, facts), default=0)
        return "\n".join(f"{name:<{wide}}  {value}" for name, value in facts.items())

    def _repr_html_(self) -> str:
        shown = self._shown()
        first = {name: text for name, text in shown.items() if name not in self.folded}
        rest = {name: text for name, text in shown.items() if name in self.folded}
        more = f"<details><summary>details</summary>{_table('', rest)}</details>" if rest else ""
        return _table(type(self).__name__, first) + self.sketch() + more

    def sketch(self) -> str:
        """Return a small picture as an SVG element; empty where there is none."""
        return ""


def _word(value: Any) -> str:
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, NamedValues):
        return value.short()
    try:
        return f"{value:.6g}"
    except (TypeError, ValueError):
        return str(value)


def _table(caption: str, facts: Mapping[str, str]) -> str:
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
        for name, value in facts.items()
    )
    head = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{head}{rows}</table>"

"""What a conformance case is, and how one is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sparseopt.errors import ParamError

__all__ = ["ConformanceCase", "ConformanceOutcome", "NotMet", "require", "select"]


class NotMet(AssertionError):
    """A backend does not do what a case asserts."""


def require(condition: bool, message: str) -> None:
    """Raise :class:`NotMet` with the message unless the condition holds."""
    if not condition:
        raise NotMet(message)


@dataclass(frozen=True)
class ConformanceOutcome:
    """The outcome of one case.

    Attributes
    ----------
    name, asserts : str
        Of the case.
    passed : bool
    detail : str
        What was seen instead, for a case that failed.
    seconds : float
    """

    name: str
    asserts: str
    passed: bool
    detail: str
    seconds: float


@dataclass(frozen=True)
class ConformanceCase:
    """One thing that a backend must do.

    Attributes
    ----------
    name : str
        ``family/sample/behaviour``, or ``family/behaviour``.
    asserts : str
        One sentence.
    check : callable
        Raises when the backend does not do it. For pytest, parametrise over the cases and call
        this; for a table, call :meth:`run`.
    """

    name: str
    asserts: str
    check: Callable[[], None]

    def run(self) -> ConformanceOutcome:
        """Check, and return the outcome instead of raising."""
        begin = time.perf_counter()
        detail = ""
        passed = True
        try:
            self.check()
        except Exception as error:
            passed, detail = False, f"{type(error).__name__}: {error}"
        return ConformanceOutcome(
            self.name, self.asserts, passed, detail, time.perf_counter() - begin
        )


def select(cases: Sequence[ConformanceCase], exclude: Sequence[str]) -> list[ConformanceCase]:
    """Leave out the cases whose names match a pattern of `exclude` (as in fnmatch).

    Raises
    ------
    ParamError
        When a pattern matches no case: it is misspelt, or no longer needed.
    """
    for pattern in exclude:
        if not any(fnmatchcase(case.name, pattern) for case in cases):
            raise ParamError(
                f"exclude: {pattern!r} matches no case; the names look like {cases[0].name!r}"
            )
    return [
        case for case in cases if not any(fnmatchcase(case.name, pattern) for pattern in exclude)
    ]

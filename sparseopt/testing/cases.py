"""What a conformance case is, and how one is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from sparseopt.errors import BackendUnavailable, ParamError


class NotMet(AssertionError):
    """A backend does not do what a case asserts."""


def require(condition: bool, message: str) -> None:
    """Raise :class:`NotMet` with the message unless the condition holds.

    Parameters
    ----------
    condition : bool
    message : str
    """
    if not condition:
        raise NotMet(message)


@dataclass(frozen=True)
class Check:
    """One statement about a backend, or about one of its answers.

    Attributes
    ----------
    name : str
        ``family/sample/check`` for an answer, ``family/behaviour`` for a backend.
    asserts : str
        One sentence.
    run : callable
        Raises when the statement is false.
    """

    name: str
    asserts: str
    run: Callable[[], None]


@dataclass(frozen=True)
class ConformanceOutcome:
    """The outcome of one check.

    Attributes
    ----------
    name, asserts : str
        Of the check.
    passed : bool
    detail : str
        What was seen instead, for a check that failed.
    seconds : float
        Of the check; the first one of a case includes the case's solve.
    error : Exception or None
        What a check that failed has raised.
    """

    name: str
    asserts: str
    passed: bool
    detail: str
    seconds: float
    error: Exception | None = None


@dataclass(frozen=True)
class ConformanceCase:
    """One solve with all that is checked of its answer, or one behaviour.

    Attributes
    ----------
    name : str
        ``family/sample``, or ``family/behaviour``.
    checks : tuple of Check
    solve : callable, optional
        Called before the checks; where it raises, no check is run.
    """

    name: str
    checks: tuple[Check, ...]
    solve: Callable[[], object] | None = None

    def check(self) -> None:
        """Run all checks; for pytest, parametrise over the cases and call this.

        Raises
        ------
        NotMet
            When checks fail: the message lists each by name with what was seen.
        SparseOptError
            What the solve itself raises; a missing licence, wherever it is raised.
        """
        if self.solve is not None:
            self.solve()
        failed = [outcome for outcome in self.run() if not outcome.passed]
        if not failed:
            return
        for outcome in failed:
            if isinstance(outcome.error, BackendUnavailable):
                raise outcome.error
        lines = [f"{one.name}: {one.asserts}\n    {one.detail}" for one in failed]
        raise NotMet(
            "\n".join([f"{len(failed)} of {len(self.checks)} checks failed", *lines])
        ) from failed[0].error

    def run(self) -> list[ConformanceOutcome]:
        """Run all checks, and return their outcomes instead of raising."""
        outcomes: list[ConformanceOutcome] = []
        begin = time.perf_counter()
        refused: Exception | None = None
        if self.solve is not None:
            try:
                self.solve()
            except Exception as error:
                refused = error
        for check in self.checks:
            found = refused
            if found is None:
                try:
                    check.run()
                except Exception as error:
                    found = error
            detail = "" if found is None else _detail(found)
            end = time.perf_counter()
            outcomes.append(
                ConformanceOutcome(
                    check.name, check.asserts, found is None, detail, end - begin, found
                )
            )
            begin = end
        return outcomes


def _detail(error: Exception) -> str:
    return str(error) if isinstance(error, NotMet) else f"{type(error).__name__}: {error}"


def select(cases: Sequence[ConformanceCase], exclude: Sequence[str]) -> list[ConformanceCase]:
    """Leave out the checks whose names match a pattern of `exclude` (as in fnmatch).

    A case without checks is left out, too.

    Parameters
    ----------
    cases : sequence of ConformanceCase
    exclude : sequence of str

    Returns
    -------
    list of ConformanceCase

    Raises
    ------
    ParamError
        When a pattern matches no check: it is misspelt, or no longer needed.
    """
    names = [check.name for case in cases for check in case.checks]
    for pattern in exclude:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ParamError(
                f"exclude: {pattern!r} matches no check; the names look like {names[0]!r}"
            )
    kept = []
    for case in cases:
        checks = tuple(
            check
            for check in case.checks
            if not any(fnmatchcase(check.name, pattern) for pattern in exclude)
        )
        if checks:
            kept.append(replace(case, checks=checks))
    return kept

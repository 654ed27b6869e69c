"""What a check finds, and the report that it ends in."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from sparseopt.blas import blas_threads
from sparseopt.checking.work import TooMuchWork, limited
from sparseopt.result import Result, Verdict

_MANY = 20
"""Refutations that are written out; the rest are counted."""


@dataclass(frozen=True)
class CheckReport:
    """The checker's answer.

    Attributes
    ----------
    verdict : Verdict
    residuals : dict of str to float
        What was measured, relative to the scale of its terms. Among them: "primal" and
        "dual" (violations), "gap" (between primal and dual objective), "objective"
        (stated against recomputed), "stored" (a path's numbers against its bases), "hole"
        (between a path's end and the range that is proven empty), "extended" (a kernel's solution
        against extended precision).
    messages : tuple of str
        Why: what was refuted first, then what was proven and what was not, and what of the result
        the verdict does not cover.
    """

    verdict: Verdict
    residuals: dict[str, float] = field(default_factory=dict)
    messages: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        rows = [("verdict", self.verdict.value)]
        rows += [(name, f"{value:.3g}") for name, value in self.residuals.items()]
        rows += [("", message) for message in self.messages]
        body = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
            for name, text in rows
        )
        return f"<table><caption>Check</caption>{body}</table>"


class Findings:
    """Collects what a verifier finds; :meth:`report` draws the verdict.

    The verdict is REFUTED after any :meth:`refute`, else VERIFIED after a :meth:`prove` and no
    :meth:`doubt`, else UNPROVEN.
    """

    def __init__(self) -> None:
        self._residuals: dict[str, float] = {}
        self._refutations: list[str] = []
        self._doubts: list[str] = []
        self._open: dict[str, str] = {}
        self._settled: set[str] = set()
        self._proofs: list[str] = []
        self._covered: set[str] = set()
        self._left_out: list[str] = []

    @property
    def refuted(self) -> bool:
        """Whether something stated was found false."""
        return bool(self._refutations)

    @property
    def residuals(self) -> Mapping[str, float]:
        """What was measured so far."""
        return self._residuals

    def measure(self, name: str, value: float) -> None:
        """Record a residual; of several by one name the largest is kept."""
        value = math.inf if math.isnan(value) else float(value)
        self._residuals[name] = max(value, self._residuals.get(name, 0.0))

    def refute(self, message: str) -> None:
        """Record that something stated is false."""
        self._refutations.append(message)

    def doubt(self, message: str, about: str = "") -> None:
        """Record that something stated could not be proven; `about` names it for :meth:`settle`."""
        self._doubts.append(message)
        if about:
            self._open[message] = about

    def doubts(self, about: str) -> bool:
        """Return whether something stated about this could not be proven so far."""
        return about in self._open.values() and not self.settles(about)

    def settle(self, about: str) -> None:
        """Take the doubts about something back: a proof of another kind covers it."""
        self._settled.add(about)
        self._doubts = [text for text in self._doubts if self._open.get(text) != about]

    def settles(self, about: str) -> bool:
        """Return whether the doubts about something were taken back."""
        return about in self._settled

    def prove(self, message: str) -> None:
        """Record that the claim is proven."""
        self._proofs.append(message)

    def cover(self, *fields: str) -> None:
        """Record which of the result's optional parts ("path", "duals") were checked.

        A part that is stated and that no verifier covers leaves the result unproven.
        """
        self._covered.update(fields)

    def covers(self, field: str) -> bool:
        """Return whether a part of the result was checked."""
        return field in self._covered

    def leave_out(self, field: str) -> None:
        """Record a part of the result that the verdict does not cover."""
        self._left_out.append(field)

    def adopt(self, part: Findings, name: str) -> None:
        """Take over what was found about one part of the claim; its proofs are written once."""
        for key, value in part.residuals.items():
            self.measure(key, value)
        self._refutations += [f"{name}: {message}" for message in part._refutations]
        self._doubts += [f"{name}: {message}" for message in part._doubts]
        self._left_out += [f"{name}: {word}" for word in part._left_out if not self._left_out]
        if part._proofs and not self._proofs:
            self.prove(f"{name} and all others: {part._proofs[0]}")

    def report(self) -> CheckReport:
        """Draw the verdict."""
        if self._refutations:
            verdict = Verdict.REFUTED
        elif self._proofs and not self._doubts:
            verdict = Verdict.VERIFIED
        else:
            verdict = Verdict.UNPROVEN
        shown = list(dict.fromkeys(self._refutations))
        if len(shown) > _MANY:
            shown = [*shown[:_MANY], f"and {len(shown) - _MANY} more"]
        rest = [f"this does not cover the result's {name}" for name in self._left_out]
        return CheckReport(
            verdict=verdict,
            residuals=dict(self._residuals),
            messages=(*shown, *self._doubts, *self._proofs, *rest),
        )


def reported(result: Result, judge: Callable[[Findings], None]) -> CheckReport:
    """Return what a judge finds about a result.

    Evidence is untrusted input. Verifiers check it with care, and whatever still goes wrong while
    they read it is the evidence's fault.

    Parameters
    ----------
    result : Result
        BLAS computes with its ``params.threads`` threads, one where none are given.
    judge : callable
        Writes what it finds into the :class:`Findings` that it is called with.

    Returns
    -------
    CheckReport
    """
    findings = Findings()
    try:
        threads = blas_threads(result.params.threads or 1)
        with np.errstate(all="ignore"), threads, limited(result.certificate, result.path):
            judge(findings)
    except TooMuchWork as error:
        findings.doubt(str(error))
    except Exception as error:
        findings.refute(f"the evidence cannot be read: {type(error).__name__}: {error}")
    return findings.report()

"""The classes in which every solve of a benchmark ends."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

__all__ = ["Outcome", "classify"]


class Outcome(StrEnum):
    """How one solve of a benchmark ended; exactly one of these."""

    OK = "ok"
    """It ended by itself with an answer that the checker did not refute."""
    WRONG = "wrong"
    """What it states is false: refuted by the checker, a reference, or a better answer."""
    TIMEOUT = "timeout"
    """It kept the time limit, with or without an answer."""
    STOPPED = "stopped"
    """Another limit (nodes, iterations, slow progress) ended it."""
    FAILED = "failed"
    """It said that it failed, or its answer cannot be read."""
    CRASH = "crash"
    """Its process died."""
    HANG = "hang"
    """Its process had to be killed: it did not keep the time limit."""
    MEMORY = "memory"
    """It took more memory than allowed."""
    LICENCE = "licence"
    """It has no licence, or the licence is too small for the instance."""
    UNSUPPORTED = "unsupported"
    """It does not take this problem or this question."""
    UNAVAILABLE = "unavailable"
    """Its package is not installed."""

    @property
    def attempted(self) -> bool:
        """Whether the backend tried at all: others are left out of rates and profiles."""
        return self not in (Outcome.LICENCE, Outcome.UNSUPPORTED, Outcome.UNAVAILABLE)


_CLAIMS = ("optimal", "converged", "infeasible", "unbounded")


def classify(solved: Mapping[str, Any], evaluation: Mapping[str, Any]) -> tuple[Outcome, str]:
    """Return the class of a solve and, where it is not ok, why in a few words.

    Parameters
    ----------
    solved : mapping
        What the process left and how it ended: "ended" ("returned", "raised", "died", "memory",
        "hang", "silent"), "error", "message".
    evaluation : mapping
        What the evaluator found: "status", "limit", "verdict", "messages", "contradictions"; {}
        without an answer.
    """
    message = str(solved.get("message", ""))
    match solved["ended"]:
        case "memory":
            return Outcome.MEMORY, message
        case "hang":
            return Outcome.HANG, message
        case "died" | "silent":
            return Outcome.CRASH, message
        case "raised":
            return _raised(str(solved.get("error", "")), message)
    if "unreadable" in evaluation:
        return Outcome.FAILED, str(evaluation["unreadable"])
    status, limit = evaluation["status"], evaluation["limit"]
    if limit == "memory":
        return Outcome.MEMORY, "MemoryError"
    if evaluation["verdict"] == "refuted":
        return Outcome.WRONG, "; ".join(evaluation["messages"][:3])
    if evaluation["contradictions"]:
        return Outcome.WRONG, "; ".join(evaluation["contradictions"][:3])
    if status in _CLAIMS:
        return Outcome.OK, ""
    if limit == "time":
        return Outcome.TIMEOUT, ""
    if limit == "interrupted":
        return Outcome.FAILED, "interrupted"
    if limit is not None:
        return Outcome.STOPPED, f"{limit} limit"
    return Outcome.FAILED, str(evaluation.get("raw_status") or status)


def _raised(error: str, message: str) -> tuple[Outcome, str]:
    if error == "unavailable":
        return Outcome.UNAVAILABLE, message
    # A vendor's word, whichever exception brings it.
    if error in ("BackendUnavailable", "BackendError") and "licen" in message.lower():
        return Outcome.LICENCE, message
    if error == "BackendUnavailable":
        return Outcome.LICENCE, message
    if error == "UnsupportedProblem":
        return Outcome.UNSUPPORTED, message
    if error == "MemoryError":
        return Outcome.MEMORY, message
    return Outcome.FAILED, message

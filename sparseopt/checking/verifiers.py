"""Which verifier judges which family of problems."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from sparseopt.checking.report import Findings
from sparseopt.errors import ParamError

__all__ = ["Verifier", "register_verifier", "verifier_of"]

Verifier = Callable[[Any, Any, Findings], None]
"""Called with the problem, the result and the findings to write to."""

_VERIFIERS: dict[str, Verifier | str] = {
    "parametric": "sparseopt.checking.parametric.verifier:verify",
    "strs": "sparseopt.checking.strs.verifier:verify",
    "strs-path": "sparseopt.checking.strs.path:verify",
    "twosample": "sparseopt.checking.twosample.verifier:verify",
    "budget": "sparseopt.checking.budget.verifier:verify",
    "misdp": "sparseopt.checking.misdp.verifier:verify",
}


def register_verifier(family: str, verifier: Verifier | str) -> None:
    """Let `verifier` judge the results of a family of problems.

    It is called after the checks that all families share (the objective value is recomputed, the
    residuals are within tolerance, bound and objective are on their right sides) and writes
    what it finds to a :class:`~sparseopt.checking.report.Findings`: ``prove`` what
    the certificate proves, ``refute`` what is false. An exception that it raises is a refutation.

    Parameters
    ----------
    family : str
        The problem class' `family`.
    verifier : callable or str
        ``verifier(problem, result, findings)``, or "module:function", which is
        imported when it is first needed.

    Raises
    ------
    ParamError
        When it is a string of another form.

    Examples
    --------
    >>> from sparseopt.checking import register_verifier
    >>> def verify(problem, result, findings):
    ...     findings.prove("there is nothing to prove")
    >>> register_verifier("my-family", verify)
    """
    if isinstance(verifier, str) and ":" not in verifier:
        raise ParamError(
            f"verifier is {verifier!r}; expected a callable or a string 'module:function'"
        )
    _VERIFIERS[family] = verifier


def verifier_of(family: str) -> Verifier | None:
    """Return the verifier of a family, or None where there is none."""
    verifier = _VERIFIERS.get(family)
    if isinstance(verifier, str):
        module, _, name = verifier.partition(":")
        verifier = getattr(importlib.import_module(module), name)
    return verifier

"""The errors that sparseopt raises; every one derives from :class:`SparseOptError`.

A message says what was given, what was expected, and what to do next.
"""

from __future__ import annotations


class SparseOptError(Exception):
    """Base class of all errors raised on purpose by sparseopt."""


class ProblemError(SparseOptError, ValueError):
    """A problem, or a file that should hold one, is not what it must be.

    Parameters
    ----------
    message : str
        What was given, what was expected, and what to do.
    field : str, optional
        Name of the field or file entry at fault.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class ParamError(SparseOptError, ValueError):
    """A solve parameter or a backend option is unknown, of the wrong type, or out of range."""


class BackendNotFound(SparseOptError, LookupError):
    """No backend of that name is registered."""


class BackendUnavailable(BackendNotFound):
    """The backend is registered, but its package or its licence is not there."""


class LicenseError(BackendUnavailable):
    """The backend's licence is missing, has expired, or does not cover a problem of this size."""


class DataUnavailable(SparseOptError, LookupError):
    """The package that ships a data set is not installed; the message has the command."""


class UnsupportedProblem(SparseOptError):
    """The backend cannot take this kind of problem, or this question about it."""


class BackendError(SparseOptError, RuntimeError):
    """A backend failed inside; its own exception is the ``__cause__``."""

"""Sparse statistical optimization: exact engines, interchangeable backends, checked answers."""

from typing import TYPE_CHECKING, Any

from sparseopt import problems
from sparseopt.api import BackendInfo, backends, check, load, save, solve
from sparseopt.backend import Availability, Backend, Feature, Option, Progress
from sparseopt.errors import (
    BackendError,
    BackendNotFound,
    BackendUnavailable,
    LicenseError,
    ParamError,
    ProblemError,
    SparseOptError,
    UnsupportedProblem,
)
from sparseopt.params import SolveParams
from sparseopt.paths.parametric import PathResult
from sparseopt.problems import Problem
from sparseopt.result import Certificate, Limit, Result, Status, Verdict

if TYPE_CHECKING:
    from sparseopt.bench.api import compare

__version__ = "0.1.0"

__all__ = [
    "Availability",
    "Backend",
    "BackendError",
    "BackendInfo",
    "BackendNotFound",
    "BackendUnavailable",
    "Certificate",
    "Feature",
    "LicenseError",
    "Limit",
    "Option",
    "ParamError",
    "PathResult",
    "Problem",
    "ProblemError",
    "Progress",
    "Result",
    "SolveParams",
    "SparseOptError",
    "Status",
    "UnsupportedProblem",
    "Verdict",
    "__version__",
    "backends",
    "check",
    "compare",
    "load",
    "problems",
    "save",
    "solve",
]


def __getattr__(name: str) -> Any:
    """Import what few programs need at its first use."""
    if name == "compare":
        from sparseopt.bench.api import compare

        return compare
    if name == "cvxpy":
        import importlib

        return importlib.import_module("sparseopt.modelling.cvxpy")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

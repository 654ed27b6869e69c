"""Sparse statistical optimization: exact engines, interchangeable backends, checked answers."""

from sparseopt.startup import defer_numpy_tools, leave_on_ctrl_c, restore

_handler = leave_on_ctrl_c()
defer_numpy_tools()

import logging  # noqa: E402
from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from sparseopt.installed import resolve  # noqa: E402
from sparseopt.verbs import lend  # noqa: E402

# The free verbs that serve as methods, too. The types are defined below: a data type does not know
# the layers above it.
_DRAW = "Draw it; see :func:`sparseopt.plot` (needs matplotlib)."
_CHOOSE = "Choose the parameter by a rule; see :func:`sparseopt.select`."
for _type in (
    "sparseopt.result:Result",
    "sparseopt.paths.parametric:ParametricPath",
    "sparseopt.paths.columns:ColumnwisePath",
    "sparseopt.paths.graph:GraphPath",
):
    lend(_type, "select", "sparseopt.selection.rules:select", _CHOOSE)
for _type in (
    "sparseopt.result:Result",
    "sparseopt.paths.parametric:ParametricPath",
    "sparseopt.paths.parametric:GridPath",
    "sparseopt.paths.columns:ColumnwisePath",
    "sparseopt.paths.budget:BudgetPath",
    "sparseopt.paths.supports:SupportPath",
    "sparseopt.paths.l1_bound:L1BoundPath",
    "sparseopt.selection.criteria:CriterionResult",
    "sparseopt.selection.choice:KnotSelection",
    "sparseopt.selection.cross_validation:CVResult",
    "sparseopt.selection.rules:TheoryResult",
    "sparseopt.selection.stability:StabilityResult",
    "sparseopt.selection.graphs.choice:GraphSelection",
    "sparseopt.selection.graphs.stability:GraphStabilityResult",
    "sparseopt.selection.graphs.roc:ROC",
    "sparseopt.two_sample.result:TwoSampleTest",
):
    lend(_type, "plot", "sparseopt.pictures:plot", _DRAW)
for _type in ("sparseopt.result:Result", "sparseopt.paths.parametric:ParametricPath"):
    lend(
        _type,
        "to_html",
        "sparseopt.pictures:to_html",
        "Return a page with a slider; see :func:`sparseopt.pictures.to_html`.",
    )
lend(
    "sparseopt.two_sample.result:TwoSampleTest",
    "plot_witness",
    "sparseopt.pictures:plot_witness",
    "Draw the witness function; see :func:`sparseopt.pictures.plot_witness`.",
)
lend(
    "sparseopt.result:Result",
    "save",
    "sparseopt.io:save_result",
    "Write it as versioned JSON; see :func:`sparseopt.save`.",
)
del _type

from sparseopt import problems  # noqa: E402
from sparseopt.api import (  # noqa: E402
    BackendInfo,
    backends,
    check,
    load,
    save,
    solve,
    with_verdict,
)
from sparseopt.backend import Availability, Backend, Cancel, Feature, Option, Progress  # noqa: E402
from sparseopt.errors import (  # noqa: E402
    BackendError,
    BackendNotFound,
    BackendUnavailable,
    DataUnavailable,
    LicenseError,
    ParamError,
    ProblemError,
    SparseOptError,
    UnsupportedProblem,
)
from sparseopt.families import Family  # noqa: E402
from sparseopt.params import SolveParams  # noqa: E402
from sparseopt.paths.base import PathResult  # noqa: E402
from sparseopt.problems import Problem  # noqa: E402
from sparseopt.result import Certificate, Limit, Result, Status, Verdict  # noqa: E402

if TYPE_CHECKING:
    from sparseopt.bench.api import compare
    from sparseopt.pictures import plot
    from sparseopt.selection import select
    from sparseopt.warming import warm_up

# What a service wants to know goes to its own handlers; without any nothing is printed.
logging.getLogger("sparseopt").addHandler(logging.NullHandler())
restore(_handler)
del _handler

__version__ = "0.1.0"

__all__ = [
    "Availability",
    "Backend",
    "BackendError",
    "BackendInfo",
    "BackendNotFound",
    "BackendUnavailable",
    "Cancel",
    "Certificate",
    "DataUnavailable",
    "Family",
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
    "plot",
    "problems",
    "save",
    "select",
    "solve",
    "warm_up",
    "with_verdict",
]


_AT_FIRST_USE = {
    "compare": "sparseopt.bench.api:compare",
    "plot": "sparseopt.pictures:plot",
    "select": "sparseopt.selection:select",
    "warm_up": "sparseopt.warming:warm_up",
}

_MODULES = (
    "bench",
    "cvxpy",
    "datasets",
    "estimators",
    "generators",
    "io",
    "modelling",
    "path_store",
    "pictures",
    "private",
    "selection",
    "testing",
    "two_sample",
)


def __getattr__(name: str) -> Any:
    """Import what few programs need at its first use."""
    if name in _AT_FIRST_USE:
        return resolve(_AT_FIRST_USE[name])
    if name in _MODULES:
        return import_module(f"sparseopt.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})

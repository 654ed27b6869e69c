"""Choosing lam, the coefficients, or the budget of a graph, on exact paths.

The paths are known for every lam, or every budget, so the rules compare all of them:
cross-validation, information criteria, the theoretical values, stability selection, and refitting
on a support.
"""

from sparseopt.selection.choice import KnotSelection, Selection
from sparseopt.selection.criteria import CriterionResult, information_criterion
from sparseopt.selection.cross_validation import CVResult, cross_validate
from sparseopt.selection.curve import Curve
from sparseopt.selection.dimension import dimension_errors
from sparseopt.selection.graphs.choice import GraphSelection
from sparseopt.selection.graphs.criteria import graph_criterion
from sparseopt.selection.graphs.cross_validation import GraphCVResult, graph_cross_validate
from sparseopt.selection.graphs.rules import select_graph
from sparseopt.selection.graphs.stability import GraphStabilityResult, graph_stability
from sparseopt.selection.losses import Loss, check_loss
from sparseopt.selection.network import NetworkResult, network_criterion
from sparseopt.selection.refitting import refit
from sparseopt.selection.rules import TheoryResult, select, select_by_theory
from sparseopt.selection.runs import Runs
from sparseopt.selection.stability import StabilityResult, error_bound, stability_selection
from sparseopt.selection.theory import TheoreticalLam, noise_level, theoretical_lam

__all__ = [
    "CVResult",
    "CriterionResult",
    "Curve",
    "GraphCVResult",
    "GraphSelection",
    "GraphStabilityResult",
    "KnotSelection",
    "Loss",
    "NetworkResult",
    "Runs",
    "Selection",
    "StabilityResult",
    "TheoreticalLam",
    "TheoryResult",
    "check_loss",
    "cross_validate",
    "dimension_errors",
    "error_bound",
    "graph_criterion",
    "graph_cross_validate",
    "graph_stability",
    "information_criterion",
    "network_criterion",
    "noise_level",
    "refit",
    "select",
    "select_by_theory",
    "select_graph",
    "stability_selection",
    "theoretical_lam",
]

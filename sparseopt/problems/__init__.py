"""What is to be solved: frozen data with objective, residuals and validation; no algorithm."""

from sparseopt.problems.base import Problem, problem_kinds
from sparseopt.problems.candidates import Candidates
from sparseopt.problems.graphical import BudgetTables
from sparseopt.problems.maps import LinearMap
from sparseopt.problems.neighbourhoods import L0GraphicalModel
from sparseopt.problems.parametric import (
    ParametricLP,
    ParametricProblem,
    PiecewiseLinearProgram,
)
from sparseopt.problems.pieces import Pieces
from sparseopt.problems.regression import DantzigSelector, LADLasso
from sparseopt.problems.strs import STRS

__all__ = [
    "STRS",
    "BudgetTables",
    "Candidates",
    "DantzigSelector",
    "L0GraphicalModel",
    "LADLasso",
    "LinearMap",
    "ParametricLP",
    "ParametricProblem",
    "Pieces",
    "PiecewiseLinearProgram",
    "Problem",
    "problem_kinds",
]

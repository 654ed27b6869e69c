"""What is to be solved: frozen data with objective, residuals and validation; no algorithm."""

from sparseopt.problems.base import Problem, problem_kinds
from sparseopt.problems.candidates import Candidates
from sparseopt.problems.classification import L1SVM, LPD
from sparseopt.problems.column_blocks import ColumnBlocks
from sparseopt.problems.columnwise import ColumnwiseProblem
from sparseopt.problems.cones import SecondOrderCone, SemidefiniteBlock
from sparseopt.problems.graphical import BudgetTables
from sparseopt.problems.kernel_selection import KernelSelection
from sparseopt.problems.maps import LinearMap
from sparseopt.problems.matrix_dantzig import MatrixDantzig
from sparseopt.problems.misdp import MISDP
from sparseopt.problems.misdp_builder import MISDPBuilder
from sparseopt.problems.neighbourhoods import L0GraphicalModel
from sparseopt.problems.networks import CLIME, DifferentialNetwork
from sparseopt.problems.parametric import (
    ParametricLP,
    ParametricProblem,
    PiecewiseLinearProgram,
)
from sparseopt.problems.pieces import Pieces
from sparseopt.problems.regression import (
    CompressedSensing,
    DantzigSelector,
    LADLasso,
    QuantileLasso,
)
from sparseopt.problems.strs import STRS
from sparseopt.problems.strs_misdp import strs_as_misdp
from sparseopt.problems.strs_path import STRSPath
from sparseopt.problems.user_kernels import register_kernel

__all__ = [
    "CLIME",
    "L1SVM",
    "LPD",
    "MISDP",
    "STRS",
    "BudgetTables",
    "Candidates",
    "ColumnBlocks",
    "ColumnwiseProblem",
    "CompressedSensing",
    "DantzigSelector",
    "DifferentialNetwork",
    "KernelSelection",
    "L0GraphicalModel",
    "LADLasso",
    "LinearMap",
    "MISDPBuilder",
    "MatrixDantzig",
    "ParametricLP",
    "ParametricProblem",
    "Pieces",
    "PiecewiseLinearProgram",
    "Problem",
    "QuantileLasso",
    "STRSPath",
    "SecondOrderCone",
    "SemidefiniteBlock",
    "problem_kinds",
    "register_kernel",
    "strs_as_misdp",
]

"""What is to be solved: frozen data with objective, residuals and validation; no algorithm."""

from sparseopt.problems.base import Problem, problem_kinds
from sparseopt.problems.budget.candidates import Candidates
from sparseopt.problems.budget.column_blocks import ColumnBlocks
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.problems.component.problem import SparseComponent
from sparseopt.problems.misdp.builder import MISDPBuilder
from sparseopt.problems.misdp.cones import SecondOrderCone, SemidefiniteBlock
from sparseopt.problems.misdp.indicators import IndicatorConstraint
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.problems.parametric.classification import L1SVM, LPD
from sparseopt.problems.parametric.columnwise import ColumnwiseProblem
from sparseopt.problems.parametric.covariance import GramMatrix
from sparseopt.problems.parametric.maps import LinearMap
from sparseopt.problems.parametric.matrix_dantzig import MatrixDantzig
from sparseopt.problems.parametric.networks import CLIME, DifferentialNetwork
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import (
    ParametricLP,
    ParametricProblem,
    PiecewiseLinearProgram,
)
from sparseopt.problems.parametric.regression import (
    CompressedSensing,
    DantzigSelector,
    LADLasso,
    QuantileLasso,
)
from sparseopt.problems.private.embedding_fit import EmbeddingFit
from sparseopt.problems.strs.problem import STRS, STRSPath
from sparseopt.problems.strs.semidefinite import strs_as_misdp
from sparseopt.problems.subset.logistic import SparseLogisticRegression
from sparseopt.problems.subset.problem import SparseRegression
from sparseopt.problems.subspace.distributions import MMDSubspace, MomentSubspace
from sparseopt.problems.subspace.entrywise import L1Subspace
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.problems.subspace.sufficient import SufficientReduction
from sparseopt.problems.twosample.kernel_selection import KernelSelection
from sparseopt.problems.twosample.statistics.user_kernels import register_kernel

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
    "EmbeddingFit",
    "GramMatrix",
    "IndicatorConstraint",
    "KernelSelection",
    "L0GraphicalModel",
    "L1Subspace",
    "LADLasso",
    "LinearMap",
    "MISDPBuilder",
    "MMDSubspace",
    "MatrixDantzig",
    "MomentSubspace",
    "ParametricLP",
    "ParametricProblem",
    "Pieces",
    "PiecewiseLinearProgram",
    "Problem",
    "QuantileLasso",
    "RobustSubspace",
    "STRSPath",
    "SecondOrderCone",
    "SemidefiniteBlock",
    "SparseComponent",
    "SparseLogisticRegression",
    "SparseRegression",
    "SufficientReduction",
    "problem_kinds",
    "register_kernel",
    "strs_as_misdp",
]

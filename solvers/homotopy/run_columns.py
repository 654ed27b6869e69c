"""All columns of a columnwise problem at once: one compiled loop, several threads."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from sparseopt.backend import Control
from sparseopt.column_path import ColumnwisePath
from sparseopt.params import SolveParams
from sparseopt.path import ParametricPath, SparseRows
from sparseopt.problems.base import Array
from sparseopt.problems.columnwise import ColumnwiseProblem
from sparseopt.result import Certificate, Limit, Result, Status
from sparseopt.solvers.homotopy import core
from sparseopt.solvers.homotopy.basis import Basis
from sparseopt.solvers.homotopy.columns import Column, follow_columns
from sparseopt.solvers.homotopy.core import DenseProgram
from sparseopt.solvers.homotopy.program import ScaledProgram
from sparseopt.solvers.homotopy.start import crash, optimal_from
from sparseopt.solvers.homotopy.state import Segments, new_records, new_tableau

__all__ = ["columns_share_a_start", "solve_columns"]

_VISIT = 0.03
"""Seconds between two looks at the clock."""
_REASONS = {
    core.END: "lam_min",
    core.KNOTS: "max_knots",
    core.NONZEROS: "max_nonzeros",
    core.INFEASIBLE: "infeasible_below",
    core.UNBOUNDED: "unbounded_below",
    core.STALLED: "slow_progress",
}
_LIMITS = {limit.value: limit for limit in Limit}

"""The public name of :mod:`sparseopt.modelling.cvxpy`."""

from sparseopt.modelling.cvxpy import MISDP, from_cvxpy, to_cvxpy

__all__ = ["MISDP", "from_cvxpy", "to_cvxpy"]

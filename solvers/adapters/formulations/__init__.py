"""The problems of each family as programs for outside solvers."""

from .base import Formulation, Solver
from .budget import TABLES
from .graphs import MODELS
from .misdp import CONIC
from .parametric import PARAMETRIC
from .strs import SPHERE
from .subset import SUPPORTS

__all__ = ["FORMULATIONS", "Formulation", "Solver"]

FORMULATIONS: tuple[Formulation, ...] = (
    PARAMETRIC,
    SPHERE,
    TABLES,
    MODELS,
    SUPPORTS,
    CONIC,
)
"""One for each class of problems that outside solvers take."""

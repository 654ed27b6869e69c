"""Check a result in exact arithmetic: a second opinion that shares no code with the package.

    python sparseopt/exact INSTANCE.npz RESULT.json [--seconds 600] [--json]

Instances of the parametric problems, budgets, sparse trust-region problems, selections of
variables with the linear or the quadratic kernel, MISDPs, robust subspaces and fits to a mean
embedding, up to what the seconds allow. Not covered: the Gaussian kernel, names, traces, and why a
path ends before it reaches what was asked.

Standard library only; every number of the two files is taken as the rational number that it is.
What is proven is a theorem about these numbers, with the margins that the report states: how far
the point is outside the constraints, how far the stated objective is off, and by how much another
feasible point could be better. Exit codes: 0 proven, 1 refuted, 2 unreadable, 3 not proven (no
evidence, evidence that needs more than this program does, or too large).

Floating point is used to guess (a direction, a factorisation, a multiplier), never to decide.
Exponentials and logarithms are rounded correctly at 45 digits: thirty below the margins.
"""

from .common.verdicts import Unproven, Unreadable
from .program import check

__all__ = ["Unproven", "Unreadable", "check"]

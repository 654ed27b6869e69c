"""The numbers of the engines for sparse trust-region subproblems: meaning, unit and reason.

"Of the data" means relative to the largest entry of A and a, which scaling brings to about 1
(:class:`~sparseopt.solvers.strs.scaling.Scaled`).
"""

from __future__ import annotations

from dataclasses import dataclass

from sparseopt.problems.base import Array

# ---- gaps and rounding

PROOF = 50_000_000
"""Exponentials that a proof for the Gaussian kernel may take: half a second or so."""
PROVEN_GAP = 1e-9
"""Relative gap that is proven where no wider one than the default of SolveParams is asked: rounding
in the bounds is some 1e-13 to 1e-12 of the data, so there are digits to spare."""
SMALLEST_GAP = 1e-12
"""Gap, of the data, that is rounding: what is not worth closing beside an optimum near 0."""
ROUNDING = 8.0 * 2.0**-52
"""Error of a sum or of an eigenvalue, for each term and relative to their size: eight units in the
last place, some times what is seen."""
TINY = 1e-300
"""Keeps a quotient finite where its denominator may be 0."""

# ---- the minimisation of the row bound (L-BFGS)

PAIRS = 12
"""Steps that L-BFGS remembers: more gained nothing on the public sparse PCA matrices."""
PAIR_NUMBERS = 10_000_000
"""Numbers that they may take (80 MB); with many variables fewer steps are kept, at least 3."""
ARMIJO = 1e-4
"""Part of the predicted decrease that a step must reach: the usual constant of the condition."""
BACKTRACKS = 12
"""Lengths that are tried for one step; after as many the iterate is at rest."""
CURVATURE = 1e-12
"""Cosine between a step and the change of the gradient below which the pair is rounding."""
LITTLE_GAIN = 2e-2
"""A step is slow if it gains no more than this part of what is missing to the target."""
RESTING_STEPS = 3
"""Slow steps in a row after which the minimisation is at rest."""
SLICE = 0.05
"""Seconds of compiled code between two checks of the clock and of Ctrl-C."""
LAPACK_BLOCK = 64
"""Columns that LAPACK's reductions take at once: its own choice for symmetric matrices."""
FEW_EIGENPAIRS = 6
"""Up to this part of n eigenpairs (n / 6) are computed alone, more of them as all."""


# ---- the tree


@dataclass(frozen=True)
class SupportTreeSettings:
    """How much work a node of the tree gets.

    Attributes
    ----------
    steps : int
        Steps of L-BFGS for each smoothing.
    root_rounds, rounds : int
        Smoothings at the root, where all supports profit, and at the other nodes.
    shrink : float
        Factor from one smoothing to the next.
    patience : int
        Rounds at the root that are taken in any case.
    stall : float
        A round that leaves more than this part of the gap is the last one.
    progress : float
        A round that fixes more than this part of the variables is not the last one.
    finest : float
        Smallest smoothing, relative to the incumbent's value: what is left of a gap to prove.
    enumerate : int
        Nodes with no more supports than this are enumerated: a batch of trust-region subproblems
        costs less than a minimisation.
    start, start_linear : float
        Multipliers to start with, as a part of A and a; the second where there is a linear term.
    decided : float
        Weight of a variable in the relaxed support from which it is not branched on.
    tie : float
        What the density of a variable counts beside its weight: enough to break ties.
    margin : float
        Error of the value of an enumerated support, for each variable and of the data: rounding.
    norm_gap : float
        Relative gap that norms may leave at the root; beyond it they are not tried.
    norm_near : float
        Relative distance of the incumbent's norm from its value up to which its matrix is close to
        rank one.
    norm_trial, norm_nodes : int
        Nodes that norms bound at most, elsewhere and there. Each costs a hundredth of a
        minimisation.
    """

    steps: int = 80
    root_rounds: int = 16
    rounds: int = 6
    shrink: float = 0.2
    patience: int = 3
    stall: float = 0.6
    progress: float = 0.1
    finest: float = 1e-9
    enumerate: int = 32
    start: float = 0.2
    start_linear: float = 0.05
    decided: float = 0.9
    tie: float = 1e-3
    margin: float = 1e-15
    norm_gap: float = 0.05
    norm_near: float = 1e-4
    norm_trial: int = 24
    norm_nodes: int = 20_000

    def start_of(self, a: Array) -> float:
        """Return the part of the data to start with."""
        return self.start_linear if a.any() else self.start


# ---- the elimination of variables


@dataclass(frozen=True)
class EliminationSettings:
    """How a kernel grows out of which the others are eliminated.

    Attributes
    ----------
    kernel : int
        Largest number of variables in it: an evaluation of the row bound takes its cube.
    batch : int
        Variables that it takes in at most for each number of variables outside.
    share : float
        Part of the distance between estimates and target that the bounds of norms may use; the
        rest is for the gaps of the kernel's own bounds.
    slack : float
        Part of the room that a bound of the kernel is given which is asked of its tree.
    level : float
        Threshold of the products: where all products of a column are there, its row takes this
        part of the way from its square to the target.
    kept : int
        Products that are kept of each column, beyond the d - 1 that a bound needs: some of their
        partners go into the kernel.
    products : int
        Most that are kept altogether; beyond, the threshold is raised.
    block : int
        Columns of a block: 16 MB for the products of two of them.
    rounds : int
        How often the kernel may grow after its bounds turned out too weak.
    smaller : float
        Gap that bounds of less than d variables may have where they serve to locate those of more:
        a part of their value for each variable.
    """

    kernel: int = 300
    batch: int = 16
    share: float = 0.95
    slack: float = 0.9
    level: float = 0.5
    kept: int = 24
    products: int = 10_000_000
    block: int = 2048
    rounds: int = 12
    smaller: float = 0.002


# ---- the ADMM for the relaxation

SMALLEST_VALUE = 1e-2
"""A value below this, of the data, counts as being of this size where gaps are relative."""
FIRST_PENALTY = 0.3
"""Of the data."""
FIRST_CHANGE = 30
"""Iterations before the penalty changes for the first time ..."""
LEAST_CHANGE = 1.5
"""... and by what factor at least."""
OVER_RELAXATION = 1.6
"""Of a step, between 1.5 and 1.8 as is usual for ADMM."""
REGULARISATION = 1e-10
"""Of the least squares of Anderson's extrapolation, relative to the trace of their matrix."""
NO_SHARE = 1e-9
"""A share that stands for the limit 0."""
ROOT_STEPS = 60
"""Of a bracketed search for a root, here and among choices: a guard, since a dozen are enough."""
WORK_PER_CHECK = 2e7
"""Cubes of the size that are done between two checks of the clock: about 50 ms."""

# ---- the annealing

SHORTEST_MOVE = 1e-12
"""Moves shorter than this, on the unit sphere, are none."""
CLIMB_STEPS = 60
"""Steps of the climb to a stationary point at the end."""
CLIMB_GAIN = 1e-10
"""Relative gains below this end the climb over all supports; that on one support goes on."""
NEGLIGIBLE_WEIGHTS = (1e-4, 1e-6, 1e-8)
"""Weights below the first of these that no value depends on are left out ..."""
SAME_VALUE = 1e-12
"""... where the objective falls by no more than this part of itself."""

# ---- the others

KEPT_EIGENVALUES = (float("inf"), 0.3, 1e-3)
"""There is a cut for each of these: it keeps the eigenvectors whose eigenvalue exceeds this part of
the largest one."""

ENTRIES_PER_CHECK = 100_000
"""Matrix entries that brute force factorises between two checks of the clock: about 50 ms."""
SOLVER_MARGIN = 1e-7
"""What the bound of an outside solver may be off by, of the size of the data."""
MASTER_TOLERANCE = 1e-9
"""Of the masters of the outer approximation that HiGHS solves, and the gap of all masters."""
SCIP_TOLERANCE = 1e-7
"""The same of SCIP, which asks its LP solver for a thousandth of it at times; that prints a warning
below 1e-10."""
SMALLEST_UNIT = 1e-6
"""The master's unit of the bound is no smaller, where the data are of size 1."""

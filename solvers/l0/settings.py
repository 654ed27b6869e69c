"""The constants of the engine for budgets: meaning, unit and reason of each, once."""

from __future__ import annotations

# ---- Gaussian nodes: correlations, squared sines of angles, losses relative to no neighbours

DEPENDENT = 1e-10
"""Squared sine of the angle to the chosen columns below which a column adds nothing: an angle of
1e-5, as the problem states it. A candidate this near to another one is its copy."""

NO_DIGITS = 1e-16
"""The same in the second search, by the columns themselves: what is left of a column has no more
than eight digits there. The checker calls such tables unproven."""

NOT_ENUMERATED = 1e-8
"""Squared sine of an angle between columns below which normal equations keep fewer than half of the
digits: nodes are not enumerated side by side, and coefficients come from singular values."""

REFITTED_BY_SINE = 1e-4
"""Squared sine between candidates below which the losses of a node are computed from X again: inner
products have lost four digits, the checker compares nine."""

REFITTED_BY_LOSS = 1e-5
"""Loss of all candidates, relative to none, below which they are, too: differences of inner
products cancel."""

SEARCHED_AGAIN = 1e-6
"""Squared sine between candidates below which the best subsets themselves may be others than inner
products say: a second search orthogonalises the columns."""

SECOND_SEARCH = 3e9
"""Multiplications that the second search of one node may take: some seconds."""

SHARING = 1e-6
"""A trace of a ridge, relative to squared columns, by which copies share what one of them explains
where candidates are ordered by what they add."""

TIE = 1e-12
"""Improvements that are not looked for, relative to the smallest residuals: they are rounding."""

TIE_OF_NULL = 1e-16
"""The same relative to the residuals without neighbours: the precision of numbers near 1."""

# ---- Ising nodes: mean logistic losses, at most log 2

NEWTON_STEPS = 60
"""At most; separated neighbours need some 40."""

NEWTON_DECREMENT = 1e-13
"""Half the squared Newton decrement at which a fit ends: about the error of its loss."""

NEWTON_ROUNDING = 1e-11
"""Squared Newton decrement below which a step that lowers nothing is rounding."""

SUFFICIENT_DECREASE = 1e-4
"""Share of the decrement that a damped step must gain (Armijo)."""

SHORTEST_STEP = 1e-10
"""Length at which damping stops, relative to Newton's step."""

NO_CURVATURE = 1e-12
"""Pivot of the Hessian, relative to its diagonal, below which a member gets no step."""

FLAT_SLOPE = 1e-9
"""Slope that may be left where there is no curvature to take a step."""

SEPARATING_MARGIN = 20.0
"""Margins beyond which neighbours separate the node's values: exp(-20) is 2e-9."""

LARGEST_COEFFICIENT = 1e3
"""Size of the coefficients for which dual bounds hold without a ridge: as good as none."""

LOSS_TIE = 1e-10
"""Improvements of a loss that are not looked for: a tenth of what the checker compares."""

SMALLEST_CHANCE, LARGEST_CHANCE = 1e-300, 1.0 - 1e-16
"""The range of the dual's points: their logarithms are finite."""

TINY = 1e-300
"""Keeps quotients of a vanishing curvature finite."""

# ---- All budgets: prices of deviations

FREE = 1e-13
"""Prices relative to the current slope that are rounding errors."""

CANCELS = 1e-6
"""Part of the losses without neighbours below which an objective is summed with more digits ..."""
FEW_CHANGES = 10_000
"""... by fractions up to so many changes of counts, which take a tenth of a second."""

FIRST_ROOMS, FIRST_SUMS = 64, 256
"""First sizes of the small dynamic programs, nodes and sums to either side: a core has some 16
nodes. They grow where that is not enough."""

SPENDING_ROUNDING = 1e-12
"""Gaps relative to the sum of all table entries that are rounding errors of sums."""

SHORTEST_INTERVAL = 1e-15
"""Length of the interval of multipliers, relative to the largest one, below which golden section
sees rounding errors only."""

# ---- Sizes

MOST_CANDIDATES = 62
"""The largest number of candidates of one node: subsets are bits of an int64."""

LANES = 128
"""Nodes enumerated side by side: enough for the work on each row to outweigh its start."""

WIDEST_LANE = 13
"""The largest number of candidates for which enumeration is faster than leaps and bounds."""

BLOCK_NODES = 512
"""Nodes of a block; fewer where they have many candidates."""

BLOCK_ENTRIES = 1 << 22
"""Entries of X that a block may hold: 32 MB."""

BLOCK_PRODUCTS = 1500 * 1500
"""Inner products of a block's columns that are remembered: 18 MB."""

# ---- Between two checks of the clock, each some milliseconds

TREE_NODES_PER_CALL = 20_000
FITS_PER_CALL = 500
SEGMENTS_PER_CALL = 20_000

# ---- Workers through joblib

RANGES_PER_JOB = 4
"""Ranges for each job: the last ones to end should not keep the others waiting for long."""

NODES_PER_RANGE = 1 << 14
"""The most nodes in a range: what is sent at once stays small."""

THREADED_SEGMENTS = 100_000
"""Segments from which threads sort them: fewer take some milliseconds."""

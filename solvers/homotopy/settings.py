"""All constants of the engine: what each means, its unit, and why it has its value.

"Relative" is to the largest value of a coordinate, or multiplier, at the current lam. Double
precision has a unit of 1.1e-16; sums over a few thousand entries lose three or four digits of it.
"""

from __future__ import annotations

# ---- ties: what the pivots cannot distinguish

TIE = 1e-12
"""Slacks that count as used up, relative; also a difference in lam, relative to lam."""

NEAR_END = 1e-8
"""Distance from the end of the path, relative to lam, from which on a basis that is still optimal
at the end is the last one: an event just before it would be rounding."""

NEAR_END_TIES = 100.0
"""Multiple of the tolerance :data:`TIE` that such a basis may violate at the end."""

SOLVED = 1e-5
"""Size of a value from the kernel, relative to the largest, that such a violation is measured by at
least: its rounding error, 1e-15, over the two tolerances above."""

STILL = 1e-13
"""Rates in lam, relative to the largest rate, and slacks of a first basis, relative to the
largest value, that are rounding errors of zero."""

SAME_RATIO = 1e-15
"""Relative rounding error of one division: a ratio computed twice agrees up to this."""

ARRIVED = 1e-6
"""Part of a variable's way in the last segment that it may be off the kink that it meets there."""

SNAP = 1e-11
"""A coefficient this close to the kink that it meets is put on it; relative to the largest
coefficient of the segment. Ten times what values drift between two factorizations."""

# ---- pivots: which entries of a ray may be pivoted on

RAY_NOISE = 1e-12
"""Entries of a ray below this part of its largest are rounding errors and block nothing."""

SMALLEST_PIVOT = 1e-10
"""Smallest entry of a ray that blocks; its unit is the moving coordinate's own entry, 1. It is
also the part of the largest entry below which another tie is preferred."""

STABLE_PIVOT = 1e-5
"""Ties with a ray entry below this part of the largest tied one are passed over: a small pivot
ruins the kernel."""

PIVOT_MISMATCH = 1e-7
"""The pivot computed from the row and from the column may differ by this part; beyond it the
inverse has drifted and is factored anew."""

# ---- drift: how far updated values may go from freshly computed ones

REFRESH_AFTER = 192
"""Pivots between two factorizations of the kernel: they then cost as much as the updates."""

REFRESH_CAREFULLY = 2
"""The same at least, where values drift."""

RESIDUAL = 1e-7
"""Relative residual of a solve with the kernel above which it is singular to working accuracy."""

DRIFT_REFINES = 1e-11
"""Drift between two factorizations, relative, from which on the rays of a column's path are
refined."""

DRIFT_RETAKES = 1e-10
"""The same from which on a stretch of a path is walked again with refined rays. Checkers allow
1e-9 of the data's size."""

DRIFT_CALM = 1e-12
"""The same up to which the interval between two factorizations grows again."""

# ---- the centre that lam is measured from

STEEP = 100.0
"""Change with lam since the centre, in units of the largest value, from which on the centre is
moved: sums of a constant and a rate times lam have lost two digits then."""

RISING = 10.0
"""The same from which on every pivot of a column's path is looked at."""

STEEPNESS_AFTER = 16
"""Pivots between two checks of the steepness of a column's path that is followed with care."""

RECENTRED = 5
"""Times that a stretch is walked again from a nearer centre before it is kept as it is."""

# ---- patience

STALL = 500
"""Pivots without a segment of positive length after which the perturbation is drawn again."""

PERTURBATIONS = 8
"""Perturbations drawn without progress before the path is given up."""

STARTS = 40
"""Values of lam at which a first optimal basis is looked for."""

VISIT = 0.03
"""Seconds of pivots between two checks of the clock: short for a person, long for a clock."""

# ---- candidates of a large program

ALL_CANDIDATES = 320
"""Up to this many rows, or variables, all of them are candidates: their products are cheap."""

SPARE, SPARE_AT_MOST = 40, 100
"""Candidates beyond those that the kernel asks for: of few coordinates, and of many."""

COORDINATES_PER_SPARE = 25
"""Coordinates to one spare candidate more."""

FIRST_SPARE = 2
"""Times that many to begin with, when little is known of what comes near its limits."""

NEAR_LIMIT = 0.01
"""A resting coordinate whose slack falls below this part of its range becomes a candidate."""

BLOCKERS = 64
"""Resting coordinates that become candidates where nothing among these blocks a ray."""

BATCH, BATCH_AT_MOST = 64, 192
"""Pivots between two checks of the resting coordinates, at first and at most."""

LOOK_ENTRIES = 30_000_000
"""Numbers that a look may hold for either end of the segments: 240 MB. Products that are made and
screened in pieces hold none."""

RESTING_TOLERANCE = 2e-12
"""Violation of a limit by a resting coordinate that is allowed, relative: two :data:`TIE`."""

EXACT_PRODUCTS = 2_000_000
"""Multiplications up to which a product is made in double precision at once: a millisecond."""

STRIDES = (32, 8, 1)
"""Points of the path from one reference to the next, in each round of the screening."""

SAMPLE = 4096
"""Resting coordinates that tell whether a round may clear half of all."""

SAME_POINT = 1e-13
"""The solution at a segment's upper end is the one at the lower end of the segment above up to
this, relative to its largest entry."""

FAR = 1e8
"""Distance in lam, relative to where it starts, that stands for an endless segment."""

SINGLE_UNIT = 2.0**-24
"""Half a unit in the last place of single precision."""

SINGLE_HUGE = 1e30
"""Sums of squares up to this fit into single precision with room for a product."""

FACTOR_HUGE = 2.0**40
"""Factors of columns up to this, and down to its inverse, may be applied after rounding."""

# ---- room

KEPT_ENTRIES = 2**26
"""Entries of a data matrix up to which a copy in single precision is kept: 256 MB."""

BLOCK_ENTRIES = 2**15
"""Entries of a block of a larger one that is rounded at once: 128 KB, no fresh pages."""

PIECE_ENTRIES = 2**19
"""Entries of a rough product that are screened at once: 2 MB, which stay in the cache."""

SEGMENTS = 256
"""Segments recorded between two visits of the driver."""

ENTRIES_PER_SEGMENT = 32
"""Room for their nonzero coefficients, and multipliers, on average."""

CHANGES = 4096
"""Changes of codes between two segments."""

COLUMN_SEGMENTS, COLUMN_ENTRIES = 1_000_000, 4_000_000
"""The same for all columns together at most; memory is used only as it is filled."""

NO_RULE = 1 << 60
"""Segments allowed where the user sets no limit."""

TINY = 1e-300
"""Keeps a quotient finite where its denominator may be zero."""

# ---- paths in 106 bits

DOUBTFUL = 1e4
"""Sign of lost digits (DOUBT of `tableau`) from which on a path is walked again in 106 bits:
of the sixteen digits ten are to be left, and errors add up from pivot to pivot."""

LOST = 1e8
"""The sign from which on half of the digits are gone: worth all of the seconds below."""

MISMATCH = 1e-10
"""Difference of an objective and its costs, or of a row and its limit, relative, from which on it
is, too."""

LOST_MISMATCH = 5e-10
"""The difference from which on digits are lost for certain: half of what the checker refutes, which
measures by other terms."""

CANCELLED, NEARLY_CANCELLED = 1e-15, 1e-9
"""Products with a ray, relative to their terms, that may be rounding errors or digits of the data:
in double precision they count as 0. Below the first, times the root of the number of coordinates,
they are rounding."""

ABOVE_THE_END = 4e-10
"""How far above the lam below which nothing is optimal a path ends, as a part of it: there rounding
decides nothing. The checker allows an end to be off by 1e-9."""

LOOKED_THROUGH = 5e7
"""Products up to which all segments of all columns are compared with their limits: half a second.
Beyond, columns that have lost digits are recognised by their objectives alone."""

SEGMENT_PRODUCTS = 5e3
"""Products that take the time of what is done for a segment besides."""

PRECISE_SECONDS = 10.0
"""Estimated time up to which it is where digits were lost; beyond, the path is kept."""

SEVERAL_COLUMNS = 2.0
"""How many times that is, where many columns of one problem lost digits."""

PRECISE_SECONDS_IN_DOUBT = 1.25
"""The same below :data:`LOST`, where most paths are right as they are."""

PRECISE_TIE = 1e-26
"""Slacks that count as used up, relative, in 106 bits; of an ill-conditioned kernel more."""

SMALLEST_SHARE = 1e-20
"""Entries of a ray below this part of its largest are rounding errors, in 106 bits."""

BACKWARD = 1e-14
"""Violations, relative to the sum of the absolute terms, that the rounding of the data explains:
a basis that violates nothing more at the end of the path is the last one."""

WILD = 1e20
"""Coordinates, relative to the largest kink, from which on the rounding of the data decides."""

SAME_END = 1e-6
"""Difference in lam, relative, of ends that are taken for the same."""

SAME_END_FOR_CERTAIN = 1e-9
"""The same where the proof for one of them has lost digits: what the checker allows an end."""

WHOLE, WHOLE_ENTRIES, WHOLE_ROUNDING = 120, 1000, 1e-12
"""The largest entry of a ray in whole numbers, the nonzeros of one that are tried, and how far
these may be off, relative."""

SAMPLED = 0.25
"""The part of many rows that a sample has. Small ones leave many pivots, large ones are slow."""

SAMPLED_ROWS, SAMPLED_PER_VARIABLE = 600, 20
"""The least rows of a sample, and how many for each variable."""

SAMPLED_AT_KINKS = 4
"""How many rows may be at kinks for each variable: a basis has one."""

SAMPLED_ENTRIES = 2**27
"""The most entries of a sample, which are copied: a gigabyte."""

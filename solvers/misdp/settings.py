"""The constants of the MISDP engines, each with its meaning, unit and reason."""

from __future__ import annotations

# ---- Points and bounds: what counts as feasible, proven, or rounding (all relative)

UNCHARGED = 5e-8
"""Reduced costs that a bound leaves out, times the size of their variables, relative to the
objective's (a disproof's) value. Conic solvers end at 1e-9; variables without ends magnify
that."""

PROOF_LOSS = 1e-8
"""What a bound may lose, relative to it and the costs, for multipliers that leave no reduced cost
of a variable without ends."""

CHEAP = 1e-6
"""Free variables whose derived ends are charged less than this, relative to the costs or the
largest multiplier of a disproof, are tried without these ends."""

PROOF_MARGIN = 1e-7
"""By what the final bound is lowered for the checker's enclosure of such multipliers, relative to
it and the costs, where the gap that was asked allows it; by PROOF_LOSS where it does not."""

PROOF_NEAR = 1e-6
"""Leaves whose bound is this close to the least, relative to it and the costs, are judged again in
the bounds of variables that the checker derives."""

INSIDE = 1e-11
"""Multipliers that are this close to the boundary of their cones, relative to their size, leave no
room for exact ones beside them."""

INSIDE_GAP = 1e-4
"""The relative gap of the iterate that draws them inside, ..."""

INSIDE_SHARE = 1e-5
"""... and its share: together less than PROOF_LOSS."""

INTERIOR_GAP = 0.1
"""The relative gap of an iterate whose multipliers are inside their cones, ..."""

INTERIOR_LEAST = 1e-9
"""... and the least eigenvalue, relative to the largest, from which they are."""

ENDS_WIDER = 1.1
"""By which factor ends that follow from these are wider than computed: the checker derives them
again from multipliers a little further in."""

UNREACHED = 1e100
"""The size of variables without a point: no reduced cost may be left out."""

RECOMPUTATIONS = 3
"""How often a final bound is lowered to what its leaves prove with the cutoff that it gives."""

DISPROOF_RECHECKED = 1e-9
"""Value of a disproof, relative to its terms, that the checker asks for."""

POINT_GOOD = 1e-9
"""Residuals below this, relative to the terms, are left as they are: what conic solvers reach."""

POINT_ALLOWED = 4e-8
"""Residuals up to which a point is feasible; the checker allows 1e-7."""

POINT_BOUGHT = 10.0
"""Times its residual and the terms of the objective: what a point must be better by than another of
the same integers. A residual gains some times that where multipliers are large."""

ROOM_WITHOUT_INTERIOR = (1e-14, 1e-13, 1e-12, 1e-11, 1e-10)
"""What eigenvalues may lack, relative to the largest entries, at integers that leave no interior:
less than is left of points anyway."""

POINT_NEAR = 1e-3
"""A continuous solution that is off by more than this is not worth repairing."""

POINT_NOISE = 1e-8
"""Entries of a point, and values relative to the largest cost, that may be rounding beside 0."""

RANK_ALLOWED = 4e-7
"""Second eigenvalues of matrices of rank one, relative to the terms; the checker allows minors of
order two 1e-6 of theirs."""

INTEGER_ROW = 1e-12
"""Residuals of rows of integers only, relative to their terms: rounding errors in the data."""

INTEGER_BOUND = 1e-12, 1e-14
"""What a bound of an integer variable is moved outwards by before it is rounded: the part of its
size, and in any case. Much less than 1 / M for a row y <= M k."""

OBJECTIVE_ROUNDING = 5e-10
"""A gap below this, relative to the largest cost, is rounding."""

OFFSET_DIGITS = 1e-6
"""What an offset counts for beside the costs: its rounding errors only."""

GAP_ROUNDING = 1e-9
"""The part of the relative gap that is left unused, so that rounding takes no bound out of it."""

BOUND_ROUNDING = 4e-10
"""By how much a bound may be stated better than it is proven, relative to itself or the smallest
cost, twice; the checker allows 1e-9."""

MULTIPLIER_NOISE = 1e-9
"""Multipliers of a disproof up to this, relative to the largest, are rounding: they are tried as
zeros, where a variable without an end makes them cost anything."""

MULTIPLIER_DIGITS = (8, 4, 2)
"""Decimal places that such multipliers are rounded to, in turn, with the largest at 1."""

DISPROOF = 2e-9
"""Value that a disproof must have, relative to its terms; the checker asks for half of it."""

DIVERGED = 1e100
"""A relaxation whose costs are beyond this is left to another solver."""

LARGEST_BOUND = 1e3
"""Bounds beyond this times the largest cost leave no reduced cost out: a small one may hide a
point that is far away."""

STEP_DIGITS = 10
"""Costs that are whole numbers times 2 to minus this have a common step."""

STEP_LARGEST = 2.0**50
"""Sums of costs, in that unit, that floating point holds exactly."""

STEP_ROUNDING = 1e-6
"""A bound that exceeds a multiple of the step by less than this part of it is not rounded up."""

EMPTY = 1e-9
"""An interval is empty where its ends cross by more than this, relative to their size (at least
1): rows may be off by the rounding errors of the data."""

FIXED = 1e-11
"""A variable whose bounds are this close, relative to their size, is fixed; a matrix this small
beside the others is zero."""

INTEGRAL = 1e-6
"""Values of a relaxation this close to an integer are one: what its solver leaves."""

SCIP_FEASIBLE = 2e-8
"""Residuals up to which SCIP may take a point for feasible: half of POINT_ALLOWED."""

# ---- Conic relaxations

BARRIER_ORDER = 18
"""Order of a matrix from which our interior points are taken: the dense blocks of a general conic
solver cost more from there on."""

BARRIER_SMALL_ORDER = 13
"""The same for programs with at most twice as many variables, whose Schur complement is small."""

CALLS = 20
"""Where our compiled loops are not there yet, one program of so many is left to their plain body,
which has them compiled beside the work."""

BARRIER_VARIABLES = 600
"""Variables up to which they are: their Schur complement is dense."""

DENSE_ENTRIES = 4_000_000
"""Constraints with up to this many entries are held as a dense matrix (32 MB)."""

FAR_END = 1e9
"""Ends beyond this that are derived for continuous variables without one are none: what rounding
leaves of a reduced cost would be charged at them, and they set the scale of all right-hand sides.
The checker does the same."""

COMMON_RANGE = 1e-13
"""Eigenvalues of the sum of squared matrices below this, relative to the largest, are zero: facial
reduction takes their directions out."""

CLEARLY = 1e-4
"""A Cholesky factor with larger diagonal entries than this shows that there is no null space in
common, for orders up to some hundreds."""

BARRIER_ITERATIONS = 60
"""Interior-point steps; programs that need more do not converge."""

BARRIER_LOOSE = 22
"""The same for nodes that may be branched on: most that take more have no interior."""

BARRIER_WARM = 15
"""The same from an iterate of the node above; then it begins anew."""

WARM_LIFT = 0.5
"""By which part of their mean the eigenvalues of that iterate grow: it was near the boundary."""

WARM_FAR = 10.0
"""By which factor its matrices' multipliers may exceed those that the method begins with."""

WARM_NUMBERS = 50_000_000
"""Numbers, in single precision, that open nodes keep of iterates (200 MB)."""

BARRIER_CALL = 1e8
"""Multiplications in one call of the compiled loops, which see neither clock nor Ctrl-C: some
50 ms."""

BARRIER_FAR = 1e13
"""Size of iterates, relative to the right-hand side, along which costs fall without end (times
1e-4)."""

SCS_ITERATIONS = 20_000
"""Steps of SCS, each a product with the factorised constraints."""

POLISH_ROUNDS = 4
"""Newton steps that take reduced costs off variables without bounds; they converge at once or
never."""

POLISH_GROWTH = 100.0
"""A step that makes the largest multiplier grow by more than this leads nowhere: where the
equations have hardly a solution, the next one would be larger still."""

POLISH_LARGEST = 1e60
"""Multipliers that diverged beyond this are left as they are."""

POLISH_NOISE = 1e-9
"""Multipliers whose terms are this small beside the largest term of all are dropped."""

POLISH_RANK = 1e-14
"""Singular values of these equations below this, relative to the largest, are zero."""

POLISH_TRACE = 1e-16
"""Entries this small beside the others are what rounding leaves of a zero."""

# ---- Presolving

MERGED_CHOICES = 4096
"""Values of integer variables that are merged into one, and choices of them that are looked at."""

SYMMETRY_ENTRIES = 200_000
"""Numbers of a problem whose symmetries are looked for."""

SYMMETRY_REFINEMENTS = 300
"""Refinements of colours that are spent on them, some 0.3 ms each for a hundred variables."""

SYMMETRY_GROUP = 5_000
"""Symmetries that are looked at in each node, 1 ms for a hundred integers; more give rows."""

SYMMETRY_NUMBERS = 1_000_000
"""Numbers of the symmetries that are kept, at most."""

# ---- The tree

FORCED_ENTRIES = 4_000_000
"""Numbers of all coefficient matrices of a block up to which it forces integers (32 MB)."""

FORCED_RANK = 1e-12
"""Eigenvalues of a coefficient matrix below this, relative to the largest, are zero."""

FORCED_MARGIN = 1e-6
"""By how much a disproof must exceed zero, relative to its terms: far more than rounding."""

NODE_GAP = 1e-2
"""The relative gap to which a relaxation is solved whose node is to be branched anyway."""

PLUNGE = 12
"""Nodes that are taken one below the other before the best open one comes first again."""

PLUNGE_WITHOUT_POINT = 60
"""The same as long as there is no incumbent."""

PSEUDO_PRIOR = 2.0
"""So many branches of the average gain each pseudo-cost starts with."""

ENDLESS_NODES = 5000
"""Nodes after which a tree over integers without bounds must have a bound."""

ROUNDED = 1e-3
"""Values this close to an integer are what is left of one by NODE_GAP."""

LOCAL_SEARCH = 10
"""Neighbours of incumbents that local search tries, each by a relaxation, beside one for each two
nodes."""

LOCAL_SEARCH_INTEGER = 10
"""The same where all variables are integers, so that a neighbour is a point."""

SIGN_DRAWS = 20
"""Random vectors whose signs round a matrix of two values."""

TURN_SAVES = 1e-9
"""What turning a sign must save, relative to the largest price of a pair, so that rounding ends no
search of better signs in a circle."""

START_NODES = 30
"""Nodes that are spent on a point near a warm start that is not feasible."""

# ---- The log

LOG_SECONDS = 2.0
"""Seconds between two lines without a new incumbent."""

LOG_HEADING = 25
"""Lines after which the heading is printed again."""

# ---- Cuts and masters

CUT_VIOLATED = 1e-8
"""A cut must be missed by this, relative to its size."""

CUT_HUGE = 1e9
"""A cut whose side is this large beside its row bounds nothing that could be distinguished."""

CUT_SAME = 1e-9
"""Cuts whose entries agree to this are the same."""

CUT_PAIRS = 12
"""All pairs of lines of a block get cuts at the start up to this order."""

CUT_SPARSE = (2, 4)
"""Numbers of entries that sparse cuts keep."""

CUT_TINY = 1e-7
"""Coefficients below this, beside a largest one of 1, are replaced by what they come to at most:
solvers of linear programs drop them."""

CUT_LOST = 1e-8
"""By how much that may move the side of a cut."""

SCOUT_NODES = 20
"""Nodes with semidefinite relaxations that are spent on a first incumbent."""

MASTER_GAP = 1e-2
"""The relative gap to which the first masters are solved."""

MASTER_RELAXATIONS = 50
"""Rounds of cuts before the first master, at most."""

MASTER_STEP = 1e-4
"""By what such a round must move the bound, relative to its size, for another one."""

MASTER_PATIENCE = 4
"""Rounds one after the other that need not."""

MASTER_NODES = 1000
"""Nodes of all masters: where they take more their linear programs are too weak."""

USUAL_POWER = 17.0
"""Costs of less than two to minus this, and constraints of as little or of two to this, are solved
in units of their own."""

SMALL_POWER = 6.0
"""Continuous variables whose bounds are both below two to minus this have units of their own."""

QUADRATIC_POWER = 6
"""The same for linear costs beside a quadratic objective: two to minus this."""

MASTERS = 10
"""Within so many masters the gap must be halved."""

MASTER_ROUNDING = 1e-9
"""How far a master's bound may be off by its tolerances, relative to the objective's size."""

MASTER_BOX = 1e5
"""Where a variable has no bound the master gets this one; it proves nothing then."""

MASTER_SLACK = 1e-4
"""Rows with more slack than this, relative to their largest coefficient, are left out."""

MASTER_MISSED = 1e-9
"""Rows that were left out come back where a point misses them by more than this."""

SCIP_SNAP = 1e-7
"""How far a point may be from SCIP's bounds of its variables to be proposed to it."""

SCIP_SEPARATIONS = 10
"""Rounds of cuts at a node below the root, whose integers are not integral yet."""

LP_ROUNDS = 2
"""Linear programs with more and more cuts in each box."""

LP_ROUNDS_ALONE = 40
"""The same where no semidefinite relaxation follows."""

LP_STEP = 1e-4
"""By what a round must move the bound, relative to its size, ..."""

LP_PATIENCE = 2
"""... or so many one after the other need not, where no semidefinite relaxation follows."""

LP_AGE = 20
"""Optima one after the other at which a cut may be slack before it leaves the program."""

LP_ENOUGH = 0.5
"""The share of boxes that linear programs must close to be solved at all, ..."""

LP_TRIES = 6
"""... after so many boxes."""

LP_ITERATIONS = 50_000
"""Simplex iterations of one of them: a guard against cycling."""

LP_SLIP = 1e-8
"""How far an optimum of HiGHS may be off, relative to its size."""

LP_BOX = 1e7
"""Bounds of the linear programs where a variable has none; only the safe bound counts."""

PROBING_TIGHTER = 1e-3
"""A bound must move by this part of its distance to be worth a row."""

PROBING_NUMBERS = 20_000_000
"""Numbers of all such rows, at most (160 MB)."""

PROBING_ENTRIES = 3_000_000
"""Entries of the constraints that probing looks at, at most, over all variables."""

PROBING_ZERO = 1e-12
"""Bounds of diagonal entries below this are zero."""

PERSPECTIVE_VIOLATED = 1e-7
"""A perspective must be missed by this to give a cut."""

# ---- Two engines at a time

RACE_AFTER = 0.5
"""Seconds after which the second one starts: its process takes as long to begin, and most problems
are solved by then."""

# ---- Rank one

RANK_ZERO = 1e-7
"""A second eigenvalue below this, relative to the matrix' size (at least 1), is zero."""

RANK_STEPS = 25
"""Linearisations of the penalised second eigenvalue, for each weight and start."""

RANK_WEIGHTS = (100.0, 10.0, 1.0, 0.05)
"""Weights of that penalty beside the costs, heavy ones first: these find points soonest."""

RANK_STARTS = 3
"""Random directions that each weight is tried with."""

RANK_BOX = 1e6
"""Where an entry has no bound it is branched on at twice its value, up to this."""

RANK_NARROW = 1e-9
"""Intervals below this, relative to their entry, are not split."""

RANK_INSIDE = 0.2
"""A split leaves at least this share of an interval on either side."""

RANK_MISSED = 1e-9
"""Products that miss the squares by less than this are equal to them."""

RANK_NEARLY = 1e-5
"""Products this close to the squares are worth an attempt at rank one."""

RANK_OUT = 1e-14
"""Derived bounds of entries are moved outwards by this, relative to their size: fifty rounding
errors."""

RANK_ROUNDS = 4
"""How often bounds of entries are derived from each other."""

# ---- Rays and curves

RAY_DIGITS = (1, 2, 3, 4, 6)
"""Decimal places that rays and curves are rounded to. A direction of few digits is often exact,
which its proof asks for."""

RAY_EXACT = 1e-15
"""Residuals of a direction of length 1 at which it counts as exact."""

RAY_NEARLY = 5e-9
"""Residuals up to which a direction counts, without a proof."""

RAY_FALLS = 1e-4
"""By how much the objective must improve along a ray of length 1, relative to the largest cost:
matrices are semidefinite to 1e-9 or so, which lets entries beside zeros move by the root of it."""

RAY_LARGEST = 12
"""Integer parts of rays are rounded to entries up to this, whatever the rounding."""

RAY_MULTIPLES = 5000
"""Entries of integer parts that the relaxation's direction is close to a multiple of."""

RAY_RATIONAL = 1e-7
"""How close, for each unit of the multiple."""

RAY_EXACT_ONES = 3
"""How many such multiples are tried first."""

RAY_FACE = 1e-6
"""What is 0 along a ray of length 1, in units of the coefficients: that ray is computed to 1e-8."""

RAY_DENOMINATOR = 20
"""Denominators of directions and null spaces that are taken for simple: those of small numbers."""

RAY_FRACTION = 1e-3
"""How far from such a fraction an entry may be: where a vector misses its cone by 1e-8, its
direction is off by the root of that."""

RAY_BITS = (0, 1, 2, 3, 5, 8, 12, 20, 30)
"""Binary digits that the free entries of an exact ray are rounded to, one after the other."""

RAY_INWARD = (0.01, 0.1)
"""Parts of the way to the middle of all directions: a ray on the boundary of a second-order cone is
rarely exact, and one inside still improves."""

RAY_ENTRIES = 20_000
"""Variables and coefficients up to which rays are looked at in rational arithmetic."""

RAY_WORK = 50_000
"""Operations with fractions that solving for a ray may take: .2 s or so."""

RAY_ORDER = 24
"""Order of matrices up to which it is decided in fractions whether a ray keeps them."""

RAY_DENSE, RAY_RANK = 1000, 1e-10
"""Variables up to which a ray is put onto its face by a singular value decomposition, and its
singular values, relative, that are 0."""

EXACT_CHARGED = 1e-6
"""Reduced costs of variables without ends up to this, in units of the coefficients, are to be
exactly zero; what is larger is charged at ends that are derived."""

EXACT_FACES = (1e-6, 1e-4)
"""What is 0 on a face: where a problem has no interior, multipliers have fewer right digits."""

EXACT_ROUNDING = 1e-11
"""The same of those with one end, for multipliers inside their cones: these leave it the sign."""

EXACT_ROOM = (1e-7, 1e-8)
"""How far inside their cones other multipliers are looked for, relative to the largest, where those
on a face are not exact."""

EXACT_BITS = (30, 40)
"""Binary digits of these."""

EXACT_DIGITS = 20
"""Binary places that coefficients of variables without ends have at most, for exact multipliers."""

EXACT_LEAVES, EXACT_ENTRIES = 50, 20_000
"""Leaves for which exact multipliers are looked for, and coefficients of all of them: a few
milliseconds each, .2 s where they are many."""

CURVE_VARIABLES = 3000
"""Variables of the program for a curve up to which it is tried."""

CURVE_RANGE = 1e-6
"""Eigenvalues of recession matrices of size 1 below this are zero."""

CURVE_ZERO = 1e-9
"""Eigenvalues of M'(b) below this, relative to its terms, are zero."""

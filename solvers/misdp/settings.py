"""The constants of the MISDP engines, each with its meaning, unit and reason."""

from __future__ import annotations

UNCHARGED = 5e-8
"""Reduced costs that a bound leaves out, times the size of their variables, relative to the
objective's (a disproof's) value. Conic solvers end at 1e-9; variables without ends magnify that."""

UNREACHED = 1e100
"""The size of variables nobody has a point of: no reduced cost may be left out."""

RECOMPUTATIONS = 3
"""How often a final bound is lowered to what its leaves prove with the cutoff that it gives."""

DISPROOF_RECHECKED = 1e-9
"""Value of a disproof, relative to its terms, that the checker asks for."""

BARRIER_ORDER = 18
"""Order of a matrix from which our interior points are taken: the dense blocks of a general conic
solver cost more from there on."""

BARRIER_VARIABLES = 600
"""Variables up to which they are: their Schur complement is dense."""

RAY_DIGITS = (1, 2, 3, 4, 6, None)
"""Digits behind the point that rays and curves are rounded to, None for not at all. A direction of
few digits is often exact, which its proof asks for."""

RAY_EXACT = 1e-15
"""Residuals of a direction of length 1 at which it counts as exact."""

RAY_NEARLY = 5e-9
"""Residuals up to which a direction is believed, without a proof."""

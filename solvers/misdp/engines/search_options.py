"""Options that ``misdp-bnb`` and ``misdp-oa`` share."""

from __future__ import annotations

from collections.abc import Mapping

from sparseopt.backend import Option

from ..relaxations.conic_solvers import RELAXATIONS

SEARCH_OPTIONS: Mapping[str, Option] = {
    "relaxation": Option(
        str,
        "auto",
        "solver of the relaxations: clarabel, scs, mosek (with a licence), barrier (ours), or "
        "auto: barrier up to 600 variables once it is compiled, else by size",
        choices=RELAXATIONS,
    ),
    "branching": Option(
        str,
        "pseudo-cost",
        "which variable to branch on",
        choices=("pseudo-cost", "most-infeasible"),
    ),
    "dives": Option(
        int,
        50,
        "dive at a root without a point, and after this many nodes, doubling; 0: never",
        low=0,
    ),
    "tolerance": Option(float, 1e-9, "tolerance of the relaxations' solver", low=1e-12),
    "certificate_numbers": Option(
        int, 20_000_000, "leave out a certificate of more numbers than this", low=0
    ),
}
"""What :class:`~sparseopt.solvers.misdp.tree.search.MISDPSearch` reads."""

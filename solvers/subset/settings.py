"""The numbers of the branch and bound for sparse regression: meaning, unit and reason."""

from __future__ import annotations

from dataclasses import dataclass

PROVEN_GAP = 1e-9
"""Relative gap that is proven where no wider one than the default of SolveParams is asked."""
SMALLEST_GAP = 1e-13
"""Gap that is rounding, relative to the objective of b = 0."""


@dataclass(frozen=True)
class SubsetSettings:
    """How relaxations are solved, and how columns come into the pool.

    Attributes
    ----------
    first : int
        Columns that the pool begins with, those of the largest products with y.
    more : int
        Columns that it takes in at once: as many as a product with all of X is worth.
    whole : int
        Number of columns up to which all of them are in the pool: its matrix takes 8 MB.
    batch : int
        Nodes that one product with the columns proves: reading X is shared among them.
    products : int
        Products that are held at once: 64 MB.
    tolerance : float
        Change of the objective by a coordinate that ends descent, relative to that of b = 0.
    sharper : float
        By how much it is lowered where the relaxation's value and bound lie on two sides of the
        target; three times at most.
    sweeps : int
        Sweeps of one descent, after which its active set is looked at again.
    steps : int
        Multipliers that are tried for the number of nonzeros.
    balance : float
        Part of that number by which the sum of the weights may miss it.
    excess : float
        Part by which a price must exceed the multiplier for its column to enter the pool.
    rounds : int
        How often the root takes in columns.
    shrink : float
        Part of the columns that must be left out for the root to be solved again.
    swaps : int
        Rounds in which every variable of the support may be exchanged for the best other one.
    last : float
        Multiplications that may be spent after a limit on what open nodes prove: some seconds.
    """

    first: int = 200
    more: int = 200
    whole: int = 1000
    batch: int = 16
    products: int = 8_000_000
    tolerance: float = 1e-9
    sharper: float = 1e-3
    sweeps: int = 60
    steps: int = 25
    balance: float = 0.02
    excess: float = 1e-3
    rounds: int = 30
    shrink: float = 0.1
    swaps: int = 20
    last: float = 3e10

"""A privacy budget that several releases of the same data share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sparseopt.errors import ParamError
from sparseopt.private.gaussian import gaussian_delta
from sparseopt.private.statement import Statement

__all__ = ["Ledger"]


@dataclass
class Ledger:
    r"""Adds up releases, and refuses one that would exceed (epsilon, delta).

    Gaussian releases compose exactly: several of :math:`\eta_i` (sensitivity over noise) are like
    one of :math:`\eta = (\sum_i \eta_i^2)^{1/2}` (Dong, Roth, Su 2022, corollary 3.3); the
    difference of the discrete noise is within a relative 1e-9 of delta.

    Parameters
    ----------
    epsilon, delta : float
        The budget of all releases together.

    Examples
    --------
    >>> ledger = Ledger(epsilon=1.0, delta=1e-5)
    >>> ledger.spent
    0.0
    """

    epsilon: float
    delta: float
    statements: list[Statement] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not (0.0 < self.epsilon < math.inf and 0.0 < self.delta < 1.0):
            raise ParamError(
                f"the budget is ({self.epsilon}, {self.delta}); expected > 0, delta < 1"
            )

    @property
    def spent(self) -> float:
        """Delta of all releases so far at the budget's epsilon."""
        return self._delta(self.statements)

    def add(self, statement: Statement) -> None:
        """Enter a release.

        Parameters
        ----------
        statement : Statement

        Raises
        ------
        ParamError
            When the budget does not allow it; nothing is entered then.
        """
        total = self._delta([*self.statements, statement])
        if total > self.delta:
            raise ParamError(
                f"the release would bring delta to {total:.3g} at epsilon {self.epsilon:g}; the "
                f"budget is {self.delta:g}, and {len(self.statements)} releases have spent "
                f"{self.spent:.3g} of it"
            )
        self.statements.append(statement)

    def _delta(self, statements: list[Statement]) -> float:
        eta = math.sqrt(sum(statement.eta**2 for statement in statements))
        return 0.0 if eta == 0.0 else gaussian_delta(eta, self.epsilon) * (1.0 - 1e-9)

"""A limit of simplex iterations for a whole solve of SCIP."""

from __future__ import annotations

from typing import Any

__all__ = ["IterationLimit"]


class IterationLimit:
    """Ends a solve after so many simplex iterations.

    SCIP's own limits are those of each linear program: a tree search goes on without the bound of
    one that they end. So a tree search is ended from outside, after the linear program in which the
    iterations ran out; where there is but one linear program, SCIP's limits do.

    Parameters
    ----------
    model : pyscipopt.Model
        Before its solve.
    linear : bool
        Whether it is one linear program.
    most : int

    Attributes
    ----------
    parameters : dict
        To be set in the model.
    """

    def __init__(self, model: Any, linear: bool, most: int) -> None:
        self.parameters: dict[str, Any] = {}
        self._meter: Any = None
        if linear:
            self.parameters = {
                "lp/iterlim": most,
                "lp/rootiterlim": most,
                # Else it begins anew in a node below.
                "limits/totalnodes": 1,
            }
        else:
            self._meter = _meter(most)
            model.includeEventhdlr(self._meter, "meter", "ends the search by its iterations")

    def reached(self, raw: str) -> bool:
        """Tell whether it has ended the solve, whose status in SCIP's words is given."""
        return raw == "totalnodelimit" if self._meter is None else bool(self._meter.spent)


def _meter(most: int) -> Any:
    from pyscipopt import SCIP_EVENTTYPE, Eventhdlr

    class Meter(Eventhdlr):  # type: ignore[misc]
        spent = False

        def eventinit(self) -> None:
            self.model.catchEvent(SCIP_EVENTTYPE.LPSOLVED, self)

        def eventexit(self) -> None:
            self.model.dropEvent(SCIP_EVENTTYPE.LPSOLVED, self)

        def eventexec(self, event: Any) -> None:
            if self.model.getNLPIterations() >= most:
                self.spent = True
                self.model.interruptSolve()

    return Meter()

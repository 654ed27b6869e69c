"""The best unit vectors with given numbers of nonzeros: :class:`SupportPath`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.paths.integer import IntegerPath
from sparseopt.problems.base import Array
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import pandas as pd


@borrows
@dataclass(frozen=True, eq=False, repr=False)
class SupportPath(IntegerPath):
    """The best point of every size d.

    Attributes
    ----------
    sizes : int array of shape (K,)
        Those that were asked, increasing; after a limit the first of them.
    objective, bound : arrays of shape (K,)
        The value of the point of each size, and a proven upper bound on the optimum.
    certified : bool array of shape (K,)
        Whether the two meet within the gap that was asked for.
    ptr, index, value : arrays
        The nonzeros of the points: those of place k are at ``ptr[k]:ptr[k + 1]``.
    variables : int
        D, the length of the points.
    stopped_by : str
        "d_max" at the largest size that was asked; "time" or "interrupted" where that came first.
    """

    sizes: Array
    objective: Array
    bound: Array
    certified: Array
    ptr: Array
    index: Array
    value: Array
    variables: int
    stopped_by: str

    kind: ClassVar[str] = "supports"
    parameter: ClassVar[str] = "size"

    @property
    def knots(self) -> Array:  # type: ignore[override]
        """The sizes."""
        return self.sizes

    def at(self, value: float) -> Array:
        """Return the point with at most d nonzeros, shape (D,).

        Raises
        ------
        ParamError
            When d is not among the sizes.
        """
        k = self._place(value)
        here = slice(int(self.ptr[k]), int(self.ptr[k + 1]))
        x = np.zeros(self.variables)
        x[self.index[here]] = self.value[here]
        return x

    def support(self, value: float) -> Array:
        """Return the variables that the point of size d uses, increasing."""
        return np.flatnonzero(self.at(value))

    def supports(self) -> list[list[int]]:
        """Return the variables of every size."""
        return [self.support(d).tolist() for d in self.sizes]

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each size: d, objective, bound, gap, certified, support."""
        frame = super().to_frame()
        frame["support"] = self.supports()
        return frame

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...

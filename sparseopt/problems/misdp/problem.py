"""The mixed-integer semidefinite program."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array, Problem, as_vector
from sparseopt.problems.fields import as_names, column_names
from sparseopt.problems.misdp.cones import (
    SecondOrderCone,
    SemidefiniteBlock,
    as_sparse,
    without_negative_zero,
)
from sparseopt.problems.misdp.indicators import IndicatorConstraint
from sparseopt.problems.misdp.stacks import unstack_blocks, unstack_cones, unstack_indicators
from sparseopt.sketch import bars

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_SKETCHED = 8
"""Variables on a card."""
_CURVED = 1e-10
"""Eigenvalues of Q of the wrong sign up to this, relative to its largest entry, are rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class MISDP(Problem):
    r"""The mixed-integer semidefinite program, with linear and second-order cone constraints.

    .. math:: \min \; \tfrac12 x'Qx + c'x + c_0 \quad\text{subject to}\quad
              & l_A \le A x \le u_A,\; l \le x \le u,\; x_j \in Z \; (j \in I), \\
              & F_k x + g_k \in Q_k, \quad M_b(x) \succeq 0, \\
              & x_{k_i} = 1 \;\Rightarrow\; l_i \le a_i'x \le u_i

    or the maximum. Q is positive semidefinite for the minimum, -Q for the maximum. Each :math:`Q_k`
    is a second-order cone, plain or rotated; each :math:`M_b(x)` is a symmetric matrix that is
    affine in x, and may be asked to have rank one.
    :class:`MISDPBuilder <sparseopt.problems.misdp.builder.MISDPBuilder>` puts one together part
    by part.

    Parameters
    ----------
    c : array of shape (n,)
    A : sparse or dense array of shape (m, n), optional
        Default: no rows. Held as a CSR array without stored zeros, of shape (0, n) without rows.
    row_lower, row_upper : array of shape (m,), optional
        -inf and inf where a side is open, which is the default; equal for an equation.
    lower, upper : array of shape (n,), optional
        Bounds, -inf and inf by default.
    integer : bool array of shape (n,), or list of indices, optional
        The variables that must be integers; default none.
    cones : sequence of SecondOrderCone
    blocks : sequence of SemidefiniteBlock
    sense : {"min", "max"}, default "min"
    offset : float, default 0
        The constant c_0.
    names : list of n strings, optional
    indicators : sequence of IndicatorConstraint
    Q : sparse or dense array of shape (n, n), optional
        Symmetric; default zero. Held as a CSR array.

    Raises
    ------
    ProblemError
        When shapes disagree, an entry is NaN (or infinite where it must not be), bounds cross, the
        variable of an indicator is not binary, or Q has an eigenvalue of the wrong sign.

    Examples
    --------
    The largest integer x with [[1, x / 4], [x / 4, 1]] positive semidefinite:

    >>> import numpy as np
    >>> from sparseopt.problems import MISDP, SemidefiniteBlock
    >>> block = SemidefiniteBlock(F=[[0.0], [0.25], [0.0]], F0=[1.0, 0.0, 1.0])
    >>> problem = MISDP(c=[1.0], integer=[True], blocks=[block], sense="max")
    >>> problem.residuals(np.array([4.0]))["psd"]
    0.0
    >>> problem.residuals(np.array([5.0]))["psd"]
    0.2
    """

    c: Any
    A: Any = None
    row_lower: Any = None
    row_upper: Any = None
    lower: Any = None
    upper: Any = None
    integer: Any = None
    cones: Any = ()
    blocks: Any = ()
    # The one problem whose instances differ in their sense. The base class has an entry of that
    # name, whose place among the fields would come first.
    sense: Literal["min", "max"] = field(default="min", kw_only=True)  # type: ignore[misc]
    offset: float = 0.0
    names: list[str] | None = None
    indicators: Any = ()
    Q: Any = None

    kind: ClassVar[str] = "misdp"
    family: ClassVar[str] = "misdp"

    def _coerce(self) -> None:
        c = np.asarray(self.c)
        n = len(c) if c.ndim == 1 else 0
        if n == 0:
            raise ProblemError(f"c has shape {c.shape}; expected one cost per variable", "c")
        self._set("c", without_negative_zero(as_vector("c", self.c, n)))
        A = sp.csr_array((0, n)) if self.A is None else as_sparse("A", self.A)
        if A.shape[1] != n:
            raise ProblemError(f"A has shape {A.shape}; expected {n} columns", "A")
        self._set("A", A)
        for name, length, open_end in (
            ("row_lower", A.shape[0], -np.inf),
            ("row_upper", A.shape[0], np.inf),
            ("lower", n, -np.inf),
            ("upper", n, np.inf),
        ):
            self._set(name, _ends(name, getattr(self, name), length, open_end))
        self._set("integer", _mask(self.integer, n))
        self._set("cones", _parts("cones", self.cones, SecondOrderCone))
        self._set("blocks", _parts("blocks", self.blocks, SemidefiniteBlock))
        self._set("indicators", _parts("indicators", self.indicators, IndicatorConstraint))
        if self.Q is not None:
            Q = as_sparse("Q", self.Q)
            self._set("Q", _symmetric(Q, n) if Q.nnz else None)
        if isinstance(self.offset, bool) or not isinstance(self.offset, int | float | np.number):
            raise ProblemError(f"offset is {self.offset!r}; expected a number", "offset")
        self._set("offset", float(self.offset) + 0.0)
        self._set("names", as_names(self.names, n))

    def validate(self) -> None:
        """Check sense, offset, order of bounds, widths of parts, indicators and convexity."""
        if self.sense not in ("min", "max"):
            raise ProblemError(f"sense is {self.sense!r}; expected 'min' or 'max'", "sense")
        if not np.isfinite(self.offset):
            raise ProblemError(f"offset is {self.offset}; expected a finite number", "offset")
        for low, high in (("row_lower", "row_upper"), ("lower", "upper")):
            crossed = np.flatnonzero(getattr(self, low) > getattr(self, high))
            if len(crossed):
                j = int(crossed[0])
                raise ProblemError(
                    f"{low}[{j}] = {getattr(self, low)[j]} exceeds {high}[{j}] = "
                    f"{getattr(self, high)[j]}",
                    low,
                )
        n = len(self.c)
        for name in ("cones", "blocks"):
            for k, part in enumerate(getattr(self, name)):
                if part.F.shape[1] != n:
                    raise ProblemError(
                        f"{name}[{k}].F has shape {part.F.shape}; expected {n} columns, one for "
                        "each variable",
                        name,
                    )
        for k, row in enumerate(self.indicators):
            if row.a.shape[1] != n:
                raise ProblemError(
                    f"indicators[{k}].a has shape {row.a.shape}; expected {n} columns, one for "
                    "each variable",
                    "indicators",
                )
            j = row.binary
            if not 0 <= j < n:
                raise ProblemError(
                    f"indicators[{k}].binary is {j}; expected an index in 0..{n - 1}", "indicators"
                )
            if not (self.integer[j] and self.lower[j] >= 0.0 and self.upper[j] <= 1.0):
                raise ProblemError(
                    f"indicators[{k}] depends on variable {j}, which is not binary: expected an "
                    f"integer with bounds within [0, 1], got {'' if self.integer[j] else 'no '}"
                    f"integer in [{self.lower[j]:g}, {self.upper[j]:g}]",
                    "indicators",
                )
        if self.Q is not None:
            _refuse_nonconvex(self.Q, self.sense)

    @property
    def size(self) -> Mapping[str, int]:
        return {
            "n": len(self.c),
            "integers": int(self.integer.sum()),
            "m": self.A.shape[0],
            "cones": len(self.cones),
            "blocks": len(self.blocks),
            "largest_block": max((block.size for block in self.blocks), default=0),
            **({"indicators": len(self.indicators)} if self.indicators else {}),
            **({"quadratic": self.Q.nnz} if self.Q is not None else {}),
        }

    def sketch(self, x: Array) -> str:
        """Return the variables that are not zero as bars, integers first, at most eight of them."""
        names = column_names(self.names, len(x))
        order = np.lexsort((-np.abs(x), ~self.integer))
        return bars({names[i]: float(x[i]) for i in order[:_SKETCHED] if x[i] != 0.0})

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return x'Qx / 2 + c'x + offset."""
        z = as_vector("x", x, len(self.c))
        curved = 0.0 if self.Q is None else 0.5 * float(z @ (self.Q @ z))
        return float(self.c @ z + self.offset) + curved

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the sum of the absolute terms of x'Qx / 2 + c'x + offset."""
        z = np.abs(as_vector("x", x, len(self.c)))
        curved = 0.0 if self.Q is None else 0.5 * float(z @ (abs(self.Q) @ z))
        return float(np.abs(self.c) @ z + abs(self.offset)) + curved

    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Return the largest violations, each relative to the size of its terms.

        The size of a row, of an entry of a cone or of a matrix is the largest of the sum of its
        absolute terms, its constant, and its largest coefficient (one unit of a variable).

        Returns
        -------
        dict
            "bounds" (relative to the bound, at least 1); where there are such: "rows", "cones"
            (by how much the norm exceeds the head), "psd" (minus the smallest eigenvalue),
            "integrality" (distance to the nearest integer, absolute), "rank_one" (the second
            largest eigenvalue), "indicators" (rows whose binary variable is one, rounded).
            Those of cones and matrices are relative to their largest entry's size.
        """
        z = as_vector("x", x, len(self.c))
        found = {"bounds": _outside(z, self.lower, self.upper, np.ones(len(z)))}
        if self.A.shape[0]:
            sizes = _sizes(self.A, z, 0.0)
            found["rows"] = _outside(self.A @ z, self.row_lower, self.row_upper, sizes)
        if self.cones:
            found["cones"] = max(
                cone.violation(cone.value(z)) / _largest(cone.F, z, cone.g) for cone in self.cones
            )
        for block in self.blocks:
            values = np.linalg.eigvalsh(block.matrix(z)) / _largest(block.F, z, block.F0)
            found["psd"] = max(found.get("psd", 0.0), -float(values[0]))
            if block.rank_one:
                second = float(values[-2]) if block.size > 1 else 0.0
                found["rank_one"] = max(found.get("rank_one", 0.0), second)
        for row in self.indicators:
            missed = 0.0
            if round(float(z[row.binary])) == 1:
                ends = np.array([row.lower]), np.array([row.upper])
                missed = _outside(row.a @ z, *ends, _sizes(row.a, z, 0.0))
            found["indicators"] = max(found.get("indicators", 0.0), missed)
        if self.integer.any():
            part = z[self.integer]
            found["integrality"] = float(np.abs(part - np.rint(part)).max())
        return found

    def payload(self) -> tuple[dict[str, Any], dict[str, Array | sp.csr_array]]:
        """Split the content; cones and blocks are stacked one below the other."""
        values: dict[str, Any] = {"sense": self.sense, "offset": self.offset}
        arrays: dict[str, Any] = {
            "c": self.c,
            "lower": self.lower,
            "upper": self.upper,
            "integer": self.integer,
        }
        if self.names is not None:
            values["names"] = self.names
        if self.A.shape[0]:
            arrays |= {"A": self.A, "row_lower": self.row_lower, "row_upper": self.row_upper}
        if self.cones:
            arrays["cones_F"] = sp.vstack([cone.F for cone in self.cones], format="csr")
            arrays["cones_g"] = np.concatenate([cone.g for cone in self.cones])
            arrays["cones_size"] = np.array([cone.dimension for cone in self.cones], np.int64)
            arrays["cones_rotated"] = np.array([cone.rotated for cone in self.cones])
        if self.blocks:
            arrays["blocks_F"] = sp.vstack([block.F for block in self.blocks], format="csr")
            arrays["blocks_F0"] = np.concatenate([block.F0 for block in self.blocks])
            arrays["blocks_size"] = np.array([block.size for block in self.blocks], np.int64)
            arrays["blocks_rank_one"] = np.array([block.rank_one for block in self.blocks])
            if any(block.name for block in self.blocks):
                values["block_names"] = [block.name for block in self.blocks]
        if self.indicators:
            arrays["indicators_a"] = sp.vstack([row.a for row in self.indicators], format="csr")
            arrays["indicators_binary"] = np.array([r.binary for r in self.indicators], np.int64)
            arrays["indicators_lower"] = np.array([row.lower for row in self.indicators])
            arrays["indicators_upper"] = np.array([row.upper for row in self.indicators])
        if self.Q is not None:
            arrays["Q"] = self.Q
        return values, arrays

    @classmethod
    def from_payload(cls, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        rest = {**values, **arrays}
        block_names = rest.pop("block_names", None)
        stacks = {}
        for name, parts in (
            ("cones", ("F", "g", "size", "rotated")),
            ("blocks", ("F", "F0", "size", "rank_one")),
            ("indicators", ("a", "binary", "lower", "upper")),
        ):
            keys = [f"{name}_{part}" for part in parts]
            given = [key for key in keys if key in rest]
            if given and len(given) < len(keys):
                missing = next(key for key in keys if key not in rest)
                raise ProblemError(f"{cls.kind}: the entry {missing} is missing", missing)
            stacks[name] = [rest.pop(key) for key in keys] if given else None
        rest["cones"] = unstack_cones(stacks["cones"])
        rest["blocks"] = unstack_blocks(stacks["blocks"], block_names)
        rest["indicators"] = unstack_indicators(stacks["indicators"])
        return super().from_payload(rest, {})


def _ends(name: str, given: Any, length: int, open_end: float) -> Array:
    """Return bounds; the infinity of an open side is allowed, the other one is not."""
    values = np.full(length, open_end) if given is None else given
    array = as_vector(name, values, length, finite=False)
    bad = np.isnan(array) | (array == -open_end)
    if bad.any():
        j = int(np.argmax(bad))
        raise ProblemError(f"{name}[{j}] is {array[j]}; expected a number or {open_end}", name)
    return without_negative_zero(array)


def _mask(given: Any, n: int) -> Array:
    """Return the integer variables as a mask, from a mask or from indices."""
    mask = np.zeros(n, dtype=bool)
    if given is not None:
        array = np.asarray(given)
        if array.dtype.kind == "b" and array.shape == (n,):
            mask = array.copy()
        elif array.ndim == 1 and (array.dtype.kind in "iu" or not array.size):
            array = array.astype(np.int64)
            if len(array) and not 0 <= array.min() <= array.max() < n:
                raise ProblemError(f"integer names variables outside 0..{n - 1}", "integer")
            mask[array] = True
        else:
            raise ProblemError(
                f"integer has the type {array.dtype} and shape {array.shape}; expected {n} flags, "
                "or a list of indices",
                "integer",
            )
    mask.flags.writeable = False
    return mask


def _symmetric(Q: sp.csr_array, n: int) -> sp.csr_array:
    """Return Q, which must be a symmetric matrix of order n."""
    if Q.shape != (n, n):
        raise ProblemError(f"Q has shape {Q.shape}; expected ({n}, {n})", "Q")
    difference = abs(Q - Q.T)
    worst = float(difference.max())
    if worst > _CURVED * float(abs(Q).max()):
        raise ProblemError(
            f"Q is not symmetric: entries opposite each other differ by {worst:g}; give (Q + Q.T) "
            "/ 2 if that is what is meant",
            "Q",
        )
    return Q if worst == 0.0 else as_sparse("Q", sp.csr_array(Q / 2.0 + Q.T / 2.0))


def _refuse_nonconvex(Q: sp.csr_array, sense: str) -> None:
    """Raise a ProblemError that names an eigenvalue of the wrong sign."""
    used = np.flatnonzero(np.diff(Q.indptr))
    dense = Q[used][:, used].toarray()
    allowed = _CURVED * float(np.abs(dense).max())
    with suppress(np.linalg.LinAlgError):
        # Much cheaper than eigenvalues.
        np.linalg.cholesky((dense if sense == "min" else -dense) + allowed * np.eye(len(dense)))
        return
    values = np.linalg.eigvalsh(dense)
    worst = float(values[0] if sense == "min" else values[-1])
    if worst < -allowed if sense == "min" else worst > allowed:
        kind, wanted = ("minimum", "positive") if sense == "min" else ("maximum", "negative")
        raise ProblemError(
            f"Q has the eigenvalue {worst:.6g}; a {kind} needs a {wanted} semidefinite Q: other "
            "quadratic objectives are not convex",
            "Q",
        )


def _parts(name: str, given: Any, kind: type) -> tuple[Any, ...]:
    parts = tuple(given) if isinstance(given, list | tuple) else (given,)
    for k, part in enumerate(parts):
        if not isinstance(part, kind):
            raise ProblemError(
                f"{name}[{k}] is a {type(part).__name__}; expected a {kind.__name__}", name
            )
    return parts


def _sizes(F: sp.csr_array, x: Array, constant: Array | float) -> Array:
    """Return the size of the terms of each row of F x + constant."""
    B = abs(F)
    largest = B.max(axis=1).toarray().reshape(-1) if B.nnz else np.zeros(F.shape[0])
    return np.asarray(np.maximum(np.maximum(B @ np.abs(x), largest), np.abs(constant)))


def _largest(F: sp.csr_array, x: Array, constant: Array) -> float:
    """Return the largest size of a row of F x + constant; 1 where all of it is zero."""
    return float(_sizes(F, x, constant).max()) or 1.0


def _outside(value: Array, low: Array, high: Array, sizes: Array) -> float:
    """Return the largest distance from the intervals, relative to the sizes of terms and ends."""
    distance = np.maximum(np.maximum(low - value, value - high), 0.0)
    ends = np.maximum(
        np.where(np.isfinite(low), np.abs(low), 0.0), np.where(np.isfinite(high), np.abs(high), 0.0)
    )
    size = np.maximum(sizes, ends)
    # An empty row with the bounds 0 has no size, and no violation.
    return float(np.max(distance / np.where(size > 0.0, size, 1.0), initial=0.0))

"""What is asked of a solve, the same for every backend: :class:`SolveParams`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

from sparseopt.errors import ParamError

LARGEST_LAM = 2.0**400
"""The largest lam, 2.6e120, which is the largest entry of data: products with them stay finite."""

LARGEST_INTEGER = 2**63 - 1
"""The largest count: engines and outside solvers hold counts in 64 bits."""

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "lam": ("lam", "lam_min", "max_knots", "max_nonzeros"),
    "budget": ("budget",),
    "size": ("size",),
}
"""Fields of SolveParams about each parameter of a problem."""

_LONGEST = 80
"""Characters of a wrong value in a message."""


def shown(value: object) -> str:
    """Return a value for a message, cut where it is long.

    Parameters
    ----------
    value : object
        Anything: Python writes no integer of more than 4300 digits.

    Returns
    -------
    str
        Of at most 80 characters.
    """
    try:
        text = repr(value)
    except Exception:
        text = f"an unprintable {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


@dataclass(frozen=True, kw_only=True)
class SolveParams:
    """Parameters of the question and of its limits; immutable and validated.

    Parameters
    ----------
    lam : float or sequence of float, optional
        The value of the regularization parameter (one solve), or a grid of values. On the scale
        that the problem's own docstring states.
    lam_min : float, optional
        Solve the whole path from the largest lam down to this value. Without `lam` and `lam_min`
        a parametric problem is solved down to 0.
    max_knots : int, optional
        Stop the path after this many knots.
    max_nonzeros : int, optional
        Stop the path before the model has more nonzero coefficients than this.
    budget : int, optional
        Total cardinality budget (problems with a budget path).
    size : int or sequence of int, optional
        The largest number of nonzeros of a point, >= 1 (:class:`~sparseopt.problems.STRS`), or
        increasing numbers, such as ``range(1, 11)``, for a path over them. Default: the problem's.
    time_limit : float, optional
        Seconds of wall time for the solve, after which it ends at its next look at the clock: one
        that is done before that has its whole answer, however small the limit. Imports (also those
        of a child process, and its start), compilation and the check that follows are not counted;
        ``check=False`` leaves the check out.
    rel_gap : float, default 1e-6
        Relative gap at which an answer counts as optimal.
    abs_gap : float, default 0.0
        Absolute gap at which an answer counts as optimal.
    node_limit, iteration_limit : int, optional
        Limits of tree searches and of iterations or pivots, for the backends that keep them
        (:attr:`Backend.limits <sparseopt.backend.Backend>`); the others say in a note that they
        ignored them.
    threads : int, optional
        Threads of BLAS, numba and the backend together. Default: BLAS with one, or with all of
        the process where a backend factorises matrices of 4e6 entries or more; columns and nodes
        that are independent of each other in all cores; outside solvers as they choose.
    seed : int, default 0
        Seed of every random choice.
    verbose : bool, default False
        Let the backend print its own log.

    Raises
    ------
    ParamError
        When a value has the wrong type or range, or two questions contradict each other.

    Examples
    --------
    >>> SolveParams(lam_min=0.5).lam_min
    0.5
    >>> SolveParams(lam=-1.0)
    Traceback (most recent call last):
    ...
    sparseopt.errors.ParamError: lam must be a finite number >= 0, got -1.0
    """

    lam: float | tuple[float, ...] | None = None
    lam_min: float | None = None
    max_knots: int | None = None
    max_nonzeros: int | None = None
    budget: int | None = None
    size: int | tuple[int, ...] | None = None
    time_limit: float | None = None
    rel_gap: float = 1e-6
    abs_gap: float = 0.0
    node_limit: int | None = None
    iteration_limit: int | None = None
    threads: int | None = None
    seed: int = 0
    verbose: bool = False

    def __post_init__(self) -> None:
        if self.lam is not None and not _is_real(self.lam):
            object.__setattr__(self, "lam", _grid(self.lam))
        elif self.lam is not None:
            object.__setattr__(self, "lam", _lam("lam", self.lam))
        if self.size is not None:
            object.__setattr__(self, "size", _sizes(self.size))
        if self.lam_min is not None:
            object.__setattr__(self, "lam_min", _lam("lam_min", self.lam_min))
        for name in ("time_limit", "rel_gap", "abs_gap"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _number(name, value, low=0.0))
        for name, low in (
            ("max_knots", 1),
            ("max_nonzeros", 0),
            ("budget", 0),
            ("node_limit", 1),
            ("iteration_limit", 1),
            ("threads", 1),
            ("seed", 0),
        ):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _integer(name, value, low))
        if not isinstance(self.verbose, bool):
            raise ParamError(f"verbose must be True or False, got {shown(self.verbose)}")
        if self.lam is not None:
            for name in ("lam_min", "max_knots", "max_nonzeros"):
                if getattr(self, name) is not None:
                    raise ParamError(
                        f"lam asks for single values and {name} for a path: give one of the two"
                    )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of all parameters."""
        return tuple(field.name for field in fields(cls))

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults, ready for JSON."""
        default = asdict(SolveParams())
        chosen = {key: value for key, value in asdict(self).items() if value != default[key]}
        return {key: list(v) if isinstance(v, tuple) else v for key, v in chosen.items()}


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _lam(name: str, value: object) -> float:
    lam = _number(name, value, low=0.0)
    if lam > LARGEST_LAM:
        raise ParamError(
            f"{name} must be at most {LARGEST_LAM:.3g}, as data are, got {shown(value)}"
        )
    return lam


def _number(name: str, value: object, low: float) -> float:
    number = math.nan
    if _is_real(value):
        # An integer or a fraction beyond 1.8e308 is no float.
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number) or number < low:
        raise ParamError(f"{name} must be a finite number >= {low:g}, got {shown(value)}")
    return number


def _integer(name: str, value: object, low: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        raise ParamError(f"{name} must be an integer >= {low}, got {shown(value)}")
    if int(value) > LARGEST_INTEGER and name != "seed":
        raise ParamError(f"{name} must be an integer below 2**63, got {shown(value)}")
    return int(value)


def _grid(value: object) -> tuple[float, ...]:
    return tuple(_lam("lam", item) for item in _items("lam", value))


def _sizes(value: object) -> int | tuple[int, ...]:
    if isinstance(value, Integral):
        return _integer("size", value, 1)
    sizes = tuple(_integer("size", item, 1) for item in _items("size", value))
    if any(after <= before for before, after in pairwise(sizes)):
        raise ParamError(f"size must be an integer or increasing integers, got {shown(value)}")
    return sizes


def _items(name: str, value: object) -> Sequence[Any]:
    """Return the items of a list, a tuple, a range or an array, at least one."""
    tolist = getattr(value, "tolist", None)
    items = tolist() if callable(tolist) else value
    if not isinstance(items, Sequence) or isinstance(items, str | bytes):
        raise ParamError(f"{name} must be a number or a sequence of numbers, got {shown(value)}")
    if not items:
        raise ParamError(f"{name} is an empty sequence: give at least one value")
    return items

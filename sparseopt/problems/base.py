"""The contract of a problem: frozen data that can be evaluated, checked and fingerprinted."""

from __future__ import annotations

import hashlib
import html
import json
import mmap
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.families import broken_families, families
from sparseopt.installed import Deferred, resolve

if TYPE_CHECKING:
    from sparseopt.params import SolveParams

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

Array = np.ndarray[Any, np.dtype[Any]]

_OURS = "_sparseopt_frozen"
"""Attribute of the sparse matrices that a problem has made read-only and others may share."""

_KINDS: dict[str, type[Problem]] = {}


@dataclass(frozen=True, eq=False)
class Problem(ABC):
    """What is to be solved: arrays and scalars, ``objective``, ``residuals``, ``validate``.

    A subclass is a frozen dataclass whose fields are numpy arrays, scipy.sparse matrices, or
    values that JSON can hold. Arrays are copied, so that what the caller does with its own later
    changes no problem; read-only arrays and memory-mapped files are shared. A subclass sets `kind`
    (its name in files) and `family` (the name of its :class:`~sparseopt.families.Family`), and it
    holds no algorithm. A problem that exists is valid: construction validates.
    """

    kind: ClassVar[str]
    family: ClassVar[str]
    sense: ClassVar[Literal["min", "max"]] = "min"
    parameter: ClassVar[str | None] = None
    """The parameter over which there are paths: "lam", "budget", "size"; None for no such."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        self._coerce()
        self.validate()

    def _coerce(self) -> None:
        """Bring the fields into their canonical types (subclasses use :meth:`_set`)."""

    def _set(self, name: str, value: object) -> None:
        """Assign a field during construction."""
        object.__setattr__(self, name, value)

    @abstractmethod
    def validate(self) -> None:
        """Check shapes, finiteness, symmetry and ranges.

        Raises
        ------
        ProblemError
            Naming the field and the value at fault.
        """

    @property
    @abstractmethod
    def size(self) -> Mapping[str, int]:
        """The dimensions that people quote, by name."""

    @property
    def entries(self) -> int:
        """Entries of the largest array among the fields; nonzero ones of a sparse matrix."""
        values = (getattr(self, field.name) for field in fields(self))
        sizes = (v.size for v in values if isinstance(v, np.ndarray) or is_sparse(v))
        return max(map(int, sizes), default=0)

    def remarks(self) -> tuple[str, ...]:
        """Return what a person should know of the data, and what to do; notes of a result."""
        return ()

    def asked(self, params: SolveParams) -> Any:
        """Return what `params` ask about the parameter: a value, several, or None for all."""
        return None if self.parameter is None else getattr(params, self.parameter, None)

    def posed(self, params: SolveParams) -> Problem:
        """Return the problem that a backend is given for the question in `params`.

        It is this one, except where the parameter is part of the data and another value is asked.
        """
        return self

    @abstractmethod
    def objective(self, x: Array, lam: float | None = None) -> float:
        """Objective value of the point `x` (at the parameter `lam` where there is one)."""

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Size of the objective's terms at `x`, which rounding is proportional to.

        A sum whose terms cancel overrides this with the sum of their absolute values.
        """
        return abs(self.objective(x, lam))

    @property
    def value_unit(self) -> float:
        """What differences of objective values are relative to where the values are smaller.

        1 unless a problem knows better; never above 1, so that no comparison is looser than that.
        """
        return 1.0

    @abstractmethod
    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Violations of the constraints by `x`, by name; all zero for a feasible point."""

    def sketch(self, x: Array) -> str:
        """Return a small picture of the point `x` as an SVG element; empty where there is none."""
        return ""

    def payload(self) -> tuple[dict[str, Any], dict[str, Array | sp.csr_array]]:
        """Split the content into JSON values and arrays; the inverse of :meth:`from_payload`."""
        values: dict[str, Any] = {}
        arrays: dict[str, Array | sp.csr_array] = {}
        for field in fields(self):
            value: Any = getattr(self, field.name)
            if isinstance(value, np.ndarray) or is_sparse(value):
                arrays[field.name] = value
            elif value is not None:
                values[field.name] = value
        return values, arrays

    @classmethod
    def from_payload(cls, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        """Build the problem from what :meth:`payload` returned.

        Raises
        ------
        ProblemError
            When an entry is unknown, missing or invalid.
        """
        given = {**values, **arrays}
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(given) - known)
        if unknown:
            raise ProblemError(
                f"{cls.kind}: unknown entries {unknown}; expected some of {sorted(known)}"
            )
        try:
            return cls(**given)
        except TypeError as error:
            raise ProblemError(f"{cls.kind}: {error}") from error

    def with_changes(self, **changes: Any) -> Self:
        """Return the problem with some fields replaced, such as a new y or new weights.

        The other fields are shared, not copied.

        Raises
        ------
        ProblemError
            When there is no such field, or its value is invalid.
        """
        known = [field.name for field in fields(self)]
        for name in changes:
            if name not in known:
                raise ProblemError(f"a {self.kind} has no {name}; it has: {', '.join(known)}", name)
        return replace(self, **changes)

    def fingerprint(self) -> str:
        """SHA-256 of the content: the same for the object, its file, and any copy of either."""
        values, arrays = self.payload()
        digest = hashlib.sha256()
        digest.update(json.dumps([self.kind, values], sort_keys=True).encode())
        for name in sorted(arrays):
            _hash_array(digest, name, arrays[name])
        return digest.hexdigest()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{key}={value}" for key, value in self.size.items())
        return f"{type(self).__name__}({sizes})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(str(key))}</th><td>{value}</td></tr>"
            for key, value in {"kind": self.kind, "sense": self.sense, **self.size}.items()
        )
        return f"<table><caption>{html.escape(type(self).__name__)}</caption>{rows}</table>"


def problem_kinds() -> Mapping[str, type[Problem]]:
    """All known problem classes by their `kind`."""
    return dict(_KINDS)


def problem_class(kind: str) -> type[Problem]:
    """Return the problem class of a kind, ours or one that an installed package brings.

    A package names its kinds in its :class:`~sparseopt.families.Family`, so that files that hold
    them can be read; a problem class is imported only then.

    Parameters
    ----------
    kind : str
        The problem's name in files, such as "dantzig-selector".

    Returns
    -------
    subclass of Problem

    Raises
    ------
    ProblemError
        When nobody brings the kind, or the package that does cannot be imported.
    """
    if kind in _KINDS:
        return _KINDS[kind]
    known = {key: value for family in families().values() for key, value in family.problems.items()}
    if kind not in known:
        kinds = ", ".join(sorted({*_KINDS, *known}))
        broken = "".join(f"; {why}" for why in broken_families().values())
        raise ProblemError(
            f"the problem's kind is {kind!r}; this sparseopt knows: {kinds}{broken}", "kind"
        )
    try:
        found = resolve(known[kind])
    except Exception as error:
        raise ProblemError(
            f"problems of the kind {kind!r} come from {known[kind]!r}, which cannot be imported: "
            f"{error}",
            "kind",
        ) from error
    if isinstance(found, type) and issubclass(found, Problem) and found.kind == kind:
        return found
    raise ProblemError(f"{known[kind]!r} is no problem class of the kind {kind!r}", "kind")


def as_matrix(field: str, value: Any, *, allow_sparse: bool = False) -> Any:
    """Return `value` as a read-only float64 matrix, or as a CSR array where that is allowed.

    It is a copy, unless `value` is read-only already as a whole (or a memory-mapped file).

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    value : array_like of shape (m, n), or scipy.sparse matrix
    allow_sparse : bool, default False
        Whether a sparse matrix may stay one.

    Returns
    -------
    array or csr_array of shape (m, n)

    Raises
    ------
    ProblemError
        When it is not numeric, not two-dimensional, empty, not finite, or has masked entries.
    """
    if is_sparse(value):
        if not allow_sparse:
            _numeric(field, value)
        matrix = _frozen_csr(field, value)
        _check_finite(field, matrix.data)
        if 0 in matrix.shape:
            raise ProblemError(f"{field} has shape {matrix.shape}; expected at least 1 x 1", field)
        return matrix
    array = _numeric(field, value)
    if array.ndim != 2 or 0 in array.shape:
        raise ProblemError(
            f"{field} has shape {array.shape}; expected a matrix of at least 1 x 1", field
        )
    _check_finite(field, array)
    return freeze(array, value)


def as_vector(field: str, value: object, length: int, *, finite: bool = True) -> Array:
    """Return `value` as a read-only float64 vector of the given length, a copy like a matrix.

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    value : array_like of shape (length,)
    length : int
    finite : bool, default True
        Whether infinities are refused.

    Returns
    -------
    array of shape (length,)

    Raises
    ------
    ProblemError
        When it is not numeric, of another shape, not finite, or has masked entries.
    """
    array = _numeric(field, value)
    if array.shape != (length,):
        raise ProblemError(f"{field} has shape {array.shape}; expected ({length},)", field)
    if finite:
        _check_finite(field, array)
    return freeze(array, value)


def is_sparse(value: object) -> bool:
    """Return whether a value is of scipy.sparse; nothing is, where that is not imported.

    Parameters
    ----------
    value : object

    Returns
    -------
    bool
    """
    return "scipy.sparse" in sys.modules and bool(sp.issparse(value))


def check_indices(field: str, value: Any) -> None:
    """Raise a ProblemError where a sparse matrix stores entries outside its shape.

    scipy.sparse itself checks that when it is given a matrix's arrays, and not for what they become
    later; its conversions write wherever an index points.

    Parameters
    ----------
    field : str
        The name of the field, for messages.
    value : scipy.sparse matrix, or anything else, which passes
    """
    if not is_sparse(value):
        return
    if value.format == "coo":
        _check_places(field, "coords", zip(value.coords, value.shape, strict=True))
    elif value.format in ("csr", "csc", "bsr"):
        m, n = value.shape if value.ndim == 2 else (1, *value.shape)
        if value.format == "bsr":
            m, n = m // value.blocksize[0], n // value.blocksize[1]
        rows, columns = (n, m) if value.format == "csc" else (m, n)
        _check_pointers(field, value, rows)
        _check_places(field, "indices", [(value.indices, columns)])


def freeze(array: Array, given: object) -> Array:
    """Return a read-only array that nobody else can change; copied only where that is needed.

    Parameters
    ----------
    array : array
    given : object
        What the caller handed in, `array` or something that was converted to it.

    Returns
    -------
    array
        `array` itself where it was read-only already, a view where it is new or a mapped file
        (whose content is not held in memory), and else a copy.
    """
    if array is given and array.base is None and array.flags.writeable:
        # The points that are evaluated come this way, often and short.
        array = array.copy("K")
        array.flags.writeable = False
        return array.view()
    if _is_frozen(array):
        return array
    new = isinstance(given, list | tuple | int | float) or (
        isinstance(given, np.ndarray) and not np.may_share_memory(array, given)
    )
    if not (new or _is_mapped(array)):
        array = np.array(array, copy=True)
    owner = array.base if isinstance(array.base, np.ndarray) else array
    if new or owner is array:
        owner.flags.writeable = False
    view = array.view()
    view.flags.writeable = False
    return view


def freeze_csr(matrix: sp.csr_array) -> sp.csr_array:
    """Make a new CSR array in canonical form read-only, so that problems may share it.

    Parameters
    ----------
    matrix : csr_array
        Which nobody else holds.

    Returns
    -------
    csr_array
        The same one.
    """
    for part in _parts(matrix):
        part.flags.writeable = False
    setattr(matrix, _OURS, True)
    return matrix


def unmasked(field: str, value: Any) -> Any:
    """Return masked arrays as plain ones, other values as they are.

    Parameters
    ----------
    field : str
        The name of the field, for the message.
    value : object
        A masked array, or a list or tuple of them, or anything else.

    Raises
    ------
    ProblemError
        When an entry is masked.
    """
    if type(value) is np.ndarray:
        return value
    parts = value if isinstance(value, list | tuple) else [value]
    masked = [part for part in parts if isinstance(part, np.ma.MaskedArray)]
    count = sum(int(np.ma.getmaskarray(part).sum()) for part in masked)
    if count:
        total = sum(part.size for part in masked)
        raise ProblemError(
            f"{field} has {count} masked entries of {total}; expected numbers everywhere: fill "
            "them in, or leave out their rows",
            field,
        )
    return value.data if isinstance(value, np.ma.MaskedArray) else value


def _numeric(field: str, value: object) -> Array:
    if is_sparse(value):
        raise ProblemError(f"{field} is sparse; expected a dense array ({field}.toarray())", field)
    value = unmasked(field, value)
    try:
        array = np.asarray(_without_missing_type(value))
    except ValueError as error:
        raise ProblemError(f"{field} is not a rectangular array: {error}", field) from error
    return _as_float(field, array, list(getattr(value, "columns", [])))


def _without_missing_type(value: Any) -> Any:
    """Return a data frame whose columns may hold pandas' missing values as floats, NaN for these.

    numpy would make objects of it, even where nothing is missing.
    """
    types = getattr(value, "dtypes", None)
    if types is None or not hasattr(value, "to_numpy") or not isinstance(types, Iterable):
        return value
    types = list(types)
    extended = any(not isinstance(one, np.dtype) for one in types)
    if not extended or any(getattr(one, "kind", "O") not in "biuf" for one in types):
        return value
    return value.to_numpy(dtype=np.float64, na_value=np.nan)


def _as_float(field: str, array: Array, names: Sequence[Any] = ()) -> Array:
    if array.dtype.kind not in "biuf":
        found = f"{field} has the type {array.dtype}"
        if array.dtype == object:
            found = _first_that_is_no_number(field, array, names) or found
        raise ProblemError(f"{found}; expected real numbers", field)
    return np.asarray(array, dtype=np.float64)


def _first_that_is_no_number(field: str, array: Array, names: Sequence[Any]) -> str:
    """Say which entry of objects is no number, and in which column of a data frame; "" if none."""
    for place, entry in np.ndenumerate(array):
        if not isinstance(entry, int | float | np.number):
            named = len(place) == 2 and place[1] < len(names)
            column = f", in the column {names[place[1]]!r}" if named else ""
            return f"{field}[{', '.join(map(str, place))}] is {entry!r:.60}{column}"
    return ""


def _check_places(field: str, name: str, axes: Iterable[tuple[Array, int]]) -> None:
    """Raise a ProblemError where an index of an axis is not within its length."""
    for index, length in axes:
        wrong = np.flatnonzero((index < 0) | (index >= length))
        if len(wrong):
            raise ProblemError(
                f"{field}.{name} has {index[wrong[0]]}; expected 0 to {length - 1}, as the shape "
                "of the sparse matrix says: build it anew from its entries, with the right shape",
                field,
            )


def _check_pointers(field: str, matrix: Any, rows: int) -> None:
    """Raise a ProblemError unless indptr rises from 0 to no more than there are entries."""
    ptr, stored = np.asarray(matrix.indptr), min(len(matrix.indices), len(matrix.data))
    if len(ptr) != rows + 1 or ptr[0] != 0 or ptr[-1] > stored or (ptr[1:] < ptr[:-1]).any():
        raise ProblemError(
            f"{field}.indptr has {len(ptr)} entries from {ptr[:1].sum()} to {ptr[-1:].sum()}; "
            f"expected {rows + 1} that rise from 0 to {stored}, the number of entries that the "
            "sparse matrix stores: build it anew from its entries",
            field,
        )


def _parts(matrix: sp.csr_array) -> tuple[Array, Array, Array]:
    return matrix.data, matrix.indices, matrix.indptr


def _frozen_csr(field: str, value: Any) -> sp.csr_array:
    """Return a sparse matrix in canonical form that nobody else can change; ours are shared."""
    if getattr(value, _OURS, False) and not any(part.flags.writeable for part in _parts(value)):
        ours: sp.csr_array = value
        return ours
    check_indices(field, value)
    matrix = sp.csr_array(value, copy=True)
    matrix.data = _as_float(field, matrix.data)
    if not matrix.has_canonical_format:
        matrix.sum_duplicates()
    return freeze_csr(matrix)


def _is_frozen(array: Array) -> bool:
    """Whether the array and all that it is a view of are read-only."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return owner is None or isinstance(owner, bytes | mmap.mmap)


def _is_mapped(array: Array) -> bool:
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, mmap.mmap)


def _check_finite(field: str, array: Array) -> None:
    with np.errstate(all="ignore"):
        # one pass without a second array of this size; a sum that overflows is looked at again
        if np.isfinite(array.sum()):
            return
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        place = ", ".join(map(str, where))
        raise ProblemError(
            f"{field}[{place}] is {array[where]}; expected finite numbers "
            f"({int((~finite).sum())} entries of {array.size} are not)",
            field,
        )


def _hash_array(digest: Any, name: str, array: Any) -> None:
    if is_sparse(array):
        array = sp.csr_array(array)
        for part in ("data", "indices", "indptr"):
            entries = getattr(array, part)
            dtype = np.float64 if part == "data" else np.int64
            _hash_array(digest, f"{name}.{part}", np.asarray(entries, dtype=dtype))
        digest.update(json.dumps([name, list(array.shape)]).encode())
        return
    content: Any = np.ascontiguousarray(array)
    content = content.astype(content.dtype.newbyteorder("<"), copy=False)
    digest.update(json.dumps([name, content.dtype.str, list(content.shape)]).encode())
    digest.update(memoryview(content.reshape(-1)).cast("B") if content.size else b"")

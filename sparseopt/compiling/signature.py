"""The types of arguments in words, found without numba and read back by the process that compiles.

Both functions follow numba's own rules, so that what is compiled ahead is what a call asks for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from sparseopt.installed import resolve

from .by_address import is_by_address

_OWNED = 0x4
"""NumPy's flag of an array that owns its numbers (NPY_ARRAY_OWNDATA)."""
_BY_ROW, _BY_COLUMN = 0x1, 0x2
"""Those of C and of Fortran order; arrays of one row or column have both."""


def describe(value: Any) -> Any:
    """Return the type of an argument as JSON.

    Parameters
    ----------
    value : array, scalar, None, or a tuple of those, named or not

    Returns
    -------
    list

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return ["array", value.dtype.str, value.ndim, layout, not flags.writeable, flags.aligned]
    if isinstance(value, tuple):
        kind = type(value)
        name = "" if kind is tuple else f"{kind.__module__}:{kind.__qualname__}"
        return ["tuple", name, [describe(item) for item in value]]
    if isinstance(value, np.generic):
        return ["scalar", value.dtype.str]
    if value is None:
        return ["none"]
    if type(value) in (bool, int, float, complex):
        return ["scalar", np.dtype(type(value)).str]
    raise TypeError(f"no compiled function takes a {type(value).__name__}")


def kind_of(value: Any) -> Any:
    """Return what tells the types of arguments apart, in a microsecond; it can be hashed.

    Parameters
    ----------
    value : object

    Returns
    -------
    object
        Values of the same kind have the same description; the reverse need not hold.
    """
    kind = type(value)
    if issubclass(kind, np.ndarray):
        return value.dtype, value.ndim, _layouts[value.flags.num]
    if not issubclass(kind, tuple):
        return kind
    kinds: list[Any] = [kind]
    for item in value:
        # Most are arrays, and there are thousands in a path.
        if type(item) is np.ndarray:
            kinds += item.dtype, item.ndim, _layouts[item.flags.num]
        else:
            kinds.append(kind_of(item))
    return tuple(kinds)


class _Layouts(dict[int, int]):
    """NumPy's flags of arrays, and what of them matters to machine code.

    Whether an array owns its numbers or is a view of others does not, nor whether its rows are also
    columns.
    """

    def __missing__(self, flags: int) -> int:
        layout = flags & ~_OWNED
        if layout & _BY_ROW:
            layout &= ~_BY_COLUMN
        self[flags] = layout
        return layout


_layouts = _Layouts()


def describe_type(numba_type: Any) -> Any:
    """Return one of numba's types as :func:`describe` describes its values.

    Parameters
    ----------
    numba_type : numba type

    Returns
    -------
    list

    Raises
    ------
    TypeError
        When no value has that description.
    """
    types: Any = import_module("numba.core.types")
    as_dtype = import_module("numba.np.numpy_support").as_dtype
    from .addressed import Addressed

    described: Any = ["none"]
    if isinstance(numba_type, types.Array):
        readonly, aligned = not numba_type.mutable, numba_type.aligned
        dtype = as_dtype(numba_type.dtype).str
        described = ["array", dtype, numba_type.ndim, numba_type.layout, readonly, aligned]
    elif isinstance(numba_type, (types.BaseTuple, Addressed)):
        kind = getattr(numba_type, "instance_class", None)
        name = "" if kind is None else f"{kind.__module__}:{kind.__qualname__}"
        items = numba_type.items if isinstance(numba_type, Addressed) else numba_type
        described = ["tuple", name, [describe_type(item) for item in items]]
    elif isinstance(numba_type, (types.Number, types.Boolean)):
        described = ["scalar", as_dtype(numba_type).str]
    if numba_types(described) != numba_type:
        raise TypeError(f"no argument is of type {numba_type}")
    return described


def numba_types(described: Any) -> Any:
    """Return numba's type of a described argument.

    Parameters
    ----------
    described : list

    Returns
    -------
    numba type
    """
    from numba.np.numpy_support import from_dtype

    from .addressed import Addressed

    types: Any = import_module("numba.core.types")

    kind, *rest = described
    if kind == "array":
        dtype, ndim, layout, readonly, aligned = rest
        return types.Array(from_dtype(np.dtype(dtype)), ndim, layout, readonly, aligned=aligned)
    if kind == "tuple":
        name, items = rest
        inside = tuple(numba_types(item) for item in items)
        named = resolve(name) if name else None
        if named is not None and is_by_address(named):
            return Addressed(inside, named)
        return types.BaseTuple.from_types(inside, named)
    if kind == "scalar":
        return from_dtype(np.dtype(rest[0]))
    return types.none

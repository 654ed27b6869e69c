"""What numba has to know of tuples that are handed over :mod:`by address <.by_address>`.

A type, the one pointer that it is to LLVM, how it comes from Python, and how its fields are read.
This module imports numba.
"""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import Any

from llvmlite import ir

from .by_address import classes

_types: Any = import_module("numba.core.types")
_extending: Any = import_module("numba.extending")
_imputils: Any = import_module("numba.core.imputils")
_cgutils: Any = import_module("numba.core.cgutils")
_typeof: Any = import_module("numba.core.typing.typeof").typeof_impl
_templates: Any = import_module("numba.core.typing.templates")
_known: set[type] = set()


class Addressed(_types.Type):  # type: ignore[misc]
    """The type of a named tuple that is one address.

    Parameters
    ----------
    items : iterable of numba types
        Of its fields.
    kind : type
        The class.
    """

    def __init__(self, items: Any, kind: type) -> None:
        self.items = tuple(items)
        self.instance_class = kind
        self.fields: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
        super().__init__(f"address of {kind.__name__}({', '.join(map(str, self.items))})")

    @property
    def key(self) -> Any:
        """What tells it from other types."""
        return self.instance_class, self.items

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """Its part of the name of a function, which is short."""
        digits = hashlib.sha256(str(self).encode()).hexdigest()[:8]
        return f"{self.instance_class.__name__}_{digits}", ()


@_extending.register_model(Addressed)
class _Model(_extending.models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Addressed) -> None:
        inside = [manager.lookup(item).get_data_type() for item in kind.items]
        super().__init__(manager, kind, ir.LiteralStructType(inside).as_pointer())


@_templates.infer_getattr
class _Fields(_templates.AttributeTemplate):  # type: ignore[misc]
    key = Addressed

    def generic_resolve(self, kind: Addressed, name: str) -> Any:
        return kind.items[kind.fields.index(name)] if name in kind.fields else None


@_imputils.lower_getattr_generic(Addressed)  # type: ignore[untyped-decorator]
def _field(context: Any, builder: Any, kind: Addressed, address: Any, name: str) -> Any:
    """Read a field."""
    at = kind.fields.index(name)
    model = context.data_model_manager[kind.items[at]]
    read = builder.load(_cgutils.gep_inbounds(builder, address, 0, at))
    read.set_metadata("invariant.load", builder.module.add_metadata([]))
    value = model.from_data(builder, read) if model.get_value_type() != read.type else read
    return _imputils.impl_ret_borrowed(context, builder, kind.items[at], value)


@_extending.unbox(Addressed)  # type: ignore[untyped-decorator]
def _from_python(kind: Addressed, given: Any, c: Any) -> Any:
    """Lay out a tuple in the memory of the function that takes it from Python."""
    address = _cgutils.alloca_once(c.builder, c.context.get_value_type(kind).pointee)
    failed = _cgutils.alloca_once_value(c.builder, _cgutils.false_bit)
    cleanups = []
    for at, item in enumerate(kind.items):
        field = c.pyapi.tuple_getitem(given, at)
        is_array = isinstance(item, _types.Array)
        native = _borrowed(item, field, c) if is_array else c.unbox(item, field)
        with c.builder.if_then(native.is_error, likely=False):
            c.builder.store(_cgutils.true_bit, failed)
        model, value = c.context.data_model_manager[item], native.value
        if model.get_data_type() != value.type:
            value = model.as_data(c.builder, value)
        c.builder.store(value, _cgutils.gep_inbounds(c.builder, address, 0, at))
        if native.cleanup is not None:
            cleanups.append(native.cleanup)

    def clean_up() -> None:
        for function in reversed(cleanups):
            function()

    return _extending.NativeValue(
        address, is_error=c.builder.load(failed), cleanup=clean_up if cleanups else None
    )


def _borrowed(kind: Any, given: Any, c: Any) -> Any:
    """Take an array as it lies, without a reference: Python's tuple holds it until the call ends.

    numba ends references to arguments that are arrays, and does not look for those in an address.
    """
    array = c.context.make_array(kind)(c.context, c.builder)
    place = array._getpointer()
    taken = ir.FunctionType(ir.IntType(32), [c.pyapi.pyobj, c.pyapi.voidptr])
    adapt = c.pyapi._get_function(taken, name="numba_adapt_ndarray")
    error = c.builder.call(adapt, (given, c.builder.bitcast(place, c.pyapi.voidptr)))
    failed = _cgutils.is_not_null(c.builder, error)
    return _extending.NativeValue(c.builder.load(place), is_error=failed)


def announce_classes() -> None:
    """Have numba take all classes by address that are to be; before it looks at their values."""
    for kind in classes():
        if kind not in _known:
            _known.add(kind)
            _typeof.register(kind)(_type_of)


def _type_of(value: Any, context: Any) -> Any:
    items = [_typeof(item, context) for item in value]
    return None if None in items else Addressed(items, type(value))

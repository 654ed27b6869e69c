"""Functions of SciPy's BLAS and LAPACK that compiled functions call by their names."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from sparseopt.installed import extension_module

_made: dict[str, External] = {}
"""Functions whose addresses LLVM has not been given yet, by their symbols."""


class External:
    """A function of ``scipy.linalg.cython_blas`` or ``cython_lapack``, all its arguments pointers.

    A compiled function calls it by its name, so that it can be kept on disk; plain Python calls it
    with what ``array.ctypes`` gives.

    Parameters
    ----------
    module : str
        "blas" or "lapack".
    name : str
        Such as "dsyrk".
    arguments : int
        Their number.
    """

    def __init__(self, module: str, name: str, arguments: int) -> None:
        self.module = f"scipy.linalg.cython_{module}"
        self.name = name
        self.symbol = f"sparseopt_{name}"
        self.arguments = arguments
        _made[self.symbol] = self

    def __call__(self, *pointers: Any) -> None:
        """Call it from Python."""
        self._python(*pointers)

    @cached_property
    def address(self) -> int:
        """Where its machine code is in this process."""
        capsule = extension_module(self.module).__pyx_capi__[self.name]
        name_of = ctypes.pythonapi.PyCapsule_GetName
        name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
        pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype, pointer_of.argtypes = (
            ctypes.c_void_p,
            [ctypes.py_object, ctypes.c_char_p],
        )
        return int(pointer_of(capsule, name_of(capsule)))

    @cached_property
    def _python(self) -> Any:
        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * self.arguments)(self.address)

    @cached_property
    def _numba_type_(self) -> Any:
        from numba.core import types

        arguments = [types.voidptr] * self.arguments
        return types.ExternalFunction(self.symbol, types.void(*arguments))


def announce_symbols(symbols: Iterable[str] | None = None) -> None:
    """Give LLVM the addresses of external functions; to be done before code is loaded.

    Parameters
    ----------
    symbols : iterable of str, optional
        Some of them; others are ignored. Default: all.
    """
    import llvmlite.binding as llvm

    for symbol in list(_made) if symbols is None else symbols:
        function = _made.get(symbol)
        if function is not None:
            llvm.add_symbol(symbol, function.address)
            del _made[symbol]

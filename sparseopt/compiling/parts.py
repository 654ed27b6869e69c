"""How numba compiles a kernel: what Python does not call becomes machine code in its callers only.

numba optimizes every function together with all that it calls, makes machine code of that, and does
so again in each caller: the innermost loops of an engine would be optimized, and become machine
code, once for every level of calls above them. A function that only compiled ones call is therefore
optimized alone, and put together with others where Python's entry is. This module imports numba.
"""

from __future__ import annotations

from importlib import import_module
from itertools import count
from typing import Any

from llvmlite import binding, ir

_ENVIRONMENT = "_ZN08NumbaEnv"
"""How the names of the places begin where numba keeps a function's constants."""

_number = count()
_Compiler: Any = import_module("numba.core.compiler").Compiler
_Library: Any = import_module("numba.core.codegen").JITCodeLibrary


class KernelCompiler(_Compiler):  # type: ignore[misc]
    """numba's compiler, for functions of which only some become machine code by themselves."""

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, local: Any
    ) -> None:
        if library is None:
            part = flags.no_cpython_wrapper and flags.no_cfunc_wrapper
            library = (_Part if part else _Whole)(target.codegen(), f"kernel {next(_number)}")
            library.counts_references = bool(flags.nrt)
            library.enable_object_caching()
        super().__init__(typing, target, library, args, result, flags, local)


class _Whole(_Library):  # type: ignore[misc]
    """The code of a function that Python calls, with all that it calls."""

    counts_references: bool

    def _optimize_functions(self, module: Any) -> None:
        # Before all is linked this serves to leave out the counting of references; without it, LLVM
        # takes less time for the whole, which becomes smaller.
        if self.counts_references:
            super()._optimize_functions(module)
        else:
            module.data_layout = self._codegen._data_layout

    def add_linking_library(self, library: Any) -> None:
        """Link in another one, and what is still to be linked to that."""
        super().add_linking_library(library)
        if isinstance(library, _Part):
            self._linking_libraries += library._linking_libraries


class _Part(_Whole):
    """The code of a function that compiled ones call, without the code that it calls."""

    def finalize(self) -> None:
        """Optimize it, and make nothing but the place of its constants, which numba fills in."""
        self._raise_if_finalized()
        # Some loops become vector code only while nothing is known of where they are called.
        self._optimize_final_module()
        self._finalize_dynamic_globals()
        places = self._codegen._create_empty_module(f"{self.name} constants")
        pointer = ir.IntType(8).as_pointer()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT) and not variable.is_declaration:
                place = ir.GlobalVariable(places, pointer, variable.name)
                place.linkage, place.initializer = "common", ir.Constant(pointer, None)
        self._places = binding.parse_assembly(str(places))
        self._codegen._add_module(self._places)
        self._finalized = True

"""How numba compiles a kernel: a function is optimized by itself, and machine code at entries only.

numba optimizes every function together with all that it calls, makes machine code of that, and does
so again in each caller: the innermost loops of an engine would be optimized, and become machine
code, once for every level of calls above them. A function that only compiled ones call is therefore
optimized alone but for the smallest that it calls, and put together with the others, as they are,
where Python's entry is.

Before that, numba types each operator and each call anew, by trying all that it knows under a name,
and lists all variables of a function again after each of 25 passes. Both take longer than LLVM: so
what was found is kept, and passes that would find nothing to do are left out. This module imports
numba.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import count, islice
from typing import Any

from llvmlite import binding, ir

_ENVIRONMENT = "_ZN08NumbaEnv"
"""How the names of the places begin where numba keeps a function's constants."""

_INHERITED = {"nrt", "fastmath", "error_model", "forceinline"}
"""Flags of a function that go for what it calls."""

_SMALL = 150
"""Instructions of LLVM, at most, of a function that is optimized with each of its callers, so that
it may become part of them: with 400, to compile the sparse trust-region engine takes a quarter
longer, and with 600 no engine that was timed runs faster."""

_number = count()
_Compiler: Any = import_module("numba.core.compiler").Compiler
_Library: Any = import_module("numba.core.codegen").JITCodeLibrary
_Context: Any = import_module("numba.core.typing").Context
_types: Any = import_module("numba.core.types")
_ir: Any = import_module("numba.core.ir")
_typed_passes: Any = import_module("numba.core.typed_passes")
_untyped_passes: Any = import_module("numba.core.untyped_passes")
_register_pass: Any = import_module("numba.core.compiler_machinery").register_pass
_flags: Any = import_module("numba.core.targetconfig").ConfigStack


class KernelCompiler(_Compiler):  # type: ignore[misc]
    """numba's compiler, for functions of which only some become machine code by themselves."""

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, local: Any
    ) -> None:
        if library is None:
            library = (_Part if flags.no_cpython_wrapper else _Whole)(
                target.codegen(), f"kernel {next(_number)}"
            )
            library.enable_object_caching()
        super().__init__(_typed_once(typing), target, library, args, result, flags, local)

    def define_pipelines(self) -> Any:
        """Return numba's passes, without those that have nothing to do."""
        managers = super().define_pipelines()
        for manager in managers:
            manager.passes = [(_INSTEAD.get(of, of), name) for of, name in manager.passes]
            manager.finalize()
        return managers


@_register_pass(mutates_CFG=True, analysis_only=False)
class _Closures(_untyped_passes.InlineClosureLikes):  # type: ignore[misc]
    """Inline functions and lists that are written inside another function."""

    def run_pass(self, state: Any) -> bool:
        found = any(e.op in ("make_function", "build_list") for _, e in _expressions(state))
        return found and bool(super().run_pass(state))


@_register_pass(mutates_CFG=True, analysis_only=False)
class _ArrayExpressions(_typed_passes.NopythonRewrites):  # type: ignore[misc]
    """Put operations on whole arrays together into one loop."""

    def run_pass(self, state: Any) -> bool:
        found = any(
            e.op in ("unary", "binop", "call") and isinstance(state.typemap[name], _types.Array)
            for name, e in _expressions(state)
        )
        return found and bool(super().run_pass(state))


_INSTEAD = {
    _untyped_passes.InlineClosureLikes: _Closures,
    _typed_passes.NopythonRewrites: _ArrayExpressions,
}


def _expressions(state: Any) -> Iterator[tuple[str, Any]]:
    """Yield the expressions of a function, each with the name of its value."""
    for block in state.func_ir.blocks.values():
        for assignment in block.find_insts(_ir.Assign):
            if isinstance(assignment.value, _ir.Expr):
                yield assignment.target.name, assignment.value


class _TypedOnce(_Context):  # type: ignore[misc]
    """What numba knows of types, with the signatures of its own functions that it has found."""

    __slots__ = ("_known", "_of")

    def __init__(self, of: Any) -> None:
        self.__dict__ = of.__dict__  # type: ignore[misc]
        self._of = of
        self._known: dict[Any, Any] = {}

    # numba keeps what it made of functions under the context: they are one.
    def __eq__(self, other: object) -> bool:
        return other is self or other is self._of

    def __hash__(self) -> int:
        return hash(self._of)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a function for types of arguments."""
        if isinstance(function, _types.Dispatcher):
            # One form for all integers, not another one for each that stands in the code.
            args = tuple(map(_types.unliteral, args))
        if kws or type(function) is not _types.Function:
            return super().resolve_function_type(function, args, kws)
        flags = _of_callees(_flags.top_or_none())
        key = function, tuple(args), str(flags._values)
        if key not in self._known:
            with _flags().enter(flags):
                self._known[key] = super().resolve_function_type(function, args, kws)
        return self._known[key]


def _of_callees(flags: Any) -> Any:
    """Return the flags that numba's own functions inherit: it makes one form of each for those."""
    inherited = type(flags)()
    inherited._values.update({n: v for n, v in flags._values.items() if n in _INHERITED})
    return inherited


@cache
def _typed_once(context: Any) -> _TypedOnce:
    return _TypedOnce(context)


class _Whole(_Library):  # type: ignore[misc]
    """The code of a function that Python calls, with all that it calls."""

    def add_linking_library(self, library: Any) -> None:
        """Link in another one, and what is still to be linked to that."""
        super().add_linking_library(library)
        if isinstance(library, _Part):
            self._linking_libraries += library._linking_libraries

    def finalize(self) -> None:
        """Optimize it, add what it calls, and make machine code of the whole."""
        self._codegen._check_llvm_bugs()
        self._optimize()
        self._link(small=False)
        self._final_module.verify()
        self._finalize_final_module()

    def _optimize(self) -> None:
        """Optimize it together with the small ones that it calls."""
        self._raise_if_finalized()
        self._link(small=True)
        self._optimize_final_module()

    def _link(self, small: bool) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            if _is_small(library) == small:
                self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)


class _Part(_Whole):
    """The code of a function that compiled ones call, without the code that it calls."""

    def finalize(self) -> None:
        """Optimize it, and make nothing but the place of its constants, which numba fills in."""
        # Before others are linked in: the places of their constants are made with themselves.
        places = self._codegen._create_empty_module(f"{self.name} constants")
        pointer = ir.IntType(8).as_pointer()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT) and not variable.is_declaration:
                place = ir.GlobalVariable(places, pointer, variable.name)
                place.linkage, place.initializer = "common", ir.Constant(pointer, None)
        self._places = binding.parse_assembly(str(places))
        self._codegen._add_module(self._places)
        self._optimize()
        self._finalize_dynamic_globals()
        self._finalized = True


@cache
def _is_small(library: Any) -> bool:
    """Return whether the code of a function is put into its callers before these are optimized."""
    instructions = (
        instruction
        for function in library._get_module_for_linking().functions
        for block in function.blocks
        for instruction in block.instructions
    )
    return next(islice(instructions, _SMALL, None), None) is None

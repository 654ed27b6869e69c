"""Compiled functions put to work without numba, which takes ten times as long to import.

What Python calls in a form is machine code that numba wrapped. It needs a linker, which is LLVM's,
numba's runtime, which are three extension modules that know nothing of the compiler, the objects
that stand for constants, and the functions of SciPy that it calls. All of them are named in the
form when it is made; where one is not of the known kinds, the form is loaded by numba.
"""

from __future__ import annotations

import builtins
import ctypes
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module, metadata
from typing import Any

import numpy as np

from sparseopt.installed import extension_module

from .external import announce_symbols

_MODULES = ("numba._dynfunc", "numba._helperlib", "numba.core.runtime._nrt_python")
"""numba's runtime."""
_LINEAR_ALGEBRA = ("numba_x", "numba_ez_")
"""How the names of its functions begin that call SciPy's."""
_CHOICES = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX")
"""Settings of numba's that choose other code than that for this processor."""

_OLDEST, _NEWEST = (0, 61), (0, 68)
"""Releases of numba with which the tests have passed: another may call its functions otherwise."""

_engines: list[Any] = []
"""LLVM's owners of the machine code, and what the code points to; they stay as long as the
process."""


def can_link() -> bool:
    """Return whether forms are to be loaded here; where numba is at work already, by numba."""
    return (
        os.name == "posix"
        and "numba" not in sys.modules
        and not any(name in os.environ for name in _CHOICES)
        and _is_known()
    )


@cache
def _is_known() -> bool:
    """Return whether this numba is one whose calling convention the tests have seen."""
    release = metadata.version("numba").split(".")[:2]
    return _OLDEST <= tuple(map(int, release)) <= _NEWEST


def host() -> str:
    """Return how numba names this processor.

    Returns
    -------
    str
    """
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features}"


def needs(result: Any) -> dict[str, Any]:
    """Return what :func:`link` has to know of a function that numba has just compiled.

    Parameters
    ----------
    result : numba.core.compiler.CompileResult

    Returns
    -------
    dict
        JSON; empty where the code needs something that is known to numba alone.
    """
    entry = result.fndesc.llvm_cpython_wrapper_name
    module = result.library._final_module
    environments = {env.env_name: env for env in result._find_referenced_environments()}
    environments[result.fndesc.env_name] = result.environment
    constants = [constant for env in environments.values() for constant in env.consts]
    declared = {x.name for x in (*module.functions, *module.global_variables) if x.is_declaration}
    defined = {function.name for function in module.functions} - declared
    if entry not in defined or not all(map(_has_words, constants)):
        return {}
    return {
        "entry": entry,
        "module": result.environment.globals["__name__"],
        "environment": result.fndesc.env_name,
        "environments": {
            name: [constant.str for constant in env.consts] for name, env in environments.items()
        },
        "symbols": sorted(name for name in declared if not name.startswith("llvm.")),
    }


def _has_words(constant: Any) -> bool:
    """Return whether a constant is the type of an array, and known by its name."""
    return isinstance(constant, np.dtype) and np.dtype(constant.str) == constant


def link(needed: Mapping[str, Any], code: bytes) -> Callable[..., Any]:
    """Return the function that Python calls.

    Parameters
    ----------
    needed : mapping
        From :func:`needs`.
    code : bytes
        The object file.

    Returns
    -------
    callable
        It does not look at the types of its arguments: they must be those that it was compiled for.

    Raises
    ------
    LookupError
        When something that it needs is not there.
    """
    import llvmlite.binding as llvm

    runtime = _runtime()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    announce_symbols(needed["symbols"])
    if any(symbol.startswith(_LINEAR_ALGEBRA) for symbol in needed["symbols"]):
        for name in ("blas", "lapack"):  # numba's runtime would import all of scipy.linalg
            extension_module(f"scipy.linalg.cython_{name}")
    for symbol in needed["symbols"]:
        if llvm.address_of_symbol(symbol) is None:  # LLVM would end the process
            raise LookupError(symbol)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address = engine.get_function_address(needed["entry"])
    if not address:
        raise LookupError(needed["entry"])
    environments = {}
    for name, constants in needed["environments"].items():
        environment = runtime.Environment({})
        environment.consts[:] = map(np.dtype, constants)
        environments[name] = environment
        place = engine.get_global_value_address(name)
        if place:
            ctypes.c_void_p.from_address(place).value = id(environment)
    _engines.append((engine, environments))
    module, own = import_module(needed["module"]), environments[needed["environment"]]
    function: Callable[..., Any] = runtime.make_function(
        module, needed["entry"], "", address, own, (engine,)
    )
    return function


@cache
def _runtime() -> Any:
    """Load numba's runtime, and give LLVM the addresses of what code calls there."""
    import llvmlite.binding as llvm

    dynamic, helpers, memory = map(extension_module, _MODULES)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    addresses = {f"numba_{name}": address for name, address in helpers.c_helpers.items()}
    addresses |= {f"numba_{name}": address for name, address in dynamic.c_helpers.items()}
    for name, address in memory.c_helpers.items():
        addresses[name if name.startswith("_") else f"NRT_{name}"] = address
    for value in vars(builtins).values():
        if isinstance(value, type) and issubclass(value, BaseException):
            addresses[f"PyExc_{value.__name__}"] = id(value)
    addresses["_Py_NoneStruct"] = id(None)
    addresses["numba_unpickle"] = ctypes.cast(_unpickle, ctypes.c_void_p).value
    for name, address in addresses.items():
        llvm.add_symbol(name, address)
    return dynamic


_unpickled: dict[int, Any] = {}
"""Classes that code names, by the address of their pickles."""


def _unpickled_object(data: int, size: int, hashed: int | None) -> Any:
    """Return an object of the code's, as numba's own does, whose module imports all of numba."""
    if hashed is None:
        return pickle.loads(ctypes.string_at(data, size))
    if data not in _unpickled:
        _unpickled[data] = pickle.loads(ctypes.string_at(data, size))
    return _unpickled[data]


_unpickle = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(
    _unpickled_object
)

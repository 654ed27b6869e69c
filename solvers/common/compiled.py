"""The decorators of the compiled functions; :mod:`sparseopt.compiling` has their three forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparseopt.compiling import Kernel


def compiled(function: Callable[..., Any]) -> Kernel:
    """Let a function run compiled.

    Sums may be reordered, and a division by zero gives an infinity or NaN, as in NumPy: so that
    loops use the processor's vector units.

    Parameters
    ----------
    function : callable

    Returns
    -------
    Kernel
    """
    return _compiled(function)


def compiled_in_place(function: Callable[..., Any]) -> Kernel:
    """Compile a function that makes no arrays, without counting references to those it is given.

    In short functions the counting, an atomic addition for each array and its views, takes longer
    than the work.

    Parameters
    ----------
    function : callable

    Returns
    -------
    Kernel
    """
    return _compiled(function, _nrt=False)


def compiled_inside(function: Callable[..., Any]) -> Kernel:
    """Compile a function in place that only compiled functions call.

    It gets no entries from Python and C, which for arguments of many arrays take as long to compile
    as the function itself.

    Parameters
    ----------
    function : callable

    Returns
    -------
    Kernel
    """
    return _compiled(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled_once(function: Callable[..., Any]) -> Kernel:
    """Compile a function in place that one compiled function calls, at one place.

    LLVM puts its code there, so that its arguments need not be passed.

    Parameters
    ----------
    function : callable

    Returns
    -------
    Kernel
    """
    return _compiled(
        function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True
    )


def compiled_inside_with_room(function: Callable[..., Any]) -> Kernel:
    """Compile a function that makes arrays, and that only compiled functions call.

    Parameters
    ----------
    function : callable

    Returns
    -------
    Kernel
    """
    return _compiled(function, _nrt=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled_into(function: Callable[..., Any]) -> Kernel:
    """Compile a function into each of its callers: for a step that is one only to the reader.

    A function of its own is linked, optimized and made machine code of once more for every level of
    calls above it. To be kept short and called rarely: numba copies it before it knows its types.

    Parameters
    ----------
    function : callable

    Returns
    -------
    Kernel
    """
    return _compiled(function, inline="always")


def _compiled(function: Callable[..., Any], **options: Any) -> Kernel:
    return Kernel(
        function,
        nogil=True,
        fastmath={"reassoc", "contract"},
        error_model="numpy",
        **options,
    )

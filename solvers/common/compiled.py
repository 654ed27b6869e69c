"""The decorators of the compiled functions; :mod:`sparseopt.compiling` has their three forms.

Each sets options of :func:`numba.jit` and says where these are described.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, overload

from sparseopt.compiling import Kernel


def compiled(function: Callable[..., Any]) -> Kernel:
    """Let a function run compiled.

    Sums may be reordered, and a division by zero gives an infinity or NaN, as in NumPy: so that
    loops use the processor's vector units. These are the flags `reassoc` and `contract` of LLVM's
    language reference ("Fast-Math Flags"), and `error_model="numpy"` of numba's ("Performance
    Tips").

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
    than the work (numba's manual, "Numba Runtime").

    Parameters
    ----------
    function : callable

    Returns
    -------
    Kernel
    """
    return _compiled(function, _nrt=False)


@overload
def compiled_inside(function: Callable[..., Any]) -> Kernel: ...


@overload
def compiled_inside(
    *, makes_arrays: bool = False, once: bool = False
) -> Callable[[Callable[..., Any]], Kernel]: ...


def compiled_inside(
    function: Callable[..., Any] | None = None, *, makes_arrays: bool = False, once: bool = False
) -> Any:
    """Compile a function that only compiled functions call.

    It gets no entry from Python, which for arguments of many arrays takes as long to compile as the
    function itself, and becomes machine code in its callers alone (:mod:`sparseopt.compiling`).

    Parameters
    ----------
    function : callable
        Left out where options are given: ``@compiled_inside(once=True)``.
    makes_arrays : bool
        Whether it makes arrays: then references are counted, unlike in :func:`compiled_in_place`.
        Default: False.
    once : bool
        Whether one compiled function calls it, at one place: LLVM puts its code there, so that its
        arguments need not be passed (its attribute `alwaysinline`). Default: False.

    Returns
    -------
    Kernel
    """
    options: dict[str, Any] = {"_nrt": makes_arrays, "no_cpython_wrapper": True}
    if once:
        options["forceinline"] = True
    if function is None:
        return partial(_compiled, **options)
    return _compiled(function, **options)


def compiled_into(function: Callable[..., Any]) -> Kernel:
    """Compile a function into each of its callers: for a step that is one only to the reader.

    A function of its own is linked, optimized and made machine code of once more for every level of
    calls above it. To be kept short and called rarely: numba copies it before it knows its types
    (its manual, "Notes on Inlining").

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

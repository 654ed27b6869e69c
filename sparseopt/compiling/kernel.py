"""A function in its three forms, and when which of them runs."""

from __future__ import annotations

import base64
import logging
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from typing import Any

import numpy as np

from sparseopt.locks import ForkLock

from . import compiler
from .cache import FormCache
from .external import announce_symbols
from .loader import can_link
from .mode import Mode, mode, overridden
from .signature import describe, kind_of

logger = logging.getLogger("sparseopt")

TINY = 0.05
"""Seconds of plain Python in a process before it is asked whether there is a compiled form, which
take processor time, as all of these; to link one takes as long."""
LIGHT = 0.3
"""Seconds of plain Python before one is asked for, or loaded by numba, which takes longer."""
HEAVY = 2.0
"""Seconds of plain Python after which compiling is no longer left to the background."""
LARGE = 5_000_000
"""Numbers in the arguments of a call that may not be left to plain Python."""
_EVERY = 0.05
"""Seconds between two looks at the clock during a call in plain Python."""
_RARELY = 0.25
"""Seconds between two looks for a compiled form on disk."""


@dataclass
class Waits:
    """For how many seconds a thread has waited for compiled forms: not work, for any clock."""

    seconds: float = 0.0


class _Here(threading.local):
    """What a thread is doing."""

    def __init__(self) -> None:
        self.clock: _Clock | None = None
        self.waits = Waits()


_here = _Here()
_spent = 0.0
"""Seconds that this process has run kernels in plain Python."""
_slow = 0
"""Number of calls that run in plain Python now, and of overridden modes: no call is short-cut."""
_lock = ForkLock()
_announced: set[str] = set()
"""Modules whose compilation has been logged."""
_warned = False


class CompilingWarning(UserWarning):
    """Something takes long because a function is compiled, once for a machine."""


class _OvertakenError(Exception):
    """The compiled form is there: this call starts over with it."""


def prepare(warm_up: Callable[[], None]) -> None:
    """Run an engine's kernels on something tiny where they are compiled now, before the clock.

    Parameters
    ----------
    warm_up : callable
    """
    if mode() is Mode.NOW:
        warm_up()


def waits() -> Waits:
    """Return what this thread has waited for compiled forms; it grows."""
    return _here.waits


class Kernel:
    """A function that runs in plain Python or compiled; calls of one another are compiled in.

    Arguments are positional: arrays, numbers, and tuples of those, named or not. Whatever is
    changed is an array among them, so that a call that takes long in plain Python may be given up
    and start over from a copy.

    Parameters
    ----------
    function : callable
    **options
        Of :func:`numba.njit`.

    Attributes
    ----------
    py_func : callable
        The plain Python body.
    targetoptions : dict
        The options.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.py_func = function
        # No compiled function is called from C.
        self.targetoptions = {"no_cfunc_wrapper": True, **options}
        self._plain = function
        self._run: Any = None
        self._linked: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._job: compiler.Compilation | None = None
        self._look_again = 0.0
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run it in the form that suits."""
        run = self._run
        if run is not None and not _slow:
            return run(*arguments)
        clock = _here.clock
        if clock is None:
            return self._choose(arguments)
        clock.look()
        return self._plain(*arguments)

    def in_numpy(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Let another body stand for the loops in plain Python: the same in array operations.

        Parameters
        ----------
        function : callable

        Returns
        -------
        callable
            The function.
        """
        self._plain = function
        return function

    @cached_property
    def cache(self) -> FormCache:
        """Its forms on disk."""
        return FormCache(self.py_func, self.targetoptions, self._compiled_elsewhere, _saved)

    @cached_property
    def dispatcher(self) -> Any:
        """The function as numba knows it."""
        import numba

        from .addressed import announce_classes
        from .parts import KernelCompiler

        with _lock:
            announce_symbols()
            announce_classes()
            options = {"pipeline_class": KernelCompiler, **self.targetoptions}
            dispatcher: Any = numba.njit(**options)(self.py_func)
            dispatcher._cache = self.cache
            return dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What another compiled function sees in it."""
        return self.dispatcher._numba_type_

    # ---- the choice

    def _choose(self, arguments: tuple[Any, ...]) -> Any:
        wanted = mode()
        if wanted is Mode.NEVER:
            return self._interpreted(arguments, _Clock())
        if self._run is not None or wanted is Mode.NOW or _count(arguments) > LARGE:
            return self._compiled(arguments)
        if _spent >= TINY and self._is_there(arguments):
            return self._compiled(arguments)
        before = [(array, array.copy()) for array in _writable(arguments)]
        try:
            return self._interpreted(arguments, _Clock(self, arguments))
        except (_OvertakenError, ZeroDivisionError, OverflowError):
            # Machine code divides by zero, and overflows, where Python raises.
            for array, saved in before:
                array[...] = saved
            return self._compiled(arguments)

    def _interpreted(self, arguments: tuple[Any, ...], clock: _Clock) -> Any:
        _here.clock = clock
        try:
            with _slowly(), np.errstate(all="ignore"):
                return self._plain(*arguments)
        finally:
            _here.clock = None
            clock.stop()

    def _compiled(self, arguments: tuple[Any, ...]) -> Any:
        """Run it compiled; where there is no form for these types, one is made and waited for."""
        if self._run is None:
            with _uncounted():
                if not self._is_linked(arguments):
                    self._wait(arguments)
                if not self._is_linked(arguments):
                    self._run = self.dispatcher
                    # numba may compile here what no other process could.
                    self.dispatcher.compile(self._types(arguments))
        run: Any = self._run
        return run(*arguments)

    def _is_linked(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether there is machine code that needs no numba; it is what runs from now on."""
        if not can_link() or not self.cache.on_disk():
            return False
        with _lock:
            try:
                function = self.cache.link(list(map(describe, arguments)))
            except TypeError:
                return False
            if function is not None:
                self._linked[tuple(map(kind_of, arguments))] = function
                self._run = self._run_linked
        return function is not None

    def _run_linked(self, *arguments: Any) -> Any:
        function = self._linked.get(tuple(map(kind_of, arguments)))
        if function is None:
            self._run = self._job = None
            self._look_again = 0.0
            return self._choose(arguments)
        return function(*arguments)

    def _is_there(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether to go on with the compiled form; asks for one where there is none."""
        now = time.perf_counter()
        job = self._job
        if job is not None and not job.ended and _spent >= HEAVY:
            _notify(job.module)
            compiler.start(background=False)
        if now < self._look_again:
            return False
        self._look_again = now + _RARELY
        with _uncounted():
            if self._is_linked(arguments):
                return True
            if _spent < LIGHT:
                return False
            if self._is_loaded(arguments):
                return True
        if job is None:
            self._job = job = self._request(arguments)
        # What no other process compiles has to be compiled here.
        return (job is None or job.ended) and _spent >= HEAVY

    def _types(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(map(self.dispatcher.typeof_pyval, arguments))

    def _is_loaded(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether there is a form for these arguments; it is loaded, then."""
        if not self.cache.on_disk():
            return False
        with _lock:
            return self.cache.load(self._types(arguments), self.dispatcher.targetctx)

    # ---- compiling

    def _request(self, arguments: tuple[Any, ...]) -> compiler.Compilation | None:
        try:
            described = list(map(describe, arguments))
        except TypeError as error:
            logger.debug("%s: %s", self.py_func, error)
            return None
        return compiler.request(self._reference, {"arguments": described})

    def _wait(self, arguments: tuple[Any, ...]) -> None:
        """Have a form for these arguments compiled by another process, and wait for it."""
        if self._is_loaded(arguments):
            return
        _announce(self.py_func)
        if self._job is None:
            self._job = self._request(arguments)
        if self._job is not None:
            _wait_for(self._job)

    def _compiled_elsewhere(self, sig: Any) -> bool:
        """Have a form compiled by another process where one can; numba is about to do it here."""
        _announce(self.py_func)
        # Python calls those with a wrapper, and only those are compiled for their own sake.
        if (
            _on_saved is not None
            or self._job is not None
            or "no_cpython_wrapper" in self.targetoptions
        ):
            return False
        pickled = base64.b64encode(pickle.dumps(sig)).decode()
        job = compiler.request(self._reference, {"pickled": pickled})
        if job is None:
            return False
        with _uncounted():
            _wait_for(job)
        return True

    @property
    def _reference(self) -> str:
        return f"{self.py_func.__module__}:{self.py_func.__qualname__}"


_on_saved: Callable[[], None] | None = None


def compile_here(kernel: Kernel, sig: Any, saved: Callable[[], None]) -> None:
    """Compile a function in this process, and keep its form.

    Parameters
    ----------
    kernel : Kernel
    sig : tuple of numba types
    saved : callable
        Called whenever it, or one of those it calls, has been compiled.
    """
    global _on_saved
    _on_saved = saved
    kernel.dispatcher.compile(sig)


def _saved() -> None:
    if _on_saved is not None:
        _on_saved()


class _Clock:
    """Counts the seconds of a call in plain Python, and ends it when there is a compiled form."""

    def __init__(self, kernel: Kernel | None = None, arguments: tuple[Any, ...] = ()) -> None:
        self._kernel = kernel
        self._arguments = arguments
        self._looked = time.perf_counter()
        self._charged = time.thread_time()

    def look(self) -> None:
        """Raise when the call had better start over."""
        # That clock is read in a tenth of the time.
        if self._kernel is None or time.perf_counter() < self._looked + _EVERY:
            return
        self._looked = time.perf_counter()
        self.stop()
        if _spent >= TINY and self._kernel._is_there(self._arguments):
            raise _OvertakenError

    def stop(self) -> None:
        """Charge the processor time since the last look."""
        global _spent
        now = time.thread_time()
        with _lock:
            _spent += now - self._charged
        self._charged = now


@contextmanager
def _slowly() -> Iterator[None]:
    """Have every call of a kernel think about its form."""
    global _slow
    with _lock:
        _slow += 1
    try:
        yield
    finally:
        with _lock:
            _slow -= 1


@contextmanager
def override(chosen: Mode) -> Iterator[None]:
    """Set the mode of this process for the enclosed work.

    Parameters
    ----------
    chosen : Mode
    """
    with _slowly():
        overridden.append(chosen)
        try:
            yield
        finally:
            overridden.remove(chosen)


@contextmanager
def _uncounted() -> Iterator[None]:
    """Charge the enclosed seconds to what this thread has waited for."""
    begin, before = time.perf_counter(), _here.waits.seconds
    try:
        yield
    finally:
        _here.waits.seconds = before + time.perf_counter() - begin


def _wait_for(job: compiler.Compilation) -> None:
    """Wait until a function is compiled, or cannot be; Ctrl-C ends it."""
    begin = time.perf_counter()
    with _interruptible():
        while not job.ended:
            compiler.start(background=False)
            job.changed.wait(_RARELY)
            job.changed.clear()
            if time.perf_counter() - begin > HEAVY:
                _notify(job.module)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C raise at once: there is nothing to finish."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _announce(function: Callable[..., Any]) -> None:
    """Log that a function is about to be compiled: once for each file, and at DEBUG for each."""
    module = function.__module__
    if module not in _announced:
        _announced.add(module)
        logger.info("compiling %s, which takes seconds to minutes the first time", module)
    logger.debug("compiling %s.%s", module, function.__qualname__)


def _notify(module: str) -> None:
    """Say once that this takes long because something is compiled."""
    global _warned
    if not _warned and mode() is Mode.LATER:  # else it is what was asked for
        _warned = True
        warnings.warn(
            f"{module} is being compiled for this machine, which takes up to a minute, once "
            "(`sparseopt warm-up` does it beforehand)",
            CompilingWarning,
            stacklevel=2,
        )


def _arrays(arguments: tuple[Any, ...]) -> Iterator[np.ndarray[Any, Any]]:
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            yield argument
        elif isinstance(argument, tuple):
            yield from _arrays(argument)


def _count(arguments: tuple[Any, ...]) -> int:
    """Return how many numbers there are."""
    return sum(array.size for array in _arrays(arguments))


def _writable(arguments: tuple[Any, ...]) -> Iterator[np.ndarray[Any, Any]]:
    return (array for array in _arrays(arguments) if array.flags.writeable)

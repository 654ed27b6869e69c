"""What the machine code of a compiled function depends on, as one short hash."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .external import External

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


def content_hash(function: Callable[..., Any], options: Mapping[str, Any]) -> str:
    """Return a hash of a function's bytecode, of all functions that it calls, and of their globals.

    Parameters
    ----------
    function : callable
        A plain function. What it calls becomes part of its machine code, in whatever file it
        stands.
    options : mapping
        How it is compiled: numba's names and values.

    Returns
    -------
    str
        20 hexadecimal digits: the same in every process and on every machine with the same minor
        version of Python.

    Raises
    ------
    TypeError
        When a global is of a kind whose content is not known here.
    """
    contents = _contents(function, options)
    # Its own content first; the order of the others says nothing.
    text = "\0".join([contents.pop(function), *sorted(contents.values())])
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def parts(function: Callable[..., Any], options: Mapping[str, Any]) -> int:
    """Return how many functions are compiled for one: itself and all that it calls."""
    return len(_contents(function, options))


def _contents(
    function: Callable[..., Any], options: Mapping[str, Any]
) -> dict[Callable[..., Any], str]:
    pending: list[tuple[Callable[..., Any], Mapping[str, Any]]] = [(function, options)]
    contents: dict[Callable[..., Any], str] = {}
    while pending:
        called, its_options = pending.pop()
        if called not in contents:
            found = _Content(called, its_options)
            contents[called] = found.text
            pending += found.called
    return contents


class _Content:
    """What one function consists of, in words.

    Attributes
    ----------
    text : str
    called : list of (function, options)
        Functions that it may call.
    """

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self.called: list[tuple[Callable[..., Any], Mapping[str, Any]]] = []
        self._package = _package(function.__module__)
        self._lines = [f"def {function.__module__}.{function.__qualname__}"]
        self._add("options", tuple(sorted(options.items())), ())
        code = function.__code__
        self._add("defaults", function.__defaults__, ())
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._add(name, cell.cell_contents, code.co_names)
        for body in _bodies(code):
            self._lines.append(f"code {body.co_code.hex()} {body.co_names} {body.co_varnames}")
            for constant in body.co_consts:
                if not isinstance(constant, CodeType):
                    self._add("constant", constant, ())
            for name in body.co_names:
                if name in function.__globals__:
                    self._add(name, function.__globals__[name], body.co_names)
        self.text = "\n".join(self._lines)

    def _add(self, name: str, value: Any, attributes: tuple[str, ...]) -> None:
        """Add a value; of a module of the same package those attributes that are named.

        What other packages define is its name: numba's version stands for what numba makes of it.
        """
        if isinstance(value, (tuple, list)):
            self._lines.append(f"{name} = {type(value).__name__} of {len(value)}")
            for item in value:
                self._add(name, item, attributes)
        elif isinstance(value, ModuleType):
            self._lines.append(f"{name} = module {value.__name__}")
            if _package(value.__name__) == self._package:
                for attribute in attributes:
                    if hasattr(value, attribute):
                        self._add(attribute, getattr(value, attribute), attributes)
        elif hasattr(value, "py_func"):
            self._lines.append(f"{name} = compiled {value.py_func.__qualname__}")
            self.called.append((value.py_func, value.targetoptions))
        elif isinstance(value, FunctionType) and _package(value.__module__) == self._package:
            self._lines.append(f"{name} = function {value.__qualname__}")
            self.called.append((value, {}))
        else:
            self._lines.append(f"{name} = {_words(name, value)}")


def _words(name: str, value: Any) -> str:
    """Return what a value is that calls nothing."""
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, (set, frozenset)):
        # Their order changes from process to process.
        return f"set {sorted(map(repr, value))}"
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return f"{array.dtype.str} {array.shape} {array.tobytes().hex()}"
    if isinstance(value, Enum):
        return f"{type(value).__qualname__}.{value.name} {value.value!r}"
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', ())}"
    if isinstance(value, (np.dtype, np.ufunc)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, External):
        return f"external {value.symbol} {value.arguments}"
    if type(value).__module__.startswith("numba.core.types"):
        return f"numba {value!r}"
    raise TypeError(
        f"{name} is {value!r:.80}: it is not known how a compiled function depends on it"
    )


def _bodies(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those inside it: comprehensions and inner functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _bodies(constant)


def _package(module: str) -> str:
    return module.partition(".")[0]

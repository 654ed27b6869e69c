"""The compiled forms of one function on disk, under a hash of its content.

numba's own cache looks at the file of a function only; here a change of a function or a constant of
another file that was compiled in is seen, too, and a changed comment compiles nothing anew. The
files are the user's (:mod:`sparseopt.compiling.store`), so that environments share them, and an
upgrade that changes nothing of a function compiles nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import pickle
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from .content import content_hash
from .loader import host, link, needs
from .shipped import has_shipped, read_shipped
from .signature import describe_type
from .store import store

logger = logging.getLogger("sparseopt")

BASELINE = {"x86_64": "x86-64-v3", "amd64": "x86-64-v3"}.get(platform.machine().lower(), "generic")
"""LLVM's name of a processor that most machines in use can stand in for."""
_MANNERS = ("addressed.py", "parts.py")
"""Files of this package that say how numba compiles; the other half is its content."""
_NEEDED = {"x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")}
"""What a processor must be able to do, to run code for the baseline."""


def baseline_environment() -> dict[str, str]:
    """Return the environment variables with which numba compiles for the baseline.

    They count where they are set before numba is imported.

    Returns
    -------
    dict of str to str
    """
    features = ",".join(f"+{name}" for name in _NEEDED.get(BASELINE, ()))
    return {"NUMBA_CPU_NAME": BASELINE, "NUMBA_CPU_FEATURES": features}


class FormCache:
    """What numba asks for compiled forms, in place of its own cache.

    Parameters
    ----------
    function : callable
    options : mapping
        Of the compilation.
    missing : callable
        Called with a signature that has no form on disk, when it is about to be compiled; may have
        it compiled elsewhere, and returns whether it has.
    saved : callable
        Called when a form has been compiled here.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        missing: Callable[[Any], bool],
        saved: Callable[[], None],
    ) -> None:
        self._function = function
        self._options = options
        self._missing = missing
        self._saved = saved
        self._found: dict[Any, Any] = {}
        self._linked: dict[str, Callable[..., Any]] = {}

    @cached_property
    def prefix(self) -> str:
        """How the names of all forms of the function begin; "" when its content is not known."""
        try:
            content = content_hash(self._function, self._options)
        except TypeError as error:
            logger.debug("%s is compiled in each process: %s", self._function, error)
            return ""
        module = self._function.__module__.rpartition(".")[2]
        name = "".join(c if c.isidentifier() else "_" for c in self._function.__qualname__[-40:])
        return f"{module}.{name}-{content}-{_environment()}-"

    @property
    def cache_path(self) -> str | None:
        """The folder, None without one; numba shows it among its statistics."""
        kept = store()
        return str(kept.folder) if kept and self.prefix else None

    def on_disk(self) -> bool:
        """Return whether there seems to be a form; does not need numba."""
        kept = store()
        return bool(self.prefix) and (
            has_shipped(self.prefix) or (kept is not None and kept.has(self.prefix))
        )

    def load(self, sig: Any, target_context: Any) -> bool:
        """Load the form for a signature, for numba to ask for; return whether it is there."""
        if sig not in self._found:
            found = self._look(sig, target_context)
            if found is None:
                return False
            self._found[sig] = found
        return True

    def _look(self, sig: Any, target_context: Any) -> Any:
        if not self.prefix:
            return None
        # What loaded code needs; to set up what compiling needs, too, takes half as long as numba.
        _numba("core.runtime").rtsys.initialize(target_context)
        processor = " ".join(map(str, target_context.codegen().magic_tuple()))
        for content in self._contents(_words(sig), _processors(processor)):
            try:
                return _rebuilt(content, target_context)
            except Exception as error:
                # It may name a class that has moved, or be of another build of numba.
                logger.debug("a form of %s is of no use: %r", self._function, error)
        return None

    def link(self, described: Any) -> Callable[..., Any] | None:
        """Return the function in machine code without numba's help, None where that cannot be.

        Parameters
        ----------
        described : list
            Its arguments.

        Returns
        -------
        callable or None
        """
        words = json.dumps(described)
        if words not in self._linked:
            for content in self._contents(words, _processors(host())):
                try:
                    head, rest = _parts(content)
                    self._linked[words] = link(head["needs"], rest[: head["code"]])
                    break
                except Exception as error:
                    logger.debug("a form of %s is left to numba: %r", self._function, error)
        return self._linked.get(words)

    def _contents(self, words: str, processors: list[str]) -> Iterator[bytes]:
        """Yield the forms for some types that run here, the best first."""
        kept = store()
        for processor in processors:
            name = self._name(words, processor)
            stored = None if kept is None else kept.read(name)
            for content in (stored, read_shipped(name)):
                if content is not None:
                    yield content

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled form for a signature, None where it is to be compiled here."""
        if self.load(sig, target_context) or (
            self._missing(sig) and self.load(sig, target_context)
        ):
            return self._found[sig]
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled form for a signature, where there is a place for it.

        What only compiled functions call is machine code in theirs alone.
        """
        kept = store()
        part = "no_cpython_wrapper" in self._options
        if kept is not None and self.prefix and not part and not _is_bound_to_process(data):
            processor = " ".join(map(str, data.codegen.magic_tuple()))
            name = self._name(_words(sig), _processors(processor)[0])
            try:
                kept.write(name, _serialized(data))
            except OSError as error:
                logger.debug("%s is not kept: %s", name, error)
        self._saved()

    def enable(self) -> None:
        """Nothing to do; numba may call it."""

    def disable(self) -> None:
        """Nothing to do; numba may call it."""

    def flush(self) -> None:
        """Nothing to do; numba may call it."""

    def _name(self, words: str, processor: str) -> str:
        of = hashlib.sha256(f"{words}\0{processor}".encode()).digest()[:15]
        return f"{self.prefix}{base64.b32encode(of).decode().lower()}.form"


def _words(sig: Any) -> str:
    """Return numba's types in words: those of the arguments that have these types, if any."""
    try:
        return json.dumps(list(map(describe_type, sig)))
    except (TypeError, NotImplementedError):
        return str(sig)


def _serialized(data: Any) -> bytes:
    """Return a form: a line of JSON, the machine code, and a pickle with what numba needs."""
    needed = needs(data)
    (name, kind, (code, bitcode)), *rest = data._reduce()
    head = json.dumps({"code": len(code), "needs": needed}).encode() + b"\n"
    pickled = _numba("core.serialize").dumps((name, kind, bitcode, rest))
    return b"".join([head, code, pickled])


def _parts(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the first line of a form, and what follows."""
    line, _, rest = content.partition(b"\n")
    return json.loads(line), rest


def _rebuilt(content: bytes, target_context: Any) -> Any:
    head, text = _parts(content)
    code = text[: head["code"]]
    name, kind, bitcode, rest = pickle.loads(text[head["code"] :])
    library = (name, kind, (code, bitcode))
    return _numba("core.compiler").CompileResult._rebuild(target_context, library, *rest)


def _is_bound_to_process(data: Any) -> bool:
    return bool(data.library.has_dynamic_globals) or not all(x.can_cache for x in data.lifted)


def _numba(module: str) -> Any:
    return import_module(f"numba.{module}")


@cache
def _environment() -> str:
    """Return a short name of what else the machine code depends on, found without numba."""
    from importlib import metadata

    versions = [metadata.version(name) for name in ("numba", "llvmlite")]
    about = [sys.implementation.cache_tag, sys.platform, platform.machine(), *versions]
    # How numba is made to compile them is part of what they are.
    about += [Path(__file__).with_name(name).read_text("utf-8") for name in _MANNERS]
    return hashlib.sha256("\0".join(map(str, about)).encode()).hexdigest()[:8]


def _processors(here: str) -> list[str]:
    """Return the processors whose code runs here, the best first: what is compiled is for that."""
    if os.environ.get("NUMBA_CPU_NAME") == BASELINE:
        return [BASELINE]
    has = import_module("llvmlite.binding").get_host_cpu_features()
    covers = all(has.get(name, False) for name in _NEEDED.get(BASELINE, ()))
    return [here, BASELINE] if covers else [here]

"""What a command writes: files that are known to be writable beforehand, and a clean stdout."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparseopt.cards import in_words
from sparseopt.errors import ParamError

if TYPE_CHECKING:
    from sparseopt import Problem


def headline(instance: Path, problem: Problem) -> str:
    """Return the title of a picture: the model and the data, in words.

    >>> from sparseopt.problems import DantzigSelector
    >>> headline(Path("data/diabetes-dantzig.npz"), DantzigSelector([[1.0]], [1.0]))
    'Dantzig selector: diabetes'
    """
    title, model = in_words(problem.kind), problem.kind.split("-")
    data = [word for word in instance.stem.split("-") if word not in model]
    return f"{title}: {' '.join(data)}" if data else title


def check_target(option: str, target: Path, *taken: Path | None) -> None:
    """Make sure that a file can be written, before any work is spent on what goes in.

    Parameters
    ----------
    option : str
        Where the name came from, for the message.
    target : Path
    *taken : Path or None
        Files that the command reads or writes otherwise.

    Raises
    ------
    ParamError
        When the folder is missing or closed, or the name belongs to something else.
    """
    folder = target.parent
    if target.is_dir():
        problem = "it is a folder; give the name of a file"
    elif not folder.is_dir():
        problem = f"there is no folder {folder}"
    elif target.exists() and not target.is_file():
        problem = "it is not a regular file"
    elif not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        problem = "permission denied"
    elif any(other is not None and _same(target, other) for other in taken):
        problem = "the command uses that file already; give another name"
    else:
        return
    raise ParamError(f"cannot write {option} {target}: {problem}")


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def print_json(value: Any) -> None:
    """Write one JSON document to stdout; floats keep every bit."""
    click.echo(json.dumps(value, default=_plain, indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    """Turn numpy's scalars into Python's."""
    return value.item()


@contextlib.contextmanager
def stdout_kept_clean(wanted: bool) -> Iterator[None]:
    """Send to stderr whatever a solver prints meanwhile, C code included.

    Solvers greet with licences and logs that no option turns off; a script that parses stdout
    must not see them.
    """
    if not wanted:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _flush_c_streams()
        os.dup2(kept, 1)
        os.close(kept)


def _flush_c_streams() -> None:
    import ctypes

    # Where the C library cannot be reached by this name (Windows), its buffer stays as it is.
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)

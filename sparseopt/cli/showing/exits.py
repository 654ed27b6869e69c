"""How a command ends: the exit codes, and one line on stderr for whatever went wrong."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import click

from sparseopt import errors

_DEBUG = "SPARSEOPT_DEBUG"
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""How a write fails, without the name of the file, where the disk behind stdout is full."""


class ExitCode(IntEnum):
    """What scripts see."""

    ANSWER = 0
    """An answer: a point, a path, or a proof that there is none."""
    NO_ANSWER = 1
    """No answer, a refuted one, or a failure inside."""
    BAD_INPUT = 2
    """Unusable files, names or values; a package or a licence that is missing."""
    UNPROVEN = 3
    """`check` alone: consistent, but without a proof."""
    INTERRUPTED = 130
    BROKEN_PIPE = 141


def printable(text: object) -> str:
    """Return `text` in one line; what a terminal would obey instead of print is escaped."""
    line = " ".join(str(text).split())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def say(kind: str, text: object) -> None:
    """Write one line to stderr."""
    click.echo(f"{kind}: {printable(text)}", err=True)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say("warning", message)


def explain(error: BaseException) -> ExitCode:
    """Print in one line what happened, or a group's help, and return the exit code of it."""
    if os.environ.get(_DEBUG):
        traceback.print_exception(error)
    match error:
        case click.exceptions.NoArgsIsHelpError():  # a group without its command
            click.echo(error.format_message(), err=True)
            return ExitCode.BAD_INPUT
        case click.ClickException():
            say("error", _usage(error))
            return ExitCode.BAD_INPUT
        case KeyboardInterrupt() | click.Abort():
            say("error", "interrupted")
            return ExitCode.INTERRUPTED
        case errors.BackendError():
            say("error", error)
            return ExitCode.NO_ANSWER
        case errors.SparseOptError():
            say("error", error)
            return ExitCode.BAD_INPUT
        case OSError() if error.filename is not None:
            say("error", f"{error.filename}: {error.strerror or error}")
            return ExitCode.BAD_INPUT
        case OSError() if error.errno in _UNWRITABLE:
            say("error", f"the output cannot be written: {error.strerror}")
            return ExitCode.BAD_INPUT
        case _:
            what = printable(error)
            say(
                "error",
                f"unexpected {type(error).__name__}{': ' if what else ''}{what}; "
                f"rerun with {_DEBUG}=1 for the traceback",
            )
            return ExitCode.NO_ANSWER


def _usage(error: click.ClickException) -> str:
    text = printable(error.format_message()).rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{text} (see {context.command_path} --help)" if context is not None else text


class Application(click.Group):
    """A group whose every failure, usage errors included, ends in one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click itself sees only its own exceptions."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except BrokenPipeError:
            return ExitCode.BROKEN_PIPE
        except (Exception, KeyboardInterrupt) as error:
            return explain(error)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and leave with its exit code."""
        warnings.showwarning = _show_warning
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed by who started us, as daemons are
                nowhere = os.open(os.devnull, os.O_WRONLY)
                setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # A name that the terminal's encoding lacks is no reason to lose the answer.
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except (click.ClickException, click.Abort, OSError) as error:
            code = explain(error)
        lost = code == ExitCode.BROKEN_PIPE
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            lost, code = True, ExitCode.BROKEN_PIPE
        except OSError as error:
            # What could not be written before is in the buffer still, and explained.
            lost, code = True, code or explain(error)
        if lost:
            _forget_stdout()
        if not standalone_mode:
            return code
        sys.exit(code)


def _forget_stdout() -> None:
    """Let the interpreter's last flush go nowhere: the reader has left, or the disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

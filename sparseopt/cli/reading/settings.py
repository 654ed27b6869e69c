"""What several commands share: an instance, by its file or name, ``--set`` and ``--b-bar``.

And how options are refused that would have no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from sparseopt.errors import ParamError

F = TypeVar("F", bound=Callable[..., Any])


class InstanceFile(click.Path):
    """A file, or the name of a shipped instance where no file is called so.

    Raises
    ------
    ParamError
        When there is neither, and no ending that names a format either.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        path: Path = Path(str(super().convert(value, param, ctx)))
        if path.exists():
            return path
        from sparseopt.datasets import instances

        shipped = instances().get(str(path))
        if shipped is None and not path.suffix:
            raise ParamError(
                f"{path} is neither a file nor the name of a shipped instance; "
                "`sparseopt info` lists these"
            )
        return shipped or path


def settings_option(help_text: str) -> Callable[[F], F]:
    """Return the decorator that adds ``--set``; the command gets a dict called `settings`."""
    return click.option(
        "--set", "settings", metavar="KEY=VALUE", multiple=True, callback=_parse, help=help_text
    )


def b_bar_option(command: F) -> F:
    """Add ``--b-bar``, for commands that read instances."""
    return click.option(
        "--b-bar",
        metavar="SET",
        help="The RHS set of an MPS file that is b_bar, the slope of the right-hand side.",
    )(command)


def given(name: str) -> str | None:
    """Return how an option of the running command is spelt where the person gave it.

    Parameters
    ----------
    name : str
        As the command's function calls it.

    Returns
    -------
    str or None
        Such as "--time-limit"; None where its default holds.
    """
    context = click.get_current_context()
    if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
        return None
    return next(each.opts[-1] for each in context.command.params if each.name == name)


def refuse_unused(takes: Mapping[str, Sequence[str]], option: str, value: str) -> None:
    """Refuse options that have no effect beside this value of another option.

    Parameters
    ----------
    takes : mapping of str to sequence of str
        For options, as the command's function calls them, the values that they are for.
    option, value : str
        The other option, as it is spelt, and what it is.

    Raises
    ------
    ParamError
        Naming the option that was given, and what it is for.
    """
    for name, values in takes.items():
        if value not in values and (spelt := given(name)) is not None:
            raise ParamError(f"{spelt} is for {option} {' | '.join(values)}, not for {value}")


def _parse(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    settings: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ParamError(f"--set {text}: expected KEY=VALUE")
        if key in settings:
            raise ParamError(f"--set {key} is given twice")
        settings[key] = value.strip()
    return settings

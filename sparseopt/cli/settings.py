"""Options that several commands share: ``--set KEY=VALUE`` and ``--b-bar SET``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sparseopt.errors import ParamError

F = TypeVar("F", bound=Callable[..., Any])


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

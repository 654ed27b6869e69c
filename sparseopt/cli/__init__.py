"""The command line; see ``sparseopt --help``."""

from sparseopt.startup import leave_on_ctrl_c, restore

_handler = leave_on_ctrl_c()

from sparseopt.cli.app import main  # noqa: E402

restore(_handler)
del _handler

__all__ = ["main"]

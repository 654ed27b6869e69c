"""The command line; see ``sparseopt --help``."""

from sparseopt.cli.app import main

__all__ = ["main"]

"""The command line; see ``sparseopt --help``."""

import sys

try:
    from sparseopt.cli.app import main
except KeyboardInterrupt:  # nothing has begun yet: a line says as much as a traceback
    sys.stderr.write("interrupted\n")
    raise SystemExit(130) from None

__all__ = ["main"]

"""Run the command: as ``python -m sparseopt.exact``, or the folder alone by its path."""

# mypy: ignore-errors

import sys
from pathlib import Path

if __package__:
    from .command import main
else:
    # Behind the standard library, whose modules share names with the package's folders.
    sys.path[:] = [*sys.path[1:], str(Path(__file__).resolve().parents[1])]
    from exact.command import main

sys.exit(main())

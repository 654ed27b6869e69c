"""Everything is said in pyproject.toml; this file only refuses a checkout without symlinks."""

import sys
from pathlib import Path

LINKS = {"sparseopt/solvers": "../solvers", "sparseopt/bench/suites": "../../instances/suites"}

for name, target in LINKS.items():
    link = Path(__file__).parent / name
    if not link.is_dir():
        sys.exit(
            f"error: {link} must be a symbolic link to {target}, but this checkout holds "
            f"{'a plain text file' if link.is_file() else 'nothing'} there.\n"
            "A ZIP file leaves the links out, and Git on Windows writes them as text unless it is "
            "configured otherwise.\n"
            "In a clone, turn on Developer Mode (or use an administrator's shell), then\n"
            "    git config core.symlinks true\n"
            f"    git checkout -- {' '.join(LINKS)}\n"
            "Without one: git clone -c core.symlinks=true URL"
        )

from setuptools import setup  # noqa: E402  (the check above needs no setuptools)

setup()

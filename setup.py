"""Everything is said in pyproject.toml; this file only refuses a checkout without symlinks."""

import sys
from pathlib import Path

LINK = Path(__file__).parent / "sparseopt" / "solvers"

if not LINK.is_dir():
    sys.exit(
        f"error: {LINK} must be a symbolic link to ../solvers, but this checkout holds "
        f"{'a plain text file' if LINK.is_file() else 'nothing'} there.\n"
        "Git on Windows writes links as text unless it is told otherwise. Turn on Developer Mode "
        "(or use an administrator's shell), then\n"
        "    git config core.symlinks true\n"
        "    git checkout -- sparseopt/solvers\n"
        "or clone again with: git clone -c core.symlinks=true URL"
    )

from setuptools import setup  # noqa: E402  (the check above needs no setuptools)

setup()

"""What pyproject.toml cannot say: links must be there, and compiled functions have a platform."""

import sys
from pathlib import Path

LINKS = {
    "sparseopt/solvers": "../solvers",
    "sparseopt/bench/suites": "../../instances/suites",
    "sparseopt/datasets/shipped": "../../instances",
}

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

from setuptools import Distribution, setup  # noqa: E402  (the check above needs no setuptools)

FORMS = Path(__file__).parent / "sparseopt" / "compiling" / "forms"


class Wheel(Distribution):
    """Of one Python and one platform where it brings compiled functions, of all otherwise."""

    def has_ext_modules(self) -> bool:
        return any(FORMS.glob("*.form"))


setup(distclass=Wheel)

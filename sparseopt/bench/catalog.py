"""The suites that come with the package, by name."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from sparseopt.errors import ParamError

__all__ = ["find_suite", "suite_files"]


def suite_files() -> dict[str, Path]:
    """Return the names of the shipped suites and where they are.

    They are ``instances/suites/*.toml`` in a clone, and installed with the package.
    """
    folder = Path(str(resources.files("sparseopt.bench"))) / "suites"
    return {path.stem: path.resolve() for path in sorted(folder.glob("*.toml"))}


def find_suite(name: str) -> Path:
    """Return the file of a suite: a path that ends in .toml, or the name of a shipped one.

    Raises
    ------
    ParamError
        When there is none.
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise ParamError(f"{path} is not there; expected a suite file")
        return path
    known = suite_files()
    if name not in known:
        raise ParamError(
            f"no suite is called {name!r}; there are: {', '.join(known)} (a file of your own ends "
            "in .toml)"
        )
    return known[name]

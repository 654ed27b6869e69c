"""Problems and results in files; the format is chosen by the ending of the name."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from sparseopt.errors import ProblemError
from sparseopt.problems import Problem
from sparseopt.result import Result

__all__ = ["load_problem", "load_result", "read_header", "save_problem", "save_result"]

_PROBLEMS = (".npz", ".mps", ".mps.gz")


def _is_mps(path: str | PathLike[str]) -> bool:
    """Whether the ending says MPS; False for .npz.

    Raises
    ------
    ProblemError
        For any other ending.
    """
    name = fspath(path).lower()
    if name.endswith((".mps", ".mps.gz")):
        return True
    if name.endswith(".npz"):
        return False
    hint = "; .json is the ending of results" if name.endswith(".json") else ""
    raise ProblemError(
        f"{path}: the ending tells the format of a problem; known are {', '.join(_PROBLEMS)}{hint}"
    )


def load_problem(path: str | PathLike[str]) -> Problem:
    """Read a problem: .npz (native), .mps or .mps.gz (parametric linear programs).

    Raises
    ------
    ProblemError
        When the ending is unknown, or the file is unreadable, damaged or of a newer version.
    """
    if _is_mps(path):
        from sparseopt.io.mps import read_mps

        return read_mps(path)
    from sparseopt.io.npz import read_npz

    return read_npz(path)


def save_problem(problem: Problem, path: str | PathLike[str], **header: Any) -> None:
    """Write a problem: .npz (native), .mps or .mps.gz (parametric problems).

    Parameters
    ----------
    problem : Problem
    path : path
    **header
        ``name, generator, reference, license, citation``.

    Raises
    ------
    ProblemError
        When the ending or a header entry is unknown, the format cannot hold the problem, or the
        file cannot be written.
    """
    if _is_mps(path):
        from sparseopt.io.mps import write_mps

        write_mps(problem, path, **header)
        return
    from sparseopt.io.npz import write_npz

    write_npz(problem, path, **header)


def read_header(path: str | PathLike[str]) -> dict[str, Any]:
    """Return what a file says about itself: an instance, or a result (.json).

    Raises
    ------
    ProblemError
        As :func:`load_problem` and :func:`load_result`.
    """
    if fspath(path).lower().endswith(".json"):
        from sparseopt.io.results import read_result_header

        return read_result_header(path)
    if _is_mps(path):
        from sparseopt.io.mps import read_mps_header

        return read_mps_header(path)
    from sparseopt.io.npz import read_npz_header

    return read_npz_header(path)


def load_result(path: str | PathLike[str], problem: Problem | None = None) -> Result:
    """Read a result (.json); see :func:`sparseopt.io.results.load_result`."""
    from sparseopt.io.results import load_result as read

    return read(path, problem)


def save_result(result: Result, path: str | PathLike[str]) -> None:
    """Write a result (.json); see :func:`sparseopt.io.results.save_result`."""
    from sparseopt.io.results import save_result as write

    write(result, path)

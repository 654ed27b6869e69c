"""Problems and results in files; the format is chosen by the ending of the name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from typing import Any

from sparseopt.errors import ProblemError
from sparseopt.io.files import file_name
from sparseopt.problems import Problem
from sparseopt.result import Result

__all__ = ["load_problem", "load_result", "read_header", "save_problem", "save_result"]

_FORMATS = {
    ".npz": "npz",
    ".mps": "mps",
    ".mps.gz": "mps",
    ".cbf": "cbf",
    ".cbf.gz": "cbf",
    ".dat-s": "sdpa",
    ".dat-s.gz": "sdpa",
}
"""Endings of the names of problems, and the module of each that reads and writes it."""
_UNREAD = {
    ".qps": "a quadratic program in MPS's form: sparseopt has no problem with a quadratic "
    "objective; a linear one is a .mps file",
    ".bz2": "packed by bzip2, which is not read: unpack it (bunzip2), or pack it by gzip (.gz)",
    ".xz": "packed by xz, which is not read: unpack it (unxz), or pack it by gzip (.gz)",
    ".zip": "a zip, which is not read: unpack it (unzip), or pack it by gzip (.gz)",
}
"""Endings that people try, and what to do."""
_TABLES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".xls", ".npy")


def _format(path: str | PathLike[str]) -> str:
    """Return the name of the format that the ending says.

    Raises
    ------
    ProblemError
        For an unknown ending.
    """
    name = file_name(path).lower()
    for ending, known in _FORMATS.items():
        if name.endswith(ending):
            return known
    for ending, why in _UNREAD.items():
        if name.endswith((ending, f"{ending}.gz")):
            raise ProblemError(f"{path} is {why}")
    raise ProblemError(
        f"{path}: the ending chooses the format of a problem; known are {', '.join(_FORMATS)}"
        f"{_hint(name)}"
    )


def _hint(name: str) -> str:
    """Return what else a file or a name may be for that is no problem."""
    if name.endswith(".json"):
        return "; .json is the ending of results, which sparseopt.io.load_result reads"
    if name.endswith(_TABLES):
        return "; to fit a model to a table, `sparseopt fit MODEL FILE`, or an estimator in Python"
    if "." not in name.replace("\\", "/").rsplit("/", 1)[-1]:
        return "; the files of shipped instances are in sparseopt.datasets.instances()"
    return ""


def _function(what: str, path: str | PathLike[str], rest: str = "") -> Callable[..., Any]:
    """Return a format's own function, such as ``write_mps``; imports it only now."""
    name = _format(path)
    module = import_module(f"sparseopt.io.{name}")
    found: Callable[..., Any] = getattr(module, f"{what}_{name}{rest}")
    return found


def load_problem(path: str | PathLike[str], *, b_bar: str | None = None) -> Problem:
    """Read a problem; the ending chooses the format.

    .npz is native and holds any kind; .mps parametric linear programs; .cbf and .dat-s (SDPA)
    mixed-integer semidefinite programs. The last three may be packed (.gz).

    Parameters
    ----------
    path : path
    b_bar : str, optional
        Name of the RHS set of an MPS file that is b_bar, the slope of the right-hand side. Files
        that sparseopt has written say it themselves.

    Returns
    -------
    Problem

    Raises
    ------
    ProblemError
        When the ending is unknown, or the file is unreadable, damaged or of a newer version, and
        for `b_bar` with a file that is no MPS.
    """
    problem: Problem = _function("read", path)(path, **_sets(path, b_bar))
    return problem


def _sets(path: str | PathLike[str], b_bar: str | None) -> dict[str, str]:
    """Return the arguments of a reader that say which set is which; only MPS has sets."""
    if b_bar is None:
        return {}
    if _format(path) != "mps":
        raise ProblemError(f"{path}: b_bar names an RHS set of an MPS file, and this is none")
    return {"b_bar": b_bar}


def save_problem(problem: Problem, path: str | PathLike[str], **header: Any) -> None:
    """Write a problem; the ending chooses the format, as in :func:`load_problem`.

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
    _function("write", path)(problem, path, **header)


def read_header(path: str | PathLike[str], *, b_bar: str | None = None) -> dict[str, Any]:
    """Return what a file says about itself: an instance, or a result (.json).

    Parameters
    ----------
    path : path
    b_bar : str, optional
        As in :func:`load_problem`.

    Returns
    -------
    dict
        JSON values: format, version, kind, name, sizes of arrays, ...

    Raises
    ------
    ProblemError
        As :func:`load_problem` and :func:`load_result`.
    """
    if file_name(path).lower().endswith(".json"):
        from sparseopt.io.results import read_result_header

        return read_result_header(path)
    header: dict[str, Any] = _function("read", path, "_header")(path, **_sets(path, b_bar))
    return header


def load_result(path: str | PathLike[str], problem: Problem | None = None) -> Result:
    """Read a result (.json); see :func:`sparseopt.io.results.load_result`.

    Parameters
    ----------
    path : path
        Must end in .json.
    problem : Problem, optional
        The problem that the result is of; it must have the stated fingerprint.

    Returns
    -------
    Result
    """
    from sparseopt.io.results import load_result as read

    return read(path, problem)


def save_result(result: Result, path: str | PathLike[str]) -> None:
    """Write a result (.json); see :func:`sparseopt.io.results.save_result`.

    Parameters
    ----------
    result : Result
    path : path
        Must end in .json.
    """
    from sparseopt.io.results import save_result as write

    write(result, path)

"""Mixed-integer semidefinite programs in the Conic Benchmark Format, .cbf and .cbf.gz.

Read are the versions 1 to 4 as far as a MISDP goes: the domains F, L+, L-, L=, Q, QR and SVECPSD,
matrix variables and matrix inequalities, integers, and SCIP-SDP's PSDVARRANK1 and PSDCONRANK1.
Exponential and power cones, and CHANGE, are refused. The problem has the scalar variables first and
then, one after the other, the entries of the matrix variables.

A file that sparseopt writes holds a comment for its own reader (names, facts, and which rows are
ranges or bounds); with it the problem comes back equal to the last bit. In any other file a row
with a single coefficient, a power of two, becomes a bound of its variable, and two neighbouring
rows that bound one expression from both sides become one row.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from sparseopt.io.cbf.reader import parse_cbf
from sparseopt.io.cbf.to_problem import misdp_of
from sparseopt.io.cbf.writer import format_cbf
from sparseopt.io.misdp_text import TextFormat
from sparseopt.problems import MISDP, Problem

__all__ = ["read_cbf", "read_cbf_header", "write_cbf"]

_FORMAT = TextFormat(
    "cbf", "CBF", parse_cbf, misdp_of, format_cbf, lambda model: {"version": model.version}
)


def read_cbf(path: str | PathLike[str]) -> MISDP:
    """Read a CBF file.

    Parameters
    ----------
    path : path

    Returns
    -------
    MISDP

    Raises
    ------
    ProblemError
        When it cannot be read, or holds what a MISDP does not have; names the line.
    """
    return _FORMAT.read(path)


def read_cbf_header(path: str | PathLike[str]) -> dict[str, Any]:
    """Return what a CBF file says about itself.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
    """
    return _FORMAT.header(path)


def write_cbf(problem: Problem, path: str | PathLike[str], **facts: Any) -> None:
    """Write a MISDP as CBF.

    Parameters
    ----------
    problem : MISDP
    path : path
    **facts
        ``name, generator, reference, license, citation``; they go into the comment.

    Raises
    ------
    ProblemError
        When the problem is no MISDP, a fact is unknown, or the file cannot be written.
    """
    _FORMAT.write(problem, path, facts)

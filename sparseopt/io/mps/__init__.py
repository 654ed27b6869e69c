"""Parametric linear programs as MPS files, read and written by us whole.

What a file means. With the first N row c, a second one c_bar, the first RHS set b and a second one
b_bar (in a file with sparseopt's header, or where the caller names it), it is

    min or max (c + lam c_bar)'x   subject to   A x <=, >=, = b + lam b_bar,   bounds on x.

The section OBJSENSE (MAX or MIN; the default of MPS is MIN) says which. A right-hand side on an N
row is minus a constant: of set s on row c, or c_bar, its factor is 1, lam, lam and lam^2. Bounds,
right-hand sides and ranges of 1e20 and more are infinite.

Reading. A file that maximises, with rows all <= or all =, x >= 0, finite right-hand sides, no
ranges and no constants is a :class:`~sparseopt.problems.ParametricLP`. Any other is a
:class:`~sparseopt.problems.PiecewiseLinearProgram`, **which minimises: the objective of a MAX file
is negated.** Integer variables are refused.

Writing. A ParametricLP, and a PiecewiseLinearProgram that has come from MPS, is written as it is
and comes back equal to the last bit. Every other parametric problem is written through
:func:`~sparseopt.problems.parametric.linear_program.as_parametric_lp`: the file **maximises
minus** the
problem's canonical objective, so that its optimal value is minus that of a problem that minimises.

Other readers of MPS drop a second N row, and may merge two RHS sets.
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Any

from sparseopt.errors import ProblemError
from sparseopt.io.files import naming
from sparseopt.io.header import FACTS, checked_facts
from sparseopt.io.mps.from_problem import model_of
from sparseopt.io.mps.model import MpsModel
from sparseopt.io.mps.reader import MPS_VERSION, parse_mps
from sparseopt.io.mps.to_problem import is_parametric_lp, problem_of
from sparseopt.io.mps.writer import format_mps
from sparseopt.io.text import read_text, write_text
from sparseopt.problems import (
    ParametricLP,
    ParametricProblem,
    PiecewiseLinearProgram,
    Problem,
)

__all__ = ["read_mps", "read_mps_header", "write_mps"]


def read_mps(
    path: str | PathLike[str], b_bar: str | None = None
) -> ParametricLP | PiecewiseLinearProgram:
    """Read an MPS file, fixed or free, ``.mps`` or ``.mps.gz``.

    Parameters
    ----------
    path : path
    b_bar : str, optional
        Name of the RHS set that is b_bar; files of sparseopt say it themselves.

    Returns
    -------
    ParametricLP or PiecewiseLinearProgram

    Raises
    ------
    ProblemError
        When it cannot be read, or is no parametric linear program; names the line.
    """
    model = _read_model(path, b_bar)
    with naming(path):
        return problem_of(model)


def read_mps_header(path: str | PathLike[str], b_bar: str | None = None) -> dict[str, Any]:
    """Return what an MPS file says about itself, and what it becomes when it is read.

    Parameters
    ----------
    path : path
    b_bar : str, optional
        As in :func:`read_mps`.

    Returns
    -------
    dict
    """
    model = _read_model(path, b_bar)
    with naming(path):
        # What cannot be loaded has no header either.
        problem_of(model)
        facts = checked_facts({key: model.header[key] for key in FACTS if key in model.header})
    pure = is_parametric_lp(model)
    kind = ParametricLP if pure else PiecewiseLinearProgram
    header: dict[str, Any] = {
        "format": "mps",
        "version": model.header.get("version", MPS_VERSION),
        "kind": kind.kind,
        "sense": kind.sense,
        "name": model.name,
        **facts,
        "size": {"m": len(model.rows), "n": len(model.columns), "nonzeros": len(model.entry)},
    }
    if "source" in model.header:
        header["source"] = model.header["source"]
    if model.maximize and not pure:
        header["note"] = "the file maximises; it is read as a program that minimises the negative"
    return header


def write_mps(problem: Problem, path: str | PathLike[str], **facts: Any) -> None:
    """Write a parametric problem as free MPS, ``.mps`` or ``.mps.gz``.

    Parameters
    ----------
    problem : Problem
    path : path
    **facts
        ``name, generator, reference, license, citation``; they go into a comment, where
        :func:`read_mps_header` finds them.

    Raises
    ------
    ProblemError
        When the problem is not parametric, a fact is unknown, a number is 1e20 or more where MPS
        means infinity by it, or the file cannot be written.
    """
    if not isinstance(problem, ParametricProblem):
        raise ProblemError(
            f"{path}: MPS holds parametric linear programs, and {problem.kind} is none; "
            "save it as .npz"
        )
    known = checked_facts(facts)
    model = model_of(problem)
    name = known.get("name", "")
    header = {**model.header, "source": problem.kind, **known}
    with naming(path):
        text = format_mps(replace(model, name=" ".join(name.split()), header=header))
    write_text(path, text)


def _read_model(path: str | PathLike[str], b_bar: str | None) -> MpsModel:
    return parse_mps(read_text(path), str(path), b_bar)

"""SCIP-SDP, a program beside ours: files out, its solution back."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Availability, Backend, Control, Feature, Option
from sparseopt.errors import BackendError, BackendUnavailable
from sparseopt.io.cbf import write_cbf
from sparseopt.io.sdpa import write_sdpa
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.misdp.cones import SemidefiniteBlock, arrow_block
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Limit, Result, Status

VARIABLE = "SPARSEOPT_SCIPSDP"
"""Holds the path of the program where it is not on the PATH."""
_LOOK = 0.02
"""Seconds between two checks of the clock."""
_GRACE = 5.0
"""Seconds beyond the time limit before the process is killed."""
_INFINITE = 1e20
"""What SCIP takes for infinity."""

_STATUS: Mapping[str, tuple[Status, Limit | None]] = {
    "optimal solution found": (Status.OPTIMAL, None),
    "gap limit reached": (Status.OPTIMAL, None),
    "infeasible": (Status.INFEASIBLE, None),
    "unbounded": (Status.UNBOUNDED, None),
    "infeasible or unbounded": (Status.INF_OR_UNB, None),
    "time limit reached": (Status.FEASIBLE, Limit.TIME),
    "node limit reached": (Status.FEASIBLE, Limit.NODE),
    "memory limit reached": (Status.FEASIBLE, Limit.MEMORY),
    "user interrupt": (Status.FEASIBLE, Limit.INTERRUPTED),
}
"""For what stands in brackets behind `SCIP Status`; a limit without a point is NO_SOLUTION."""


class ScipSdp(Backend):
    """The program scipsdp (SCIP-SDP 4 or later), which solves MISDPs to about 1e-5.

    It is found by the option `program`, the environment variable ``SPARSEOPT_SCIPSDP`` (a name or
    a path), or on the PATH. It leaves no certificate: its optima are ``unproven``.

    References
    ----------
    Gally, Pfetsch, Ulbrich (2018): A framework for solving mixed-integer semidefinite programs.
    """

    name: ClassVar[str] = "scipsdp"
    summary: ClassVar[str] = "SCIP-SDP (the program scipsdp): branch and bound over SDPs or LPs"
    families: ClassVar[frozenset[str]] = frozenset({"misdp"})
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.EXACT, Feature.DUAL_BOUND})
    limits: ClassVar[frozenset[str]] = frozenset({"node_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "relaxation": Option(str, "sdp", "solved in the nodes", choices=("sdp", "lp")),
        "program": Option(
            str, "", f"name on the PATH, or path; default: that of {VARIABLE}, or scipsdp"
        ),
    }

    def availability(self) -> Availability:
        """Look for the program."""
        if _program() is None:
            return Availability(
                False,
                f"the program scipsdp is not on the PATH, and {VARIABLE} names none: build "
                "SCIP-SDP, or set that variable to the path of its program",
            )
        return Availability(True)

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take linear problems; second-order cones only beside no indicators, as matrices."""
        if isinstance(problem, MISDP) and problem.cones and problem.indicators:
            return False, f"{self.name} takes no second-order cones beside indicators"
        if isinstance(problem, MISDP) and problem.Q is not None:
            return False, f"{self.name} takes no quadratic objectives"
        return super().supports(problem)

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, MISDP)
        program = _program(options["program"])
        if program is None:
            raise BackendUnavailable(f"there is no program {options['program']!r} on the PATH")
        with TemporaryDirectory() as folder:
            with control.building():
                file = _written(problem, folder)
            commands = _commands(file, params, options, control)
            log, ended = _run(program, commands, folder, params, control)
            return _read(log, Path(folder, "solution.sol"), problem, ended)


def _program(name: str = "") -> str | None:
    return shutil.which(name or os.environ.get(VARIABLE, "") or "scipsdp")


def _written(problem: MISDP, folder: str) -> str:
    """Write the problem, and return the file's name: only SDPA has indicators."""
    if not problem.indicators:
        write_cbf(_with_scalars(problem), Path(folder, "problem.cbf"))
        return "problem.cbf"
    write_sdpa(problem, Path(folder, "problem.dat-s"))
    return "problem.dat-s"


def _with_scalars(problem: MISDP) -> MISDP:
    """Return the problem with one more variable, which is in no constraint, behind all others.

    CBF's matrix variables must be the last ones; so there is none, and every variable is scalar,
    with a number for its name. Second-order cones, which its reader does not know, are matrices.
    """
    blocks = [
        SemidefiniteBlock(_one_more(block.F), block.F0, rank_one=block.rank_one)
        for block in (*problem.blocks, *(arrow_block(cone) for cone in problem.cones))
    ]
    return MISDP(
        c=np.append(problem.c, 0.0),
        A=_one_more(problem.A),
        row_lower=problem.row_lower,
        row_upper=problem.row_upper,
        lower=np.append(problem.lower, 0.0),
        upper=np.append(problem.upper, np.inf),
        integer=np.append(problem.integer, False),
        blocks=blocks,
        sense=problem.sense,
        offset=problem.offset,
    )


def _one_more(matrix: sp.csr_array) -> sp.csr_array:
    """Return the matrix with an empty column behind its own."""
    shape = matrix.shape[0], matrix.shape[1] + 1
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=shape)


def _commands(
    file: str, params: SolveParams, options: Mapping[str, Any], control: Control
) -> list[str]:
    settings = {
        "timing clocktype": 1,
        "limits gap": params.rel_gap,
        "limits absgap": params.abs_gap,
        "randomization randomseedshift": params.seed,
        "misc solvesdps": 1 if options["relaxation"] == "sdp" else 0,
    }
    if params.node_limit is not None:
        settings["limits nodes"] = params.node_limit
    if control.remaining is not None:
        settings["limits time"] = max(control.remaining, 0.01)
    lines = [f"set {name} {value}" for name, value in settings.items()]
    lines += [f"read {file}", "optimize", "write solution solution.sol"]
    return [*lines, "display statistics", "quit"]


def _run(
    program: str, commands: list[str], folder: str, params: SolveParams, control: Control
) -> tuple[str, Limit | None]:
    """Run the program; return what it printed, and for which limit it was killed, if it was."""
    threads = str(params.threads or 1)
    environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    log = Path(folder, "log")
    with log.open("w") as stream:
        process = subprocess.Popen(
            [program, *(part for line in commands for part in ("-c", line))],
            cwd=folder,
            stdout=stream,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        ended = None
        late = None if params.time_limit is None else time.monotonic() + params.time_limit + _GRACE
        try:
            while process.poll() is None:
                if control.interrupted:
                    ended = Limit.INTERRUPTED
                elif late is not None and time.monotonic() > late:
                    ended = Limit.TIME
                if ended is not None:
                    break
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK)
        finally:
            process.kill()
            process.wait()
    return log.read_text(encoding="utf-8", errors="replace"), ended


def _read(log: str, solution: Path, problem: MISDP, ended: Limit | None) -> Result:
    """Translate the statistics and the solution; what was killed has neither."""
    status = re.search(r"^SCIP Status\s*:.*\[(.*)\]", log, re.MULTILINE)
    if status is None and ended is not None:
        return Result(status=Status.NO_SOLUTION, limit=ended, raw_status="killed")
    if status is None:
        last = log.strip().splitlines()[-1:] or ["it printed nothing"]
        raise BackendError(f"scipsdp ended without a status: {last[0]}")
    found, limit = _STATUS.get(status[1], (Status.ERROR, None))
    x = _point(solution, len(problem.c))
    if x is not None:
        # SCIP's integers are integral up to its tolerance.
        x = np.where(problem.integer, np.rint(x), x)
    if found is Status.FEASIBLE and x is None:
        found = Status.NO_SOLUTION
    bound = _figure(log, "Dual Bound")
    nodes = _figure(log, "Solving Nodes")
    finite = bound is not None and abs(bound) < _INFINITE
    if bound is not None and problem.indicators:
        # The file minimises, and leaves the constant out.
        bound = (bound if problem.sense == "min" else -bound) + problem.offset
    return Result(
        status=found,
        limit=limit,
        raw_status=status[1],
        x=x,
        objective=None if x is None else problem.objective(x),
        bound=bound if finite and x is not None else None,
        nodes=None if nodes is None else int(nodes),
    )


def _point(solution: Path, n: int) -> Array | None:
    """Return the solution, whose variables are called x_0, x_1, ...; zeros are left out."""
    if not solution.exists():
        return None
    text = solution.read_text(encoding="utf-8")
    if "objective value:" not in text:
        return None
    x = np.zeros(n)
    for number, value in re.findall(r"^x_(\d+)\s+(\S+)", text, re.MULTILINE):
        if int(number) < n:
            x[int(number)] = float(value)
    return x


def _figure(log: str, name: str) -> float | None:
    """Return the first number behind a name in the statistics."""
    found = re.search(rf"^{name}\s*:\s*([-+]?[\d.]+(?:e[-+]?\d+)?)", log, re.MULTILINE)
    return None if found is None else float(found[1])

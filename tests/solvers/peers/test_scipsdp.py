"""SCIP-SDP as a backend: what it answers, and what is said where it is not there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import sparseopt
from sparseopt import BackendUnavailable, Limit, Status, generators
from sparseopt.io.cbf import read_cbf, write_cbf
from sparseopt.problems import MISDPBuilder
from sparseopt.registry import get_backend
from sparseopt.solvers.peers.scipsdp_ import _with_scalars

needs_program = pytest.mark.skipif(
    not get_backend("scipsdp").availability().available,
    reason=get_backend("scipsdp").availability().reason or "",
)

LOG = """SCIP Status        : problem is solved [optimal solution found]
Solving Nodes      : 7
Primal Bound       : +3.0e+00 (2 solutions)
Dual Bound         : +3.0e+00
"""


@needs_program
@pytest.mark.parametrize("relaxation", ["sdp", "lp"])
@pytest.mark.parametrize("name", ["restricted-isometry", "optimal-design"])
def test_it_agrees_with_ours(name: str, relaxation: str) -> None:
    problem = generators.generate(name, seed=1)
    theirs = sparseopt.solve(
        problem, backend="scipsdp", options={"relaxation": relaxation}, check=False
    )
    ours = sparseopt.solve(problem, backend="misdp-bnb")
    assert theirs.status == ours.status == "optimal"
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-3)
    assert theirs.nodes is not None


def _program(folder: Path, solution: str, log: str = LOG) -> str:
    """Return a script that prints statistics and leaves a solution, as the program does."""
    script = folder / "scipsdp"
    script.write_text(
        f"#!/bin/sh\ntest -s problem.cbf || exit 3\ncat > solution.sol <<'END'\n{solution}END\n"
        f"cat <<'END'\n{log}END\n".replace("\\\n", "\n"),
        encoding="utf-8",
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_its_solution_is_read_by_the_variables_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = generators.max_cut(nodes=3)
    solution = (
        "solution status: optimal\nobjective value: 3\nx_0 1 (obj:1)\nx_2 0.9999997 (obj:2)\n"
    )
    monkeypatch.setenv("SPARSEOPT_SCIPSDP", _program(tmp_path, solution))
    found = sparseopt.solve(problem, backend="scipsdp", check=False)
    assert found.status == "optimal" and found.nodes == 7
    assert found.x.tolist() == [1.0, 0.0, 1.0]  # integers are rounded
    assert found.bound == 3.0


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_a_program_that_does_not_end_is_out_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "scipsdp"
    script.write_text("#!/bin/sh\necho presolving\nexec sleep 60\n", encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("SPARSEOPT_SCIPSDP", str(script))
    monkeypatch.setattr("sparseopt.solvers.peers.scipsdp_._GRACE", 0.0)
    found = sparseopt.solve(generators.max_cut(nodes=3), backend="scipsdp", time_limit=0.1)
    assert (found.status, found.limit) == (Status.NO_SOLUTION, Limit.TIME)


def test_a_missing_program_and_cones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSEOPT_SCIPSDP", "")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BackendUnavailable, match="SPARSEOPT_SCIPSDP"):
        sparseopt.solve(generators.max_cut(nodes=3), backend="scipsdp")
    model = MISDPBuilder("min")
    on, x = model.variable(upper=1.0, lower=0.0, integer=True), model.variable()
    model.cone([[(x, 1.0)], [(on, 1.0)]])
    model.indicator(on, (x, 1.0), lower=2.0)
    supported, reason = get_backend("scipsdp").supports(model.build())
    assert not supported and "second-order cones" in reason


def test_cones_are_written_as_matrices(tmp_path: Path) -> None:
    problem = generators.random_misdp(seed=0)
    assert problem.cones
    write_cbf(_with_scalars(problem), tmp_path / "problem.cbf")
    written = read_cbf(tmp_path / "problem.cbf")
    assert not written.cones
    assert len(written.blocks) == len(problem.blocks) + len(problem.cones)


@needs_program
def test_it_agrees_where_cones_are() -> None:
    problem = generators.cardinality_portfolio(seed=1, assets=8, k=3)
    theirs = sparseopt.solve(problem, backend="scipsdp", check=False)
    ours = sparseopt.solve(problem, backend="misdp-bnb")
    assert theirs.status == ours.status == "optimal"
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-3)

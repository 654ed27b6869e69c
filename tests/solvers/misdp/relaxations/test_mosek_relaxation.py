"""MOSEK for the relaxations: what it is given is checked for real, solving needs a licence."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.backend import Control
from sparseopt.errors import LicenseError
from sparseopt.generators.random_misdp import random_misdp
from sparseopt.params import SolveParams
from sparseopt.problems import MISDP, SecondOrderCone, SemidefiniteBlock
from sparseopt.registry import get_backend
from sparseopt.solvers.misdp.relaxations.clarabel_ import ClarabelRelaxation
from sparseopt.solvers.misdp.relaxations.conic import ConicForm

mosek = pytest.importorskip("mosek", reason="mosek is not installed: sparseopt[mosek]")
pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")


def licensed():
    return get_backend("mosek").license_status() == "licensed"


def programs():
    """Programs with all kinds of cones, over whole boxes and with variables fixed."""
    cones = [
        SecondOrderCone(np.eye(3), [1.0, 0.2, 0.0]),
        SecondOrderCone(np.eye(3)[[0, 1, 2]], [2.0, 1.0, 0.5], rotated=True),
    ]
    block = SemidefiniteBlock([[1.0, 0.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 1.0]], [2.0, 0.1, 2.0])
    mixed = MISDP(
        c=[1.0, -2.0, 0.5],
        A=[[1.0, 1.0, 1.0], [1.0, -1.0, 0.0]],
        row_lower=[0.3, -np.inf],
        row_upper=[0.3, 2.0],
        lower=[-3.0, -np.inf, -1.0],
        cones=cones,
        blocks=[block],
    )
    for problem in (mixed, random_misdp(seed=0), random_misdp(seed=3, kind="boundary")):
        form = ConicForm(problem)
        yield form.program(problem.lower, problem.upper)
        low, high = problem.lower.copy(), problem.upper.copy()
        low[0] = high[0] = np.clip(0.0, low[0], high[0])
        yield form.program(low, high)


@pytest.mark.parametrize("program", list(programs()))
def test_what_mosek_is_given_has_the_optimum_of_clarabel(program, tmp_path):
    from sparseopt.solvers.misdp.relaxations.mosek_ import fill

    path = tmp_path / "node.cbf"
    with mosek.Env() as environment, environment.Task() as task:
        fill(task, program)
        assert task.getnumvar() == len(program.q)
        assert task.getnumafe() == len(program.b)
        linear = bool(program.zero) + bool(program.nonnegative)
        assert task.getnumacc() == linear + len(program.orders) + len(program.sizes)
        task.writedata(str(path))
    raw = ClarabelRelaxation(Control(SolveParams()), 1e-9).solve(program, np.inf)
    read = sparseopt.load(path)
    result = sparseopt.solve(read, backend="misdp-bnb", options={"relaxation": "clarabel"})
    assert result.verdict is Verdict.VERIFIED
    if raw.ray:
        assert result.status is Status.INFEASIBLE
        return
    assert abs(result.objective - (program.q @ raw.x + program.constant)) < 1e-6


@pytest.mark.skipif(licensed(), reason="there is a licence of MOSEK")
@pytest.mark.parametrize("backend", ["misdp-bnb", "misdp-oa"])
def test_without_a_licence_it_says_what_to_do(backend):
    with pytest.raises(LicenseError, match=r"no licence .*MOSEKLM_LICENSE_FILE"):
        sparseopt.solve(random_misdp(seed=0), backend=backend, options={"relaxation": "mosek"})


@pytest.mark.skipif(not licensed(), reason="MOSEK has no licence here: its solves are not tested")
@pytest.mark.parametrize("seed", range(5))
def test_with_a_licence_it_proves_the_same_optimum(seed):
    problem = random_misdp(seed=seed)
    first = sparseopt.solve(problem, backend="misdp-bnb", options={"relaxation": "mosek"})
    again = sparseopt.solve(problem, backend="misdp-bnb")
    assert first.verdict is Verdict.VERIFIED
    assert abs(first.objective - again.objective) < 1e-6

"""Multipliers for a multiple of the costs: whole numbers where those for the costs are none."""

from pathlib import Path

import numpy as np
import pytest
from second_opinion import second_opinion

from sparseopt import check, exact
from sparseopt.problems import MISDP, SecondOrderCone
from sparseopt.result import Certificate, Result, Status, Verdict

THIRD = MISDP(
    c=[0.0, 1.0],
    A=[[-1.0, 3.0]],
    row_lower=[1.0],
    integer=[True, False],
    lower=[0, -np.inf],
    upper=[1, np.inf],
)
"""Minimise y with 3 y >= 1 + b, b in {0, 1}: 1/3, by the multiplier 1/3, which is no float."""

NORM = MISDP(
    c=[0.0, 0.0, 1.0],
    A=[[4.0, 3.0, 0.0]],
    row_lower=[3.0],
    cones=[SecondOrderCone([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])],
)
"""The shortest vector of a half-plane: 3/5, by the multiplier (5, -4, -3) / 5 on the boundary."""


def claim(problem: MISDP, x: list[float], bound: float, **arrays: object) -> Result:
    """Return a result whose only leaf has these arrays."""
    q = int(problem.integer.sum())
    least, most = problem.lower[problem.integer], problem.upper[problem.integer]
    empty = {
        "cones": np.zeros((1, 0)),
        "psd": np.zeros((1, 0)),
        "infeasible": np.zeros(1, dtype=bool),
    }
    box = {"lower": least.reshape(1, q), "upper": most.reshape(1, q)}
    given = {name: np.asarray(array) for name, array in arrays.items()}
    value = float(problem.objective(np.array(x)))
    return Result(
        status=Status.OPTIMAL,
        x=np.array(x),
        objective=value,
        bound=bound,
        certificate=Certificate("misdp-leaves", {**box, **empty, **given}),
    )


def verdicts(folder: Path, problem: MISDP, result: Result) -> tuple[Verdict, str]:
    """Return what the checker and the program in rational arithmetic say."""
    result = result.with_changes(problem=problem, kind=problem.kind)
    return check(problem, result).verdict, second_opinion(folder, problem, result)[0]


PROVEN = Verdict.VERIFIED, "proven"

SCALED = {
    "row": (THIRD, [0.0, 1 / 3], 1 / 3, {"rows": [[1.0]], "cost_scale": [3.0]}),
    "cone": (
        NORM,
        [0.48, 0.36, 0.6],
        0.6,
        {"rows": [[1.0]], "cones": [[5.0, -4.0, -3.0]], "cost_scale": [5.0]},
    ),
}


@pytest.mark.parametrize("name", SCALED)
def test_multiples_of_fractions_prove_the_bound(tmp_path, name):
    problem, x, bound, arrays = SCALED[name]
    result = claim(problem, x, bound, **arrays)
    assert verdicts(tmp_path, problem, result) == PROVEN


@pytest.mark.parametrize("name", SCALED)
def test_what_they_prove_is_divided(tmp_path, name):
    problem, x, bound, arrays = SCALED[name]
    x = [v + 0.1 for v in x[:-1]] + [x[-1] + 0.3]
    result = claim(problem, x, bound * (1.0 + 1e-7), **arrays).with_changes(objective=bound)
    assert not {*PROVEN} & {*verdicts(tmp_path, problem, result)}


@pytest.mark.parametrize(
    "scale", [[0.0], [-3.0], [np.nan], [np.inf], [3.0, 3.0], 3.0, [3], ["3"], [[3.0]]]
)
def test_other_than_positive_numbers_are_malformed(scale):
    problem, x, bound, arrays = SCALED["row"]
    report = check(problem, claim(problem, x, bound, **{**arrays, "cost_scale": scale}))
    assert report.verdict is Verdict.REFUTED
    assert "cost_scale" in report.messages[0]


@pytest.mark.parametrize("scale", [[0.0], [-3.0], [np.inf], [3.0, 3.0], [], 3.0, [[3.0]]])
def test_the_exact_program_believes_no_other_numbers(tmp_path, scale):
    problem, x, bound, arrays = SCALED["row"]
    result = claim(problem, x, bound, **{**arrays, "cost_scale": scale})
    try:
        _, verdict = verdicts(tmp_path, problem, result)
    except exact.Unreadable:
        return
    assert verdict != "proven"


def test_a_rounded_product_is_malformed():
    costs = THIRD.with_changes(c=[0.0, 0.1])
    result = claim(costs, [0.0, 1 / 3], 0.1 / 3, rows=[[0.1]], cost_scale=[3.0])
    report = check(costs, result)
    assert report.verdict is Verdict.REFUTED
    assert "is not exact" in report.messages[0]


def test_a_large_scale_proves_nothing_more(tmp_path):
    result = claim(THIRD, [0.0, 1 / 3], 0.5, rows=[[1.0]], cost_scale=[2.0])
    assert not {*PROVEN} & {*verdicts(tmp_path, THIRD, result.with_changes(objective=0.5))}


def test_a_disproof_needs_none(tmp_path):
    empty = THIRD.with_changes(
        A=[[0.0, 1.0], [0.0, 1.0]], row_lower=[1.0, -np.inf], row_upper=[np.inf, 0.0]
    )
    result = claim(empty, [0.0, 0.0], 0.0, rows=[[1.0, -1.0]], cost_scale=[7.0])
    arrays = {**result.certificate.arrays, "infeasible": np.ones(1, dtype=bool)}
    result = Result(status=Status.INFEASIBLE, certificate=Certificate("misdp-leaves", arrays))
    assert verdicts(tmp_path, empty, result) == PROVEN


def test_what_is_noise_beside_its_cone_is_not_called_false():
    """The multipliers are (0; 1, -1, 0) and costs are zero for x_3: 4e-10 of it is noise."""
    problem = MISDP(
        c=[3.0, -2.0, 0.0, 1.0],
        A=[[0.0, 2.0, 2.0, 0.0]],
        row_upper=[-1.0],
        integer=[True, False, False, False],
        lower=[0.0, -np.inf, -np.inf, -np.inf],
        upper=[1.0, np.inf, np.inf, np.inf],
        cones=[SecondOrderCone([[0, 0, 0, 1], [1, 2, 0, 0], [2, 2, 1, 0]], [0.0, -1.0, -1.0])],
    )
    x, noise = [0.0, 2.0, -3.0, 3.0], [[1.000000000266, -1.000000000233, 3.978e-10]]
    report = check(problem, claim(problem, x, -1.0000003, rows=[[-3.58e-10]], cones=noise))
    assert report.verdict is Verdict.UNPROVEN
    assert "rounding" in " ".join(report.messages)
    exact_ones = {"rows": [[0.0]], "cones": [[1.0, -1.0, 0.0]]}
    assert check(problem, claim(problem, x, -1.0, **exact_ones)).verdict is Verdict.VERIFIED

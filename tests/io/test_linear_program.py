"""as_parametric_lp: the same optima as the general form, by an independent program in scipy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from io_examples import regression, three_kinks
from scipy.optimize import linprog

from sparseopt.problems import (
    DantzigSelector,
    LADLasso,
    ParametricLP,
    Pieces,
    PiecewiseLinearProgram,
)
from sparseopt.problems.parametric.linear_program import as_parametric_lp


def epigraph_optimum(program: PiecewiseLinearProgram, lam: float) -> float:
    """Solve P(lam) with one epigraph variable for each function: another way than splitting."""
    A = program.A.as_array()
    A = A.toarray() if sp.issparse(A) else np.asarray(A)
    m, p = A.shape
    rows, right, bounds = [], [], []
    for pieces, operator, shift in ((program.phi, np.eye(p), p), (program.psi, A, 2 * p)):
        low, high = pieces.domain(lam)
        kinks, slopes = pieces.kinks_at(lam), pieces.slopes_at(lam)
        for i in range(len(pieces)):
            t = kinks[pieces.ptr[i] : pieces.ptr[i + 1]]
            s = slopes[pieces.slope_ptr[i] : pieces.slope_ptr[i + 1]]
            value, anchor = 0.0, t[0]
            for k, slope in enumerate(s):
                if k > 1:
                    value += s[k - 1] * (t[k - 1] - t[k - 2])
                    anchor = t[k - 1]
                if np.isfinite(slope):
                    row = np.concatenate([slope * operator[i], np.zeros(p + m)])
                    row[shift + i] = -1.0
                    rows.append(row)
                    right.append(slope * anchor - value)
            for sign, end in ((1.0, high[i]), (-1.0, low[i])):
                if np.isfinite(end):
                    rows.append(np.concatenate([sign * operator[i], np.zeros(p + m)]))
                    right.append(sign * end)
    cost = np.concatenate([np.zeros(p), np.ones(p + m)])
    bounds = [(None, None)] * (2 * p + m)
    found = linprog(cost, A_ub=np.array(rows), b_ub=right, bounds=bounds, method="highs")
    assert found.status == 0, found.message
    o = program.offset
    return float(found.fun + o[0] + lam * o[1] + lam**2 * o[2])


def split_optimum(program: PiecewiseLinearProgram, lam: float) -> float:
    lp = as_parametric_lp(program)
    found = linprog(-(lp.c + lam * lp.c_bar), A_ub=lp.A, b_ub=lp.b + lam * lp.b_bar, method="highs")
    assert found.status == 0, found.message
    o = program.offset
    return float(found.fun + o[0] + lam * o[1] + lam**2 * o[2])


def hinge_and_fixed() -> PiecewiseLinearProgram:
    """One-sided losses, an equality row, a fixed variable, a row that is not there."""
    return PiecewiseLinearProgram(
        A=np.array(
            [[1.0, 1.0, 0.0], [1.0, -1.0, 2.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1, 2, 3]]
        ),
        phi=Pieces.concatenate(
            Pieces.lam_absolute(np.array([1.0, 0.5])),
            Pieces.uniform([0.7, 0.7], [-np.inf, 0.0, np.inf], n=1),
        ),
        psi=Pieces.concatenate(
            Pieces.uniform([-1.0], [-1.0, 0.0], n=1),
            Pieces.uniform([-1.0, 0.5], [0.0, 0.4, 2.0], n=1),
            Pieces.uniform([0.2, 0.2], [-np.inf, 0.0, np.inf], n=1),
            Pieces.free(1),
            Pieces.uniform([-1.0], [-np.inf, 3.0], n=1),
        ),
    )


PROGRAMS: dict[str, Callable[[], PiecewiseLinearProgram]] = {
    "dantzig": lambda: regression(DantzigSelector, weights=[1, 0, 2, 1]).canonical(),  # type: ignore[attr-defined]
    "lad-intercept": lambda: regression(LADLasso, fit_intercept=True).canonical(),  # type: ignore[attr-defined]
    "three-kinks": three_kinks,
    "hinge-and-fixed": hinge_and_fixed,
}


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0, 2.5, 10.0])
@pytest.mark.parametrize("name", PROGRAMS)
def test_optima_agree(name: str, lam: float) -> None:
    program = PROGRAMS[name]()
    expected = epigraph_optimum(program, lam)
    assert split_optimum(program, lam) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_parametric_lp_stays_what_it_is() -> None:
    rng = np.random.default_rng(0)
    lp = ParametricLP(
        A=rng.uniform(0.1, 1.0, (3, 2)), b=[1, 2, 3], b_bar=[1, 0, 1], c=[1, 2], c_bar=[0, -1]
    )
    again = as_parametric_lp(lp.canonical())
    assert np.array_equal(again.A.toarray(), lp.A)
    for name in ("b", "b_bar", "c", "c_bar"):
        assert np.array_equal(getattr(again, name), getattr(lp, name))


def test_one_sided_functions_are_one_row() -> None:
    # Rows: hinge 1, two-sided inner piece 1 + its length, equality 2, none, bounded loss 2; and
    # the length of the fixed variable. Columns: two variables in two pieces, the fixed one, and
    # the pieces of the losses that cost something: 1, 2, 1.
    assert as_parametric_lp(hinge_and_fixed()).size == {"m": 8, "n": 9}


def test_infeasible_and_unbounded_stay_so() -> None:
    impossible = PiecewiseLinearProgram(
        A=np.ones((1, 1)),
        phi=Pieces.uniform([0.0, 1.0], [-np.inf, 0.0, np.inf], n=1),
        psi=Pieces.uniform([2.0], [-np.inf, 0.0], n=1),
    )
    endless = PiecewiseLinearProgram(
        A=np.ones((1, 1)), phi=Pieces.uniform([0.0], [-1.0, -1.0], n=1), psi=Pieces.free(1)
    )
    for program, status in ((impossible, 2), (endless, 3)):
        lp = as_parametric_lp(program)
        assert linprog(-lp.c, A_ub=lp.A, b_ub=lp.b, method="highs").status == status


def test_pieces_carry_the_names_of_their_variables() -> None:
    names = as_parametric_lp(three_kinks()).names
    assert names is not None
    assert names[:4] == ["age-", "age+", "age+2", "age+3"]
    assert len(set(names)) == len(names)

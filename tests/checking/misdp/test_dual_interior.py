"""Ends of variables from multipliers inside their cones, and what is proven with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from enumeration import relax
from free_misdps import draw_free

import sparseopt
from sparseopt import Certificate, Status, Verdict, check
from sparseopt.checking.misdp.dual_interior import ends_of_interior
from sparseopt.checking.misdp.duality import WeakDuality
from sparseopt.checking.misdp.implied import ImpliedBounds
from sparseopt.problems import MISDP, MISDPBuilder

WITHOUT_EXACT_MULTIPLIERS = [49, 112, 378, 418, 515, 606]
"""Their leaves have multipliers on the boundary of their cones, or hardly any."""


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [361, 503, 828])
def test_disproofs_with_free_variables_are_proven(seed):
    result = sparseopt.solve(draw_free(seed), backend="misdp-bnb")
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.parametrize("seed", WITHOUT_EXACT_MULTIPLIERS)
def test_optima_without_exact_multipliers_are_proven(seed):
    result = sparseopt.solve(draw_free(seed), backend="misdp-bnb")
    assert result.status is Status.OPTIMAL
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [104, 153, 269, 298, 468])
def test_bounds_are_rounded_in_the_unit_of_the_costs_that_prevail(seed):
    result = sparseopt.solve(draw_free(seed), backend="misdp-bnb")
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.parametrize("seed", [118526, 191192, 233346, 380572, 532388, 800400])
def test_no_proof_rests_on_an_end_that_only_the_engine_derives(seed):
    """Of a cone's multipliers rounding left 1e-11, which cost variables of that cone alone.

    Each was refuted on one processor or another.
    """
    result = sparseopt.solve(draw_free(seed), backend="misdp-bnb")
    assert result.status is Status.OPTIMAL
    assert result.verdict is Verdict.VERIFIED


def interior_of(problem: MISDP) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the multipliers inside their cones of a certificate, their kinds, and the bound."""
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert result.certificate is not None and result.bound is not None
    arrays = result.certificate.arrays
    dual = [arrays[f"interior_{name}"] for name in ("rows", "cones", "psd")]
    return np.concatenate(dual, axis=1), arrays["interior_costs"], result.bound


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [49, 104, 308, 418])
def test_no_point_that_reaches_the_cutoff_is_beyond_the_ends(seed):
    """The least and the largest of each variable, by Clarabel on the relaxation."""
    problem = draw_free(seed)
    dual, costly, bound = interior_of(problem)
    cutoff = bound + 0.05 * max(1.0, abs(bound))
    begin = ImpliedBounds(problem).tighten(cutoff=cutoff)
    assert begin is not None
    low, high = ends_of_interior(problem, WeakDuality(problem), begin, dual, costly, cutoff)
    found = np.isfinite(low) & np.isfinite(high) & ~(np.isfinite(begin[0]) & np.isfinite(begin[1]))
    assert found.any()
    model = problem.with_changes(
        A=np.vstack([problem.A.toarray(), problem.c]),
        row_lower=np.append(problem.row_lower, -np.inf),
        row_upper=np.append(problem.row_upper, cutoff - problem.offset),
        integer=None,
    )
    for j in np.flatnonzero(found).tolist():
        for sign in (1.0, -1.0):
            costs = np.zeros(len(problem.c))
            costs[j] = sign
            answer = relax(model.with_changes(c=costs, offset=0.0), problem.lower, problem.upper)
            assert answer.solved
            reach = 1e-6 * (abs(low[j]) + abs(high[j]))
            assert low[j] - reach <= answer.x[j] <= high[j] + reach


@pytest.mark.thorough
def test_a_claim_beyond_the_optimum_is_not_proven_with_them():
    problem = draw_free(308)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert result.bound is not None
    better = result.bound + 1e-4 * abs(result.bound)
    lie = replace(result, bound=better, verdict=None)
    assert check(problem, lie).verdict is not Verdict.VERIFIED


@pytest.mark.parametrize("change", ["shape", "flags", "nan"])
def test_malformed_interiors_are_refuted(change):
    problem = draw_free(308)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert result.certificate is not None
    arrays = dict(result.certificate.arrays)
    if change == "shape":
        arrays["interior_psd"] = arrays["interior_psd"][:, :-1]
    elif change == "flags":
        arrays["interior_costs"] = arrays["interior_costs"].astype(float)
    else:
        arrays["interior_psd"] = np.full_like(arrays["interior_psd"], np.nan)
    forged = replace(result, certificate=Certificate("misdp-leaves", arrays))
    assert check(problem, forged).verdict is Verdict.REFUTED


def test_multipliers_on_the_boundary_give_no_ends():
    problem = draw_free(308)
    dual, costly, bound = interior_of(problem)
    box = ImpliedBounds(problem).tighten(cutoff=bound)
    assert box is not None
    m = problem.A.shape[0]
    flat = dual.copy()
    flat[:, m + sum(cone.dimension for cone in problem.cones) :] = 0.0
    same = ends_of_interior(problem, WeakDuality(problem), box, flat, costly, bound)
    for old, new in zip(box, same, strict=True):
        assert np.array_equal(old, new)


def test_lines_of_free_variables_leave_the_others_their_ends():
    """Two variables that a cone sees only as their sum, without costs: a line of optima."""
    model = MISDPBuilder("min")
    z = model.variables(2, lower=0.0, upper=1.0, integer=True)
    x, line, top = model.variables(2), model.variables(2), model.variable()
    F = [np.diag([1.0, -1.0, 0.3]), np.array([[0.0, 1.0, 0.2], [1.0, 0.0, 0.0], [0.2, 0.0, -1.0]])]
    every = [np.eye(3) * 0.1, -np.eye(3) * 0.2, *F]
    model.semidefinite((np.concatenate([z, x]), every), constant=2.0 * np.eye(3))
    model.cone([[(top, 1.0)], [(line, [1.0, 1.0]), (x, [0.5, 0.0])]], constant=[0.0, 0.7])
    model.row((z, np.ones(2)), lower=1.0)
    model.objective((x, [0.4, 0.1]), (top, 1.0), (z, [0.3, 0.2]))
    result = sparseopt.solve(model.build(), backend="misdp-bnb")
    assert result.status is Status.OPTIMAL
    assert result.verdict is Verdict.VERIFIED

"""Proofs that a parametric LP has no bound at any lam: points affine in lam, and directions."""

import dataclasses

import numpy as np
import pytest

import sparseopt
from sparseopt.exact import check
from sparseopt.problems import ParametricLP
from sparseopt.result import Certificate

TWO_PIECES = ParametricLP([[1.0, -1.0]], [1.0], [-2.0], [1.0, 1.0], [1.0, -0.5])
"""No point is feasible at all lam: x - y <= 1 - 2 lam."""
TWO_RAYS = ParametricLP([[1.0, 1.0, -1.0]], [1.0], [1.0], [2.0, -1.0, 0.0], [-1.0, 1.0, 0.0])
"""x + y - z <= 1 + lam: x earns 2 - lam, y earns lam - 1, and z costs nothing."""


def solved(problem):
    result = sparseopt.solve(problem, backend="homotopy")
    assert result.status.value == "unbounded"
    return result


def changed(result, **arrays):
    proof = result.certificate
    return result.with_changes(
        certificate=Certificate(proof.kind, {**proof.arrays, **arrays}, proof.values)
    )


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("problem", [TWO_PIECES, TWO_RAYS])
@pytest.mark.parametrize("lam_min", [None, 0.25, 3.0])
def test_the_whole_range_is_proven(problem, lam_min):
    result = sparseopt.solve(problem, backend="homotopy", lam_min=lam_min)
    assert result.status.value == "unbounded"
    assert result.verdict.value == "verified", result.check_messages
    assert f"all lam >= {lam_min or 0:g}" in " ".join(result.check_messages)
    for lam in ((lam_min or 0.0) + 0.1, 1.6, 50.0):
        if lam >= (lam_min or 0.0):
            assert sparseopt.solve(problem, backend="highs", lam=lam).status.value == "unbounded"


def test_two_directions_are_used_where_one_is_not_enough():
    assert "ray_above" in solved(TWO_RAYS).certificate.arrays


def test_false_proofs_are_not_believed():
    result = solved(TWO_PIECES)
    arrays = result.certificate.arrays
    low, x, rate = arrays["low"], arrays["x"], arrays["x_rate"]
    assert len(low) == 2
    ray = arrays["ray"]
    for false in (
        {"x_rate": np.zeros_like(rate)},
        {"x_rate": rate - 1e-6 * np.array([[0.0, 1.0], [0.0, 0.0]])},
        {"x": x + np.array([1.0, 0.0])},
        {"low": low + 0.5},
        {"low": low[::-1].copy()},
        {"low": low[1:], "x": x[1:], "x_rate": rate[1:]},
        {"low": low[:1], "x": x[:1], "x_rate": rate[:1]},
        {"ray": -ray},
        {"ray": np.array([1.0, 0.0])},
        {"ray": ray + np.array([3e-9, 0.0])},
        {"x_rate": rate[:, :1]},
        {"low": low * np.nan},
    ):
        report = sparseopt.check(TWO_PIECES, changed(result, **false))
        assert report.verdict.value != "verified", (false, report.messages)
    both = solved(TWO_RAYS)
    rays = both.certificate.arrays
    for false in ({"ray_above": rays["ray"]}, {"ray": rays["ray_above"]}):
        assert sparseopt.check(TWO_RAYS, changed(both, **false)).verdict.value == "refuted"


def test_a_proof_for_a_range_does_not_prove_another_question():
    result = solved(TWO_PIECES)
    single = result.with_changes(params=dataclasses.replace(result.params, lam=1.0))
    assert sparseopt.check(TWO_PIECES, single).verdict.value == "refuted"


@pytest.mark.parametrize("problem", [TWO_PIECES, TWO_RAYS])
def test_the_exact_program_agrees(problem, tmp_path):
    result = solved(problem)
    arrays = result.certificate.arrays
    wrong = ({"ray": -arrays["ray"]}, {"x": arrays["x"] + 3.0 * np.eye(len(arrays["ray"]))[0]})
    for false in ({}, *wrong):
        instance, file = tmp_path / "instance.npz", tmp_path / "result.json"
        sparseopt.save(problem, instance)
        sparseopt.save(changed(result, **false), file)
        found, why = check(instance, file)
        assert (found == "proven") == (not false), (false, why)

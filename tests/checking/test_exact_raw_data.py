"""The exact program on data as people have them: nothing right is refuted, and ends are proven."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from raw_data import case
from second_opinion import second_opinion
from thorough import first

import sparseopt
from sparseopt.problems import ParametricLP
from sparseopt.result import Certificate, Verdict

CANCELLING = [
    ("l1-svm", "offset", 410000),
    ("l1-svm", "units", 410000),
    ("l1-svm", "mixed", 410000),
    ("lad-lasso", "years", 410007),
    ("lpd", "polynomial", 410001),
    ("lpd", "collinear", 410008),
    ("clime", "collinear", 410003),
    ("dantzig-selector", "offset", 410001),
    ("differential-network", "offset", 410002),
    ("differential-network", "years", 410008),
    ("far-bounds", "offset", 410007),
    ("pieces", "tiny", 410006),
]
"""Paths whose numbers cancel: their last digits are no statement that could be false."""

ENDS = [
    ("compressed-sensing", "polynomial", 410000),
    ("matrix-dantzig", "units", 410000),
    ("far-bounds", "normal", 410000),
    ("weighted", "large", 410000),
    ("weighted", "rows", 410008),
    ("clime", "dummies", 410000),
    ("clime", "offset", 410001),
]
"""Paths that end by themselves, of one or several columns, and one with a very short segment."""


@pytest.mark.parametrize("model, kind, seed", first(3, CANCELLING))
def test_paths_whose_numbers_cancel_are_not_refuted(tmp_path, model, kind, seed):
    problem, _ = case(model, kind, seed)
    result = sparseopt.solve(problem)
    assert result.verdict is Verdict.VERIFIED
    verdict, reason = second_opinion(tmp_path, problem, result)
    assert verdict in ("proven", "unproven"), reason
    # What is off by more than rounding is refuted as before.
    if model != "clime":
        off = result.path.objective.copy()
        off[0, 0] += 1e-3 * (1.0 + abs(off).max())
        forged = replace(result, path=replace(result.path, objective=off))
        assert second_opinion(tmp_path, problem, forged)[0] == "refuted"


@pytest.mark.parametrize("model, kind, seed", first(4, ENDS))
def test_why_a_path_ends_is_proven(tmp_path, model, kind, seed):
    problem, _ = case(model, kind, seed)
    result = sparseopt.solve(problem)
    verdict, reason = second_opinion(tmp_path, problem, result)
    assert verdict == "proven", reason


@pytest.mark.parametrize("model, kind, seed", first(2, ENDS[:5]))
def test_evidence_that_is_off_by_more_than_rounding_proves_no_end(tmp_path, model, kind, seed):
    problem, _ = case(model, kind, seed)
    result = sparseopt.solve(problem)
    assert result.path.stopped_by == "infeasible_below"
    arrays = dict(result.certificate.arrays)
    rng = np.random.default_rng(seed)
    arrays["farkas"] = arrays["farkas"] * (1.0 + 1e-4 * rng.normal(size=arrays["farkas"].shape))
    certificate = Certificate(result.certificate.kind, arrays, result.certificate.values)
    forged = replace(result, certificate=certificate)
    assert second_opinion(tmp_path, problem, forged)[0] != "proven"


def test_a_violation_beside_terms_that_cancel_is_no_proof(tmp_path):
    """x1 - x2 <= 1 with x1 = 2^40: off by 2^-13, which rounding of a worse path could explain."""
    problem = ParametricLP([[1.0, -1.0]], [1.0], [0.0], [1.0, -1.0], [0.0, 0.0])
    result = sparseopt.solve(problem, lam=1.0)
    assert second_opinion(tmp_path, problem, result)[0] == "proven"
    x = np.array([2.0**40 + 1.0 + 2.0**-13, 2.0**40])
    forged = replace(result, x=x, objective=1.0 + 2.0**-13, bound=1.0 + 2.0**-13)
    assert second_opinion(tmp_path, problem, forged)[0] == "unproven"
    forged = replace(result, x=x + np.array([8.0, 0.0]), objective=9.0, bound=9.0)
    assert second_opinion(tmp_path, problem, forged)[0] == "refuted"

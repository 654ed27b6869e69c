"""Small certificates that ask for much work: counted, and given up as unproven."""

from __future__ import annotations

import json
import time
from importlib import resources

import numpy as np
import pytest
from thorough import first
from worst_files import WORST, caterpillar

import sparseopt
from sparseopt import exact
from sparseopt.checking import check, work
from sparseopt.checking.subset import verifier
from sparseopt.generators.networks import gaussian_chain
from sparseopt.problems import CLIME

SCHEMA = json.loads(
    resources.files("sparseopt.io").joinpath("schema", "certificate-v1.json").read_text("utf-8")
)
LINEAR = ("budget", "inliers", "relaxation")
"""Kinds whose work is bounded by the size of the problem: nothing is done again and again."""
COUNTED = [kind for kind in WORST if kind not in LINEAR]


def test_every_kind_of_certificates_has_a_worst_file():
    assert set(SCHEMA["$defs"]) - {"array"} <= set(WORST)


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize("kind", first(4, COUNTED))
def test_the_work_of_a_check_is_counted(monkeypatch, kind):
    """With a hundredth of a second allowed each ends at once, and with nothing refuted."""
    monkeypatch.setattr(work, "SECONDS", 0.01)
    monkeypatch.setattr(work, "EACH", 0.0)
    problem, result = WORST[kind]()
    begin = time.process_time()
    report = check(problem, result)
    assert time.process_time() - begin < 20.0
    assert report.verdict.value == "unproven"
    assert any("more work than a check may take" in message for message in report.messages)


def test_large_evidence_may_take_more_work(monkeypatch):
    """Of 300 values of lam, not of a problem that a path knows."""
    monkeypatch.setattr(work, "SECONDS", 0.0)
    problem, result = WORST["dual-grid"]()
    with work.limited(result.certificate, result.path, [problem]):
        assert work.left() == pytest.approx(work.EACH * 300 * (1 + 800 + 400 + 2), rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", WORST)
def test_the_exact_program_keeps_its_time(tmp_path, kind):
    problem, result = WORST[kind]()
    files = tmp_path / "p.npz", tmp_path / "r.json"
    sparseopt.save(problem, files[0])
    sparseopt.save(result.with_changes(problem=problem), files[1])
    begin = time.process_time()
    exact.check(*files, 1.0)
    assert time.process_time() - begin < 30.0


@pytest.mark.parametrize("turns", [False, True])
def test_vectors_that_are_met_again_and_again_are_counted(monkeypatch, turns):
    """71 vectors take 284,000 products; met by turns, 64 of them are multiplied at each node."""
    monkeypatch.setattr(verifier, "_PRODUCTS", 2e7)
    monkeypatch.setattr(verifier, "_PRICE", 1.0)
    verdict = check(*caterpillar(300, turns)).verdict.value
    assert verdict == ("unproven" if turns else "verified")
    assert check(*caterpillar(71, turns)).verdict.value == "verified"


def test_the_exact_program_keeps_its_time_within_a_tree(tmp_path):
    problem, result = caterpillar(300, True)
    files = tmp_path / "p.npz", tmp_path / "r.json"
    sparseopt.save(problem, files[0])
    sparseopt.save(result.with_changes(problem=problem), files[1])
    assert exact.check(*files, 0.05) == (
        "unproven",
        "too large: the time is over before all is checked",
    )


def test_sparse_columns_of_a_large_matrix_are_little_work(monkeypatch):
    spent = []
    monkeypatch.setattr("sparseopt.checking.parametric.segments.stated.spend", spent.append)
    problem = CLIME.from_data(gaussian_chain(n=100, d=1000), form=True).part(np.arange(5))
    result = sparseopt.solve(problem, max_nonzeros=8)
    assert result.verdict == "verified"
    segments = sum(len(column.knots) for column in result.path.columns)
    # Of a thousand columns and rows some twenty are multiplied.
    assert 0.0 < sum(spent) < 0.5e-9 * segments * 1000**2


def test_names_are_no_evidence():
    assert work._numbers((["a"] * 1000, np.zeros(3), {"x": [np.zeros(2)]})) == 5

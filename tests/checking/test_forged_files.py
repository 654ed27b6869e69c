"""Files whose bytes are forged: both readers refuse them, or do not believe what they say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from forged_files import archives, documents, with_hash
from forged_stores import forged_stores
from test_attacks import CASES, solved
from thorough import first

import sparseopt
from sparseopt import ProblemError, SparseOptError, check, exact
from sparseopt.exact.common import files
from sparseopt.generators.networks import clime
from sparseopt.io.results import load_result
from sparseopt.path_store import PathStore, solve_in_blocks
from sparseopt.problems import DantzigSelector

OTHERS = ("tables", "misdp", "strs", "lad path", "gaussian graph", "kernels")


def opinions(instance, result):
    """Return what the checker and the exact program say; "refused" of what they cannot read."""
    try:
        problem = sparseopt.load(instance)
        own = check(problem, load_result(result, problem)).verdict.value
    except SparseOptError:
        own = "refused"
    try:
        other = exact.check(instance, result, 20.0)[0]
    except (exact.Unreadable, FileNotFoundError):
        other = "refused"
    return own, other


def written(folder, name):
    problem, result = solved(name)
    instance, stated = folder / "p.npz", folder / "r.json"
    sparseopt.save(problem, instance)
    sparseopt.save(result, stated)
    assert opinions(instance, stated) == ("verified", "proven")
    return instance, stated


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", first(2, ("dantzig point", *OTHERS)))
def test_no_forged_document_is_believed(tmp_path, name):
    instance, result = written(tmp_path, name)
    text, believed, count = result.read_text(), [], 0
    for forgery, forged in documents(text):
        assert forged != text, forgery
        result.write_text(forged)
        found, count = opinions(instance, result), count + 1
        if "verified" in found or "proven" in found:
            believed.append((forgery, found))
    assert believed == []
    assert count > 150


@pytest.mark.parametrize("name", first(2, ("dantzig point", *OTHERS)))
def test_no_forged_instance_is_believed(tmp_path, name):
    instance, result = written(tmp_path, name)
    raw, believed = instance.read_bytes(), []
    for forgery, forged in archives(raw):
        instance.write_bytes(forged)
        found = opinions(instance, result)
        if "verified" in found or "proven" in found:
            believed.append((forgery, found))
    assert believed == []


@pytest.fixture(scope="module")
def with_arrays_beside(tmp_path_factory):
    """Return the files of a result whose arrays are in a file of their own."""
    folder = tmp_path_factory.mktemp("beside")
    rng = np.random.default_rng(0)
    problem = DantzigSelector(X=rng.normal(size=(5, 7000)), y=rng.normal(size=5))
    result = sparseopt.solve(problem, max_knots=2)
    sparseopt.save(problem, folder / "p.npz")
    sparseopt.save(result, folder / "r.json")
    return folder / "p.npz", folder / "r.json"


def test_no_forged_arrays_beside_a_result_are_believed(with_arrays_beside):
    instance, result = with_arrays_beside
    text = result.read_text()
    beside = result.with_name(json.loads(text)["arrays"]["file"])
    raw, believed = beside.read_bytes(), []
    problem = sparseopt.load(instance)
    assert check(problem, load_result(result, problem)).verdict == "verified"
    for forgery, forged in archives(raw):
        beside.write_bytes(forged)
        result.write_text(with_hash(text, forged))
        try:
            verdict = check(problem, load_result(result, problem)).verdict.value
        except ProblemError:
            verdict = "refused"
        if verdict == "verified":
            believed.append(forgery)
        with pytest.raises(exact.Unreadable), files.readable():
            files.read_result(result)
    assert believed == []


@pytest.mark.thorough
@pytest.mark.parametrize("question", [{"lam_min": 0.2}, {"max_nonzeros": 2}])
def test_no_forged_path_store_is_believed(tmp_path, question):
    problem = clime(d=6, n=40)
    store = solve_in_blocks(problem, tmp_path, block=3, **question)
    assert store.check(problem).verdict == "verified"
    believed, count = [], 0
    for forgery in forged_stores(tmp_path):
        count += 1
        try:
            verdict = PathStore(tmp_path).check(problem).verdict.value
        except ProblemError:
            verdict = "refused"
        if verdict == "verified":
            believed.append(forgery)
    assert believed == []
    assert count > 200
    assert PathStore(tmp_path).check(problem).verdict == "verified"


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", CASES)
def test_numbers_by_columns_are_read_as_by_rows(tmp_path, name):
    """What NumPy writes of a transposed array is the same array."""
    instance, result = written(tmp_path, name)
    with np.load(instance) as arrays:
        turned = {key: np.asfortranarray(array) for key, array in arrays.items()}
    np.savez(instance, **turned)
    assert opinions(instance, result) == ("verified", "proven")

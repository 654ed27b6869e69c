"""Names of the variables of a sparse component, from a data frame to what a person sees."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparseopt
from sparseopt.errors import ProblemError
from sparseopt.problems import STRS, SparseComponent, STRSPath

NAMES = ["age", "bmi", "bp", "s1"]


@pytest.fixture
def frame() -> Any:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    data = np.random.default_rng(0).normal(size=(30, 4))
    data[:, 2] += 2.0 * data[:, 0]
    return pandas.DataFrame(data, columns=NAMES)


@pytest.mark.parametrize("model", [STRS, SparseComponent])
def test_names_of_a_frame_stay_in_the_answer_and_in_files(
    model: Any, frame: Any, tmp_path: Path
) -> None:
    problem = model.from_data(frame, d=2)
    result = sparseopt.solve(problem)
    assert set(result.coefficients.nonzero()) == {"age", "bp"}
    assert "age" in str(result) and "bp" in result._repr_html_()
    sparseopt.save(problem, tmp_path / "named.npz")
    read = sparseopt.load(tmp_path / "named.npz")
    assert isinstance(read, model)
    assert read.coefficient_names == NAMES
    assert read.fingerprint() == problem.fingerprint()


def test_problems_made_of_others_keep_the_names(frame: Any) -> None:
    problem = STRS.from_covariance(frame.cov(), d=2)
    others = problem.at(1), STRSPath.of(problem), SparseComponent.from_data(frame, 2).as_strs()
    two = STRS.from_two_samples(frame[:15], frame[15:], d=1, lam=0.5)
    for made in (problem, *others, two):
        assert made.coefficient_names == NAMES


def test_without_names_variables_are_numbered_and_fingerprints_stay() -> None:
    problem = STRS(np.eye(2), d=1)
    assert problem.coefficient_names == ["x0", "x1"]
    assert "names" not in problem.payload()[0]
    with pytest.raises(ProblemError, match="names has 1 entries; expected 2"):
        STRS(np.eye(2), d=1, names=["age"])

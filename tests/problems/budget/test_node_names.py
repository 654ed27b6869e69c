"""Names of the nodes of a graph, from a data frame to its picture."""

from pathlib import Path

import numpy as np
import pytest

import sparseopt
from sparseopt.errors import ProblemError
from sparseopt.problems import Candidates, L0GraphicalModel

NAMES = ["age", "bmi", "bp", "s1"]
X = np.random.default_rng(0).normal(size=(20, 4))


def test_names_of_a_frame_stay_in_files_and_pictures(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    problem = L0GraphicalModel(pandas.DataFrame(X, columns=NAMES), Candidates.window(4, 2))
    sparseopt.save(problem, tmp_path / "named.npz")
    read = sparseopt.load(tmp_path / "named.npz")
    assert isinstance(read, L0GraphicalModel)
    assert read.names == NAMES
    assert read.fingerprint() == problem.fingerprint()
    # All weights of the drawn graph are positive: the legend's line of negative ones is empty.
    weighted = sparseopt.pictures.plot_graph(np.ones((4, 4)) - np.eye(4), names=NAMES)
    assert weighted.get_legend() is not None
    assert {text.get_text() for text in sparseopt.plot(read).texts} >= set(NAMES)


def test_a_graph_without_names_is_the_same_content_as_before() -> None:
    problem = L0GraphicalModel(X, Candidates.window(4, 2))
    assert problem.names is None
    assert "names" not in problem.payload()[0]
    with pytest.raises(ProblemError, match="names has 1 entries; expected 4"):
        problem.with_changes(names=["age"])

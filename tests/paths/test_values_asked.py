"""Every path takes one number where it is asked about a value, and says so of anything else."""

import numpy as np
import pytest
from io_examples import RESULTS

import sparseopt
from sparseopt import ParamError
from sparseopt.paths.l1_bound import L1BoundPath
from sparseopt.problems import LADLasso

PATHS = [RESULTS[name]().path for name in ("path", "grid", "budget", "supports", "quantiles")]


def bounded():
    rng = np.random.default_rng(0)
    problem = LADLasso(rng.normal(size=(20, 4)), rng.normal(size=20))
    return L1BoundPath(problem, sparseopt.solve(problem, check=False).path)


@pytest.mark.parametrize("value", [[1, 2], np.array([0.5]), "one", None, 1j, {}])
@pytest.mark.parametrize("path", [*PATHS, bounded()], ids=lambda path: path.kind)
def test_what_is_no_number_is_named(path, value):
    for ask in (path.at, path.objective_at):
        with pytest.raises(ParamError, match=rf"{path.parameter} is .*; expected one number"):
            ask(value)


def test_several_values_are_asked_one_by_one():
    path = bounded().path
    with pytest.raises(ParamError, match=r"lam is \[1, 2\].* one by one, \[path.at\(value\) for"):
        path.at([1, 2])
    assert (path.at(np.array(0.1)) == path.at(0.1)).all()

"""What a solve leaves in memory."""

import gc

import numpy as np
import pytest

import sparseopt
from sparseopt.problems import L1SVM, DantzigSelector, LADLasso
from sparseopt.solvers.homotopy.program import ScaledProgram


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("model", [DantzigSelector, LADLasso, L1SVM])
def test_nothing_of_the_engine_waits_for_the_collector_of_cycles(model):
    # The engine holds the matrix in single precision, which may be half of the memory there is.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 60)), np.sign(rng.normal(size=20))
    gc.collect()
    gc.disable()
    try:
        result = sparseopt.solve(model(X, y), backend="homotopy")
        left = [one for one in gc.get_objects() if isinstance(one, ScaledProgram)]
    finally:
        gc.enable()
    assert result.verdict == "verified"
    assert not left

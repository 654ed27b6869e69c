"""Data whose products vanish or overflow: refused with a sentence, never solved as if they were 0.

The checker was fooled by a Dantzig selector of entries near 1e-180: X'X and X'y were 0, so that
x = 0 met every band.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sparseopt import ProblemError
from sparseopt.problems import (
    CompressedSensing,
    DantzigSelector,
    DifferentialNetwork,
    EmbeddingFit,
    L0GraphicalModel,
    LADLasso,
    MatrixDantzig,
    MomentSubspace,
    ParametricLP,
    Pieces,
    PiecewiseLinearProgram,
    SparseComponent,
    SparseRegression,
    SufficientReduction,
)

_X = np.random.default_rng(3).normal(size=(8, 3))
_y = _X @ [1.0, 0.0, -2.0] + 0.1
_S = _X.T @ _X


def _last_column(unit: float) -> np.ndarray:
    return _X * [1.0, 1.0, unit]


_BUILT: dict[str, Callable[[float], Any]] = {
    "dantzig": lambda unit: DantzigSelector(_last_column(unit), _y),
    "dantzig-sparse": lambda unit: DantzigSelector(sp.csr_array(_last_column(unit)), _y),
    "dantzig-y": lambda unit: DantzigSelector(_X, unit * _y),
    "lad": lambda unit: LADLasso(_last_column(unit), _y),
    "lad-y": lambda unit: LADLasso(_X, unit * _y),
    "compressed-sensing": lambda unit: CompressedSensing(_last_column(unit), _y),
    "matrix-dantzig": lambda unit: MatrixDantzig(_S, unit * _S, np.eye(3)),
    "network": lambda unit: DifferentialNetwork(_S, unit * _S),
    "subset": lambda unit: SparseRegression(_last_column(unit), _y, k=1, ridge=1.0),
    "component": lambda unit: SparseComponent(_last_column(unit), d=1),
    "graph": lambda unit: L0GraphicalModel(_last_column(unit), ~np.eye(3, dtype=bool)),
    "sufficient": lambda unit: SufficientReduction(unit * _X, _y, k=1),
    "embedding": lambda unit: EmbeddingFit(unit * _X, np.ones(3)),
    "moments": lambda unit: MomentSubspace(unit * _X, k=1),
    "lp": lambda unit: ParametricLP(unit * _S, np.ones(3), np.ones(3), -np.ones(3), np.zeros(3)),
    "lp-b": lambda unit: ParametricLP(_S, unit * _y[:3], np.ones(3), -np.ones(3), np.zeros(3)),
    "program": lambda unit: PiecewiseLinearProgram(
        unit * _S, Pieces.lam_absolute(np.ones(3)), Pieces.absolute(np.ones(3))
    ),
}


@pytest.mark.parametrize("name", _BUILT)
def test_products_that_vanish_or_overflow_are_refused(name: str) -> None:
    build = _BUILT[name]
    for unit in (1e-3, 1.0, 1e3):
        assert build(unit).size
    for unit in (1e-180, 1e-130, 1e130, 1e180):
        with pytest.raises(ProblemError, match=r"vanish|overflow|products of entries"):
            build(unit)


def test_the_message_names_the_column_and_what_to_do() -> None:
    with pytest.raises(ProblemError) as caught:
        DantzigSelector(_last_column(1e-180), _y)
    assert "column 2 of X has no entry above" in str(caught.value)
    assert "products of such entries vanish" in str(caught.value)
    assert "another unit" in str(caught.value)


def test_weights_of_observations_count() -> None:
    weights = np.full(8, 1e-200)
    assert DantzigSelector(_X, _y, sample_weights=weights).size
    with pytest.raises(ProblemError, match=r"column 0 of X .* vanish"):
        DantzigSelector(1e-50 * _X, _y, sample_weights=weights)


def test_zeros_and_ordinary_columns_are_let_pass() -> None:
    X = _X.copy()
    X[:, 1] = 0.0
    X[0, 0] = 1e-300
    assert DantzigSelector(X, np.zeros(8)).size == {"n": 8, "d": 3}
    A = _S.copy()
    A[0, 1] = A[1, 0] = 0.0
    assert ParametricLP(A, np.zeros(3), np.ones(3), -np.ones(3), np.zeros(3)).size["m"] == 3

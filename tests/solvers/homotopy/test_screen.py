"""The look at resting coordinates through references, against the look at every one of them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import sparseopt
from sparseopt.problems import (
    LPD,
    CompressedSensing,
    DantzigSelector,
    DifferentialNetwork,
    LADLasso,
    MatrixDantzig,
    QuantileLasso,
)
from sparseopt.solvers.homotopy.candidates import products
from sparseopt.solvers.homotopy.candidates.products import rough_product
from sparseopt.solvers.homotopy.candidates.program import CandidateProgram
from sparseopt.solvers.homotopy.pivots.state import State
from sparseopt.solvers.homotopy.program import ScaledProgram
from sparseopt.solvers.homotopy.walks.start import crash, optimal_from


def problem(model, seed):
    rng = np.random.default_rng(seed)
    n, d = 30, 120
    X = rng.normal(size=(n, d))
    if seed % 3 == 1:
        # columns that move together come near their limits together
        X = 0.3 * X + rng.normal(size=(n, 1))
    y = X[:, :5] @ rng.normal(size=5) + 0.3 * rng.normal(size=n)
    if model is DifferentialNetwork:
        S_X, S_Y = (np.cov(part.T) for part in np.split(X[:, :11], 2))
        return DifferentialNetwork(S_X, S_Y)
    if model is MatrixDantzig:
        return MatrixDantzig(X[:12, :12], X[:10, 20:29], X[:12, 40:49])
    if model is QuantileLasso:
        return QuantileLasso(X, y, 0.3)
    if model is LPD:
        return LPD(np.cov(X.T, bias=True), X[: n // 2].mean(axis=0) - X[n // 2 :].mean(axis=0))
    return model(X, y)


def looks(model, seed):
    """Walk on a few candidates; return what both looks say of the segments met, and their number.

    Also the relative slacks of the coordinates that rest, after either.
    """
    rng = np.random.default_rng(seed)
    program = ScaledProgram.from_program(problem(model, seed).canonical())
    basis = crash(program)
    lam = optimal_from(basis)
    m, p = program.n - program.p, program.p
    rows = np.sort(rng.choice(m, min(m, 25), replace=False))
    columns = np.sort(rng.choice(p, min(p, 40), replace=False))
    if program.A.symmetric:
        columns = np.union1d(rows, columns)
    sides = [
        CandidateProgram(
            basis, rows, columns, lambda primal: rough_product(program.A, program, primal), few
        )
        for few in (0.0, np.inf)
    ]
    state = State(
        sides[0].dense(program.block(rows, columns)), basis.codes[sides[0].inside], lam, lam
    )
    state.perturb(rng)
    state.advance(0.0, lam, int(rng.choice([3, 30, 150])), 1 << 40, -1)
    segments = state.take_segments()
    return len(segments), [side.look(segments) for side in sides]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    "model",
    [
        DantzigSelector,
        LADLasso,
        QuantileLasso,
        CompressedSensing,
        LPD,
        DifferentialNetwork,
        MatrixDantzig,
    ],
)
def test_a_look_through_references_finds_what_a_look_at_all_finds(model):
    ends = set()
    for seed in range(24):
        count, (screened, exact) = looks(model, seed)
        if count == 0:
            continue
        assert screened.good == exact.good
        assert screened.at_high == exact.at_high
        assert np.array_equal(screened.needed, exact.needed)
        assert np.allclose(screened.slack, exact.slack, rtol=1e-4, atol=1e-4)
        ends.add((screened.good < count, len(screened.needed) > 0))
    assert (True, True) in ends


def test_a_product_with_data_that_are_not_kept_in_single_precision_is_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 50)) * 10.0 ** rng.integers(-3, 4, size=50)
    program = ScaledProgram.from_program(DantzigSelector(X, X[:, 0]).canonical())
    kept = rough_product(program.A, program, True)
    monkeypatch.setattr(products, "KEPT_ENTRIES", 0)
    monkeypatch.setattr(products, "BLOCK_ENTRIES", 30 * 7)
    rounded = rough_product(program.A, program, True)
    assert kept.kept is not None and rounded.kept is None
    np.testing.assert_allclose(rounded.size, kept.size, rtol=1e-12)
    names = np.array([3, 17, 40])
    right = kept.right(names, rng.normal(size=(3, 4)))
    for where in (None, np.array([0, 5, 9, 30, 31, 32, 33, 34, 49])):
        (one, errors), (two, same) = (each.times(names, right, where) for each in (kept, rounded))
        np.testing.assert_array_equal(errors, same)
        size = kept.size if where is None else kept.size[where]
        assert (np.abs(one - two) <= 2.0 * size[:, None] * errors).all()


@pytest.mark.thorough
def test_a_mapped_matrix_is_never_held_in_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(products, "KEPT_ENTRIES", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3000))
    y = X[:, :5].sum(axis=1) + rng.normal(size=1000)
    np.save(tmp_path / "X.npy", X)
    held = DantzigSelector(X, y)
    expected = sparseopt.solve(held, max_knots=10, check=False).path
    tracemalloc.start()
    try:
        mapped = DantzigSelector(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
        path = sparseopt.solve(mapped, max_knots=10, check=False).path
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(path.knots, expected.knots, rtol=1e-12)
    assert most < 0.45 * X.nbytes

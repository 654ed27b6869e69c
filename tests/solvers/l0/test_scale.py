"""Blocks of nodes: from files and stores, by threads and by workers."""

import mmap

import numpy as np
import pytest

import sparseopt
from sparseopt import Limit, Status
from sparseopt.errors import ParamError, ProblemError
from sparseopt.generators import graph_sample, ising_lattice_sample
from sparseopt.problems import Candidates, ColumnBlocks, L0GraphicalModel


class Store:
    """A data set outside of memory; remembers the widest part that was read."""

    def __init__(self, data: np.ndarray) -> None:
        self.data, self.shape, self.dtype, self.widest = data, data.shape, data.dtype, 0

    def __getitem__(self, key: tuple[slice, slice]) -> np.ndarray:
        found = self.data[key]
        self.widest = max(self.widest, found.shape[1])
        return found


@pytest.fixture(scope="module")
def model():
    return graph_sample("band", n=40, d=3000, d0=6).model


@pytest.fixture(scope="module")
def path(model):
    return sparseopt.solve(model, check=False).path


def same(result, path):
    np.testing.assert_allclose(result.path.objective, path.objective, rtol=1e-12)
    np.testing.assert_array_equal(result.path.supports, path.supports)


def test_a_file_is_mapped_and_gives_the_same(model, path, tmp_path):
    file = tmp_path / "X.npy"
    np.save(file, model.X)
    mapped = L0GraphicalModel(file, model.candidates)
    held = mapped.X
    while isinstance(held, np.ndarray) and held.base is not None:
        held = held.base
    assert isinstance(held, mmap.mmap)
    same(sparseopt.solve(mapped, check=False), path)
    with pytest.raises(ProblemError, match="cannot be read"):
        L0GraphicalModel(tmp_path / "none.npy", model.candidates)
    (tmp_path / "text.npy").write_text("no array")
    with pytest.raises(ProblemError, match="cannot be read"):
        L0GraphicalModel(str(tmp_path / "text.npy"), model.candidates)


def test_stores_are_read_block_by_block(model, path):
    X = np.asarray(model.X)
    stores = [Store(X[:, :1700]), Store(X[:, 1700:])]
    blocks = L0GraphicalModel(ColumnBlocks(stores), model.candidates)
    # The checks of the data take many columns at once, but few entries.
    for store in stores:
        store.widest = 0
    result = sparseopt.solve(blocks, check=False, threads=1)
    same(result, path)
    assert max(store.widest for store in stores[1:]) <= 1300
    assert result.path.at(500).shape == (model.total,)
    assert blocks.fingerprint() == model.fingerprint()


def test_blocks_give_what_a_matrix_gives():
    X = np.arange(24, dtype=np.float32).reshape(3, 8)
    blocks = ColumnBlocks([X[:, :3], X[:, 3:4], X[:, 4:]])
    assert blocks.shape == (3, 8)
    assert blocks.dtype == np.float32
    for key in (
        np.s_[:, 2:6],
        np.s_[:, 5],
        np.s_[:, ::3],
        np.s_[:, np.array([[7, 0], [3, 3]])],
        np.s_[:, 4:4],
        np.s_[np.array([2, 0])],
        np.s_[1],
    ):
        np.testing.assert_array_equal(blocks[key], X[key])
    np.testing.assert_array_equal(np.asarray(blocks), X)
    with pytest.raises(IndexError, match="whole columns"):
        blocks[1:2, 3]


def test_what_are_no_blocks():
    with pytest.raises(ProblemError, match="at least one"):
        ColumnBlocks([])
    with pytest.raises(ProblemError, match="block 1 of X has 4 rows"):
        ColumnBlocks([np.zeros((3, 2)), np.zeros((4, 2))])
    with pytest.raises(ProblemError, match="real numbers"):
        ColumnBlocks([np.zeros(3)])
    with pytest.raises(ProblemError, match="real numbers"):
        ColumnBlocks([np.array([["a"]])])


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["l0-tables", "spica"])
def test_workers_give_the_same(model, path, backend):
    pytest.importorskip("joblib", reason="needs joblib")
    options = {"jobs": 2, "joblib": "loky" if backend == "l0-tables" else "threading"}
    result = sparseopt.solve(model, backend=backend, options=options, check=False)
    np.testing.assert_array_equal(result.path.supports, path.supports)
    assert (result.path.objective >= path.objective - 1e-9).all()


def test_workers_search_ising_nodes():
    pytest.importorskip("joblib", reason="needs joblib")
    model = ising_lattice_sample(n=60, rows=4, columns=4, sweeps=20).model
    alone = sparseopt.solve(model, check=False)
    pooled = sparseopt.solve(model, options={"jobs": 3, "joblib": "threading"}, check=False)
    same(pooled, alone.path)
    np.testing.assert_array_equal(pooled.path.separated, alone.path.separated)


@pytest.mark.thorough
def test_a_limit_stops_the_workers():
    pytest.importorskip("joblib", reason="needs joblib")
    X = np.random.default_rng(0).normal(size=(60, 3000))
    model = L0GraphicalModel(X, Candidates.window(3000, 30))
    options = {"jobs": 2, "joblib": "threading"}
    result = sparseopt.solve(model, options=options, time_limit=0.05, check=False)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.objective <= 3000.0


def test_workers_of_no_kind_are_refused(model):
    pytest.importorskip("joblib", reason="needs joblib")
    with pytest.raises(ParamError, match="'carrier-pigeon'"):
        sparseopt.solve(model, options={"jobs": 2, "joblib": "carrier-pigeon"}, check=False)
    with pytest.raises(ParamError, match="jobs must be int >= 1"):
        sparseopt.solve(model, backend="l0-tables", options={"jobs": 0})


def test_threads_compute_the_same_point(model):
    points = [sparseopt.solve(model, check=False, threads=threads).x for threads in (1, 2, 3)]
    assert points[0].any()
    np.testing.assert_array_equal(points[1], points[0])
    np.testing.assert_array_equal(points[2], points[0])

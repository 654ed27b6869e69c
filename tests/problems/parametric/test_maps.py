"""Every linear map does what the matrix that it stands for does."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparseopt.problems.parametric.kronecker import KroneckerMap, RepeatedMap
from sparseopt.problems.parametric.maps import (
    DenseMap,
    GramMap,
    SparseGramMap,
    SparseMap,
    StackedMap,
    SymmetricMap,
)

rng = np.random.default_rng(5)
L, R, X = rng.normal(size=(3, 4)), rng.normal(size=(5, 2)), rng.normal(size=(4, 6))
WIDE = rng.normal(size=(2, 9))
S, T = X.T @ X, np.diag([4.0, 0.0, 1e4]) + 1.0
HOLES = np.where(rng.random((5, 6)) < 0.5, 0.0, rng.normal(size=(5, 6)))
HOLES[2] = HOLES[:, 1] = 0.0

ROOT = np.sqrt([1.0, 0.0, 2.0, 3.0, 1.0])
MEANS = ROOT**2 @ HOLES / 7.0
CENTRED = ROOT[:, None] * (HOLES - MEANS)

MAPS = {
    "dense": (DenseMap(L), L),
    "dense with a zero row and column": (DenseMap(HOLES), HOLES),
    "symmetric": (SymmetricMap(S), S),
    "sparse": (SparseMap(sp.csr_array(HOLES)), HOLES),
    "gram": (GramMap(X, 4.0), S / 4.0),
    "sparse gram": (SparseGramMap(sp.csr_array(HOLES), 4.0), HOLES.T @ HOLES / 4.0),
    "sparse gram, centred": (
        SparseGramMap(sp.csr_array(ROOT[:, None] * HOLES), 2.0, (ROOT, MEANS)),
        CENTRED.T @ CENTRED / 2.0,
    ),
    "stacked": (StackedMap(DenseMap(X), SparseMap(sp.csr_array(HOLES))), np.vstack([X, HOLES])),
    "kronecker": (KroneckerMap(DenseMap(L), DenseMap(R)), np.kron(L, R)),
    "kronecker, wide left": (KroneckerMap(DenseMap(WIDE), DenseMap(R)), np.kron(WIDE, R)),
    "kronecker, wide right": (KroneckerMap(DenseMap(R), DenseMap(WIDE)), np.kron(R, WIDE)),
    "kronecker, a transposed view": (KroneckerMap(DenseMap(L.T), DenseMap(R)), np.kron(L.T, R)),
    "kronecker, symmetric": (KroneckerMap(SymmetricMap(T), SymmetricMap(S)), np.kron(T, S)),
    "kronecker, half symmetric": (KroneckerMap(SymmetricMap(T), DenseMap(R)), np.kron(T, R)),
    "repeated": (RepeatedMap(DenseMap(L), 3), np.kron(np.eye(3), L)),
    "repeated symmetric": (RepeatedMap(SymmetricMap(T), 2), np.kron(np.eye(2), T)),
    "repeated once": (RepeatedMap(SparseMap(sp.csr_array(HOLES)), 1), HOLES),
}


@pytest.fixture(params=MAPS, ids=list(MAPS))
def pair(request):
    return MAPS[request.param]


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def entries(A):
    array = A.as_array()
    return array.toarray() if sp.issparse(array) else array


def test_entries_and_shape(pair):
    A, matrix = pair
    assert A.shape == matrix.shape
    close(entries(A), matrix)


@pytest.mark.parametrize("q", [None, 1, 3])
def test_products(pair, q):
    A, matrix = pair
    m, p = matrix.shape
    tail = () if q is None else (q,)
    v, u = rng.normal(size=(p, *tail)), rng.normal(size=(m, *tail))
    for product, expected in (
        (A.matvec(v), matrix @ v),
        (A.rmatvec(u), matrix.T @ u),
    ):
        assert product.shape == expected.shape
        close(product, expected)


@pytest.mark.parametrize("q", [None, 1, 3])
def test_absolute_products_bound_the_terms(pair, q):
    A, matrix = pair
    m, p = matrix.shape
    tail = () if q is None else (q,)
    v, u = rng.random((p, *tail)), rng.random((m, *tail))
    for bound, exact in (
        (A.abs_matvec(v), np.abs(matrix) @ v),
        (A.abs_rmatvec(u), np.abs(matrix).T @ u),
    ):
        assert bound.shape == exact.shape
        assert (bound >= exact - 1e-12 * exact.max()).all()


@pytest.mark.parametrize("q", [None, 1, 3])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_products_with_some_columns_and_rows(pair, share, q):
    A, matrix = pair
    m, p = matrix.shape
    tail = () if q is None else (q,)
    columns = rng.permutation(p)[: int(np.ceil(share * p))]
    rows = rng.permutation(m)[: int(np.ceil(share * m))]
    v, u = rng.normal(size=(len(columns), *tail)), rng.normal(size=(len(rows), *tail))
    for product, expected in (
        (A.times(columns, v), matrix[:, columns] @ v),
        (A.transpose_times(rows, u), matrix[rows].T @ u),
        (A.block(rows, columns), matrix[np.ix_(rows, columns)]),
    ):
        assert product.shape == expected.shape
        if product.size:
            np.testing.assert_allclose(product, expected, rtol=1e-12, atol=1e-9)


def test_scales_are_powers_of_two_that_bring_the_entries_near_one(pair):
    A, matrix = pair
    row, column = A.scales()
    for factor, length in ((row, matrix.shape[0]), (column, matrix.shape[1])):
        assert factor.shape == (length,)
        assert (np.frexp(factor)[0] == 0.5).all()
    scaled = np.abs(row[:, None] * matrix * column)
    assert scaled.max() <= 8.0
    largest = scaled.max(axis=1)[np.abs(matrix).max(axis=1) > 0.0]
    assert largest.min() >= 1 / 64
    assert (row[np.abs(matrix).max(axis=1) == 0.0] == 1.0).all()


def test_a_symmetric_map_is_symmetric_and_scaled_alike_on_both_sides(pair):
    A, matrix = pair
    if A.symmetric:
        close(matrix, matrix.T)
        row, column = A.scales()
        assert np.array_equal(row, column)


def test_products_of_symmetric_maps_are_symmetric():
    one, two = SymmetricMap(S), SymmetricMap(T)
    assert KroneckerMap(one, two).symmetric
    assert not KroneckerMap(one, DenseMap(T)).symmetric
    assert RepeatedMap(one, 3).symmetric
    assert not RepeatedMap(DenseMap(S), 3).symmetric


def test_the_kronecker_product_acts_on_columns_below_one_another():
    V = rng.normal(size=(2, 4))
    product = KroneckerMap(DenseMap(L), DenseMap(R)).matvec(V.ravel(order="F"))
    close(product, (R @ V @ L.T).ravel(order="F"))


def test_a_large_kronecker_product_is_never_formed():
    """Its 10^12 entries would take 8 TB."""
    S = np.eye(1000) + 0.1
    A = KroneckerMap(SymmetricMap(S), SymmetricMap(S))
    columns = np.array([0, 1001, 500_500])
    product = A.times(columns, np.ones(3))
    assert product.shape == (1_000_000,)
    assert product[1001] == pytest.approx(1.1**2 + 0.1**2 + 0.1**2)


@pytest.mark.parametrize("shape", [(60,), (60, 2)])
def test_a_symmetric_map_reads_the_rows_of_few_entries_only(shape):
    B = np.random.default_rng(0).standard_normal((60, 60))
    v = np.zeros(shape)
    v[[3, 41]] = 1.5
    S = B + B.T
    # rows of NaN would show up in the products
    read = np.where(np.isin(np.arange(60), [3, 41])[:, None], S, np.nan)
    for A in (SymmetricMap(S), SymmetricMap(read)):
        np.testing.assert_allclose(A.matvec(v), S @ v, rtol=1e-13)
        np.testing.assert_allclose(A.rmatvec(v), S @ v, rtol=1e-13)
        np.testing.assert_allclose(A.abs_matvec(v), np.abs(S) @ v, rtol=1e-13)
        np.testing.assert_allclose(A.abs_rmatvec(v), np.abs(S) @ v, rtol=1e-13)
    assert not SymmetricMap(S).matvec(np.zeros(shape)).any()


def test_symmetric_maps_multiply_columns_with_few_nonzeros_by_their_entries():
    rng = np.random.default_rng(5)
    S = rng.normal(size=(300, 300))
    S = S + S.T
    v = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.03)
    assert np.count_nonzero(v.any(axis=1)) > 300 // 20
    A = SymmetricMap(S)
    np.testing.assert_allclose(A.matvec(v), S @ v, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(A.rmatvec(v), S @ v, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(A.abs_matvec(np.abs(v)), np.abs(S) @ np.abs(v), rtol=1e-12)


def test_blocks_that_differ_in_few_places_are_multiplied_apart():
    rng = np.random.default_rng(6)
    S = rng.normal(size=(200, 200))
    part, copies = SymmetricMap(S + S.T), 8
    sizes = np.tile(rng.random(200), (copies, 1))
    sizes[np.arange(copies), np.arange(copies)] += 1.0
    expected = np.concatenate([np.abs(S + S.T) @ each for each in sizes])
    A = RepeatedMap(part, copies)
    np.testing.assert_allclose(A.abs_matvec(sizes.ravel()), expected, rtol=1e-12)
    np.testing.assert_allclose(A.abs_rmatvec(sizes.ravel()), expected, rtol=1e-12)

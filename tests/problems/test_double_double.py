"""Sums of two doubles against rational numbers."""

from fractions import Fraction

import numpy as np
import pytest

from sparseopt.compiling import Mode, override
from sparseopt.problems.parametric.kronecker import KroneckerMap, RepeatedMap
from sparseopt.problems.parametric.maps import DenseMap, GramMap, StackedMap, SymmetricMap
from sparseopt.proofs.double_double import EPSILON, DoubleDouble, Singular, System, exact_block


def exact(value):
    """Return the numbers as fractions, in one list."""
    pairs = zip(np.ravel(value.high).tolist(), np.ravel(value.low).tolist(), strict=True)
    return [Fraction(high) + Fraction(low) for high, low in pairs]


def some(rng, *shape):
    """Return numbers of many sizes, with low parts."""
    high = rng.normal(size=shape) * 10.0 ** rng.uniform(-6.0, 6.0, shape)
    return DoubleDouble(high, high * 2.0**-54 * rng.uniform(-1.0, 1.0, shape))


@pytest.mark.parametrize("name", ["__add__", "__sub__", "__mul__", "__truediv__"])
def test_operations_are_right_to_106_bits(name):
    rng = np.random.default_rng(1)
    one, two = some(rng, 200), some(rng, 200)
    found = exact(getattr(one, name)(two))
    for a, b, result in zip(exact(one), exact(two), found, strict=True):
        expected = getattr(a, name)(b)
        assert abs(result - expected) <= 4.0 * EPSILON * max(abs(expected), EPSILON * abs(a))


def test_a_sum_that_cancels_keeps_what_is_left():
    terms = DoubleDouble(np.array([1e16, 1.0, -1e16, 1e-16]))
    assert exact(terms.sum())[0] == 1 + Fraction(1e-16)


def test_the_inverse_of_a_hilbert_matrix_is_integer():
    n = 12
    hilbert = DoubleDouble(1.0) / (np.add.outer(np.arange(n), np.arange(n)) + 1.0)
    inverse = hilbert.inverse()
    assert np.abs(inverse.high - np.round(inverse.high)).max() < 1e-4
    assert abs(inverse.high[0, 0] - n * n) < 1e-9


def test_a_singular_matrix_is_refused():
    with pytest.raises(Singular, match="pivot"):
        DoubleDouble(np.ones((2, 2))).inverse()


@pytest.mark.parametrize("transposed", [False, True])
def test_solutions_keep_106_bits_where_the_inverse_has_lost_them(transposed):
    """A Hilbert matrix of order 14 has a condition number of 1e18."""
    n = 14
    hilbert = DoubleDouble(360360.0) / (np.add.outer(np.arange(n), np.arange(n)) + 1.0)
    flat = exact(hilbert)
    matrix = [flat[i * n : i * n + n] for i in range(n)]
    found = exact(System(hilbert).solve(DoubleDouble(np.ones((1, n))), transposed=transposed))
    # in the matrix as it was rounded: from an exact elimination
    rows = [
        [*(matrix[j][i] if transposed else matrix[i][j] for j in range(n)), Fraction(1)]
        for i in range(n)
    ]
    for c in range(n):
        for i in range(c + 1, n):
            factor = rows[i][c] / rows[c][c]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[c], strict=True)]
    x = [Fraction(0)] * n
    for i in reversed(range(n)):
        rest = rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))
        x[i] = rest / rows[i][i]
    largest = max(abs(value) for value in x)
    assert max(abs(a - b) for a, b in zip(found, x, strict=True)) < 1e-29 * largest


def test_blocks_of_products_are_exact():
    rng = np.random.default_rng(2)
    X, L = rng.normal(size=(5, 3)), rng.normal(size=(2, 2))
    rows, columns = np.array([2, 0]), np.array([1, 2])
    gram = exact(exact_block(GramMap(X), rows, columns))
    columns_of = [[Fraction(x) for x in X[:, j].tolist()] for j in range(3)]
    expected = [
        sum(a * b for a, b in zip(columns_of[i], columns_of[j], strict=True))
        for i in rows
        for j in columns
    ]
    assert all(abs(a - b) <= 20 * EPSILON for a, b in zip(gram, expected, strict=True))
    kronecker = KroneckerMap(DenseMap(L), DenseMap(X))
    block = exact(exact_block(kronecker, np.array([7]), np.array([4])))
    assert block == [Fraction(L[1, 1]) * Fraction(X[2, 1])]


def test_blocks_of_composed_maps_are_those_of_their_parts():
    S = np.array([[2.0, 1.0], [1.0, 3.0]])
    every = np.arange(4)
    for A in (
        RepeatedMap(SymmetricMap(S), 2),
        StackedMap(DenseMap(np.ones((2, 4))), DenseMap(np.eye(2, 4))),
    ):
        found = exact_block(A, every, every)
        assert np.array_equal(found.high, A.block(every, every))
        assert not found.low.any()


@pytest.mark.parametrize("mode", [Mode.NEVER, pytest.param(Mode.NOW, marks=pytest.mark.thorough)])
def test_products_and_inverses_are_right_to_106_bits_in_both_forms(mode):
    rng = np.random.default_rng(3)
    one, two = some(rng, 6, 9), some(rng, 9, 7)
    square = DoubleDouble(one.high[:, :6], one.low[:, :6])
    with override(mode):
        product, inverse = one @ two, square.inverse()
        identity = inverse @ square
    a, b = ([exact(row) for row in rows] for rows in (one, two.T))
    for i, j in np.ndindex(6, 7):
        terms = [x * y for x, y in zip(a[i], b[j], strict=True)]
        assert abs(exact(product[i, j])[0] - sum(terms)) <= 20 * EPSILON * sum(map(abs, terms))
    size = np.abs(inverse.high) @ np.abs(square.high)
    assert np.abs((identity - np.eye(6)).high).max() <= 20 * EPSILON * size.max()

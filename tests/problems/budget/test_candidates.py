"""Where candidate neighbourhoods come from."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparseopt import ProblemError
from sparseopt.problems import Candidates


def listed(candidates: Candidates) -> list[list[int]]:
    return [candidates.of(j).tolist() for j in range(candidates.nodes)]


def dense(candidates: Candidates) -> np.ndarray:
    return candidates.adjacency().toarray().astype(bool)


def test_a_mask_and_an_adjacency_give_the_same_without_the_diagonal():
    mask = np.random.default_rng(0).random((7, 7)) < 0.4
    expected = mask & ~np.eye(7, dtype=bool)
    np.testing.assert_array_equal(dense(Candidates.from_mask(mask)), expected)
    adjacency = sp.coo_array(mask * 2.5)
    np.testing.assert_array_equal(dense(Candidates.from_adjacency(adjacency)), expected)


def test_zeros_that_are_stored_are_no_candidates():
    stored = sp.csr_array((np.array([0.0, 1.0]), [1, 0], [0, 1, 2]), shape=(2, 2))
    assert listed(Candidates.from_adjacency(stored)) == [[], [0]]


def test_within_takes_exactly_the_pairs_up_to_the_radius():
    points = np.random.default_rng(1).random((40, 2))
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    expected = (distance <= 0.3) & ~np.eye(40, dtype=bool)
    candidates = Candidates.within(points, 0.3)
    np.testing.assert_array_equal(dense(candidates), expected)
    np.testing.assert_array_equal(candidates.coordinates, points)


def test_within_may_leave_nodes_alone():
    assert listed(Candidates.within([[0.0], [1.0], [9.0]], 1.0)) == [[1], [0], []]


def test_nearest_takes_k_others_of_which_none_is_farther_than_one_left_out():
    points = np.random.default_rng(2).random((30, 3))
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    candidates = Candidates.nearest(points, 4)
    for j in range(30):
        chosen = candidates.of(j)
        assert len(chosen) == 4
        left = np.setdiff1d(np.arange(30), [*chosen, j])
        assert distance[j, chosen].max() < distance[j, left].min()


def test_nearest_settles_ties_by_number_also_for_nodes_at_one_place():
    points = np.array([[0.0], [0.0], [0.0], [1.0], [-1.0]])
    assert listed(Candidates.nearest(points, 2)) == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]


def test_a_lattice_has_its_neighbours_along_the_axes_or_diagonally():
    plain, diagonal = Candidates.lattice((3, 3)), Candidates.lattice((3, 3), diagonal=True)
    assert plain.of(4).tolist() == [1, 3, 5, 7]
    assert plain.of(0).tolist() == [1, 3]
    assert diagonal.of(4).tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert Candidates.lattice((5,), reach=2).of(2).tolist() == [0, 1, 3, 4]
    assert plain.coordinates[5].tolist() == [1.0, 2.0]


def test_a_window_is_shifted_at_the_ends_and_always_has_its_width():
    assert listed(Candidates.window(6, 4)) == [
        [1, 2, 3, 4],
        [0, 2, 3, 4],
        [0, 1, 3, 4],
        [1, 2, 4, 5],
        [1, 2, 3, 5],
        [1, 2, 3, 4],
    ]
    assert listed(Candidates.window(3, 2)) == [[1, 2], [0, 2], [0, 1]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Candidates([0, 1], [0]), "its own candidate"),
        (lambda: Candidates([0, 2, 2, 2], [2, 1]), "not increasing"),
        (lambda: Candidates([0, 2, 2], [1, 1]), "not increasing"),
        (lambda: Candidates([0, 1, 1], [5]), "nodes from 0 to 1"),
        (lambda: Candidates([0, 1], [0, 0]), "rise from 0 to 2"),
        (lambda: Candidates([0.5, 1], [0]), "vector of integers"),
        (lambda: Candidates([0, 0, 0], [], [[0.0]]), "1 rows; there are 2 nodes"),
        (lambda: Candidates.from_mask(np.ones((2, 3))), "d x d"),
        (lambda: Candidates.from_adjacency(sp.csr_array((2, 3))), "square"),
        (lambda: Candidates.within([[0.0], [1.0]], 0.0), "positive"),
        (lambda: Candidates.within([[np.nan], [1.0]], 1.0), "finite"),
        (lambda: Candidates.nearest([[0.0], [1.0]], 2), "from 1 to 1"),
        (lambda: Candidates.lattice(()), "empty"),
        (lambda: Candidates.window(4, 4), "from 1 to 3"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(make, message):
    with pytest.raises(ProblemError, match=message):
        make()


def test_the_most_correlated_columns() -> None:
    X = np.random.default_rng(0).normal(size=(40, 6)) @ np.random.default_rng(1).normal(size=(6, 6))
    candidates = Candidates.correlated(X, 3)
    for j in range(6):
        size = [abs(np.corrcoef(X[:, j], X[:, k])[0, 1]) for k in range(6)]
        others = sorted((k for k in range(6) if k != j), key=lambda k: -size[k])
        assert candidates.of(j).tolist() == sorted(others[:3])
    copies = np.repeat(X[:, :1], 4, axis=1)
    assert listed(Candidates.correlated(copies, 2)) == [[1, 2], [0, 2], [0, 1], [0, 1]]
    with pytest.raises(ProblemError, match="k is 6"):
        Candidates.correlated(X, 6)

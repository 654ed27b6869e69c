"""Folds: numbers, labels, index arrays and scikit-learn's splitters."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedKFold

from sparseopt.errors import ParamError
from sparseopt.selection.folds import make_folds

X = np.zeros((23, 2))
Y = np.arange(23.0)


def test_random_folds_partition_the_observations_evenly() -> None:
    folds = make_folds(5, X, Y, seed=0, classes=False)
    tests = [test for _, test in folds]
    assert sorted(len(test) for test in tests) == [4, 4, 5, 5, 5]
    assert sorted(np.concatenate(tests).tolist()) == list(range(23))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(23))


def test_the_seed_decides() -> None:
    def tests(seed: int) -> list[list[int]]:
        return [test.tolist() for _, test in make_folds(5, X, Y, seed=seed, classes=False)]

    assert tests(3) == tests(3)
    assert tests(3) != tests(4)


def test_stratified_folds_keep_the_classes() -> None:
    y = np.where(np.arange(23) < 7, 1.0, -1.0)
    folds = make_folds(3, X, y, seed=1, classes=True)
    positives = [int((y[test] > 0.0).sum()) for _, test in folds]
    assert sorted(positives) == [2, 2, 3]
    assert sorted(len(test) for _, test in folds) == [7, 8, 8]


def test_labels_and_pairs_and_splitters_agree() -> None:
    splitter = KFold(4)
    labels = np.empty(23, dtype=int)
    for k, (_, test) in enumerate(splitter.split(X)):
        labels[test] = k
    given = [splitter, labels, splitter.split(X), list(splitter.split(X))]
    first, *others = [make_folds(folds, X, Y, 0, False) for folds in given]
    for other in others:
        for one, two in zip(first, other, strict=True):
            np.testing.assert_array_equal(one[0], two[0])
            np.testing.assert_array_equal(one[1], two[1])


def test_masks_are_row_numbers_too() -> None:
    mask = np.arange(23) < 5
    ((train, test), _) = make_folds([(~mask, mask), (mask, ~mask)], X, Y, 0, False)
    assert test.tolist() == [0, 1, 2, 3, 4]
    assert len(train) == 18


def test_repeated_folds_are_taken() -> None:
    assert len(make_folds(RepeatedKFold(n_splits=3, n_repeats=2), X, Y, 0, False)) == 6


@pytest.mark.parametrize(
    ("folds", "says"),
    [
        (1, "an integer from 2 to the number of observations, 23"),
        (24, "an integer from 2"),
        (True, "an integer from 2"),
        (2.5, "an integer from 2"),
        ("ten", "expected a number, 23 labels"),
        (np.zeros(23), "gives 1 fold"),
        (np.zeros(7), "expected a number, 23 labels"),
        ([(np.arange(5), np.arange(5, 23)), (np.arange(5), [])], "test part of fold 1"),
        ([(np.arange(5), [23]), (np.arange(5), [6])], "outside 0, ..., 22"),
        ([(np.arange(5), [4]), (np.arange(5), [6])], "observation 4 is in the training and"),
        ([(["a"], [4]), (np.arange(5), [6])], "training part of fold 0"),
    ],
)
def test_what_is_no_fold_is_refused(folds: object, says: str) -> None:
    with pytest.raises(ParamError, match=says):
        make_folds(folds, X, Y, 0, False)

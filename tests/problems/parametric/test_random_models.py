"""150 small random cases of each model, most of them degenerate, against textbook LPs by HiGHS."""

import pytest
from random_models import BOUNDED, MODELS, complaints
from thorough import first

BLOCKS = [range(10), range(10, 50), range(50, 100), range(100, 150)]

# infeasible at every lam (rows of weight 0 that contradict each other), or feasible only from some
# lam on that is larger than what the data's size suggests: the first basis must be searched for
NO_OBVIOUS_START = [
    ("compressed-sensing", 877),
    ("compressed-sensing", 840),
    ("clime", 767),
    ("differential-network", 967),
    ("matrix-dantzig", 484),
    ("matrix-dantzig", 555),
]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seeds", first(1, BLOCKS), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
@pytest.mark.parametrize("model", MODELS)
def test_whole_paths_are_verified_and_agree_with_linear_programs(model, seeds):
    assert [text for seed in seeds for text in complaints(model, seed)] == []


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seeds", first(1, BLOCKS), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
@pytest.mark.parametrize("model", BOUNDED)
def test_paths_within_bounds_are_verified_and_agree_with_linear_programs(model, seeds):
    assert [text for seed in seeds for text in complaints(model, seed, bounded=True)] == []


@pytest.mark.parametrize(("model", "seed"), NO_OBVIOUS_START)
def test_problems_without_an_obvious_first_basis(model, seed):
    assert list(complaints(model, seed)) == []

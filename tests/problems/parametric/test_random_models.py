"""200 small random cases of each model, most of them degenerate, against textbook LPs by HiGHS."""

import pytest
from random_models import MODELS, complaints

CASES = 200
BLOCK = 50

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


@pytest.mark.parametrize("first", range(0, CASES, BLOCK))
@pytest.mark.parametrize("model", MODELS)
def test_whole_paths_are_verified_and_agree_with_linear_programs(model, first):
    seeds = range(first, first + BLOCK)
    assert [text for seed in seeds for text in complaints(model, seed)] == []


@pytest.mark.parametrize(("model", "seed"), NO_OBVIOUS_START)
def test_problems_without_an_obvious_first_basis(model, seed):
    assert list(complaints(model, seed)) == []

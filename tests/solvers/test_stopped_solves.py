"""Nothing that a stopped solve leaves is false."""

import pytest
from stopped_solves import false, stopped
from thorough import first

import sparseopt


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", first(3, range(60)))
def test_what_a_stopped_solve_leaves_is_not_false(seed):
    for problem, name, limits, result in stopped(seed):
        found = sparseopt.check(problem, result).messages
        assert not false(result), f"{name} with {limits}: {found}"

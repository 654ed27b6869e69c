"""Parameters of a solve: whatever is given is either meant so or refused by name."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparseopt import ParamError, SolveParams

NUMBERS = ("lam", "lam_min", "time_limit", "rel_gap", "abs_gap")
COUNTS = {
    "max_knots": 1,
    "max_nonzeros": 0,
    "budget": 0,
    "node_limit": 1,
    "iteration_limit": 1,
    "threads": 1,
    "seed": 0,
}
ANYTHING = st.one_of(
    st.floats(),
    st.integers(),
    st.booleans(),
    st.text(),
    st.binary(),
    st.complex_numbers(),
    st.lists(st.floats(), max_size=3),
    st.dictionaries(st.text(), st.floats(), max_size=1),
    st.builds(object),
)


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


@pytest.mark.thorough
@given(st.sampled_from(NUMBERS), ANYTHING)
def test_numbers_are_finite_and_not_negative(name, value):
    good = _is_number(value) and abs(value) <= 1e300 and math.isfinite(value) and value >= 0
    if name == "lam" and isinstance(value, list):
        return
    if _is_number(value) and abs(value) > (1e120 if name.startswith("lam") else 1e300):
        return
    if good:
        assert getattr(SolveParams(**{name: value}), name) == float(value)
    else:
        with pytest.raises(ParamError, match=name):
            SolveParams(**{name: value})


@pytest.mark.parametrize("asked", [{"lam": 1e200}, {"lam": [1.0, 1e121]}, {"lam_min": 1e300}])
def test_lam_is_no_larger_than_data(asked):
    with pytest.raises(ParamError, match=r"must be at most 2.58e\+120, as data are, got"):
        SolveParams(**asked)
    assert SolveParams(lam=2.0**400).lam == 2.0**400


@given(st.sampled_from(sorted(COUNTS)), ANYTHING)
def test_counts_are_integers_in_range(name, value):
    good = isinstance(value, int) and not isinstance(value, bool) and value >= COUNTS[name]
    if good and (value < 2**63 or name == "seed"):
        assert getattr(SolveParams(**{name: value}), name) == value
    else:
        with pytest.raises(ParamError, match=name):
            SolveParams(**{name: value})


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=5))
def test_a_grid_may_be_a_list_a_tuple_or_an_array(grid):
    expected = tuple(grid)
    for given_as in (grid, tuple(grid), np.array(grid)):
        assert SolveParams(lam=given_as).lam == expected


@pytest.mark.parametrize(
    "grid", [[], (), np.zeros(0), "12", {1.0}, [1.0, -1.0], [1.0, None], [[1]]]
)
def test_what_is_no_grid(grid):
    with pytest.raises(ParamError, match="lam"):
        SolveParams(lam=grid)


@pytest.mark.parametrize("size", [range(2, 5), [2, 3, 4], (2, 3, 4), np.array([2, 3, 4])])
def test_sizes_may_be_a_range_or_any_sequence(size):
    assert SolveParams(size=size).size == (2, 3, 4)
    assert SolveParams(size=np.int64(3)).size == 3


@pytest.mark.parametrize("size", [0, -1, 2.0, "3", True, [], [2, 2], [3, 1], [0, 1], [1.5], {1: 2}])
def test_what_is_no_size(size):
    with pytest.raises(ParamError, match="size"):
        SolveParams(size=size)


@pytest.mark.parametrize("name", ["lam_min", "max_knots", "max_nonzeros"])
@pytest.mark.parametrize("lam", [1.0, [1.0, 0.5]])
def test_single_values_and_paths_exclude_each_other(name, lam):
    with pytest.raises(ParamError, match=f"lam asks for single values and {name} for a path"):
        SolveParams(lam=lam, **{name: 1})


@pytest.mark.parametrize("value", [1, "yes", None])
def test_verbose_is_a_truth_value(value):
    with pytest.raises(ParamError, match="verbose"):
        SolveParams(verbose=value)


@pytest.mark.thorough
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "lam": st.one_of(st.floats(0.0, 1e6), st.lists(st.floats(0.0, 1e6), min_size=1)),
            "time_limit": st.floats(0.0, 1e6),
            "seed": st.integers(0, 2**31),
            "verbose": st.booleans(),
        },
    )
)
def test_what_differs_from_the_defaults_makes_the_same_parameters_again(given_):
    params = SolveParams(**given_)
    assert SolveParams(**params.to_dict()) == params
    assert "rel_gap" not in params.to_dict()


def test_numpy_numbers_become_plain_ones():
    params = SolveParams(lam=np.float32(0.5), seed=np.int16(3))
    assert (type(params.lam), type(params.seed)) == (float, int)


BEYOND = [10**400, -(10**400), 10**5000, Fraction(10**400, 3), Decimal("1e400")]


@pytest.mark.parametrize("value", BEYOND, ids=["1e400", "-1e400", "1e5000", "fraction", "decimal"])
@pytest.mark.parametrize("name", (*NUMBERS, *COUNTS, "size", "verbose"))
def test_numbers_beyond_floats_and_counts_are_refused_in_a_short_message(name, value):
    if name == "seed" and isinstance(value, int) and value > 0:
        assert SolveParams(seed=value).seed == value
        return
    with pytest.raises(ParamError, match=name) as caught:
        SolveParams(**{name: value})
    assert len(str(caught.value)) < 200
    if name in ("lam", "size"):
        with pytest.raises(ParamError, match=name):
            SolveParams(**{name: [1, value]})


def test_fractions_are_numbers_but_no_counts():
    assert SolveParams(lam=Fraction(1, 4)).lam == 0.25
    for name in (*COUNTS, "size"):
        with pytest.raises(ParamError, match=name):
            SolveParams(**{name: Fraction(3, 2)})

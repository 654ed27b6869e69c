"""What a record counts as depends on no other: not by its column's type, nor by its place."""

import collections
import importlib
import io
import math

import numpy as np
import pandas as pd
import pytest

from sparseopt import ParamError, private
from sparseopt.private.values import as_codes, as_column, as_numbers
from sparseopt.problems.twosample.statistics import hermite

releases = importlib.import_module("sparseopt.private.release")

LEVELS = {
    "integers": (0, 1, 2),
    "words of integers": ("0", "1", "2"),
    "booleans": (False, True),
    "words of booleans": ("False", "True"),
    "floats": (0.5, 1.0, 0.0),
    "words": ("a", "1", "0", "b"),
    "missing": (None, 1, 0),
}

OTHERS = [2, 0.5, 2.0**60, 2**70, True, np.nan, None, 1j, "a", "x", b"x", np.float32(0.25)]
"""One more record, by which an array may get another type."""


@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("other", OTHERS, ids=repr)
@pytest.mark.parametrize("maker", [np.array, pd.Series, list], ids=["array", "series", "list"])
def test_one_record_of_another_type_moves_no_other(levels, other, maker):
    for values in ([0, 1, 1, 0], [0.0, 1.0, 1.0], [True, False, True]):
        alone, beside = (as_column("x", maker(each)) for each in (values, [*values, other]))
        np.testing.assert_array_equal(
            as_codes(beside, levels)[: len(values)], as_codes(alone, levels)
        )
        np.testing.assert_array_equal(
            as_numbers(beside, -1.0, 3.0)[: len(values)], as_numbers(alone, -1.0, 3.0)
        )


@pytest.mark.parametrize("levels", [(0, 1, 2), ("0", "1", "2")])
@pytest.mark.parametrize("last", ["2", "x", "", "2.5", "NA", "True"])
def test_a_cell_of_a_file_moves_no_other_whatever_reads_it(levels, last):
    """As `pandas.read_csv` gives a column the type that all its cells have."""
    codes = []
    for end in ("1", last):
        column = pd.read_csv(io.StringIO(f"c,d\n0,.\n1,.\n1,.\n{end},.\n"))["c"]
        codes.append(as_codes(as_column("c", column), levels))
    np.testing.assert_array_equal(codes[0][:3], [0, 1, 1])
    np.testing.assert_array_equal(codes[1][:3], [0, 1, 1])


def test_the_release_of_a_frame_moves_by_one_record():
    # All records' levels were unknown once one cell was a word.
    bounds, moved = {"c": ["1", "2", "other"]}, []
    for last in ("2", "other"):
        frame = pd.read_csv(io.StringIO("c,d\n" + "1,.\n2,.\n" * 50 + f"{last},.\n"))
        with private.insecure(1):
            moved.append(private.release(frame, bounds=bounds, epsilon=1.0, delta=1e-3).mean)
    assert 0.0 < np.linalg.norm(moved[1] - moved[0]) <= math.sqrt(2.0 + 2e-3) / 101


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (np.array([1 + 0j, 1j]), [1, -1]),
        (np.array([b"1", b"0", b"\xff"]), [1, 0, -1]),
        (pd.array([1, None, 0], dtype="Int64"), [1, 2, 0]),
        (pd.array([True, None], dtype="boolean"), [1, 2]),
        (pd.Categorical([1, 0, None]), [1, 0, 2]),
        (pd.Series([pd.NaT, pd.NA, np.nan, None], dtype=object), [2, 2, 2, 2]),
        (np.array([1, 0], dtype="timedelta64[ns]"), [-1, -1]),
        (np.array([1, "NaT"], dtype="datetime64[ns]"), [-1, 2]),
        (np.ma.masked_array([1, 0], [True, False]), [2, 0]),
        ([[1], {}, (0,), 1], [-1, -1, -1, 1]),
    ],
)
def test_what_is_a_level(values, codes):
    found = as_codes(as_column("c", values), (0, 1, None))
    np.testing.assert_array_equal(found, codes)


def test_equal_levels_go_before_equal_numbers():
    values = as_column("c", ["01", "1", 1, 1.0])
    assert as_codes(values, ("1", "01")).tolist() == [1, 0, 0, 0]
    assert as_codes(as_column("c", ["True", True]), (1, "True")).tolist() == [1, 0]


def test_durations_are_no_numbers():
    # Their unit is that of the column, which the finest of them decides.
    for unit in ("s", "ns", "D"):
        values = np.array([1, 2], dtype=f"timedelta64[{unit}]")
        np.testing.assert_array_equal(as_numbers(values, 0.0, 10.0), [5.0, 5.0])
        values = as_column("x", list(values))
        np.testing.assert_array_equal(as_numbers(values, 0.0, 10.0), [5.0, 5.0])


@pytest.mark.parametrize("other", [[2.0], "x", None, np.ones(3)], ids=repr)
def test_any_sequence_has_one_entry_a_record(other):
    for kind in (collections.deque, collections.UserList, tuple):
        found = as_column("x", kind([0.25, other]))
        assert as_numbers(found, 0.0, 1.0).tolist() == [0.25, 0.5]


def test_polars_columns_are_read_as_others():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "x": [0.25, None, 0.75],
            "c": polars.Series(["a", None, "b"], dtype=polars.Categorical),
            "b": [True, None, False],
            "i": [1, None, 0],
        }
    )
    assert as_numbers(as_column("x", frame["x"]), 0.0, 1.0).tolist() == [0.25, 0.5, 0.75]
    assert as_codes(as_column("c", frame["c"]), ("a", "b")).tolist() == [0, -1, 1]
    assert as_codes(as_column("b", frame["b"]), (False, True)).tolist() == [1, -1, 0]
    assert as_codes(as_column("i", frame["i"]), ("0", "1")).tolist() == [1, -1, 0]


# ---- places


def odd_places_rounded_up(function):
    """A function as some machines have it: other last digits at some places of an array."""

    def changed(*args, **options):
        found = np.array(function(*args, **options))
        found[1::2] = np.nextafter(found[1::2], np.inf)
        return found

    return changed


def test_features_of_a_record_do_not_depend_on_its_place(monkeypatch):
    monkeypatch.setattr(hermite.np, "exp", odd_places_rounded_up(np.exp))
    monkeypatch.setattr(np.linalg, "norm", odd_places_rounded_up(np.linalg.norm))
    features = private.FeatureMap(
        [private.Number("x", 0.0, 1.0), private.Category("c", ("a", "b"))], tolerance=1e-6
    )
    rng = np.random.default_rng(0)
    table = {"x": rng.random(4099), "c": rng.choice(["a", "b"], 4099)}
    found = features.rows(table)
    for first in (1, 2, 4098):
        part = {name: values[first:] for name, values in table.items()}
        np.testing.assert_array_equal(features.rows(part), found[first:])


def test_the_exponential_is_exact_to_the_last_digits():
    y = np.concatenate([np.linspace(0.0, 3.0, 500), np.linspace(3.0, 700.0, 500)])
    np.testing.assert_allclose(hermite._exp_of_minus(y), np.exp(-y), rtol=1e-15)
    assert hermite._exp_of_minus(np.array([0.0, 1e6])).tolist() == [1.0, 0.0]


def test_next_to_large_bounds_no_value_is_outside_of_the_range():
    # The middle, 1e16 + 1, is no float: one end was five length scales from it.
    features = private.FeatureMap([private.Number("t", 1e16, 1e16 + 2.0, 0.4)], tolerance=1e-3)
    squares = (features.rows({"t": np.array([1e16, 1e16 + 2.0])}) ** 2).sum(axis=1)
    assert (squares >= 1.0 - 1e-3).all() and (squares <= 1.0).all()


# ---- numbers of records, and memory


def test_a_protected_number_of_records_may_be_any(monkeypatch):
    # With the limit, a release of one more record raised: that told the number.
    monkeypatch.setattr(releases, "_MOST_RECORDS", 5)
    call = {"bounds": {"x": (0, 1)}, "epsilon": 1.0, "delta": 1e-3}
    for N in (5, 6):
        released = private.release({"x": np.full(N, 0.5)}, neighbours="add-remove", **call)
        assert private.audit(released.statement).holds
    with pytest.raises(ParamError, match="6 records"):
        private.release({"x": np.full(6, 0.5)}, **call)


def test_sums_beyond_64_bits_are_exact(monkeypatch):
    features = private.FeatureMap([private.Category("c", ("a", "b"))])
    monkeypatch.setattr(private.FeatureMap, "at_once", 1)
    monkeypatch.setattr(releases, "GRID_BITS", 61)
    total = releases._sum({"c": as_column("c", ["a"] * 10)}, None, features, 10)
    assert total == [10 * 2**61, 0]


def test_blocks_of_many_features_have_few_rows():
    few = private.FeatureMap([private.Category("c", ("a", "b"))])
    many = private.FeatureMap([private.Category("c", tuple(range(400_000)))])
    assert few.at_once == 4096 and many.at_once * many.dimension * 8 <= 2**25

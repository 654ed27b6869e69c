"""What a record counts as depends on no other: not by its column's type, nor by its place."""

import collections
import importlib
import io
import json
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


@pytest.mark.parametrize(
    ("levels", "values", "other"),
    [
        ((None, "a"), [np.nan, np.nan], "a"),  # NumPy makes the word nan of one beside words
        ((0.1, 0.2), [np.float32(0.1), np.float32(0.2)], "x"),
        ((0.1, 0.2), [np.float32(0.1), np.float32(0.2)], 0.5),
        (("a", "b"), ["a\0", "b"], None),  # an array of words cuts zeros off at their end
        ((2**53, 7), [2**53 + 1, 7], np.nan),
    ],
)
@pytest.mark.parametrize("maker", [np.array, pd.Series, list], ids=["array", "series", "list"])
def test_one_record_moves_no_other_at_the_limits_of_types(levels, values, other, maker):
    alone, beside = (as_column("c", maker(each)) for each in (values, [*values, other]))
    found = as_codes(alone, levels)
    assert -1 not in found
    np.testing.assert_array_equal(as_codes(beside, levels)[: len(values)], found)


@pytest.mark.parametrize(
    "levels",
    [
        ("1", "01"),  # pandas reads 1 for both where all cells are numbers
        (1, "True"),
        ("x", 2**53, 2**53 + 1),
        (None, "nan"),
        (0.1, 0.1000000001),
        ("1e3", "1000"),
    ],
)
def test_levels_that_types_may_confuse_are_refused(levels):
    # One word in a column moved all records of "01" from one level to another.
    with pytest.raises(ParamError, match="different ones"):
        private.Category("c", levels)
    released = private.release(
        {"c": [0]}, bounds={"c": list(range(len(levels)))}, epsilon=1.0, delta=1e-3
    )
    data = json.loads(json.dumps(dict(released.statement.data)))
    data["map"]["columns"][0]["levels"] = list(levels)
    assert not private.audit(private.Statement(data)).holds


@pytest.mark.parametrize("level", [math.inf, 10**200, "\ud800"], ids=ascii)
def test_levels_and_names_that_no_file_can_hold_are_refused(level):
    # A ledger with the statement of such a release could not be read again.
    with pytest.raises(ParamError, match="a file can hold"):
        private.Category("c", (level, 0))
    if level != math.inf:
        with pytest.raises(ParamError, match="expected a string or an integer"):
            private.Number(level, 0.0, 1.0)


def test_values_may_be_any_objects(recwarn):
    odd = [np.array([]), np.ma.masked, NotImplemented, memoryview(b"1"), np.void(b"a"), {}, type]
    odd += [pd.Series([1]), pd.DataFrame(), pd.Period("2020"), np.longdouble("1e4000"), "1" * 5000]
    column = as_column("c", odd)
    assert as_codes(column, (None, "a")).tolist() == [-1, 0, *[-1] * (len(odd) - 2)]
    assert as_numbers(column, 0.0, 2.0).tolist() == [*[1.0] * (len(odd) - 2), 2.0, 2.0]
    assert not list(recwarn)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("value", [1e-320, 1e308, -1e308, 1e-160, "1e-330", 1e19, math.nan])
def test_no_setting_of_numpy_makes_a_value_raise(value):
    features = private.FeatureMap(
        [private.Number("x", -1.0, 40.0, 1.0), private.Category("c", (0, 1))], product=()
    )
    with np.errstate(all="raise"):
        private.release({"x": [value], "c": [value]}, features=features, epsilon=1.0, delta=1e-3)


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


@pytest.mark.thorough
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
    with pytest.raises(ParamError, match="no column 'y'"):
        private.release(frame, bounds={"y": (0, 1)}, epsilon=1.0, delta=1e-3)


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


@pytest.mark.thorough
def test_blocks_of_many_features_have_few_rows():
    few = private.FeatureMap([private.Category("c", ("a", "b"))])
    many = private.FeatureMap([private.Category("c", tuple(range(400_000)))])
    assert few.at_once == 4096 and many.at_once * many.dimension * 8 <= 2**25

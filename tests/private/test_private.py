"""Private releases: features, sensitivity, noise, statements and their audit, synthetic rows."""

import importlib
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats
from thorough import first

import sparseopt
from sparseopt import ParamError, private
from sparseopt.cli import main
from sparseopt.private.gaussian import calibrate, discrete_delta, gaussian_delta
from sparseopt.private.release import GRID_BITS, _sum, squared_sensitivity

discrete = importlib.import_module("sparseopt.private.discrete_gaussian")

COLUMNS = (
    private.Number("age", 0.0, 100.0, 15.0),
    private.Number("height", 140.0, 210.0),
    private.Category("job", ("a", "b", "c")),
)
LABEL = private.Category("class", (0, 1))
MAPS = {
    "product": private.FeatureMap(COLUMNS[:2], tolerance=1e-4),
    "sum": private.FeatureMap(COLUMNS, product=(), tolerance=1e-4),
    "both": private.FeatureMap(COLUMNS, label=LABEL, tolerance=1e-4),
}


def stated_of(released):
    return json.loads(json.dumps(dict(released.statement.data)))


def rows(N, seed=0):
    rng = np.random.default_rng(seed)
    table = {
        "age": rng.uniform(0.0, 100.0, N),
        "height": rng.normal(175.0, 15.0, N),
        "job": rng.choice(["a", "b", "c"], N),
    }
    return table, rng.integers(0, 2, N)


def kernel(features, table, label):
    """The kernel matrix by its definition."""
    parts = {}
    for column in features.columns:
        if isinstance(column, private.Number):
            t = np.clip(table[column.name], column.low, column.high) / column.scale
            parts[column.name] = np.exp(-((t[:, None] - t) ** 2) / 2.0)
        else:
            values = table[column.name]
            parts[column.name] = (values[:, None] == values).astype(float)
    product = np.prod([parts[name] for name in features.product], axis=0)
    found = features.share * product + (1.0 - features.share) * sum(parts.values()) / len(parts)
    return found if features.label is None else found * (label[:, None] == label)


@pytest.mark.parametrize("name", MAPS)
def test_features_give_the_kernel_within_the_tolerance(name):
    features = MAPS[name]
    table, label = rows(60)
    label = label if features.label else None
    phi = features.features(table, label)
    assert phi.shape == (60, features.dimension)
    gram = phi @ phi.T
    assert np.abs(gram - kernel(features, table, label)).max() <= 1.01e-4
    assert np.linalg.norm(phi, axis=1).max() <= 1.0 + 1e-12
    assert gram.min() >= -1e-4


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_no_record_moves_the_sum_by_more_than_the_sensitivity(name, neighbours):
    features = MAPS[name]
    weight = Fraction(0) if neighbours == "replace-one" else Fraction(1, 4)
    limit = squared_sensitivity(
        features.dimension, features.tolerance, GRID_BITS, neighbours, weight
    )
    table, label = rows(400, seed=1)
    # The corners of the ranges, the middle, and what is no value at all.
    table["age"][:8] = [0.0, 100.0, 0.0, 100.0, 50.0, np.nan, np.inf, -np.inf]
    table["height"][:8] = [140.0, 140.0, 210.0, 210.0, 175.0, 1e300, -1e300, np.nan]
    table["job"][4:8] = "z"
    phi = features.features(table, label if features.label else None)
    integers = np.rint(phi * 2.0**GRID_BITS)
    if neighbours == "add-remove":
        moved = (integers**2).sum(axis=1).max() + (2.0**GRID_BITS / 4.0) ** 2
    else:
        squares = (integers**2).sum(axis=1)
        moved = (squares[:, None] + squares - 2.0 * integers @ integers.T).max()
    assert 0.6 * limit < moved <= limit


def test_the_calibration_is_that_of_balle_and_wang():
    assert 1.0 / calibrate(1.0, 1e-5) == pytest.approx(3.730632, abs=1e-6)
    assert 1.0 / calibrate(0.1, 1e-5) == pytest.approx(30.749566, abs=1e-5)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", first(1, [1e-6, 1e-3, 1e-9]))
def test_delta_is_that_of_dp_accounting(epsilon, delta):
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")
    eta = calibrate(epsilon, delta)
    theirs = accounting.GaussianPrivacyLoss(1.0 / eta).get_delta_for_epsilon(epsilon)
    assert gaussian_delta(eta, epsilon) == pytest.approx(theirs, rel=1e-9)
    assert gaussian_delta(eta, epsilon) <= delta <= gaussian_delta(eta * 1.000001, epsilon)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("variance", [1, 5, 30])
def test_samples_follow_the_discrete_gaussian(variance):
    draws = np.array(private.discrete_gaussian(variance, 6_000))
    reach = 3 * math.isqrt(variance) + 1
    k = np.arange(-reach, reach + 1)
    mass = np.exp(-(np.arange(-200, 201) ** 2) / (2.0 * variance))
    expected = np.exp(-(k**2) / (2.0 * variance)) / mass.sum()
    counts = np.array([(draws == value).sum() for value in k])
    inside = counts.sum()
    assert stats.chisquare(counts, expected / expected.sum() * inside).pvalue > 1e-5
    assert inside / len(draws) == pytest.approx(expected.sum(), abs=0.01)


def test_large_noise_has_the_moments_of_the_normal_distribution():
    sigma = 10**11
    draws = np.array(private.discrete_gaussian(sigma**2, 5000), dtype=float) / sigma
    assert stats.kstest(draws, "norm").pvalue > 1e-5


@pytest.mark.thorough
@pytest.mark.parametrize("count", first(1, [10_000, 40_000]))
def test_what_an_attacker_measures_is_what_is_stated(count):
    # The best test of two neighbours at distance eta looks at one coordinate.
    epsilon, delta, sigma = 0.5, 0.05, 2**22
    eta = calibrate(epsilon, delta)
    shift = round(eta * sigma)
    draws = np.array(private.discrete_gaussian(sigma**2, count), dtype=float)
    least = sigma**2 * epsilon / shift + shift / 2.0  # where the loss exceeds epsilon
    p = (draws + shift >= least).mean()
    q = (draws >= least).mean()
    measured = p - math.exp(epsilon) * q
    error = 4.0 * math.sqrt((p + math.exp(2.0 * epsilon) * q) / len(draws))
    assert measured - error <= discrete_delta(shift / sigma, epsilon, sigma, 1) <= delta * 1.001
    assert measured + error >= 0.97 * delta


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_statements_hold(name, neighbours, tmp_path):
    features = MAPS[name]
    table, label = rows(300)
    released = private.release(
        table,
        features=features,
        epsilon=1.0,
        delta=1e-6,
        y=label if features.label else None,
        neighbours=neighbours,
    )
    assert released.mean.shape == (features.dimension,)
    report = private.audit(released.statement)
    assert report.holds, report.messages
    assert report.delta == pytest.approx(1e-6, rel=1e-6)
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")
    loss = accounting.GaussianPrivacyLoss(1.0 / released.statement.eta)
    assert report.delta == pytest.approx(loss.get_delta_for_epsilon(1.0), rel=1e-6)
    released.statement.save(tmp_path / "s.json")
    again = private.Statement.load(tmp_path / "s.json")
    assert dict(again.data) == json.loads(json.dumps(dict(released.statement.data)))
    assert "(1, 1e-06)-differentially private" in str(again)
    done = CliRunner().invoke(main, ["private", "audit", str(tmp_path / "s.json")])
    assert done.exit_code == 0 and "differentially private" in done.output


@pytest.fixture(scope="module")
def stated():
    table, label = rows(300)
    released = private.release(table, features=MAPS["both"], epsilon=1.0, delta=1e-6, y=label)
    return stated_of(released)


TAMPERED = {
    "records": lambda d: d.update(records=d["records"] * 2),
    "no records": lambda d: d.update(records=None),
    "noise of the mean": lambda d: d.update(noise_of_mean=d["noise_of_mean"] / 2.0),
    "variance": lambda d: d.update(variance=d["variance"] // 2),
    "sensitivity": lambda d: d.update(sensitivity_squared=d["sensitivity_squared"] // 2),
    "both": lambda d: d.update(
        variance=d["variance"] // 4, sensitivity_squared=d["sensitivity_squared"] // 4
    ),
    "epsilon": lambda d: d.update(epsilon=0.5),
    "delta": lambda d: d.update(delta=1e-7),
    "neighbours": lambda d: d.update(neighbours="add-remove"),
    "another word": lambda d: d.update(neighbours="nearly"),
    "grid": lambda d: d.update(grid_bits=40),
    "dimension": lambda d: d.update(dimension=d["dimension"] + 1),
    "curve": lambda d: d["curve"][4].__setitem__(1, 1e-12),
    "noise": lambda d: d.update(noise="seeded"),
    "order": lambda d: d["map"]["columns"][0].update(order=3),
    "degree": lambda d: d["map"].update(degree=2),
    "bounds": lambda d: d["map"]["columns"][0].update(high=1e4),
    "tolerance": lambda d: d["map"].update(tolerance=1e-12),
    "levels": lambda d: d["map"]["columns"][2].update(levels=["a"]),
    "mechanism": lambda d: d.update(mechanism="Laplace"),
    "nonsense": lambda d: d.update(variance="much"),
    "zero": lambda d: d.update(variance=0),
    "hardly any noise": lambda d: less_noise(d, 10**6),
    "no noise": lambda d: less_noise(d, 10**18),
    "noise that is coarse on a grid of ones": lambda d: d.update(
        grid_bits=1, variance=200_000, sensitivity_squared=9_000
    ),
    "delta is no number": lambda d: d.update(delta=math.nan),
    "epsilon is no number": lambda d: d.update(epsilon=math.nan),
    "epsilon is infinite": lambda d: d.update(epsilon=math.inf),
    "a huge epsilon": lambda d: d.update(epsilon=10**400),
    "the curve has no number": lambda d: d["curve"][0].__setitem__(1, math.nan),
    "a huge grid": lambda d: d.update(grid_bits=10**12),
    "a huge order": lambda d: d["map"]["columns"][0].update(order=10**12),
    "a huge range": lambda d: d["map"]["columns"][0].update(high=1e12),
    "a huge degree": lambda d: d["map"].update(degree=10**12),
    "a huge sensitivity": lambda d: d.update(sensitivity_squared=1e300),
    "a range that is no number of points": lambda d: d["map"]["columns"][0].update(high=1.7e308),
    "no product": lambda d: d["map"].update(product=[]),
    "a product with itself": lambda d: d["map"].update(product=["age", "age"]),
    "degrees of others": lambda d: d["map"].update(degree=[5]),
    "one level twice": lambda d: d["map"].update(label=[1, 1.0]),
    "one name twice": lambda d: d["map"]["columns"][0].update(name="height"),
    "a map that is a list": lambda d: d.update(map=[]),
    "too many records": lambda d: d.update(
        noise_of_mean=d["noise_of_mean"] * d["records"] / 2**40, records=2**40
    ),
    "a negative weight of the count": lambda d: d.update(count_weight=-1.0),
    "a range beyond numbers": lambda d: d["map"]["columns"][0].update(high=10**400),
    "no risk at all": lambda d: d["curve"][6].__setitem__(1, 0.0),
    "hardly any risk": lambda d: d["curve"][6].__setitem__(1, 5e-324),
    "a small risk halved": lambda d: d["curve"][5].__setitem__(1, d["curve"][5][1] / 2.0),
    "a curve that takes minutes": lambda d: d["curve"].extend([[1.0, 1.0]] * 1000),
    "a length of zero": lambda d: d["map"]["columns"][0].update(length=0.0),
    "an entry of the map that nobody audits": lambda d: d["map"].update(epsilon=0.01),
    "an entry of a column that nobody audits": lambda d: d["map"]["columns"][0].update(levels=[1]),
    "more degrees than can be counted": lambda d: d["map"].update(
        columns=[{**d["map"]["columns"][0], "name": k} for k in range(3000)],
        product=list(range(3000)),
        degree=[999_999] * 3000,
    ),
    "ranges that keep the audit busy": lambda d: d["map"].update(
        columns=[
            {**d["map"]["columns"][0], "name": k, "high": 5e4 + k, "order": 90} for k in range(500)
        ],
        product=[],
        share=0.0,
    ),
}
NO_JSON = {
    "delta is no number",
    "epsilon is no number",
    "epsilon is infinite",
    "a huge epsilon",
    "the curve has no number",
    "a range beyond numbers",
}
"""Statements whose files are none: strict JSON has no NaN, and integers of 400 bits here."""


def less_noise(d, factor):
    d.update(variance=d["variance"] // factor, curve=[])
    d.update(noise_of_mean=math.sqrt(d["variance"]) * 2.0**-32 / d["records"])


def test_the_audit_looks_inside_the_ranges():
    # With degrees 0 and 1 more is left out in the middle of the range than at its ends.
    features = private.FeatureMap([private.Number("x", -0.5, 0.5, 1.0)], tolerance=0.08)
    released = private.release({"x": [0.0]}, features=features, epsilon=1.0, delta=1e-3)
    changed = stated_of(released)
    phi = features.features({"x": np.array([0.0, 0.5])})[:, :2]
    middle, end = 1.0 - (phi**2).sum(axis=1)
    assert end < 0.0725 < middle
    changed["map"].update(degree=1, dimension=2, tolerance=0.0725)
    changed["map"]["columns"][0]["order"] = 2
    changed["dimension"] = 2
    report = private.audit(private.Statement(changed))
    assert not report.holds and "leave out" in " ".join(report.messages)


@pytest.mark.parametrize("name", ["product", "sum"])
def test_what_no_feature_uses_is_audited(name):
    released = private.release(rows(3)[0], features=MAPS[name], epsilon=1.0, delta=1e-3)
    changed = stated_of(released)
    if name == "product":
        changed["map"]["columns"][1]["order"] = 3
    else:
        changed["map"]["degree"] = "epsilon is 0.01"
    assert not private.audit(private.Statement(changed)).holds


@pytest.mark.parametrize("name", TAMPERED)
def test_tampered_statements_are_refused(stated, name, tmp_path):
    changed = json.loads(json.dumps(stated))
    TAMPERED[name](changed)
    assert changed != stated
    assert not private.audit(private.Statement(changed)).holds
    (tmp_path / "s.json").write_text(json.dumps(changed))
    done = CliRunner().invoke(main, ["private", "audit", "--json", str(tmp_path / "s.json")])
    if name in NO_JSON:
        assert done.exit_code == 2
    else:
        assert done.exit_code == 1 and json.loads(done.output)["holds"] is False


def test_a_count_off_the_grid_is_refused():
    released = private.release(
        {"age": [40.0], "height": [180.0]},
        features=MAPS["product"],
        epsilon=1.0,
        delta=1e-3,
        neighbours="add-remove",
    )
    changed = stated_of(released)
    assert private.audit(private.Statement(changed)).holds
    report = private.audit(private.Statement({**changed, "count_weight": 0.25 - 2.0**-40}))
    assert not report.holds and "multiple" in " ".join(report.messages)


@pytest.mark.parametrize("change", ['"epsilon": 0.01, ', '"note": "epsilon is 0.01", '])
def test_nothing_is_said_that_is_not_audited(stated, change, tmp_path):
    (tmp_path / "s.json").write_text("{" + change + json.dumps(stated)[1:])
    with pytest.raises(ParamError, match=r"twice|unknown"):
        private.Statement.load(tmp_path / "s.json")
    for version in (True, 1.0):
        with pytest.raises(ParamError, match="version"):
            private.Statement({**stated, "version": version})


@pytest.mark.parametrize("of_map", [False, True])
def test_the_number_of_features_that_is_wrong_is_named(stated, of_map):
    changed = json.loads(json.dumps(stated))
    (changed["map"] if of_map else changed)["dimension"] = 7
    messages = " ".join(private.audit(private.Statement(changed)).messages)
    assert f"the map has {stated['dimension']} features; the statement says 7" in messages


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other"}', "[" * 100_000])
def test_files_that_are_no_statement(text, tmp_path):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(ParamError, match="statement"):
        private.Statement.load(tmp_path / "s.json")


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize("truncation", ["total-degree", "tensor", "auto"])
@pytest.mark.parametrize("widths", [(1.0, 40.0), (3.0, 3.0), (2.0, 5.0, 0.5), (4.0,)])
def test_both_truncations_keep_the_kernel(truncation, widths):
    rng = np.random.default_rng(0)
    columns = [private.Number(str(j), 0.0, width, 1.0) for j, width in enumerate(widths)]
    features = private.FeatureMap(columns, product=map_names(columns), truncation=truncation)
    table = {c.name: rng.uniform(c.low, c.high, 50) for c in columns}
    phi = features.features(table)
    assert phi.shape == (50, features.dimension)
    assert np.abs(phi @ phi.T - kernel(features, table, None)).max() <= 1.01e-3
    released = private.release(table, features=features, epsilon=1.0, delta=1e-3)
    report = private.audit(private.Statement(stated_of(released)))
    assert report.holds, report.messages


def map_names(columns):
    return tuple(column.name for column in columns)


def test_the_smaller_truncation_is_taken():
    def dimension(widths, truncation):
        columns = [private.Number(str(j), 0.0, width, 1.0) for j, width in enumerate(widths)]
        return private.FeatureMap(
            columns, product=map_names(columns), truncation=truncation
        ).dimension

    for widths in [(1.0, 40.0), (5.0, 5.0)]:
        total, tensor, auto = (
            dimension(widths, kind) for kind in ("total-degree", "tensor", "auto")
        )
        assert auto == min(total, tensor)
    assert dimension((1.0, 40.0), "tensor") < 0.2 * dimension((1.0, 40.0), "total-degree")
    assert dimension((5.0, 5.0), "total-degree") < dimension((5.0, 5.0), "tensor")


@pytest.mark.thorough
def test_many_product_columns_are_counted_one_by_one():
    # 45,000 multi-indices of 10^8 tuples: those above the degree must not be looked at.
    columns = [private.Number(str(j), 0.0, 1.0, 4.0) for j in range(8)]
    features = private.FeatureMap(columns, product=map_names(columns), tolerance=1e-2)
    assert features.degree >= 6
    assert features.features({c.name: np.zeros(1) for c in columns}).shape[1] > 1000


HOSTILE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", range(30))
def test_no_value_raises_or_changes_the_noise(seed, recwarn):
    rng = np.random.default_rng(seed)
    features = MAPS["both"]
    N = int(rng.integers(1, 6))
    objects = np.array(["x", None, 3, "1e400", (1, 2), b"z", [], {}], dtype=object)
    table = {
        "age": rng.choice(HOSTILE, N) if seed % 2 else objects[rng.integers(0, 8, N)],
        "height": [
            rng.choice(HOSTILE, N),
            [[1.0], {}, "x", (2.0,), 3.0][:N],
            np.full(N, np.longdouble("1e4000")),
        ][seed % 3],
        "job": objects[rng.integers(0, 8, N)],
    }
    label = objects[rng.integers(0, 8, N)] if seed % 3 else np.zeros(N, dtype=int)
    released = private.release(
        table, features=features, epsilon=1.0, delta=1e-6, y=label, neighbours="replace-one"
    )
    plain = private.release(
        rows(N)[0],
        features=features,
        epsilon=1.0,
        delta=1e-6,
        y=rows(N)[1],
        neighbours="replace-one",
    )
    assert released.statement.data == plain.statement.data
    assert np.isfinite(released.mean).all()
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


class Speaking:
    """A value that raises whatever is done with it."""

    def __float__(self):
        raise RuntimeError("secret")

    __hash__ = __eq__ = __float__


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("value", [Speaking(), [1.0], [[1.0], [2.0]], 10**400, np.ones(3), None])
def test_a_list_has_one_entry_a_record_whatever_is_in_it(value):
    columns = (private.Number("x", 0.0, 1.0), private.Category("c", ("a",)))
    features = private.FeatureMap(columns, label=LABEL)
    for others in ([], [0.5, 0.5], [value]):
        values = [value, *others]
        table = {"x": values, "c": values}
        released = private.release(table, features=features, epsilon=1.0, delta=1e-6, y=values)
        assert private.audit(released.statement).holds


@pytest.mark.parametrize(
    "value",
    [np.complex128(1j), np.array([0.5]), np.ma.masked, np.datetime64("2020"), Decimal("sNaN")],
    ids=repr,
)
def test_no_value_warns(value, recwarn):
    values = np.empty(3, dtype=object)
    values[:] = [0.5, value, 0.5]
    columns = (private.Number("x", 0.0, 1.0), private.Category("c", ("a",)))
    private.release(
        {"x": values, "c": values}, features=private.FeatureMap(columns), epsilon=1.0, delta=1e-3
    )
    assert not list(recwarn)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([10**400, -(10**400), 0.25], dtype=object), [1.0, 0.0, 0.25]),
        (np.array([Fraction(10**400), Decimal("-1e400"), "1e999"], dtype=object), [1, 0, 1]),
        (pd.Series([None, 0.25, pd.NA], dtype="object"), [0.5, 0.25, 0.5]),
        (pd.array([1, None, 0], dtype="Int64"), [1.0, 0.5, 0.0]),
        (np.ma.masked_array([0.9, 0.25, 0.1], [True, False, False]), [0.5, 0.25, 0.1]),
    ],
)
def test_values_are_moved_into_the_bounds(values, expected):
    columns = (private.Number("x", 0.0, 1.0),)
    features = private.FeatureMap(columns, tolerance=1e-6)
    with private.insecure(1):
        ours = private.release({"x": values}, features=features, epsilon=50.0, delta=0.1)
    with private.insecure(1):
        theirs = private.release(
            {"x": np.array(expected)}, features=features, epsilon=50.0, delta=0.1
        )
    np.testing.assert_array_equal(ours.mean, theirs.mean)


def test_a_protected_number_of_records_is_in_no_error():
    table = {"age": np.zeros(7654), "height": np.zeros(7653)}
    settings = {"epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(ParamError, match="different lengths") as caught:
        private.release(table, features=MAPS["product"], neighbours="add-remove", **settings)
    assert "765" not in str(caught.value)
    with pytest.raises(ParamError, match=r"\[7653, 7654\]"):
        private.release(table, features=MAPS["product"], **settings)


def test_public_settings_of_numpy_can_be_saved(tmp_path):
    columns = [
        private.Number("x", np.float32(0.0), np.int64(2), np.float32(0.5)),
        private.Category("c", np.array([3, 4])),
    ]
    features = private.FeatureMap(columns, product=("x",), tolerance=np.float32(1e-2))
    released = private.release(
        {"x": [1.0], "c": [4]}, features=features, epsilon=np.float32(1.0), delta=1e-3
    )
    released.statement.save(tmp_path / "s.json")
    again = private.Statement.load(tmp_path / "s.json")
    assert again.data["map"]["columns"][1]["levels"] == [3, 4]
    assert private.audit(again).holds


def test_no_record_at_all_is_a_neighbour_of_one():
    none, one = (
        private.release(
            {"age": values, "height": values},
            features=MAPS["product"],
            epsilon=1.0,
            delta=1e-6,
            neighbours="add-remove",
        )
        for values in ([], [150.0])
    )
    assert stated_of(none) == stated_of(one)
    assert none.records >= 1.0 and np.isfinite(none.mean).all()


def test_few_draws_are_picked_among_many():
    # The time of a draw depends on its value, so none is drawn alone.
    drawn = []
    with pytest.MonkeyPatch.context() as patch:
        inner = discrete._one
        patch.setattr(discrete, "_one", lambda *a: drawn.append(inner(*a)) or drawn[-1])
        found = private.discrete_gaussian(10**12, 3)
    assert len(found) == 3 and set(found) < set(drawn) and len(drawn) >= 1000
    assert found != drawn[:3]


def test_seeded_noise_is_stamped():
    table, _ = rows(10)
    means = []
    for _ in range(2):
        with private.insecure(7):
            released = private.release(table, features=MAPS["product"], epsilon=1.0, delta=1e-3)
        means.append(released.mean)
    np.testing.assert_array_equal(*means)
    assert not released.statement.private
    assert str(released.statement).startswith("NOT PRIVATE")
    assert not private.audit(released.statement).holds
    free = private.release(table, features=MAPS["product"], epsilon=1.0, delta=1e-3)
    assert free.statement.private and (free.mean != means[0]).any()


def test_synthetic_rows_have_the_distribution_of_the_data():
    rng = np.random.default_rng(3)
    N = 20_000
    label = (rng.random(N) < 0.3).astype(int)
    table = {"x": np.clip(rng.normal(np.where(label, 2.0, -2.0), 0.7), -5, 5)}
    features = private.FeatureMap([private.Number("x", -5.0, 5.0, 0.7)], label=LABEL)
    with private.insecure(5):
        released = private.release(table, features=features, epsilon=1.0, delta=1e-6, y=label)
    found = private.synthesise(released, 128)
    assert found.result.verdict == "verified"
    synthetic, levels = found.sample(N, seed=1)
    assert levels.mean() == pytest.approx(0.3, abs=0.02)
    for level in (0, 1):
        ours, theirs = synthetic["x"][levels == level], table["x"][label == level]
        assert stats.wasserstein_distance(ours, theirs) < 0.2


@pytest.mark.thorough
def test_categories_and_many_columns():
    table, label = rows(2000)
    released = private.release(table, features=MAPS["both"], epsilon=3.0, delta=1e-6, y=label)
    atoms, levels = private.atoms(MAPS["both"], 200)
    assert set(atoms) == {"age", "height", "job"} and set(levels) == {0, 1}
    problem = private.embedding_problem(released, atoms, levels)
    assert problem.Phi.shape == (len(levels), MAPS["both"].dimension)
    synthetic, _ = private.synthesise(released, 200).sample(50)
    assert set(synthetic["job"]) <= {"a", "b", "c"}
    assert (synthetic["age"] >= 0.0).all() and (synthetic["age"] <= 100.0).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: private.Number("x", 1.0, 1.0), "low < high"),
        (lambda: private.Number("x", 0.0, math.inf), "finite bounds"),
        (lambda: private.Number("x", 0.0, 1.0, -1.0), "expected > 0"),
        (lambda: private.Number("x", "0", 1.0), "low is '0'; expected a number"),
        (lambda: private.Number("x", None, 1.0), "low is None; expected a number"),
        (lambda: private.Number("x", 0.0, 10**400), "expected a number"),
        (lambda: private.Number("x", 1.6e308, 1.7e308), "finite bounds"),
        (lambda: private.Number("x", -1e308, 1e308, 1e308), "finite bounds"),
        (lambda: private.Number(("a", "b"), 0.0, 1.0), "expected a string or an integer"),
        (lambda: private.Category("x", "ab"), "a sequence"),
        (lambda: private.Category("x", 5), "a sequence"),
        (lambda: private.Category("x", ([1],)), "which a file can hold"),
        (lambda: private.Category("x", (math.nan, 1)), "which a file can hold"),
        (lambda: private.FeatureMap(["x"]), "Numbers and Categories"),
        (lambda: private.FeatureMap(COLUMNS, label=("a", "b")), "expected a Category"),
        (lambda: private.FeatureMap(COLUMNS, product=("age", "age")), "none twice"),
        (lambda: private.FeatureMap(COLUMNS, share="half"), "share is 'half'"),
        (lambda: private.FeatureMap(COLUMNS, tolerance=1e-15), "tolerance"),
        (lambda: private.FeatureMap(COLUMNS, truncation="some"), "truncation is 'some'"),
        (lambda: private.Category("x", ("a", "a")), "different"),
        (lambda: private.FeatureMap([]), "at least one"),
        (lambda: private.FeatureMap(COLUMNS, product=("job",)), "numeric columns"),
        (lambda: private.FeatureMap(COLUMNS, share=2.0), "share is 2.0"),
        (
            lambda: private.FeatureMap([private.Number("x", 0.0, 1.0, 1e-4)], product=()),
            "length scales wide",
        ),
        (lambda: calibrate(-1.0, 0.1), "epsilon"),
        (lambda: calibrate(1.0, 0.0), "delta"),
        (lambda: discrete_delta(1.0, 1.0, 3.0, 1), "finer grid"),
    ],
)
def test_bad_settings_are_refused(call, words):
    with pytest.raises(ParamError, match=words):
        call()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"table": {"age": [1.0]}}, "no column 'height'"),
        ({"table": {"age": [1.0], "height": [1.0, 2.0]}}, "lengths"),
        ({"y": [0]}, "the map has no label"),
        ({"neighbours": "swap"}, "replace-one"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"table": {"age": [], "height": []}}, "0 records"),
        ({"table": {"age": np.ones((1, 1)), "height": [1.0]}}, "2 dimensions"),
        ({"epsilon": "1"}, "epsilon is '1'; expected a number"),
        ({"delta": None}, "delta is None; expected a number"),
        ({"features": "age"}, "expected a FeatureMap"),
        ({"ledger": 1.0}, "expected a Ledger"),
    ],
)
def test_bad_calls_are_refused_before_the_data_count(changes, words):
    settings = {
        "table": {"age": [1.0, 2.0], "height": [150.0, 160.0]},
        "epsilon": 1.0,
        "delta": 1e-6,
        **changes,
    }
    with pytest.raises(ParamError, match=words):
        private.release(settings.pop("table"), **{"features": MAPS["product"], **settings})


def test_bounds_stand_for_the_map_of_features_with_its_defaults():
    X, y = np.array([[1.0, 5.0], [2.0, 6.0]]), ["a", "b"]
    asked = {"epsilon": 1.0, "delta": 1e-6}
    columns = [private.Number("x0", 0.0, 3.0), private.Number("x1", 4.0, 9.0)]
    features = private.FeatureMap(columns, label=private.Category("label", ("a", "b")))
    for bounds in ([(0, 3), (4, 9)], {"x0": (0, 3), "x1": (4, 9)}):
        with private.insecure(1):
            short = private.release(X, y, bounds=bounds, classes=["a", "b"], **asked)
        with private.insecure(1):
            long = private.release({"x0": X[:, 0], "x1": X[:, 1]}, y, features=features, **asked)
        assert np.array_equal(short.mean, long.mean)
        assert short.statement.data["map"] == long.statement.data["map"]
    mixed = private.FeatureMap.from_bounds({"age": (0, 9), "job": ["x", "y", "z"]})
    assert mixed.columns[1] == private.Category("job", ("x", "y", "z"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "either features, or bounds"),
        ({"bounds": [(0, 1)], "features": MAPS["product"]}, "either features, or bounds"),
        ({"features": MAPS["product"], "classes": [0, 1]}, "either features, or bounds"),
        ({"bounds": [(0, 1)]}, "X has 2 columns; expected the 1"),
        ({"bounds": [0, 1]}, "shape"),
        ({"bounds": {"x0": ("no", "yes")}}, "a tuple"),
        ({"bounds": {"x0": 3}}, "a tuple"),
        ({"bounds": [(0, 1)] * 2, "y": [0, 1]}, "no label"),
        ({"bounds": [(0, 1)] * 2, "classes": [0, 1]}, "y was not given"),
    ],
)
def test_bounds_that_say_too_little_or_too_much_are_refused(changes, words):
    with pytest.raises(ParamError, match=words):
        private.release(np.zeros((2, 2)), **{"epsilon": 1.0, "delta": 1e-6, **changes})


def test_a_large_delta_warns():
    with pytest.warns(UserWarning, match="one whole record"):
        private.release(rows(20)[0], features=MAPS["product"], epsilon=1.0, delta=0.06)


def test_levels_are_fitted_apart_and_keep_their_shares():
    rng = np.random.default_rng(4)
    columns = [private.Number("x", 0.0, 1.0)]
    features = private.FeatureMap(columns, label=private.Category("y", ("a", "b")))
    label = np.where(rng.random(4000) < 0.3, "a", "b")
    x = np.where(label == "a", 0.25, 0.75) + 0.05 * rng.normal(size=4000)
    with private.insecure(3):
        released = private.release({"x": x}, features=features, epsilon=20.0, delta=1e-6, y=label)
    found = private.synthesise(released, 32)
    assert [result.verdict for result in found.results] == ["verified"] * 2
    share = found.weights[found.label == "a"].sum()
    assert abs(share - (label == "a").mean()) < 0.02
    # Together, as one problem of all levels: as close, but for what the shares' sum allows.
    together = sparseopt.solve(private.embedding_problem(released, found.table, found.label))
    apart = sum(result.objective for result in found.results)
    assert apart <= together.objective + 1e-9
    assert together.objective < apart + 1e-3


def test_sums_by_level_are_those_of_all_features():
    rng = np.random.default_rng(5)
    columns = [private.Number("x", 0.0, 1.0), private.Category("c", (0, 1))]
    features = private.FeatureMap(columns, label=private.Category("y", ("a", "b", "never")))
    table = {"x": rng.normal(size=50), "c": rng.integers(0, 3, 50)}
    label = rng.choice(["a", "b", "unknown"], 50)
    whole = np.rint(features.features(table, label) * 2.0**32).astype(np.int64).sum(axis=0)
    assert _sum(table, label, features, 50) == whole.tolist()

"""Public atoms, and atoms that move towards a release."""

import numpy as np
import pytest

from sparseopt import ParamError, private

COLUMNS = (
    private.Number("a", -1.0, 3.0, 0.8),
    private.Number("b", 0.0, 10.0, 3.0),
    private.Category("c", ("x", "y")),
)
LABEL = private.Category("y", (0, 1))
MAPS = {
    "product": private.FeatureMap(COLUMNS[:2]),
    "sum": private.FeatureMap(COLUMNS, product=()),
    "both": private.FeatureMap(COLUMNS, label=LABEL),
}


def released_of(features, N=3000):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, N)
    a = rng.normal(np.where(label, 2.0, 0.0), 0.3)
    table = {"a": a, "b": 3.0 + a + rng.normal(size=N), "c": rng.choice(["x", "y"], N)}
    with private.insecure(1):
        label = label if features.label else None
        return private.release(table, features=features, epsilon=5.0, delta=1e-6, y=label)


@pytest.mark.parametrize("name", MAPS)
def test_slopes_are_those_of_differences(name):
    features = MAPS[name]
    rng = np.random.default_rng(2)
    table = {
        "a": rng.uniform(-0.9, 2.9, 7),
        "b": rng.uniform(0.1, 9.9, 7),
        "c": rng.choice(["x", "y"], 7),
    }
    target = rng.normal(size=features.rows(table).shape[1])
    slopes = features.slopes(table, target)
    assert set(slopes) == {"a", "b"}
    for column, slope in slopes.items():
        up, down = (
            features.rows({**table, column: table[column] + step}) @ target
            for step in (1e-5, -1e-5)
        )
        np.testing.assert_allclose(slope, (up - down) / 2e-5, rtol=1e-6, atol=1e-8)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", MAPS)
def test_moved_atoms_are_closer_and_their_weights_are_proven(name):
    released = released_of(MAPS[name])
    found = private.synthesise(released, 32)
    moved = private.move_atoms(released, found, rounds=2, iterations=20)
    before, after = (sum(r.objective for r in one.results) for one in (found, moved))
    assert after < 0.95 * before
    assert all(result.verdict == "verified" for result in moved.results)
    assert len(moved.weights) <= (found.weights > 0.0).sum()
    rows, label = moved.sample(200, seed=3)
    for column in COLUMNS[:2]:
        for values in (rows[column.name], moved.table[column.name]):
            assert (values >= column.low).all() and (values <= column.high).all()
    assert (label is None) == (MAPS[name].label is None)


@pytest.mark.thorough
def test_atoms_of_a_coarse_grid_find_the_clusters():
    # Two points on a line, released almost without noise: the atoms move onto them.
    features = private.FeatureMap([private.Number("x", 0.0, 1.0, 0.2)], tolerance=1e-9)
    table = {"x": np.repeat([0.21, 0.68], [400_000, 600_000])}
    with private.insecure(4):
        released = private.release(table, features=features, epsilon=50.0, delta=1e-7)
    found = private.move_atoms(released, private.synthesise(released, 9), rounds=20)
    near = np.abs(np.subtract.outer(found.table["x"], [0.21, 0.68])).min(axis=1)
    assert found.weights @ near < 0.02
    assert found.weights[found.table["x"] < 0.45].sum() == pytest.approx(0.4, abs=0.01)


def test_categories_alone_do_not_move():
    features = private.FeatureMap([private.Category("c", (0, 1))])
    released = private.release({"c": [0, 1]}, features=features, epsilon=1.0, delta=1e-3)
    with pytest.raises(ParamError, match="nothing to move"):
        private.move_atoms(released, private.synthesise(released, 4))


@pytest.mark.thorough
def test_a_level_without_records_stays():
    features = private.FeatureMap(COLUMNS[:1], label=private.Category("y", (0, 1, 2)))
    rng = np.random.default_rng(0)
    with private.insecure(3):
        released = private.release(
            {"a": rng.normal(size=500)},
            features=features,
            epsilon=40.0,
            delta=1e-4,
            y=np.zeros(500, dtype=int),
        )
    moved = private.move_atoms(released, private.synthesise(released, 16))
    assert moved.weights[moved.label == 0].sum() > 0.95


@pytest.mark.parametrize(("numbers", "count", "points"), [(1, 7, 7), (2, 17, 17), (3, 50, 31)])
def test_the_reduced_grid_has_all_points_of_a_total_level(numbers, count, points):
    # sum over k <= L of 2^k (k + p - 1 over p - 1): 7 for p = 1, L = 2; 17 for p = 2, L = 2; ...
    names = [f"x{j}" for j in range(numbers)]
    features = private.FeatureMap([private.Number(name, 0.0, 1.0) for name in names], product=())
    table, _ = private.atoms(features, count, kind="reduced")
    grid = np.column_stack([table[name] for name in names])
    assert len(np.unique(grid, axis=0)) == len(grid) == points
    assert ((grid > 0.0) & (grid < 1.0)).all()
    np.testing.assert_allclose(np.sort(grid, axis=0), np.sort(1.0 - grid, axis=0))


def test_reduced_grids_take_categories_and_labels():
    table, label = private.atoms(MAPS["both"], 60, kind="reduced")
    assert len(label) == 2 * 49 and set(table["c"]) == {"x", "y"}
    found = private.synthesise(released_of(MAPS["both"]), 60, kind="reduced")
    assert found.result.verdict == "verified"


@pytest.mark.parametrize(("kind", "words"), [("grid", "numbers alone"), ("lattice", "one of auto")])
def test_kinds_that_there_are_not(kind, words):
    with pytest.raises(ParamError, match=words):
        private.atoms(MAPS["both"], 60, kind=kind)


def test_levels_of_several_types_stay_what_they_are():
    columns = (private.Category("c", (0, "x", None, 0.5)), private.Number("n", 0.0, 1.0))
    label = private.Category("label", (1, "one"))
    values, y = [0, "x", None, 0.5] * 25, [1, "one"] * 50
    released = private.release(
        {"c": values, "n": [0.5] * 100},
        y,
        features=private.FeatureMap(columns, label=label),
        epsilon=50.0,
        delta=1e-3,
    )
    drawn, labels = private.synthesise(released, 64).sample(400)
    counts = [
        sum(type(v) is type(level) and v == level for v in drawn["c"]) for level in values[:4]
    ]
    assert sum(counts) == 400 and min(counts) > 50
    assert {type(one) for one in labels.tolist()} == {int, str}

"""The robust subspace as a transformer, and the private synthesizer."""

import pickle
import struct

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparseopt
from sparseopt import generators, private, problems
from sparseopt.estimators import (
    MomentSubspace,
    PrivateMeanEmbedding,
    PrivateSynthesizer,
    RobustSubspace,
    SparseRegression,
    SufficientSubspace,
)


def test_it_is_the_solution_of_the_problem():
    X = load_iris().data
    model = RobustSubspace(n_components=2).fit(X)
    result = sparseopt.solve(problems.RobustSubspace(X, k=2, centre="estimate"))
    assert model.objective_ == result.objective
    assert model.distances_.sum() == pytest.approx(result.objective)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(-model.score_samples(X), model.distances_, atol=1e-12)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(np.linalg.norm(X - back, axis=1), model.distances_, atol=1e-12)


def test_outliers_do_not_turn_it():
    rng = np.random.default_rng(0)
    line = np.outer(rng.normal(size=80), [3.0, 4.0, 0.0]) + 7.0
    X = np.vstack([line, 30.0 * rng.normal(size=(20, 3))])
    model = RobustSubspace().fit(X)
    np.testing.assert_allclose(np.abs(model.components_[0]), [0.6, 0.8, 0.0], atol=1e-10)
    assert np.flatnonzero(model.distances_ > 1e-6).tolist() == list(range(80, 100))
    assert abs(PCA(1).fit(X).components_[0] @ [0.6, 0.8, 0.0]) < 0.99


def test_single_entries_far_off_do_not_turn_the_subspace_of_absolute_deviations():
    problem = generators.generate("corrupted-entries", N=60, n=8, share=0.15)
    model = RobustSubspace(n_components=2, norm="l1", fit_centre=False).fit(problem.X)
    assert model.result_.backend == "l1-alternating" and model.verdict_ == "unproven"
    assert model.distances_.sum() == pytest.approx(model.objective_)
    clean = generators.generate("corrupted-entries", N=60, n=8, share=0.0).X
    np.testing.assert_allclose(model.inverse_transform(model.transform(clean)), clean, atol=1e-9)
    with pytest.raises(ValueError, match="norm"):
        RobustSubspace(norm="l3").fit(problem.X)


@pytest.mark.thorough
def test_it_works_in_pipelines_with_names():
    pandas = pytest.importorskip("pandas")
    iris = load_iris(as_frame=True)
    model = make_pipeline(StandardScaler(), RobustSubspace(n_components=2), KNeighborsClassifier())
    assert cross_val_score(model, iris.data, iris.target).mean() > 0.85
    frame = RobustSubspace(n_components=2).set_output(transform="pandas").fit_transform(iris.data)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.columns.tolist() == ["robustsubspace0", "robustsubspace1"]


def test_synthetic_rows_train_a_classifier():
    iris = load_iris(as_frame=True)
    columns = [
        private.Number("petal length (cm)", 0.0, 8.0, 1.0),
        private.Number("petal width (cm)", 0.0, 3.0, 0.5),
    ]
    features = private.FeatureMap(columns, label=private.Category("species", (0, 1, 2)))
    with private.insecure(1):
        model = PrivateSynthesizer(features=features, epsilon=20.0, delta=1e-4, atoms=400)
        model.fit(iris.data, iris.target)
    assert model.verdict_ == "verified" and not model.statement_.private
    rows, label = model.sample(500)
    names = [column.name for column in columns]
    classifier = KNeighborsClassifier().fit(np.column_stack([rows[n] for n in names]), label)
    assert classifier.score(iris.data[names].to_numpy(), iris.target) > 0.85


@pytest.mark.parametrize("count", [-1, 2.5, "a"])
def test_so_many_rows_cannot_be_drawn(count):
    model = PrivateSynthesizer(bounds={"age": (0, 100)}, delta=1e-3, atoms=16)
    model.fit({"age": np.array([23.0, 41.0, 57.0])})
    with pytest.raises(ValueError, match=rf"{count!r} rows were asked for; expected a whole numb"):
        model.sample(count)
    assert len(model.sample(0)[0]["age"]) == 0


def test_the_ledger_refuses_a_second_fit():
    features = private.FeatureMap([private.Number("x", 0.0, 1.0)])
    ledger = private.Ledger(epsilon=1.0, delta=1e-6)
    model = PrivateSynthesizer(features=features, atoms=16, ledger=ledger)
    model.fit({"x": np.array([0.2, 0.4])})
    with pytest.raises(sparseopt.ParamError, match="budget"):
        model.fit({"x": np.array([0.2, 0.4])})
    with pytest.raises(ValueError, match="features"):
        PrivateSynthesizer().fit({"x": np.array([0.2, 0.4])})


def test_the_mean_embedding_says_where_mass_is():
    rng = np.random.default_rng(0)
    features = private.FeatureMap([private.Number("x", 0.0, 10.0, 0.5)])
    with private.insecure(2):
        model = PrivateMeanEmbedding(features=features, epsilon=5.0, delta=1e-4)
        model.fit({"x": rng.normal(3.0, 0.3, 500)})
    assert not model.statement_.private and model.noise_ > 0.0
    near, far = model.score_samples({"x": np.array([3.0, 8.0])})
    assert near > 0.5 > 0.2 > abs(far)
    assert model.mean_.shape == (features.dimension,)


def test_moments_find_what_variances_do_not():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(200, 3)), rng.exponential(size=200)])
    model = MomentSubspace(n_components="profile", weights=(0.0, 0.0, 1.0)).fit(X)
    assert model.components_.shape == (1, 4) and abs(model.components_[0, 3]) > 0.9
    assert model.verdict_ == "unproven"
    # What k directions have of the moments is at most the sum of k eigenvalues.
    problem = model.result_.problem
    assert problem.whole - model.objective_ <= model.eigenvalues_[0] * (1.0 + 1e-9)
    back = model.inverse_transform(model.transform(X))
    across = (X - back) / model.scale_
    np.testing.assert_allclose(-model.score_samples(X), np.linalg.norm(across, axis=1))


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_response_chooses_its_directions(task):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(160, 4)) * [1.0, 5.0, 1.0, 1.0]
    y = X[:, 0] ** 2 + X[:, 1] / 5.0
    if task == "classification":
        y = np.array(["low", "high"])[(y > np.median(y)).astype(int)]
    model = SufficientSubspace(n_components="cv", task=task, cv=2, max_components=3).fit(
        X[:120], y[:120]
    )
    assert model.components_.shape == (2, 4)
    assert model.errors_.argmin() == 1
    assert np.linalg.norm(model.components_[:, 2:], 2) < 0.3
    assert model.score(X[120:], y[120:]) > 0.4
    classical = SufficientSubspace(n_components=1, task=task, backend="sir").fit(X, y)
    assert classical.result_.backend == "sir"
    assert classical.transform(X).shape == (160, 1)


@pytest.mark.parametrize("form", [list, np.array, lambda y: np.array(y, dtype=object), pd.Series])
def test_labels_may_be_text_where_the_task_says_so(form):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = form(["yes" if row[1] > 0.0 else "no" for row in X])
    model = SufficientSubspace(task="classification").fit(X, y)
    codes = SufficientSubspace(task="classification").fit(X, X[:, 1] > 0.0)
    np.testing.assert_array_equal(model.components_, codes.components_)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, y) == codes.score(X, X[:, 1] > 0.0)
    says = "labels such as '(yes|no)'; SufficientSubspace takes numbers; for classes give task='cl"
    with pytest.raises(ValueError, match=says):
        SufficientSubspace().fit(X, y)
    with pytest.raises(ValueError, match=r"SparseRegression takes numbers$"):
        SparseRegression(k=2).fit(X, y)


@pytest.mark.parametrize("names", [["a", "c", "e"], [1, 3, 5]])
def test_labels_that_no_fit_has_seen_are_named(names):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(X[:, 0] > 0.0, names[0], names[2])
    model = SufficientSubspace(task="classification").fit(X, y)
    assert model.score(X, y) > 0.0
    y[3] = names[1]
    with pytest.raises(ValueError, match=rf"not seen in fit: \[{names[1]!r}\]; expected those of"):
        model.score(X, y)


@pytest.mark.parametrize("other", ["x", [1], None, 1j, np.nan, 10**400], ids=repr)
def test_one_label_of_another_type_moves_no_other_record(other):
    features = private.FeatureMap(
        [private.Number("x", 0.0, 1.0)], label=private.Category("label", (0, 1)), tolerance=1e-2
    )
    table, labels = {"x": np.linspace(0.0, 1.0, 50)}, [0, 1] * 25
    means = []
    for y in (labels, [*labels[:-1], other]):
        with private.insecure(1):
            model = PrivateMeanEmbedding(features=features, epsilon=1.0, delta=1e-3)
            means.append(model.fit(table, y).mean_)
    assert np.linalg.norm(means[1] - means[0]) <= np.sqrt(2.0 + 2e-2) / 50


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_mixed_frames_are_read_and_no_row_is_kept(package):
    frames = pytest.importorskip(package)
    rng = np.random.default_rng(0)
    columns = {
        "age": rng.uniform(0.0, 100.0, 200).tolist(),
        "smokes": rng.choice(["no", "yes"], 200, p=[0.8, 0.2]).tolist(),
        "floor": rng.integers(0, 3, 200).tolist(),
        "name": ["a-secret-name"] * 200,
    }
    columns["age"][3] = columns["smokes"][4] = columns["floor"][5] = None
    columns["age"][7] = secret = 41.4142135623731
    bounds = {"age": (0, 100), "smokes": ["no", "yes"], "floor": ["0", "1", "2"]}
    model = PrivateSynthesizer(bounds=bounds, epsilon=50.0, delta=1e-4, atoms=128)
    rows, _ = model.fit(frames.DataFrame(columns)).sample(500)
    assert 0.1 < (rows["smokes"] == "yes").mean() < 0.3
    assert set(rows["floor"]) == {"0", "1", "2"}
    kept = pickle.dumps(model)
    assert b"a-secret-name" not in kept and struct.pack("<d", secret) not in kept


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_neighbours_differ_in_nothing_but_the_noisy_numbers(
    neighbours, tmp_path, caplog, capfd, recwarn
):
    settings = {"bounds": {"x": (0, 1), "c": ["a", "b"]}, "neighbours": neighbours, "delta": 1e-3}
    records = [
        [("a", 0.1), ("b", 0.2), last] for last in [("a", 0.3), (None, 1e308), ("s3cr3t", "s3cr3t")]
    ]
    if neighbours == "add-remove":
        records += [records[0][:2]]
    seen = []
    for k, rows in enumerate(records):
        ledger = private.Ledger(1.0, 1e-3, tmp_path / f"{k}.jsonl")
        table = {"c": [row[0] for row in rows], "x": [row[1] for row in rows]}
        model = PrivateMeanEmbedding(**settings, ledger=ledger).fit(table)
        embedding = dict(vars(model.embedding_))
        assert embedding.pop("mean") is model.mean_ and embedding.pop("statement") is not None
        if neighbours == "add-remove":  # the noise of a mean follows from the noisy count
            noise, noisy_count = embedding.pop("noise"), embedding.pop("records")
            seen_noise = noise * noisy_count
        else:
            seen_noise = model.noise_
        kept = pickle.dumps(model)
        assert b"s3cr3t" not in kept
        seen.append(
            (
                sorted(vars(model)),
                str(model.statement_.data),
                len(pickle.dumps((model.mean_, model.statement_, model.noise_))),
                f"{seen_noise:.9g}",
                str(embedding),
                len(ledger.path.read_bytes()),
            )
        )
    assert len(set(map(repr, seen))) == 1
    assert not caplog.records and not list(recwarn) and capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "model",
    [
        RobustSubspace(n_components=2),
        RobustSubspace(norm="l1", fit_centre=False),
        MomentSubspace(weights=(1.0, 1.0, 1.0)),
        SufficientSubspace(ridge=0.1),
    ],
    ids=["l2", "l1", "moments", "response"],
)
def test_weights_of_points_are_repeated_rows(model):
    table = load_wine(as_frame=True)
    X, y = table.data.iloc[:60, :5], table.data.iloc[:60, 5]
    times = np.random.default_rng(3).integers(0, 4, len(X))
    weighted = clone(model).fit(X, y, sample_weight=times)
    again = np.repeat(np.arange(len(X)), times)
    repeated = clone(model).fit(X.iloc[again], y.iloc[again])
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-12)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-12)
    if isinstance(model, RobustSubspace):
        assert weighted.distances_.shape == (60,)
        assert weighted.objective_ == pytest.approx(times @ weighted.distances_, rel=1e-9)
    with pytest.raises(ValueError, match=r"has 0\.5; .*: expected whole numbers"):
        model.fit(X, y, sample_weight=np.full(60, 0.5))
    with pytest.raises(ValueError, match="expected at most 53,687,091 rows of 5 numbers"):
        model.fit(X, y, sample_weight=np.full(60, 1e6))


@pytest.mark.thorough
def test_folds_of_the_dimension_keep_classes_and_copies_together():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X, y = X.iloc[::3, :5], y.iloc[::3]  # the rows come sorted by class
    times = 1 + np.arange(len(X)) % 2
    model = SufficientSubspace(
        n_components="cv", task="classification", ridge=0.1, max_components=2, cv=3
    )
    folds = list(StratifiedKFold(3).split(X, y))  # what cv=3 stands for
    weighted = clone(model).fit(X, y, sample_weight=times)
    again = np.repeat(np.arange(len(X)), times)
    places = [tuple(np.flatnonzero(np.isin(again, part)) for part in fold) for fold in folds]
    repeated = clone(model).set_params(cv=places).fit(X.iloc[again], y.iloc[again])
    np.testing.assert_allclose(weighted.errors_, repeated.errors_, rtol=1e-9)
    assert (weighted.errors_ < 1.0).all()

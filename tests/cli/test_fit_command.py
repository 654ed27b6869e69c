"""``sparseopt fit``: from a table to a named, verified model."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_breast_cancer, load_diabetes

import sparseopt
from sparseopt.cli import main
from sparseopt.estimators import (
    BestSubset,
    GaussianGraphL0,
    LADLasso,
    NeighbourhoodGraph,
    QuantileLassoCV,
    SparsePCA,
)
from sparseopt.estimators.displays import edge_weights

FRAME = load_diabetes(as_frame=True, scaled=False).frame[::3]


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "diabetes.csv"
    FRAME.to_csv(file, index=False)
    return file


def run(*arguments):
    return CliRunner().invoke(main, ["fit", *map(str, arguments)])


@pytest.mark.thorough
def test_a_picture_and_a_path_in_one_line(table, tmp_path):
    picture, path = tmp_path / "p.png", tmp_path / "path.json"
    done = run("lad", table, "--target", "target", "--plot", picture, "-o", path)
    assert done.exit_code == 0, done.output
    assert "verified" in done.output and "bmi" in done.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(path.read_text())


@pytest.mark.thorough
def test_the_numbers_are_those_of_the_estimator(table):
    X, y = FRAME.drop(columns="target"), FRAME["target"]
    done = run("lad", table, "--target", "target", "--by", "bic", "--json")
    model = LADLasso(rule="bic").fit(X, y)
    found = json.loads(done.stdout)
    assert found["coefficients"] == pytest.approx(model.coefficients_.nonzero(), rel=1e-9)
    assert found["lam"] == pytest.approx(model.lam_) and found["verdict"] == "verified"
    done = run("quantile", table, "--target", "target", "--quantile", 0.9, "--by", "cv", "--json")
    model = QuantileLassoCV(quantile=0.9).fit(X, y)
    assert json.loads(done.stdout)["lam"] == pytest.approx(model.lam_)


def test_positive_coefficients(table):
    found, free = (
        json.loads(run("lad", table, "--target", "target", "--lam", 10, *more, "--json").stdout)
        for more in (["--positive"], [])
    )
    signed, both = (
        {k: v for k, v in each["coefficients"].items() if k != "intercept"}
        for each in (found, free)
    )
    assert min(signed.values()) >= 0.0 > min(both.values()) and found["verdict"] == "verified"


@pytest.mark.thorough
def test_classes(tmp_path):
    frame = load_breast_cancer(as_frame=True).frame.iloc[:100, -8:]
    frame.to_csv(tmp_path / "cancer.csv", index=False)
    done = run("svm", tmp_path / "cancer.csv", "--target", "target", "--lam", 5, "--json")
    assert json.loads(done.stdout)["rule"] == "given"


LAD = ("lad", "TABLE", "--target", "target")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lad", "TABLE", "--target", "price"], "has no column 'price'; there are: age"),
        (
            ["lad", "TABLE", "--target", "target", "--quantile", "0.5"],
            "quantile is no parameter of the model lad; it has: backend, bounds",
        ),
        (["lad", "TABLE"], "the model lad needs --target NAME, a column of numbers"),
        (["clime", "TABLE", "--target", "target"], "the model clime has no target"),
        (["sparse-pca", "TABLE", "-o", "x.json"], "-o: sparse-pca has no such file"),
        (["sparse-pca", "TABLE", "--set", "n_components=0"], "must be an int"),
        (["sparse-pca", "TABLE", "--set", "size=1"], "size is no parameter of the model"),
        (
            ["sparse-regression", "TABLE", "--target", "target", "--plot", "x.html"],
            "not a single an",
        ),
        (["svm", "TABLE", "--target", "target"], "Only binary classification"),
        (["lad", "TABLE", "--target", "target", "--lam", "-1"], "'lam' parameter"),
        (["lad", "nothing.csv", "--target", "y"], "nothing.csv"),
        ([*LAD, "--lam", "1", "--by", "cv"], "--by is to choose lam, which is given: leave one"),
        ([*LAD, "--lam", "1", "--folds", "3"], "--folds is to choose lam, which is given"),
        ([*LAD, "--by", "aic", "--folds", "3"], "--folds is for --by cv | 1se, not for aic"),
        ([*LAD, "--folds", "3"], "--folds is for --by cv | 1se, not for ebic"),
        (
            ["best-subset", "TABLE", "--target", "target", "--by", "bic", "--set", "size=2"],
            "--by is to choose size",
        ),
    ],
)
def test_wrong_input_is_one_line(table, arguments, message):
    done = run(*[table if each == "TABLE" else each for each in arguments])
    assert done.exit_code == 2
    assert message in done.output and "Traceback" not in done.output
    assert isinstance(sparseopt.__version__, str)


def test_raw_tables(tmp_path):
    frame = FRAME.assign(city=np.where(FRAME["age"] > 50, "Rome", "Paris"), id=range(len(FRAME)))
    frame.iloc[3, 2] = np.nan
    frame.to_csv(tmp_path / "raw.csv", index=False)
    given = ["lad", tmp_path / "raw.csv", "--target", "target", "--lam", 1, "--json"]
    for options, message in (
        ([], "bmi of observation 4 is missing; --skip-missing leaves such observations out (1 of"),
        (["--skip-missing"], "city of observation 1 is 'Rome'; expected a finite number (--indic"),
        (["--drop", "city,target"], "target is the target"),
        (["--indicators", "town"], "has no column 'town'; there are: age"),
    ):
        done = run(*given, *options)
        assert done.exit_code == 2 and message in done.output
    done = run(*given, "--skip-missing", "--indicators", "city", "--drop", "id")
    assert done.exit_code == 0, done.output
    assert (json.loads(done.stdout)["rows left out"], json.loads(done.stdout)["rows"]) == (
        1,
        len(frame) - 1,
    )
    kept = frame.drop(columns=["target", "id", "city"]).assign(
        **{"city=Rome": (frame["city"] == "Rome").astype(float)}
    )
    rows = kept.notna().all(axis=1)
    model = LADLasso(lam=1.0).fit(kept[rows], frame["target"][rows])
    assert json.loads(done.stdout)["coefficients"] == pytest.approx(
        model.coefficients_.nonzero(), rel=1e-9
    )


def test_all_columns_of_text_are_named_at_once(tmp_path):
    FRAME.assign(city="Rome", street="Via Appia").to_csv(tmp_path / "text.csv", index=False)
    done = run("lad", tmp_path / "text.csv", "--target", "target")
    assert done.exit_code == 2
    assert "'Rome'; expected a finite number, and in street (--indicators city" in done.output


def test_text_is_a_class_and_no_response(tmp_path):
    frame = load_breast_cancer(as_frame=True).frame.iloc[:100, -4:]
    frame["target"] = np.where(frame["target"] == 1, "benign", "malignant")
    frame.to_csv(tmp_path / "cancer.tsv", index=False, sep="\t")
    done = run("svm", tmp_path / "cancer.tsv", "--target", "target", "--lam", 5, "--json")
    assert json.loads(done.stdout)["positive class"] == "malignant"
    done = run("sparse-logistic", tmp_path / "cancer.tsv", "--target", "target", "--json")
    found = json.loads(done.stdout)
    assert (found["positive class"], found["verdict"]) == ("malignant", "verified")
    assert len(found["coefficients"]) <= 5
    done = run("lad", tmp_path / "cancer.tsv", "--target", "target", "--lam", 5)
    assert "target of observation 1 is 'malignant'; expected a finite number" in done.output


def test_a_table_without_names(tmp_path):
    FRAME.to_csv(tmp_path / "plain.txt", index=False, header=False, sep=" ")
    done = run("lad", tmp_path / "plain.txt", "--target", "x10", "--lam", 50, "--json")
    assert "x2" in json.loads(done.stdout)["coefficients"]


def test_graphs_components_and_subsets_are_those_of_the_estimators(table, tmp_path):
    X, y = FRAME.drop(columns="target"), FRAME["target"]
    plain = [table, "--drop", "target", "--json"]
    picture = tmp_path / "p.png"

    found = json.loads(run("sparse-pca", *plain, "--set", "n_nonzeros=2", "--plot", picture).stdout)
    model = SparsePCA(n_nonzeros=2).fit(X)
    loadings = {X.columns[j]: v for j, v in enumerate(model.components_[0]) if v}
    assert found["components"] == [pytest.approx(loadings)] and found["verdict"] == "verified"
    assert picture.read_bytes().startswith(b"\x89PNG")

    found = json.loads(run("gaussian-graph", *plain, "--set", "budget=6").stdout)
    graph = GaussianGraphL0(budget=6).fit(X)
    assert len(found["edges"]) == graph.graph_.nnz // 2
    again = GaussianGraphL0(budget=6).fit(X * np.geomspace(1e-3, 1e3, 10)).graph_
    assert (again != graph.graph_).nnz == 0

    found = json.loads(run("best-subset", table, "--target", "target", "--json").stdout)
    best = BestSubset().fit(X, y)
    assert found["size"] == best.size_ == len(found["coefficients"]) - 1
    assert found["coefficients"]["bmi"] == pytest.approx(best.coef_[2])


def test_weights_of_edges_have_no_unit():
    units = np.geomspace(1e-3, 1e3, 10)
    X = FRAME.drop(columns="target")
    for model in (GaussianGraphL0(budget=8), NeighbourhoodGraph(k=1)):
        plain, scaled = (edge_weights(model.fit(each)) for each in (X, X * units))
        assert np.abs(plain).max() > 0.1
        np.testing.assert_allclose(scaled, plain, rtol=1e-6, atol=1e-9)


def test_what_is_printed_of_edges_and_components(table):
    done = run("clime", table, "--drop", "target", "--lam", 0.05)
    assert done.exit_code == 0, done.output
    assert "verified" in done.output and "weight" in done.output
    done = run("clime", table, "--drop", "target", "--lam", 0.99)
    assert "no edges" in done.output
    done = run("sparse-pca", table, "--drop", "target", "--set", "n_components=2")
    assert done.output.splitlines()[-1].split()[0] in FRAME.columns


LABELLED = ("labels.csv", "plain.csv")


def test_row_labels_of_pandas_are_no_candidate(tmp_path):
    FRAME.to_csv(tmp_path / "labels.csv")
    FRAME.to_csv(tmp_path / "plain.csv", index=False)
    given = ["--target", "target", "--lam", 1, "--json"]
    labels, plain = (json.loads(run("lad", tmp_path / f, *given).stdout) for f in LABELLED)
    assert labels == plain and labels["columns"] == FRAME.shape[1] - 1


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("decimal", [",", "."])
@pytest.mark.parametrize("header", [True, False])
def test_semicolons_with_decimal_commas_or_points(tmp_path, decimal, header):
    FRAME.to_csv(tmp_path / "s.csv", index=False, sep=";", decimal=decimal, header=header)
    FRAME.to_csv(tmp_path / "plain.csv", index=False, header=header)
    given = ["--target", "target" if header else "x10", "--lam", 5, "--json"]
    found = run("lad", tmp_path / "s.csv", *given)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout) == json.loads(run("lad", tmp_path / "plain.csv", *given).stdout)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"a,a,target\n1,2,3\n2,1,4\n", "several columns are called 'a'"),
        (b"a,b,target\n1,2,3,9\n2,1,4,8\n", "more values than the first one has names (3)"),
        (b"a,b,target\n1,2,3\n2,1,4,8\n", "line 3"),
        (b"", "the file is empty"),
        ("größe,target\n1,2\n2,1\n".encode("latin-1"), "save it as UTF-8"),
    ],
)
def test_files_that_are_no_table_are_named(tmp_path, text, says):
    file = tmp_path / "bad.csv"
    file.write_bytes(text)
    done = run("lad", file, "--target", "target", "--lam", 1)
    assert done.exit_code != 0 and says in done.output, done.output
    assert "Warning" not in done.output


def test_an_empty_last_value_of_each_line_is_none(tmp_path):
    file = tmp_path / "trailing.csv"
    file.write_text("a,b,target\n1,2,3,\n2,1,4,\n3,5,1,\n4,0,2,\n")
    done = run("lad", file, "--target", "target", "--lam", 0.1, "--json")
    assert json.loads(done.stdout)["verdict"] == "verified"


def test_a_column_of_weights(tmp_path):
    rng = np.random.default_rng(0)
    frame = FRAME[:60].assign(times=rng.integers(1, 4, 60))
    weighted, repeated = tmp_path / "weighted.csv", tmp_path / "repeated.csv"
    frame.to_csv(weighted, index=False)
    rows = frame.loc[frame.index.repeat(frame["times"])].drop(columns="times")
    rows.to_csv(repeated, index=False)
    halves = tmp_path / "halves.csv"
    frame.assign(times=frame["times"] / 2.0).to_csv(halves, index=False)
    subspaces = [
        json.loads(run("robust-subspace", file, *more, "--json").stdout)
        for file, more in ((weighted, ("--weights", "times")), (repeated, ()))
    ]
    assert subspaces[0]["components"] == subspaces[1]["components"]
    asked = ("--target", "target", "--by", "bic", "--json")
    found = json.loads(run("lad", weighted, "--weights", "times", *asked).stdout)
    same = json.loads(run("lad", repeated, *asked).stdout)
    assert found["verdict"] == "verified" and found["columns"] == same["columns"]
    assert found["coefficients"] == pytest.approx(same["coefficients"], rel=1e-8)
    for arguments, message in (
        (("lad", weighted, "--target", "target", "--weights", "often"), "no column 'often'"),
        (("lad", weighted, "--target", "target", "--weights", "target"), "both the target and"),
        (
            ("lad", weighted, "--target", "target", "--weights", "age", "--drop", "age"),
            "age is the",
        ),
        (("robust-subspace", halves, "--weights", "times"), "expected whole numbers"),
        (("lad", weighted, "--target", "times", "--weights", "s1s2"), "no column"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2 and message in done.stderr, done.output

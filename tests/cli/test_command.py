"""``sparseopt two-sample``, and the files of samples that it reads."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from sparseopt.cli import main
from sparseopt.errors import ProblemError
from sparseopt.two_sample import read_sample

NAMES = "age,body mass,bp,s1"


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 60, 4))
    y[:, 1] += 1.5
    paths = tmp_path / "x.csv", tmp_path / "y.csv"
    for path, sample in zip(paths, (x, y), strict=True):
        np.savetxt(path, sample, delimiter=",", header=NAMES, comments="")
    return paths


def run(*arguments):
    return CliRunner().invoke(main, ["two-sample", *map(str, arguments)], standalone_mode=False)


def test_it_says_what_differs(files):
    done = run(*files, "-d", 1)
    assert done.return_value == 0
    assert "the samples differ" in done.stdout
    assert "body mass" in done.stdout and "verified" in done.stdout


def test_json_and_picture(files, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures are matplotlib's")
    picture = tmp_path / "test.png"
    done = run(*files, "-d", "1,2", "--lam", "0,0.5", "--seed", 3, "--json", "--plot", picture)
    summary = json.loads(done.stdout)
    assert summary["reject"] is True
    assert summary["names"][0] == "body mass"
    assert summary["lam"] in (0.0, 0.5) and summary["d"] in (1, 2)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_options_reach_the_selection(files):
    done = run(*files, "--selection", "gaussian", "-d", 1, "--set", "restarts=1", "--json")
    summary = json.loads(done.stdout)
    assert (summary["kernel"], summary["selected"]) == ("gaussian", [1])
    everything = run(*files, "--selection", "none", "--kernel", "linear", "--json")
    assert json.loads(everything.stdout)["test_sizes"] == [60, 60]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-d", "one"], "expected integers"),
        (["--lam", "best"], "auto or cv"),
        (["--alpha", "2"], "alpha is 2.0"),
        (["--set", "restart=1"], "restart"),
        (["--selection", "none", "-d", "2"], "-d is for --selection strs | quadratic | gaussian"),
        (["--selection", "none", "--backend", "scip"], "--backend is for --selection strs"),
        (["--selection", "none", "--time-limit", "60"], "--time-limit is for --selection strs"),
        (["--selection", "sparse-logistic", "--lam", "1"], "--lam is for --selection strs"),
        (["--selection", "sparse-logistic", "--bandwidth", "1"], "not for sparse-logistic"),
        (["--kernel", "gaussian"], "--kernel is for --selection none, not for strs"),
        (["--c", "1"], "--c is for --selection quadratic | none, not for strs"),
        (["--plot", "missing/a.png"], "no folder"),
    ],
)
def test_bad_arguments_are_named(files, arguments, words):
    done = run(*files, *arguments)
    assert done.return_value == 2
    assert words in done.stderr


def test_other_columns_are_refused(files):
    x, y = files
    y.write_text(y.read_text().replace("body mass", "bmi"))
    done = run(x, y)
    assert done.return_value == 2 and "has 'body mass', which" in done.stderr


def test_candidates_are_shown(files):
    arguments = [*files, "-d", "1", "--lam", "cv"]
    text = run(*arguments).stdout
    assert "p-value on the held-out half" in text
    summary = json.loads(run(*arguments, "--json").stdout)
    lams = [each["lam"] for each in summary["candidates"]]
    assert len(lams) == 4 and lams[0] == summary["lam"] and min(lams) == 0.0


def test_bandwidths_and_the_constant_are_given(files):
    given = [*files, "-d", "1", "--lam", "0.1", "--json"]
    plain = json.loads(run(*given).stdout)["statistic"]
    assert json.loads(run(*given, "--bandwidth", "median").stdout)["statistic"] == plain
    assert json.loads(run(*given, "--bandwidth", "9,9,9,9").stdout)["statistic"] != plain
    refused = run(*given, "--bandwidth", "9,9")
    assert refused.return_value == 2 and "expected (4,)" in refused.stderr
    constant = run(*given, "--selection", "quadratic", "--c", "-1")
    assert constant.return_value == 2 and "c is -1.0" in constant.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "u,v\n1,2\n\n3,4\n"),
        ("a.csv", '"u","v"\r\n1, 2\r\n3, 4\r\n'),
        ("a.tsv", "u\tv\n1\t2\n3\t4"),
        ("a.txt", "u  v\n1 2\n 3   4\n"),
        ("a.csv", "\ufeffu,v\n1,2\n3,4\n"),
    ],
)
def test_tables_are_read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    sample, names = read_sample(path)
    assert sample.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert names == ["u", "v"]


def npy(shape, dtype="<f8"):
    """Return the header of a .npy file whose array is missing."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def test_arrays_and_tables_without_names_are_read(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / "a.csv").write_text("1,0\n0,1\n")
    assert read_sample(tmp_path / "a.npy")[1] is None
    for array in (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))):
        np.save(tmp_path / "a.npy", array)
        assert read_sample(tmp_path / "a.npy")[0].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    sample, names = read_sample(tmp_path / "a.csv")
    assert sample.tolist() == [[1.0, 0.0], [0.0, 1.0]] and names is None


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"u,v\n1,2\n3\n", "line 3: it has 1 values; expected 2"),
        ("a.csv", b"u,v\n1,2\n3,x\n", "line 3: v is 'x'"),
        ("a.csv", b"1,2\n3,\n", "line 2: column 2 is ''"),
        ("a.csv", b"u,v\n1,nan\n", "v is 'nan'"),
        ("a.csv", b"u,v\n", "no observations"),
        ("a.csv", b"", "no observations"),
        ("a.csv", b"\xff\xfe\x00", "UTF-8"),
        ("a.npy", b"no array", "this .npy file cannot be read"),
        ("a.npy", b"", "this .npy file cannot be read"),
        ("a.npy", npy("(1000000000000, 1000)"), "bytes, but holds 0"),
        ("a.npy", npy("(2, 2)"), "32 bytes, but holds 0"),
        ("a.npy", npy("(2,"), "this .npy file cannot be read"),
        ("a.npy", npy("(-1, 2)"), "the impossible shape"),
        ("a.npy", npy("(1, 1)", "<c16") + bytes(16), "the type complex128; expected numbers"),
        ("a.xlsx", b"", ".csv, .tsv, .txt or .npy"),
    ],
)
def test_files_that_hold_no_sample_are_refused(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ProblemError, match=words.replace(".", r"\.")):
        read_sample(path)


def test_pickles_are_not_read(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ProblemError, match="pickled Python objects, which could run code"):
        read_sample(path)

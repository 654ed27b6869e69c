"""The shipped instances: checksums, headers, how they are made, and their reference values."""

import hashlib
import sys
import zlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp

import sparseopt
from sparseopt import generators
from sparseopt.io import read_header

FOLDER = Path(__file__).resolve().parents[1] / "instances"
FILES = sorted(FOLDER.glob("*.npz"))
NAMES = [path.stem for path in FILES]


@pytest.fixture(scope="module")
def make() -> ModuleType:
    return script("make")


@pytest.fixture(scope="module")
def prove() -> ModuleType:
    return script("prove")


def script(name: str) -> ModuleType:
    """Import a script of instances/, which is a folder and no package."""
    sys.path.insert(0, str(FOLDER))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(FOLDER))


def registry() -> dict[str, str]:
    lines = (FOLDER / "registry.txt").read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


def test_the_registry_has_the_checksum_of_every_file() -> None:
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FILES}
    assert found == registry()
    assert len(found) >= 15


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_file_loads_and_says_where_it_comes_from(path: Path) -> None:
    problem = sparseopt.load(path)
    header = read_header(path)
    assert header["name"] == path.stem
    assert header["kind"] == problem.kind
    assert header["license"]
    assert header["citation"]
    family = problem.family
    single = family in ("subspace", "private") or header["kind"] in ("misdp", "strs")
    count = 1 if single else 5
    searched = family == "subspace" and header["kind"] != "robust-subspace"
    expected = ["best known" if searched else "optimal"] * count
    assert [entry["status"] for entry in header["reference"]] == expected
    generator = header["generator"]
    if "script" in generator:
        assert generator["script"] == "instances/make.py"
        origin = {"elnino-graph": "statsmodels", "pitprops": "source"}
        assert generator[origin.get(path.stem, "scikit-learn")]
    else:
        again = generators.generate(
            generator["name"], seed=generator["seed"], **generator["settings"]
        )
        assert type(again) is type(problem)
        for name, array in problem.payload()[1].items():
            pair = [a.toarray() if sp.issparse(a) else a for a in (again.payload()[1][name], array)]
            np.testing.assert_allclose(*pair, rtol=1e-12, atol=1e-12)


def test_the_readme_lists_every_file() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in registry() if f"`{name}`" not in text] == []


def test_headers_and_reference_file_say_the_same(make: ModuleType) -> None:
    values = make.reference_values()
    assert {name for name, _ in values} == set(NAMES)
    for path in FILES:
        for entry in read_header(path)["reference"]:
            known = values[path.stem, entry.get("lam")]
            assert entry["primal"] == entry.get("dual", known) == known


@pytest.mark.thorough
def test_the_script_writes_the_same_files_again(make: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    pytest.importorskip("statsmodels", reason="needs statsmodels")
    make.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*registry(), "registry.txt"])
    for path in FILES:
        again = tmp_path / path.name
        assert sparseopt.load(again).fingerprint() == sparseopt.load(path).fingerprint()
        assert read_header(again) == read_header(path)
    if zlib.ZLIB_RUNTIME_VERSION == make.ZLIB:
        assert (tmp_path / "registry.txt").read_bytes() == (FOLDER / "registry.txt").read_bytes()


def test_the_real_data_are_what_the_readme_says() -> None:
    diabetes = sparseopt.load(FOLDER / "diabetes-dantzig.npz")
    assert diabetes.X.shape == (442, 10)
    expanded = sparseopt.load(FOLDER / "diabetes-quadratic-dantzig.npz")
    assert expanded.X.shape == (442, 64)
    np.testing.assert_allclose(expanded.X[:, :10], diabetes.X, atol=1e-15)
    for problem in (diabetes, expanded):
        np.testing.assert_allclose(problem.X.sum(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(problem.X, axis=0), 1.0)
        assert abs(problem.y.sum()) < 1e-9
    # The largest correlation with the response, where the lars path of the same data starts, too.
    assert np.abs(diabetes.X.T @ diabetes.y).max() == pytest.approx(949.43526)
    names = expanded.coefficient_names
    products = {name: j for j, name in enumerate(names)}
    raw = diabetes.X[:, 2] * diabetes.X[:, 3]
    assert abs(np.corrcoef(raw, expanded.X[:, products["bmi:bp"]])[0, 1]) == pytest.approx(1.0)
    assert "sex^2" not in products

    cancer = sparseopt.load(FOLDER / "breast-cancer-lad.npz")
    assert cancer.X.shape == (569, 30)
    np.testing.assert_allclose(cancer.X.var(axis=0), 1.0)
    values, counts = np.unique(cancer.y, return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([-1.0, 1.0], [212, 357])


def test_the_graphs_are_what_the_readme_says() -> None:
    gaussian = sparseopt.load(FOLDER / "digits-gaussian.npz")
    assert gaussian.size == {"n": 1797, "d": 48, "candidates": 304}
    np.testing.assert_allclose(gaussian.X.mean(axis=0, dtype=float), 0.0, atol=1e-6)
    np.testing.assert_allclose(gaussian.X.std(axis=0, dtype=float), 1.0, rtol=1e-6)
    spins = sparseopt.load(FOLDER / "digits-ising.npz")
    assert spins.loss == "ising"
    assert spins.size == {"n": 600, "d": 48, "candidates": 304}
    for model in (gaussian, spins):
        places = model.candidates.coordinates
        for j in range(48):
            far = np.abs(places[model.candidates.of(j)] - places[j]).max(axis=1)
            assert (far == 1.0).all()
    months = sparseopt.load(FOLDER / "elnino-graph.npz")
    assert months.X.shape == (61, 12)
    assert months.candidates.of(0).tolist() == [1, 2, 3, 9, 10, 11]
    # The neighbours of a month explain it, the nearest ones most.
    chosen = sparseopt.solve(months).path.graph(12)
    assert all(chosen[j, (j + 1) % 12] or chosen[j, j - 1] for j in range(12))


def test_the_correlations_are_what_the_readme_says(make: ModuleType) -> None:
    pitprops = sparseopt.load(FOLDER / "pitprops.npz")
    assert pitprops.size == {"D": 13, "d_max": 13}
    # The shares of the variance that principal components of these data are known to explain.
    shares = np.linalg.eigvalsh(pitprops.A)[::-1] / 13.0
    np.testing.assert_allclose(shares[:3], [0.324, 0.183, 0.144], atol=6e-4)
    known = {3: 2.475331, 5: 3.406155, 7: 3.996190, 10: 4.172638, 13: 4.218633}
    for d, value in known.items():
        assert make.reference_values()["pitprops", d] == pytest.approx(value, abs=6e-7)
    for name, D in (("wine", 13), ("diabetes", 10), ("breast-cancer", 30), ("digits", 61)):
        A = sparseopt.load(FOLDER / f"{name}-components.npz").A
        assert A.shape == (D, D)
        assert (np.diagonal(A) == 1.0).all()
        assert np.abs(A).max() == 1.0
        assert np.linalg.eigvalsh(A)[0] > -1e-12


LONG = (
    "breast-cancer-components",
    "breast-cancer-dantzig",
    "breast-cancer-lad",
    "diabetes-quadratic-lad",
    "digits-components",
    "digits-gaussian",
    "digits-ising",
    "misdp-isometry",
    "misdp-least-squares",
    "misdp-no-interior",
    "misdp-partition",
    "misdp-sparse-direction",
    "misdp-truss",
    "skewed-directions",
)
"""Others of each family are proved in a blink."""


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.thorough] if n in LONG else []) for n in NAMES],
)
def test_the_reference_values_are_proved_again(
    name: str, make: ModuleType, prove: ModuleType
) -> None:
    values = make.reference_values()
    lams = tuple(lam for file, lam in values if file == name)
    problem = sparseopt.load(FOLDER / f"{name}.npz")
    for lam, value in prove.prove(problem, lams).items():
        conic = isinstance(problem, sparseopt.problems.MISDP)
        accuracy = make.CONIC_ERROR if conic else make.RELATIVE_ERROR
        assert value == pytest.approx(values[name, lam], rel=accuracy, abs=1e-9)


def test_a_wrong_value_is_not_proved(prove: ModuleType) -> None:
    problem = sparseopt.load(FOLDER / "diabetes-dantzig.npz")
    path = sparseopt.solve(problem, lam_min=100.0).path
    theta, nu = path.at(100.0), path.dual_at(100.0)
    primal, dual = prove.values(problem, theta, nu, 100.0)
    assert primal == pytest.approx(dual, rel=1e-10)
    assert prove.values(problem, theta, 0.9 * nu, 100.0)[1] < dual
    with pytest.raises(prove.Unproven, match="point violate"):
        prove.values(problem, 0.9 * theta, nu, 100.0)
    with pytest.raises(prove.Unproven, match="multipliers violate"):
        prove.values(problem, theta, 1.1 * nu, 100.0)

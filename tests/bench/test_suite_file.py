"""Suite files: what they expand to, and what is said of wrong ones."""

import re
from pathlib import Path

import numpy as np
import pytest

import sparseopt
from sparseopt import datasets
from sparseopt.bench.definitions.suite import find_suite, read_suite, suite_files
from sparseopt.bench.running.jobs import JobSelection, expand
from sparseopt.bench.solving.instances import component_reference, design_problem, facts_of
from sparseopt.errors import ParamError

GOOD = """
[suite]
time_limit = 5
[[instances]]
generator = "dantzig-4.1"
settings = { n = 20, d = [30, 40], s = 3 }
seeds = 2
params = { lam_min = "noise" }
[[backends]]
name = "homotopy"
[[backends]]
name = "highs"
params = { lam = "noise", lam_min = "unset" }
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_suite_is_the_product_of_its_parts(tmp_path: Path) -> None:
    jobs = expand(read_suite(write(tmp_path, GOOD)))
    assert len(jobs) == 2 * 2 * 2
    assert len({job.key for job in jobs}) == 8
    assert {job.instance["name"] for job in jobs} == {
        f"dantzig-4.1 n=20 d={d} s=3 #{seed}" for d in (30, 40) for seed in (0, 1)
    }
    first, second = jobs[:2]
    assert first.params == {"lam_min": "noise"}
    assert second.params == {"lam": "noise"}
    # Both need the same word, so they share one instance.
    assert first.instance_key == second.instance_key


def test_keys_come_from_content_not_from_names_and_places(tmp_path: Path) -> None:
    one = expand(read_suite(write(tmp_path, GOOD)))
    (tmp_path / "other").mkdir()
    renamed = GOOD.replace("[suite]", '[suite]\nname = "x"\ntitle = "y"')
    # n = 20 and n = 20.0, and a default that is written out, are the same instance.
    renamed = renamed.replace("n = 20,", "n = 20.0, sigma = 1,")
    two = expand(read_suite(write(tmp_path / "other", renamed)))
    assert [job.key for job in one] == [job.key for job in two]
    slower = expand(read_suite(write(tmp_path, GOOD.replace("= 5", "= 6"))))
    assert not {job.key for job in one} & {job.key for job in slower}


def test_peers_of_one_value_are_asked_the_point_and_as_often_as_they_say(tmp_path: Path) -> None:
    text = GOOD.replace(
        'params = { lam_min = "noise" }', "params = { lam_min = 1 }\npoint = { lam = 2 }"
    )
    text = text.replace(
        'params = { lam = "noise", lam_min = "unset" }', "point = true\nrepeats = 3"
    )
    jobs = expand(read_suite(write(tmp_path, text)), JobSelection(max_seeds=1))
    asked = [(job.label, job.params, job.repeat) for job in jobs[:4]]
    assert asked[0] == ("homotopy", {"lam_min": 1}, 0)
    assert asked[1:] == [("highs", {"lam": 2}, k) for k in range(3)]


def test_words_of_paths_are_values_of_lam(tmp_path: Path) -> None:
    import sparseopt
    from sparseopt.bench.solving.instances import facts_of

    words = ["end:3", "knots:0.5", "separated"]
    instance = {
        "generator": "dantzig-4.1",
        "settings": {"n": 20, "d": 10, "s": 3},
        "seed": 1,
        "words": words,
        "name": "x",
    }
    facts = facts_of(instance, tmp_path / "x.npz")
    problem = sparseopt.load(tmp_path / "x.npz")
    path = sparseopt.solve(problem, lam_min=0.0).path
    end = facts["words"]["end:3"]
    assert end in path.knots
    assert (path.at(0.999 * end) != 0).sum() > 3 >= (path.at(end) != 0).sum()
    knots = facts["words"]["knots:0.5"]
    assert knots[-1] == pytest.approx(0.5)
    assert facts["words"]["separated"] == min(path.knots[path.knots > 0]) / 2


def test_components_come_from_the_repository_and_from_public_matrices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.delenv("SPARSEOPT_EXTRA_DATA", raising=False)
    problem = design_problem("components", 0, {"data": "pitprops", "d": 3})
    assert (problem.d, problem.A.shape) == (3, (13, 13))
    with pytest.raises(ParamError, match="no correlation matrix is called 'mine'"):
        design_problem("components", 0, {"data": "mine"})
    folder = tmp_path / "sparse-pca"
    folder.mkdir()
    (folder / "mine.csv").write_text("2,0\n0,1\n")
    (folder / "reference.csv").write_text("matrix,D,d,optimal\nmine,2,1,2.0\n")
    monkeypatch.setenv("SPARSEOPT_EXTRA_DATA", str(tmp_path))
    chosen = {"data": "mine", "d": 1}
    assert design_problem("components", 0, chosen).A.tolist() == [[2.0, 0.0], [0.0, 1.0]]
    assert [r["primal"] for r in component_reference("components", chosen)] == [2.0]
    for kind in ("wishart", "goe", "spiked-2", "spiked-4", "factors"):
        chosen = {"kind": kind, "D": 20, "d": 3}
        one, other = (design_problem("random-components", seed, chosen) for seed in (0, 1))
        assert one.A.shape == (20, 20)
        assert one.fingerprint() != other.fingerprint()


def test_a_selection_takes_part_of_a_suite(tmp_path: Path) -> None:
    suite = read_suite(write(tmp_path, GOOD))
    assert len(expand(suite, JobSelection(max_seeds=1))) == 4
    assert len(expand(suite, JobSelection(instances=("*d=30*",), backends=("highs",)))) == 2
    assert expand(suite, JobSelection(time_limit=9.0))[0].limits["time"] == 9.0
    with pytest.raises(ParamError, match=r"no backend 'gurobi'; it has: highs, homotopy"):
        expand(suite, JobSelection(backends=("gurobi",)))
    with pytest.raises(ParamError, match="nothing of suite mine is selected"):
        expand(suite, JobSelection(instances=("*d=31*",)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("time_limit = 5", "time_limit = 0", "[suite], key 'time_limit' is 0; expected a number"),
        ("time_limit", "timelimit", "[suite] has no key 'timelimit'; it has: name, title"),
        ("time_limit = 5", 'memory = "lots"', "key 'memory' is 'lots'; expected an amount"),
        ("time_limit = 5", "threads = true", "key 'threads' is True; expected an integer >= 1"),
        ("seeds = 2", "seeds = [-1]", "[[instances]] 1, key 'seeds' is [-1]; expected a list"),
        ("seeds = 2", 'metrics = ["mean"]', "key 'metrics' is 'mean'; expected some of: sel"),
        ("seeds = 2", 'backends = ["scip"]', "key 'backends' has 'scip'; expected labels of"),
        ('"dantzig-4.1"', '"dantzig-9"', "key 'generator': no generator is called 'dantzig-9'"),
        ("s = 3", "k = 3", "key 'settings.k' is 3; expected one of: n, d, s, sigma"),
        ('lam_min = "noise"', "lam_min = -1", "[[instances]] 1.params: lam_min must be a finite"),
        ('lam_min = "noise"', "lamb = 1", "[[instances]] 1.params has no 'lamb'; it has: lam,"),
        ('lam_min = "noise"', "time_limit = 1", "expected time_limit in [suite], where it is"),
        ('name = "highs"', 'name = "homotopy"', "'label' is 'homotopy' a second time"),
        ('name = "highs"', 'label = "highs"', "[[backends]] 2 has no key 'name'; expected a text"),
        ('name = "highs"', 'name = "x"\nclass = "X"', "key 'class' is 'X'; expected module:Class"),
        ("[[backends]]", "[[solvers]]", "there are no backends; expected at least one"),
        ("[suite]", "[suite", "is no TOML: "),
        (
            "[suite]",
            '[[tables]]\ntitle = "t"\nrows = ["d"]\ncolumns = ["backend"]\nstatistic = "mode"\n'
            "[suite]",
            "[[tables]] 1, key 'statistic' is 'mode'; expected one of: mean-se",
        ),
    ],
)
def test_what_is_wrong_is_named_with_file_key_and_expectation(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ParamError, match=re.escape(expected)) as caught:
        read_suite(path)
    assert str(path) in str(caught.value)


def test_a_missing_instance_file_is_named(tmp_path: Path) -> None:
    text = '[[instances]]\nfile = "gone.npz"\n[[backends]]\nname = "highs"\n'
    with pytest.raises(ParamError, match=r"gone\.npz: No such file.*expected a file beside"):
        expand(read_suite(write(tmp_path, text)))


def test_shipped_instances_go_by_their_names(tmp_path: Path) -> None:
    text = '[[instances]]\nfile = "pitprops"\n[[backends]]\nname = "strs-bnb"\n'
    (entry,) = read_suite(write(tmp_path, text)).instances
    assert entry.file == datasets.instances()["pitprops"].resolve()
    (tmp_path / "pitprops").write_text("a file beside the suite comes first")
    (entry,) = read_suite(write(tmp_path, text)).instances
    assert entry.file == (tmp_path / "pitprops").resolve()


@pytest.mark.parametrize("name", sorted(suite_files()))
def test_every_shipped_suite_is_valid(name: str) -> None:
    suite = read_suite(suite_files()[name])
    assert suite.name == name
    assert suite.title
    assert expand(suite, JobSelection(max_seeds=1))


def test_models_of_data_sets() -> None:
    data = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn")
    kinds = {"dantzig": "dantzig-selector", "lad": "lad-lasso", "svm": "l1-svm"}
    Z = data.load_breast_cancer().data
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    for model, kind in kinds.items():
        problem = design_problem("dataset", 0, {"data": "breast-cancer", "model": model})
        assert problem.kind == kind and problem.fit_intercept
        np.testing.assert_allclose(problem.X, Z, atol=1e-12)
        # The largest class is that of the benign tumours, which scikit-learn calls 1.
        assert problem.y.tolist() == (2.0 * data.load_breast_cancer().target - 1.0).tolist()
    component = design_problem("dataset", 0, {"data": "wine", "model": "component", "d": 4})
    np.testing.assert_allclose(component.A, np.corrcoef(data.load_wine().data.T), atol=1e-12)
    graph = design_problem("dataset", 0, {"data": "digits", "model": "graph", "d": 4})
    # Three pixels of the digits are always empty.
    assert graph.X.shape == (1797, 61) and graph.candidates.sizes.tolist() == [4] * 61
    for name, model in (("diabetes", "ridge"), ("linnerud", "lad")):
        with pytest.raises(ParamError, match="dantzig, lad or svm"):
            design_problem("dataset", 0, {"data": name, "model": model})


def test_a_share_of_the_first_lam(tmp_path: Path) -> None:
    chosen = {"data": "diabetes", "model": "lad"}
    asked = {"generator": "dataset", "settings": chosen, "seed": 0, "name": "diabetes"}
    facts = facts_of({**asked, "words": ["share:0.1"]}, tmp_path / "it.npz")
    first = sparseopt.solve(sparseopt.load(tmp_path / "it.npz")).path.knots[0]
    assert facts["words"]["share:0.1"] == pytest.approx(first / 10.0, rel=1e-12)


def test_the_suites_of_the_papers_are_there() -> None:
    expected = {"smoke", "psm-table1", "psm-table2", "psm-table3", "strs-table1", "l0-table1"}
    expected |= {f"strs-figure{k}" for k in range(1, 5)} | {f"l0-figure{k}" for k in range(4, 7)}
    expected |= {"scaling-parametric", "scaling-networks", "scaling-strs", "scaling-l0"}
    expected |= {"scaling-misdp", "scaling-homotopy", "parametric", "strs", "strs-public", "misdp"}
    expected |= {"misdp-classes", "misdp-kinds", "subspace-breakdown"}
    expected |= {"subspace-figure1a", "subspace-figure1b"}
    assert expected <= set(suite_files())
    with pytest.raises(ParamError, match="no suite is called 'smok'; there are: best-subsets"):
        find_suite("smok")
    with pytest.raises(ParamError, match=r"mine\.toml is not there"):
        find_suite("mine.toml")


def test_the_suite_of_the_docs_is_valid(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "benchmarking.md"
    (text,) = re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    suite = read_suite(write(tmp_path, text))
    assert [entry.label for entry in suite.backends] == ["homotopy", "highs, one lam", "mine"]
    assert suite.limits.memory == 4 * 10**9


def test_every_kind_with_a_generator_has_a_small_relative_to_warm_up_with() -> None:
    from sparseopt import generators
    from sparseopt.families import families

    small = {kind: made for one in families().values() for kind, made in one.small.items()}
    for kind, (name, settings) in small.items():
        assert generators.generate(name, **settings).kind == kind

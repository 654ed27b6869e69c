"""What backends do to a run: each ends in its own class and harms no other record."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sparseopt.bench.definitions.suite import read_suite
from sparseopt.bench.records.files import read_records
from sparseopt.bench.records.frame import frame, settled
from sparseopt.bench.running.jobs import expand
from sparseopt.bench.running.run import RECORDS, plan_run, run
from sparseopt.bench.solving.solve_one import _backend
from sparseopt.errors import BackendUnavailable

CLASSES = {
    "Good": "ok",
    "WrongObjective": "wrong",
    "Infeasible": "wrong",
    "Hangs": "hang",
    "EatsMemory": "memory",
    "Crashes": "crash",
    "Leaves": "crash",
    "PrintsBinary": "ok",
    "Raises": "failed",
    "NoLicence": "licence",
    "FalseOptimum": "wrong",
}


@pytest.mark.thorough
def test_each_misbehaviour_has_its_class(suite_file: Callable[..., Path], tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="the frame of records needs pandas")
    path = suite_file(*CLASSES, time_limit=0.5, grace=4, memory='"300 MB"')
    suite = read_suite(path)
    folder = tmp_path / "run"
    returned = run(plan_run(suite, folder), parallel=2)
    records, environments = read_records(folder / RECORDS)
    assert [r["label"] for r in returned] == list(CLASSES)
    assert {r["environment"] for r in records} == set(environments)

    final = {r["label"]: r for r in settled(records)}
    assert {name: r["outcome"] for name, r in final.items()} == CLASSES

    # The evaluator's numbers, whatever the solver states.
    good = final["Good"]
    assert good["objective"] == pytest.approx(2.2)
    assert final["WrongObjective"]["objective"] == pytest.approx(2.2)
    assert final["WrongObjective"]["claimed_objective"] == pytest.approx(4.2)
    assert final["Infeasible"]["violation"] > 0.1
    assert "there is a point of value 2.2" in final["FalseOptimum"]["message"]
    assert "SIGSEGV" in final["Crashes"]["message"]
    assert "only the solver knows" in final["Raises"]["message"]
    assert 0.3e9 < final["EatsMemory"]["peak_memory"] < 2e9
    assert (folder / good["answer"]).is_file()
    assert not any((folder / "work").iterdir())

    table = frame(records).set_index("backend")
    assert table["solved"].sum() == 2
    assert not table.loc["NoLicence", "attempted"]
    assert table.loc["Hangs", "charged"] == 0.5


def test_a_class_whose_folder_is_not_known_names_the_key():
    with pytest.raises(BackendUnavailable, match=r"module 'mine': give its folder as `path`"):
        _backend({"backend": "mine", "reference": "mine:Mine"})


@pytest.mark.thorough
def test_a_reference_exposes_a_false_optimum(
    suite_file: Callable[..., Path], tmp_path: Path
) -> None:
    import sparseopt

    path = suite_file("FalseOptimum", time_limit=5)
    file = tmp_path / "tiny-0.npz"
    reference = {"primal": 2.2, "status": "opt", "source": "by hand"}
    sparseopt.save(sparseopt.load(file), file, reference=reference)
    (record,) = run(plan_run(read_suite(path), tmp_path / "run"))
    assert record["outcome"] == "wrong"
    assert "2.2" in record["message"]


@pytest.mark.thorough
def test_a_backend_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        '[suite]\nwarm_up = false\n[[instances]]\ngenerator = "mean-shift"\n'
        'settings = { n = 50, D = 4, d = 2 }\n[[backends]]\nname = "no-such"\noptional = true\n'
        '[[backends]]\nname = "homotopy"\n',
        encoding="utf-8",
    )
    suite = read_suite(path)
    assert len(expand(suite)) == 2
    outcomes = [r["outcome"] for r in run(plan_run(suite, tmp_path / "run"), parallel=2)]
    assert outcomes == ["unavailable", "unsupported"]


def test_data_that_are_not_installed_leave_no_failure(tmp_path: Path) -> None:
    from sparseopt import datasets

    missing = sorted(set(datasets.names()) - set(datasets.available()))
    if not missing:
        pytest.skip("every package with data is installed")
    path = tmp_path / "real.toml"
    path.write_text(
        '[suite]\nname = "real"\n[[instances]]\ngenerator = "dataset"\n'
        f'settings = {{ data = "{missing[0]}" }}\n[[backends]]\nname = "homotopy"\n'
    )
    (record,) = run(plan_run(read_suite(path), tmp_path / "run"))
    assert record["outcome"] == "unavailable" and "install" in record["message"]

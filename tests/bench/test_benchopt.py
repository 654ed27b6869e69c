"""The benchopt folders run as they are, and every exact solver reaches the same value."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDERS = Path(__file__).parents[2] / "docs/benchopt"
SMALL = {
    "dantzig": "simulated[n=60,d=30,seed=0]",
    "quantile": "simulated[n=60,d=30,seed=0]",
    "l1svm": "simulated[n=60,d=30,seed=0]",
    "clime": "simulated[n=100,d=20,seed=0]",
    "sparse_pca": "simulated[n=80,D=15,seed=0]",
}
HEURISTICS = ("strs-admm", "truncation", "thresholding")


def test_there_is_a_run_for_each_folder():
    found = {folder.name for folder in FOLDERS.iterdir() if folder.is_dir()}
    assert found - {"__pycache__"} == set(SMALL)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SMALL)
def test_benchopt_runs_it(name, tmp_path):
    pytest.importorskip("benchopt", reason="pip install 'sparseopt[benchopt]'")
    pd = pytest.importorskip("pandas")
    folder = tmp_path / name
    shutil.copytree(FOLDERS / name, folder)
    command = [
        "run",
        ".",
        "--no-plot",
        "--no-display",
        "--no-cache",
        "-n",
        "1",
        "-r",
        "1",
        "--output",
        "small",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "benchopt", *command, "-d", SMALL[name]],
        cwd=folder,
        env={**os.environ, "CI": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    frame = pd.read_parquet(next(folder.rglob("small*.parquet")))
    assert frame["solver_name"].nunique() >= 4
    assert frame["objective_violation"].max() < 1e-6
    exact = frame[~frame["solver_name"].str.contains("|".join(HEURISTICS))]
    for _, group in exact.groupby("objective_name"):
        value = group["objective_value"]
        assert len(group) >= 2 and value.max() - value.min() <= 1e-6 * abs(value.max())
    assert (frame["objective_value"] >= exact["objective_value"].min() - 1e-6).all()

"""``sparseopt select``."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from selection_examples import examples

import sparseopt
from sparseopt.cli import main
from sparseopt.problems import CLIME
from sparseopt.selection import select


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("instances") / "lad.npz"
    sparseopt.save(examples()["lad"], path)
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["select", *(str(argument) for argument in arguments)])


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("by", ["cv", "aic", "bic", "ebic", "theory", "stability"])
def test_json_is_what_python_says(file: Path, by: str) -> None:
    extra = ["--pairs", 4] if by == "stability" else []
    done = run(file, "--by", by, "--json", *extra)
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    chosen = select(examples()["lad"], by, **({"pairs": 4} if extra else {}))
    assert said == json.loads(json.dumps(chosen.summary()))


def test_the_choice_is_printed_with_its_refit(file: Path) -> None:
    done = run(file, "--by", "cv", "--folds", 4, "--seed", 3, "--rule", "1se", "--refit")
    assert done.exit_code == 0, done.output
    chosen = select(examples()["lad"], "cv", folds=4, seed=3, rule="1se")
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert ["by", "cv"] in lines
    assert ["lam", f"{chosen.lam:.10g}"] in lines
    assert ["nonzeros", str(chosen.nonzeros)] in lines
    j = int(chosen.support[0])
    name = chosen.problem.coefficient_names[j]
    assert [name, f"{chosen.x[j]:.8g}", f"{chosen.refit()[j]:.8g}"] in lines


@pytest.mark.thorough
def test_a_picture_is_drawn(file: Path, tmp_path: Path) -> None:
    for by in ("cv", "bic", "stability"):
        target = tmp_path / f"{by}.png"
        assert run(file, "--by", by, "--plot", target).exit_code == 0
        assert target.stat().st_size > 10_000


def test_networks_take_the_number_of_observations(tmp_path: Path) -> None:
    path = tmp_path / "clime.npz"
    sparseopt.save(CLIME([[1.0, 0.5], [0.5, 1.0]]), path)
    done = run(path, "--by", "ebic", "-n", 100, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["edges"] == 1
    assert "give n=" in run(path, "--by", "ebic").stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--by", "aic", "--folds", 3], "--folds is for --by cv, not for aic"),
        (["--by", "cv", "-n", 3], "-n is for --by aic"),
        (["--by", "theory", "--plot", "x.png"], "--by theory compares nothing"),
        (["--by", "theory", "--sigma", 1.0], "does not depend on sigma: leave it out"),
        (["--by", "cv", "--plot", "x.txt"], "not the name of a picture"),
        (["--by", "cv", "--loss", "cubic"], "expected one of: squared"),
        (["--by", "gcv"], "'gcv' is not one of"),
    ],
)
def test_what_does_not_fit_ends_in_one_line(file: Path, arguments: list, says: str) -> None:
    done = run(file, *arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert says in line

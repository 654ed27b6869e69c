"""What the README and the pages of docs/ say: the code runs, the commands work, the links lead."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sparseopt
from sparseopt import families

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "instances" / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [code for tag, code in FENCE.findall(text) if tag == language]


def having(language: str) -> list[object]:
    """The pages with code in a language, as pytest's parameters."""
    pairs = zip(PAGES, IDS, strict=True)
    return [pytest.param(page, id=name) for page, name in pairs if blocks(page, language)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which instances/ and a table are there, as the pages presume."""
    shutil.copytree(ROOT / "instances", tmp_path / "instances")
    numbers = np.random.default_rng(0).normal(size=(60, 5))
    rows = [",".join(map(str, row)) for row in numbers]
    (tmp_path / "data.csv").write_text("\n".join(["a,b,c,d,target", *rows, ""]))
    monkeypatch.chdir(tmp_path)
    # A family that a page registers ends with the page.
    monkeypatch.setattr(families, "_REGISTERED", dict(families._REGISTERED))
    return tmp_path


@pytest.mark.thorough
@pytest.mark.parametrize("page", having("python"))
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path, folder: Path) -> None:
    if page.name == "cvxpy.md":
        pytest.importorskip("cvxpy", reason="CVXPY is not installed: sparseopt[cvxpy]")
    names: dict[str, object] = {"__name__": "docs"}
    for number, code in enumerate(blocks(page, "python")):
        exec(compile(code, f"{page.name}, block {number}", "exec"), names)
    if page.name == "new-backend.md":
        # The last backend of the page conforms.
        outcomes = names["outcomes"]
        assert isinstance(outcomes, list)
        assert len(outcomes) > 100
        # How fast it ends depends on what else this machine is doing.
        timed = ("/time-limit", "/interrupt")
        assert [o for o in outcomes if not o.passed and not o.name.endswith(timed)] == []


@pytest.mark.thorough
@pytest.mark.parametrize("page", having("console"))
def test_the_commands_of_a_page_work(page: Path, folder: Path) -> None:
    commands = [
        line.removeprefix("$ ")
        for code in blocks(page, "console")
        for line in code.splitlines()
        if line.startswith("$ ")
    ]
    assert commands
    for command in commands:
        program, *arguments = shlex.split(command, comments=True)
        assert program == "sparseopt"
        done = run(*arguments)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.mark.thorough  # the command alone is run by .ci/run, and `solve` by tests/cli
def test_the_readme_shows_what_its_first_command_prints(folder: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command = text.partition("<!-- command: solve -->\n```bash\n")[2].partition("\n```")[0]
    shown = text.partition("<!-- output: solve -->\n```text\n")[2].partition("\n```")[0]
    *_, call = command.split(" && ")
    program, *arguments = shlex.split(call)
    assert program == ".venv/bin/sparseopt"
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert (folder / "diabetes.png").stat().st_size > 10_000
    assert timeless(done.stdout) == timeless(shown)


def test_the_readme_marks_the_two_commands_that_ci_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("solve", "test"):
        before, marker, after = text.partition(f"<!-- command: {name} -->\n")
        assert marker
        assert after.startswith("```bash\npython3 -m venv .venv && .venv/bin/pip install -q ")
        assert f"command: {name}" not in before + after


def test_the_page_of_models_names_all_backends_and_problems() -> None:
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    for info in sparseopt.backends():
        assert f"`{info.name}`" in text
    exported = {name: getattr(sparseopt.problems, name) for name in sparseopt.problems.__all__}
    models = {
        name
        for name, item in exported.items()
        if isinstance(item, type) and issubclass(item, sparseopt.Problem) and "kind" in vars(item)
    }
    assert set(re.findall(r"^\| `(\w+)\(", text, re.MULTILINE)) == models


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as from a pipe."""
    plain = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    # The same package as here, whatever relative path it was found by.
    package = str(Path(sparseopt.__file__).resolve().parents[1])
    plain["PYTHONPATH"] = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "sparseopt", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=plain,
    )


def timeless(output: str) -> list[str]:
    """The lines of an output without trailing blanks, and without the times."""
    lines = [line.rstrip() for line in output.strip().splitlines()]
    return [line for line in lines if not line.startswith("time ")]

"""The report: complete, self-contained, and made from the records alone."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from synthetic import ENVIRONMENT, record

from sparseopt.bench.records.files import RecordFile
from sparseopt.bench.running.run import RECORDS, SUITE
from sparseopt.errors import ParamError

pytest.importorskip("jinja2", reason="reports need the extra bench")
pytest.importorskip("matplotlib", reason="reports need the extra bench")
pytest.importorskip("pandas", reason="reports need the extra bench")

SUITE_TEXT = """
[suite]
title = "Tables & figures"
[[instances]]
generator = "dantzig-4.1"
settings = { d = [10, 20, 40] }
[[backends]]
name = "fast"
optional = true
[[backends]]
name = "slow"
optional = true
[[tables]]
title = "Table 7"
rows = ["backend"]
columns = ["d"]
source = "The paper, Table 7"
[tables.paper]
columns = [["10"], ["80"]]
rows = [{ row = ["Theirs (paper)"], cells = ["1.25 (0.5)", "99"] }]
[[figures]]
title = "Figure 8"
x = "d"
y = "objective"
panels = ["case"]
[[scaling]]
x = "d"
"""


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("run")
    with RecordFile(tmp_path / RECORDS) as file:
        file.append(ENVIRONMENT)
        for k, d in enumerate((10, 20, 40)):
            file.append(record("fast", d, 0.01 * 2**k))
            file.append(record("slow", d, 0.1 * 2**k))
        file.append(
            record(
                "slow",
                80,
                None,
                outcome="crash",
                objective=None,
                trace=[],
                message="died of SIGSEGV <b>",
            )
        )
        file.append(record("fast", 80, 0.3))
        file.append(
            record(
                "absent", 10, None, outcome="unavailable", objective=None, message="pip install x"
            )
        )
    (tmp_path / SUITE).write_text(SUITE_TEXT, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def report(run_folder: Path) -> tuple[Path, list[str]]:
    """The page, and the sentences of its summary."""
    from sparseopt.bench.reporting.report import write_report

    html = run_folder / "report.html"
    return html, write_report(run_folder, html)


@pytest.mark.thorough
def test_the_report_says_what_the_records_say(report: tuple[Path, list[str]]) -> None:
    html, (sentence,) = report
    assert sentence.startswith("On 4 problems, fast finds the best value in 4 of 4 solves")
    assert "slow takes 10 times its time (median of 3 problems)" in sentence
    page = html.read_text(encoding="utf-8")
    text = html.with_suffix(".md").read_text(encoding="utf-8")
    for shown in (page, text):
        assert "Tables &amp; figures" in shown or "Tables & figures" in shown
        assert "died of SIGSEGV" in shown
        assert "pip install x" in shown
        assert "1.25 (0.5)" in shown
        assert sentence in shown
    # The exponents of times that double with d.
    # 0.01, 0.02, 0.04, 0.3 s at 10, 20, 40, 80: no exponent is worth printing.
    assert "No law for fast" in text
    assert not re.search(r"\| fast \| 1\.\d\d \|", text)
    assert re.search(r"\| slow \| 1\.00 \| 1\.00 to 1\.00 \| 3 \|", text)
    # Ours beside theirs, in one table.
    (ours,) = re.findall(r"^\| fast \| 0\.01 \|.*$", text, re.MULTILINE)
    assert ours == "| fast | 0.01 | 0.02 | 0.04 | 0.3 |"
    (theirs,) = re.findall(r"^\| Theirs \(paper\).*$", text, re.MULTILINE)
    assert theirs == "| Theirs (paper) | 1.25 (0.5) ¹ |  |  | 99 ¹ |"


@pytest.mark.thorough
def test_the_page_needs_nothing_else_and_escapes_what_it_shows(
    report: tuple[Path, list[str]],
) -> None:
    page = report[0].read_text(encoding="utf-8")
    assert re.findall(r"(?:src|href)=\"(?!#)[^\"]*\"", page) == []
    assert "@import" not in page
    assert "url(http" not in page
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    assert "SIGSEGV &lt;b&gt;" in page
    assert "A &lt;fast&gt; one" in page
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    # Profile, objective and gap of each problem, the figure's panel, the growth.
    assert len(pictures) >= 4
    for picture in pictures:
        ET.fromstring(picture)
        # Every colour is one of the page, so that it follows light and dark.
        assert set(re.findall(r"#[0-9a-f]{6}", picture)) <= {"#ffffff", "#000000"}


@pytest.mark.thorough
def test_the_same_records_give_the_same_page(
    run_folder: Path, report: tuple[Path, list[str]]
) -> None:
    from sparseopt.bench.reporting.report import write_report

    again = run_folder / "again.html"
    write_report(run_folder, again)
    assert again.read_bytes() == report[0].read_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize(("load", "warned"), [(1.9, False), (2.1, True)])
def test_a_loaded_machine_is_named_at_the_top(tmp_path: Path, load: float, warned: bool) -> None:
    from sparseopt.bench.reporting.report import write_report

    with RecordFile(tmp_path / RECORDS) as file:
        file.append(ENVIRONMENT)  # two cores
        for d in (10, 20, 40):
            file.append(record("fast", d, 1.0, load=load))
    html = tmp_path / "report.html"
    write_report(tmp_path, html)
    for shown in (html, html.with_suffix(".md")):
        text = shown.read_text(encoding="utf-8")
        assert ("overloaded during 3 of 3 solves" in text) is warned


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    from sparseopt.bench.reporting.report import write_report

    with pytest.raises(ParamError, match="expected the records of a benchmark run"):
        write_report(tmp_path, tmp_path / "report.html")
    RecordFile(tmp_path / RECORDS).close()
    with pytest.raises(ParamError, match="no finished solves"):
        write_report(tmp_path, tmp_path / "report.html")

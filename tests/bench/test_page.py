"""Pages whose tables are written from the runs that they name."""

import shutil
from pathlib import Path

import pytest

from sparseopt.bench.definitions.suite import find_suite, read_suite
from sparseopt.bench.records.files import read_records
from sparseopt.bench.reporting.page import commands_of, parts, replaced, rewritten, write_page
from sparseopt.errors import ParamError

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "paper-tables.md"
BENCHMARKS = DOCS / "benchmarks.md"


def test_every_part_of_the_papers_page_names_its_run_and_has_tables() -> None:
    found = parts(PAGE.read_text(encoding="utf-8"))
    assert len(found) == 5
    for name, body in found.items():
        commands = commands_of(body)
        assert commands, name
        assert all(command[:3] == ["bench", "run", name] for command in commands)
        titles = [table.title for table in read_suite(find_suite(name)).tables]
        assert titles, name
        assert all(f"**{title}**" in body for title in titles)


def test_a_part_is_replaced_and_nothing_else() -> None:
    text = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
    once = replaced(text, "x", "new")
    assert once == "a\n<!-- begin x -->\n\nnew\n\n<!-- end x -->\nb\n"
    assert replaced(once, "x", "new") == once
    with pytest.raises(ParamError, match="no part y"):
        replaced(text, "y", "new")


def test_a_page_without_records_stays_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = (
        "a\n<!-- begin smoke -->\n\n```bash\nsparseopt bench run smoke\n```\n\n"
        "old\n\n<!-- end smoke -->\n"
    )
    page.write_text(text.replace("run smoke", f"run smoke -o {tmp_path / 'none'}"))
    before = page.read_text()
    write_page(page, run=False)
    assert page.read_text() == before
    with pytest.raises(ParamError, match="no part 'smokey'; it has: smoke"):
        write_page(page, ["smokey"], run=False)


@pytest.mark.thorough
def test_the_tables_of_pages_are_those_of_the_kept_records() -> None:
    for package in ("pandas", "jinja2", "matplotlib"):
        pytest.importorskip(package)
    kept = {file.stem for file in (DOCS / "records").glob("*.jsonl")}
    named = {page: set(parts(page.read_text(encoding="utf-8"))) for page in DOCS.glob("*.md")}
    assert named[BENCHMARKS] <= kept <= set.union(*named.values()) and len(kept) >= 6
    for page, found in named.items():
        if found & kept:
            assert rewritten(page) == page.read_text(encoding="utf-8"), page


def one_part(folder: Path) -> tuple[Path, Path, str, str]:
    """Write a page with one part; return it, where its records belong, its body, and these."""
    for package in ("pandas", "jinja2", "matplotlib"):
        pytest.importorskip(package)
    page, kept = folder / "page.md", folder / "records" / "quantile-process.jsonl"
    kept.parent.mkdir()
    body = parts(BENCHMARKS.read_text(encoding="utf-8"))[kept.stem]
    page.write_text(f"<!-- begin {kept.stem} -->\n{body}<!-- end {kept.stem} -->\n")
    return page, kept, body, (DOCS / "records" / kept.name).read_text(encoding="utf-8")


def test_another_record_is_another_table(tmp_path: Path) -> None:
    page, kept, body, records = one_part(tmp_path)
    levels = read_records(DOCS / "records" / kept.name)[0][0]["rows"][0]["levels"]
    kept.write_text(records.replace(f'"levels":{levels}', '"levels":7'))
    assert f"| {levels} |" in body and f"| {levels} |" not in rewritten(page)
    assert "| 7 |" in rewritten(page)


@pytest.mark.thorough
def test_figures_of_a_page_are_drawn_from_the_kept_records(tmp_path: Path) -> None:
    for package in ("pandas", "jinja2", "matplotlib"):
        pytest.importorskip(package)
    name = "scaling-homotopy"
    file = f"images/{name}-memory-against-d-dantzig-selector.svg"
    (tmp_path / "records").mkdir()
    shutil.copy(DOCS / "records" / f"{name}.jsonl", tmp_path / "records")
    body = parts(BENCHMARKS.read_text(encoding="utf-8"))[name]
    page = tmp_path / "page.md"
    page.write_text(f"![]({file})\n<!-- begin {name} -->\n{body}<!-- end {name} -->\n")
    write_page(page, run=False)
    assert "Memory against d" in (tmp_path / file).read_text(encoding="utf-8")
    assert [each.name for each in (tmp_path / "images").iterdir()] == [Path(file).name]
    assert "| Memory against d | homotopy | 0.7" in page.read_text(encoding="utf-8")


def test_records_copied_from_a_run_are_refused_with_what_to_do(tmp_path: Path) -> None:
    page, kept, _, records = one_part(tmp_path)
    kept.write_text(records.partition("\n")[2])
    with pytest.raises(ParamError, match="written by `sparseopt bench page"):
        rewritten(page)

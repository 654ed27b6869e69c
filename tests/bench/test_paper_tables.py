"""The page of the papers' tables has a place for each part that its script writes."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sparseopt.bench.suite import find_suite, read_suite

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "paper_tables.py"


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("paper_tables", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["paper_tables"] = module
    spec.loader.exec_module(module)
    return module


def test_every_part_has_its_place_and_a_table(script: ModuleType) -> None:
    page = script.PAGE.read_text(encoding="utf-8")
    for part in script.PARTS:
        assert f"<!-- begin {part.suite} -->\n" in page
        assert f"<!-- end {part.suite} -->\n" in page
        assert read_suite(find_suite(part.suite)).tables, part.suite


def test_a_part_is_replaced_and_nothing_else(script: ModuleType) -> None:
    text = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
    once = script._replaced(text, "x", "new")
    assert once == "a\n<!-- begin x -->\n\nnew\n\n<!-- end x -->\nb\n"
    assert script._replaced(once, "x", "new") == once
    with pytest.raises(SystemExit, match="no place for y"):
        script._replaced(text, "y", "new")

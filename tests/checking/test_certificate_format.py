"""docs/certificate-format.md and certificate-v1.json cover what results hold."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from test_attacks import CASES, solved

import sparseopt
from sparseopt import SolveParams, Status
from sparseopt.io import save_result
from sparseopt.problems import MISDP, ParametricLP, SparseComponent

jsonschema = pytest.importorskip("jsonschema")
PAGE = Path(__file__).parents[2] / "docs" / "certificate-format.md"
SCHEMA = json.loads(
    resources.files("sparseopt.io").joinpath("schema", "certificate-v1.json").read_text("utf-8")
)
KINDS = [name for name in SCHEMA["$defs"] if name != "array"]


def stored(folder, result):
    save_result(result, folder / "r.json")
    return json.loads((folder / "r.json").read_text("utf-8"))["certificate"]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", CASES)
def test_certificates_of_all_families_fit_the_schema(tmp_path, name):
    _, result = solved(name)
    certificate = stored(tmp_path, result)
    jsonschema.validate(certificate, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**certificate, "kind": "invented"}, SCHEMA)


@pytest.mark.thorough
def test_proofs_that_there_is_no_optimum_fit_the_schema(tmp_path):
    zero = [0.0]
    cases = [
        (ParametricLP([[1.0]], [-1.0], zero, [1.0], zero), Status.INFEASIBLE, "farkas"),
        (ParametricLP([[-1.0]], [1.0], zero, [1.0], zero), Status.UNBOUNDED, "ray"),
        (MISDP(c=[-1.0], integer=[0]), Status.UNBOUNDED, "ray"),
    ]
    for problem, status, kind in cases:
        question = {} if isinstance(problem, MISDP) else {"lam": 0.5}
        result = sparseopt.solve(problem, **question)
        assert result.status is status
        certificate = stored(tmp_path, result)
        assert certificate["kind"] == kind
        jsonschema.validate(certificate, SCHEMA)


def test_bounds_of_sizes_that_locate_the_next_ones_fit_the_schema(tmp_path):
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(30, 4))
    noise = rng.uniform(0.15, 1.5, 24) * rng.normal(size=(30, 24))
    problem = SparseComponent.from_data(factors[:, np.arange(24) % 4] + noise, 5)
    result = sparseopt.solve(problem, options={"kernel": 12})
    certificate = stored(tmp_path, result)
    assert certificate["kind"] == "anchor-leaves"
    jsonschema.validate(certificate, SCHEMA)


def test_the_page_names_every_kind_and_array():
    text = PAGE.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for kind in KINDS:
        assert f"`{kind}`" in text
        assert any(f"`{kind}`" in row for row in rows), f"{kind} is not in the table of kinds"
        required = SCHEMA["$defs"][kind]["properties"].get("arrays", {}).get("required", [])
        for array in required:
            assert array in text, (kind, array)


def test_the_defaults_that_the_page_states():
    params = SolveParams()
    assert (params.rel_gap, params.abs_gap, params.lam_min or 0.0) == (1e-6, 0.0, 0.0)

"""Small suites of tiny problems."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sparseopt

HELPERS = Path(__file__).parents[1] / "helpers" / "runs"


@pytest.fixture
def suite_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a suite of small STRS files and misbehaving backends, by their class names."""

    def write(*classes: str, instances: int = 1, **limits: object) -> Path:
        lines = ["[suite]", 'name = "tiny"', f'path = ["{HELPERS}"]', "warm_up = false"]
        lines += [f"{key} = {value}" for key, value in limits.items()]
        for k in range(instances):
            problem = sparseopt.problems.STRS(
                A=np.diag([1.0, 2.0, 0.5 + k]), a=[0.1, 0.2, 0.3], d=1
            )
            sparseopt.save(problem, tmp_path / f"tiny-{k}.npz")
            lines += ["[[instances]]", f'file = "tiny-{k}.npz"']
        for name in classes:
            lines += ["[[backends]]", f'name = "{name}"', f'class = "misbehaving:{name}"']
        path = tmp_path / "tiny.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write

"""Plain Python and compiled functions give the same status, verdict and objective.

It is tried on a random problem of each kind, on 500 with ``--thorough``, or on SPARSEOPT_TRIALS.
"""

import os

import numpy as np
import pytest

import sparseopt
from sparseopt import generators
from sparseopt.compiling import Mode, override
from sparseopt.families import families

KINDS = {kind: sample for family in families().values() for kind, sample in family.small.items()}
MORE = (
    ("ising-lattice", {"n": 60, "rows": 3, "columns": 3, "sweeps": 20}),
    ("lad-4.1", {"n": 60, "d": 80, "s": 8}),
)


SAMPLES = [*KINDS.values(), *MORE]
TRIALS = int(os.environ.get("SPARSEOPT_TRIALS", "500"))
"""How many problems there are; of each kind one is tried without --thorough."""


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=[pytest.mark.thorough] if first else [])
        for first in range(0, TRIALS, len(SAMPLES))
    ],
)
def test_plain_python_and_compiled_code_agree(first: int) -> None:
    for trial in range(first, min(first + len(SAMPLES), TRIALS)):
        name, settings = SAMPLES[trial % len(SAMPLES)]
        problem = generators.generate(name, seed=trial, **settings)
        with override(Mode.NEVER):
            plain = sparseopt.solve(problem)
        with override(Mode.NOW):
            compiled = sparseopt.solve(problem)
        where = f"{name}, seed {trial}"
        assert (plain.status, plain.verdict) == (compiled.status, compiled.verdict), where
        # Sums in another order may end elsewhere within the gaps that both results state.
        gaps = (plain.gap or 0.0) + (compiled.gap or 0.0)
        close = pytest.approx(compiled.objective, rel=max(1e-7, gaps), abs=1e-9)
        assert plain.objective == close, where
        if plain.x is not None and plain.path is not None:
            assert np.shape(plain.x) == np.shape(compiled.x), where

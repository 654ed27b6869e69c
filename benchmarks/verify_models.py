"""Verify the paths of many small random cases of each model.

Each case is solved for its whole path and checked; at several lam, both ends among them, its
objective is compared with a textbook linear program built from the model's own data and
solved cold by HiGHS (1e-8). Where a path ends because nothing is feasible below, the
program just below must be infeasible. Most cases are degenerate: integer data, one-hot designs,
zero and duplicated columns, more columns than rows, constant responses, rank-deficient and
indefinite matrices, separable classes, weights 0.

Run in a clone where sparseopt is installed (``pip install -e .``), on one core about 2 minutes for
1,000 cases of each model::

    OMP_NUM_THREADS=1 python benchmarks/verify_models.py --cases 1000

Prints one line for each model and one for each complaint; the exit code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from random_models import MODELS, complaints


def verify(model: str, cases: int, first: int, backend: str) -> int:
    """Verify the seeds `first` to `first + cases - 1` of a model; return how many are wrong."""
    begin = time.perf_counter()
    wrong = 0
    for seed in range(first, first + cases):
        try:
            found = list(complaints(model, seed, backend))
        except Exception as error:
            found = [f"{model} seed {seed}: {type(error).__name__}: {error}"]
        wrong += bool(found)
        for text in found:
            print(f"  {text}", flush=True)
    seconds = time.perf_counter() - begin
    print(f"{model:22s} {cases} cases, {wrong} wrong, {seconds:.0f} s", flush=True)
    return wrong


def main() -> int:
    """Parse the command line and verify."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--cases", type=int, default=1000, help="of each model (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--backend", default="homotopy", help="default homotopy")
    given = parser.parse_args()
    unknown = set(given.models) - set(MODELS)
    if unknown:
        parser.error(f"unknown models {sorted(unknown)}; expected some of {', '.join(MODELS)}")
    wrong = sum(
        verify(model, given.cases, given.first, given.backend) for model in given.models or MODELS
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

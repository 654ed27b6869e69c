"""Hold the MISDP engines against enumeration of the integers on small random problems.

Up to 8 integers and two blocks up to 6 x 6, with nodes without an interior and infeasible problems
among them (``tests/helpers/small_misdps.py``). Each integer point is solved by Clarabel. Counted as
wrong: another optimum, a bound on the wrong side, an answer that the checker refutes, no answer.
Every tenth problem is solved with a limit of two nodes as well, for the bounds of cut-short runs.

With ``--strs`` sparse trust-region subproblems of those sizes, written as (15) and (17), are solved
instead, with a linear term and without: all engines must prove the optimum of ``strs-bnb``.

Run in a clone where sparseopt is installed with its extras ``misdp`` and ``scip``::

    python benchmarks/verify_misdp.py --cases 300
    python benchmarks/verify_misdp.py --strs 8 10 12 15

Prints one line for each complaint and a summary; the exit code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

import numpy as np
from small_misdps import draw, enumerated, faults

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.problems import STRS
from sparseopt.problems.strs.semidefinite import strs_as_misdp

ENGINES: dict[str, tuple[str, dict[str, object]]] = {
    "misdp-bnb": ("misdp-bnb", {}),
    "misdp-oa": ("misdp-oa", {}),
    "misdp-oa-scip": ("misdp-oa", {"master": "scip"}),
}


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--strs", type=int, nargs="+", default=None, metavar="D")
    parser.add_argument("--formulations", nargs="+", default=["strong", "weak"])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds, with --strs")
    arguments = parser.parse_args()
    if arguments.strs is not None:
        return trust_regions(arguments)
    wrong = infeasible = 0
    seconds = dict.fromkeys(arguments.engines, 0.0)
    for seed in range(arguments.first, arguments.first + arguments.cases):
        problem = draw(seed)
        known = enumerated(problem)
        infeasible += known.optimum is None
        for engine in arguments.engines:
            backend, options = ENGINES[engine]
            begin = time.perf_counter()
            complaints = faults(problem, backend, known, options=options)
            seconds[engine] += time.perf_counter() - begin
            if seed % 10 == 0:
                complaints += faults(problem, backend, known, options=options, node_limit=2)
            wrong += bool(complaints)
            for text in complaints:
                print(f"seed {seed} {engine}: {text}", flush=True)
    times = ", ".join(f"{name} {spent:.1f} s" for name, spent in seconds.items())
    print(f"{arguments.cases} cases ({infeasible} infeasible): {wrong} wrong; {times}")
    return int(wrong > 0)


def trust_regions(arguments: argparse.Namespace) -> int:
    """Compare with strs-bnb; print one line for each solve."""
    wrong = 0
    for D in arguments.strs:
        for linear in (True, False):
            random = np.random.default_rng(100 * D + linear)
            M = random.normal(size=(D, D))
            problem = STRS(A=M + M.T, a=linear * random.normal(size=D), d=max(2, D // 4))
            optimum = sparseopt.solve(problem, backend="strs-bnb").objective
            for formulation in arguments.formulations:
                for engine in arguments.engines:
                    backend, options = ENGINES[engine]
                    begin = time.perf_counter()
                    result = sparseopt.solve(
                        strs_as_misdp(problem, formulation),
                        backend=backend,
                        options=options,
                        time_limit=arguments.limit,
                    )
                    spent = time.perf_counter() - begin
                    words = _judged(result, optimum)
                    wrong += words.startswith("WRONG")
                    name = f"D={D} d={problem.d} {'linear' if linear else 'a=0'} {formulation}"
                    print(f"{name} {engine}: {words}, {spent:.1f} s", flush=True)
    return int(wrong > 0)


def _judged(result: sparseopt.Result, optimum: float) -> str:
    """Say whether a maximum was proven to be that of strs-bnb."""
    size = 1e-5 * max(1.0, abs(optimum))
    if result.verdict is Verdict.REFUTED or (
        result.bound is not None and result.bound < optimum - size
    ):
        return "WRONG"
    if result.status is Status.OPTIMAL and abs(result.objective - optimum) <= size:
        return f"equal, {result.verdict}"
    if result.status is Status.OPTIMAL:
        return f"WRONG: {result.objective}, not {optimum}"
    return f"{result.status}, gap {result.gap}"


if __name__ == "__main__":
    sys.exit(main())

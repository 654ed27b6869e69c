"""Hold the exact backends against enumeration on many small problems; a script, not a test.

    python tests/helpers against_enumeration [--count 2000] [--largest 14] [--seed 0]
        [--backends strs-bnb,strs-oa,strs-oa:scip,scip,gurobi]

prints for each backend how many of the random problems with up to LARGEST variables were solved
wrongly: another optimum than by enumeration, a bound below it, no proof, or, interrupted after the
first node (of ours), an incumbent above or a bound below it. Ours must be verified to 1e-9, outside
solvers be right within 1e-6, both of the size of the data. Exits with 1 if any is wrong. All kinds
of small_problems.py are among them: semidefinite of either sign, indefinite, without linear term,
the hard case, ties, duplicates. `strs-bnb` takes about a minute, `strs-oa` a few.
"""

import argparse
import sys
from collections import Counter

import numpy as np
from small_problems import small_problems

import sparseopt
from sparseopt import Limit, Result, Status, Verdict
from sparseopt.problems import STRS

OURS = ("strs-bnb", "strs-oa")


def faults(problem: STRS, backend: str = "strs-bnb", optimum: float | None = None) -> list[str]:
    """Return what is wrong with the answers of a backend to one problem."""
    if optimum is None:
        optimum = sparseopt.solve(problem, backend="brute-force", check=False).objective
    name, _, master = backend.partition(":")
    size = max(np.abs(problem.A).max(), np.abs(problem.linear).max())
    options = {"master": master} if master else {}
    if name not in OURS:
        result = sparseopt.solve(problem, backend=name, check=False, time_limit=60.0)
        # Solvers that end at an absolute tolerance know nothing of smaller data.
        return _judge(result, optimum, 1e-6 * max(1.0, size), 1e-6)
    found = []
    for limit in (None, 1):
        result = sparseopt.solve(
            problem, backend=name, options=options, node_limit=limit, rel_gap=1e-9
        )
        if result.verdict is not Verdict.VERIFIED:
            found.append(f"node limit {limit}: {result.verdict}: {result.check_messages}")
        complaints = _judge(result, optimum, 1e-12 * size, 1e-9)
        found += [f"node limit {limit}: {complaint}" for complaint in complaints]
        if limit is None and result.status is not Status.OPTIMAL:
            found.append(f"status {result.status}")
        if result.status is Status.FEASIBLE and result.limit is not Limit.NODE:
            found.append(f"stopped by {result.limit}")
    return found


def _judge(result: Result, optimum: float, rounding: float, gap: float) -> list[str]:
    """Return what contradicts the optimum."""
    found = []
    if result.objective is None or result.objective > optimum + rounding:
        found.append(f"objective {result.objective} above {optimum}")
    if result.bound is not None and result.bound < optimum - rounding:
        found.append(f"bound {result.bound} below {optimum}")
    close = max(gap * abs(optimum), 2.0 * rounding)
    if result.status is Status.OPTIMAL and not abs(result.objective - optimum) <= close:
        found.append(f"{result.objective} is not {optimum}")
    return found


def main() -> int:
    """Run, print, and return whether any problem was solved wrongly."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--largest", type=int, default=14)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backends", default="strs-bnb")
    asked = parser.parse_args()
    backends = asked.backends.split(",")
    wrong: Counter[str] = Counter()
    for kind, problem in small_problems(asked.seed, asked.count, asked.largest):
        optimum = sparseopt.solve(problem, backend="brute-force", check=False).objective
        for backend in backends:
            found = faults(problem, backend, optimum)
            wrong[backend] += bool(found)
            for fault in found:
                print(backend, kind, problem, fault, flush=True)
    for backend in backends:
        print(f"{backend}: {asked.count} problems, {wrong[backend]} wrong")
    return wrong.total() > 0


if __name__ == "__main__":
    sys.exit(main())

"""Hold the branch and bound against enumeration on many small problems; a script, not a test.

    python tests/strs/against_enumeration.py [COUNT] [LARGEST] [SEED]

prints how many of COUNT (default 2000) random problems with up to LARGEST (14) variables
were solved wrongly: another optimum than by enumeration, a bound below it, no proof, or, with a
node limit of 1, an incumbent above or a bound below it. Exits with 1 if there is any. All kinds of
small_problems.py are among them: semidefinite of either sign, indefinite, without linear term, the
hard case, ties, duplicates. Takes about a minute.
"""

import sys
from collections import Counter

import numpy as np
from small_problems import small_problems

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.problems import STRS


def faults(problem: STRS) -> list[str]:
    """Return what is wrong with the answers to one problem."""
    optimum = sparseopt.solve(problem, backend="brute-force", check=False).objective
    rounding = 1e-12 * max(np.abs(problem.A).max(), np.abs(problem.linear).max())
    found = []
    for limit in (None, 1):
        result = sparseopt.solve(problem, backend="strs-bnb", node_limit=limit)
        if result.verdict is not Verdict.VERIFIED:
            found.append(f"node limit {limit}: {result.verdict}: {result.check_messages}")
        if result.objective > optimum + rounding:
            found.append(f"node limit {limit}: objective {result.objective} above {optimum}")
        if result.bound < optimum - rounding:
            found.append(f"node limit {limit}: bound {result.bound} below {optimum}")
        if result.status is Status.OPTIMAL:
            gap = max(1e-9 * abs(optimum), 2.0 * rounding)
            if not abs(result.objective - optimum) <= gap:
                found.append(f"node limit {limit}: {result.objective} is not {optimum}")
        elif limit is None:
            found.append(f"status {result.status}")
    return found


def main(count: int = 2000, largest: int = 14, seed: int = 0) -> int:
    """Run, print, and return the number of wrong problems."""
    wrong = Counter()
    for kind, problem in small_problems(seed, count, largest):
        found = faults(problem)
        wrong[kind] += bool(found)
        for fault in found:
            print(kind, problem, fault)
    print(f"{count} problems, {sum(wrong.values())} wrong")
    return sum(wrong.values())


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) > 0)

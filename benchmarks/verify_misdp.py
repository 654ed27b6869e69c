"""Hold the MISDP engines against enumeration of the integers on small random problems.

Up to 8 integers and two blocks up to 6 x 6, with nodes without an interior and infeasible problems
among them (``tests/misdp/small_misdps.py``). Each integer point is solved by Clarabel. Counted as
wrong: another optimum, a bound on the wrong side, an answer that the checker refutes, no answer.
Every tenth problem is solved with a limit of two nodes as well, for the bounds of cut-short runs.

Run in a clone where sparseopt is installed with its extra ``misdp``::

    python benchmarks/verify_misdp.py --cases 300

Prints one line for each complaint and a summary; the exit code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "misdp"))

from small_misdps import draw, enumerated, faults


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--backends", nargs="+", default=["misdp-bnb", "misdp-oa"])
    arguments = parser.parse_args()
    wrong = infeasible = 0
    seconds = dict.fromkeys(arguments.backends, 0.0)
    for seed in range(arguments.first, arguments.first + arguments.cases):
        problem = draw(seed)
        known = enumerated(problem)
        infeasible += known.optimum is None
        for backend in arguments.backends:
            begin = time.perf_counter()
            complaints = faults(problem, backend, known)
            seconds[backend] += time.perf_counter() - begin
            if seed % 10 == 0:
                complaints += faults(problem, backend, known, node_limit=2)
            wrong += bool(complaints)
            for text in complaints:
                print(f"seed {seed} {backend}: {text}", flush=True)
    times = ", ".join(f"{name} {spent:.1f} s" for name, spent in seconds.items())
    print(f"{arguments.cases} cases ({infeasible} infeasible): {wrong} wrong; {times}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

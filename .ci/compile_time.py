"""Print what it costs to compile each engine from nothing, and fail when one has grown by a third.

Usage: compile_time.py [--record]. The figures are processor seconds, divided by those of compiling
the fixed functions of compile_unit.py right before and after: what else runs on a machine, and
another version of numba, take both alike. An engine that seems to have grown is measured again, and
the least counts.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from sparseopt.bench.studies.first_answer import ENGINES, compile_seconds

HERE = Path(__file__).parent
RECORD = HERE / "compile_time.json"
ALLOWED = 4.0 / 3.0
TRIES = 3


def main() -> int:
    """Measure all engines, compare or record; return the exit code."""
    if "--record" in sys.argv:
        found = {engine: median(measured(engine) for _ in range(TRIES)) for engine in ENGINES}
        RECORD.write_text(json.dumps(found, indent=4) + "\n", encoding="utf-8")
        return 0
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    grown = False
    for engine in ENGINES:
        most, tries = ALLOWED * recorded[engine], [measured(engine)]
        while min(tries) > most and len(tries) < TRIES:
            tries.append(measured(engine))
        grown = grown or min(tries) > most
        print(
            f"{engine:12} {min(tries):.2f} units, recorded {recorded[engine]:.2f}"
            f"{': GROWN by more than a third' if min(tries) > most else ''}",
            flush=True,
        )
    return int(grown)


def measured(engine: str) -> float:
    """Return the cost of an engine in units, which are measured before and after it."""
    before = unit()
    seconds = compile_seconds(engine)
    one = 0.5 * (before + unit())
    print(f"{engine:12} {seconds:.1f} s of processor time, a unit is {one:.2f} s")
    return round(seconds / one, 2)


def unit() -> float:
    """Return the processor seconds of compiling some fixed functions."""
    command = [sys.executable, str(HERE / "compile_unit.py")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())

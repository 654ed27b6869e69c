"""Print what it costs to compile each engine from nothing, and fail when one has grown by a third.

Usage: compile_time.py [--record]. The figures are processor seconds, divided by those of a fixed
piece of plain Python, so that they hold on another machine: most of numba is plain Python, too.
"""

import json
import sys
import time
from pathlib import Path

from sparseopt.bench.studies.first_answer import ENGINES, compile_seconds

RECORD = Path(__file__).with_name("compile_time.json")
ALLOWED = 4.0 / 3.0


def main() -> int:
    """Measure all engines, compare or record; return the exit code."""
    unit = unit_of_work()
    found = {engine: round(compile_seconds(engine) / unit, 1) for engine in ENGINES}
    if "--record" in sys.argv:
        RECORD.write_text(json.dumps(found, indent=4) + "\n", encoding="utf-8")
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    grown = False
    for engine, units in found.items():
        bad = units > ALLOWED * recorded[engine]
        grown = grown or bad
        print(
            f"{engine:12} {units * unit:6.1f} s of processor time, {units:6.1f} units, recorded "
            f"{recorded[engine]:.1f}{': GROWN by more than a third' if bad else ''}"
        )
    return int(grown)


def unit_of_work() -> float:
    """Return the processor seconds of a fixed piece of plain Python: the best of five."""
    took = []
    for _ in range(5):
        begin = time.process_time()
        table: dict[str, int] = {}
        for i in range(400_000):
            key = str(i % 1000)
            table[key] = table.get(key, 0) + i
        took.append(time.process_time() - begin)
    return min(took)


if __name__ == "__main__":
    sys.exit(main())

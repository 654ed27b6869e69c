"""Run a module of one of these rooms: ``python tests/helpers random_attacks --count 10000``."""

import runpy
import sys
from pathlib import Path

if len(sys.argv) < 2:
    sys.exit(f"{__doc__}\n\nexpected the name of a module")
sys.path[:0] = [str(room) for room in sorted(Path(__file__).parent.iterdir()) if room.is_dir()]
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

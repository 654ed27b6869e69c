"""What the times depend on besides the code: the machine and the versions."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "highspy",
    "pyscipopt",
    "gurobipy",
    "mosek",
    "xpress",
    "coptpy",
    "cvxpy",
    "clarabel",
    "scs",
    "scikit-learn",
    "pyprimal",
    "abess",
    "statsmodels",
)


@cache
def environment() -> dict[str, Any]:
    """Return the machine and the versions, with an ``id`` that records refer to."""
    facts: dict[str, Any] = {
        "sparseopt": _version("sparseopt"),
        "commit": _commit(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "host": platform.node(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": _memory(),
        "packages": {name: version for name in _PACKAGES if (version := _version(name))},
    }
    text = json.dumps(facts, sort_keys=True)
    return {"id": hashlib.sha256(text.encode()).hexdigest()[:12], **facts}


def _version(name: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return None


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _commit() -> str | None:
    """Return the commit of a clone, marked where files differ from it; None of an installation."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=10"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return done.stdout.strip()
    return None

"""Records as the runner writes them, without running anything."""

from typing import Any


def record(
    label: str, d: int, time: float | None, objective: float | None = 1.0, **changes: Any
) -> dict[str, Any]:
    """One solve of a minimisation with d variables."""
    made = {
        "type": "solve",
        "key": f"{label}-{d}",
        "outcome": "ok",
        "message": "",
        "instance": {
            "name": f"p d={d}",
            "generator": "dantzig-4.1",
            "settings": {"d": d},
            "seed": 0,
            "sha256": None,
            "tags": {"case": "a & b"},
        },
        "kind": "dantzig-selector",
        "family": "parametric",
        "sense": "min",
        "size": {"d": d},
        "fingerprint": f"f{d}",
        "backend": label,
        "label": label,
        "options": {},
        "params": {},
        "setting": "",
        "seed": 0,
        "repeat": 0,
        "limits": {"time": 10.0, "threads": 1},
        "status": "optimal",
        "limit": None,
        "verdict": "verified",
        "objective": objective,
        "claimed_objective": objective,
        "bound": objective,
        "gap": 0.0,
        "violation": 0.0,
        "at": 0.5,
        "time": time,
        "trace": [],
        "metrics": {},
        "started": "2026-01-01T00:00:00+00:00",
        "environment": "e",
        "load": 1.0,
    }
    if time is not None and objective is not None:
        made["trace"] = [[k * time / 4, objective + 1.0, objective - 1.0] for k in (1, 2, 3)]
    return {**made, **changes}


ENVIRONMENT = {
    "type": "environment",
    "id": "e",
    "sparseopt": "0.1.0",
    "commit": None,
    "python": "3.11",
    "system": "Linux",
    "processor": "A <fast> one",
    "cores": 2,
    "memory": 4 * 10**9,
    "packages": {"numpy": "2.0"},
}

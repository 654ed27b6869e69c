"""The command: an instance, its result, and whether what it states is proven."""

# mypy: ignore-errors

from __future__ import annotations

import argparse
import json

from .common.verdicts import Unproven, Unreadable
from .program import check


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="exact", description=__doc__)
    parser.add_argument("instance")
    parser.add_argument("result")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--rel-gap", type=float)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        verdict, why = check(options.instance, options.result, options.seconds, options.rel_gap)
    except (Unreadable, OSError, ValueError) as error:
        verdict, why = "unreadable", str(error) or type(error).__name__
    except Unproven as error:
        verdict, why = "unproven", str(error)
    if options.json:
        print(json.dumps({"verdict": verdict, "message": why}))
    else:
        print(f"{verdict}: {why}")
    return {"proven": 0, "refuted": 1, "unreadable": 2, "unproven": 3}[verdict]

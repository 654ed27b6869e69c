"""What the test run tells about the backends."""

from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say of each backend whether it was tested, and if not, why."""
    tested: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    absent: dict[str, str] = {}
    for outcome in ("passed", "failed", "skipped"):
        for report in terminalreporter.getreports(outcome):
            for key, value in report.user_properties:
                if key == "backend" and report.when == "call":
                    tested[value] += 1
                    failed[value] += outcome == "failed"
                elif key == "backend not tested":
                    name, _, reason = value.partition(": ")
                    absent[name] = reason
    if not tested and not absent:
        return
    terminalreporter.section("backends")
    for name, count in sorted(tested.items()):
        trouble = f", {failed[name]} failed" if failed[name] else ""
        terminalreporter.line(f"backend {name}: tested ({count} cases{trouble})")
    for name, reason in sorted(absent.items()):
        terminalreporter.line(f"backend {name}: not tested: {reason}")

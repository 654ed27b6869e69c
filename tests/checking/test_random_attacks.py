"""Random attacks: none is verified, and the exact program agrees with the checker."""

from __future__ import annotations

import pytest
from random_attacks import campaign
from thorough import first

KINDS = {"Farkas", "ray", "reduced cost", "inflation", "fixed charge", "numbers", "points", "true"}


@pytest.mark.parametrize("count", first(1, [8, 300]))
def test_no_random_attack_is_believed(count):
    found = campaign(count, 60.0, seed=1, exactly=True)
    assert set(found) >= KINDS
    for kind, verdicts in found.items():
        assert verdicts["disagreements"] == 0, kind
        if kind != "true":
            assert verdicts["verified"] == verdicts["exactly proven"] == 0, kind
            assert verdicts["attacks"] >= 1
    assert found["true"]["exactly refuted"] == 0

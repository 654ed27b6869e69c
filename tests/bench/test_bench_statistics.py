"""Means, profiles, power laws, ratios, and what answers say of one another."""

import math
from typing import Any

import numpy as np
import pytest
from synthetic import record

from sparseopt.bench.records.frame import frame, settled
from sparseopt.bench.records.regressions import compare_runs
from sparseopt.bench.records.stats import (
    median_ratio,
    performance_profile,
    power_law,
    shifted_geometric_mean,
)


def test_shifted_geometric_mean_by_hand() -> None:
    assert shifted_geometric_mean([0.0, 3.0], 1.0) == pytest.approx(1.0)
    assert math.isnan(shifted_geometric_mean([], 1.0))


def test_a_power_law_is_recovered_and_its_interval_covers() -> None:
    x = np.array([100.0, 200.0, 400.0, 800.0])
    exact = power_law(x, 3e-6 * x**1.5)
    assert exact is not None
    assert exact.exponent == pytest.approx(1.5)
    assert exact.factor == pytest.approx(3e-6)
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        law = power_law(x, x**2 * np.exp(0.04 * rng.standard_normal(4)))
        assert law is not None
        covered += law.low <= 2.0 <= law.high
    assert 180 <= covered <= 199
    assert power_law([5.0, 5.0, 9.0], [1.0, 2.0, 3.0]) is None
    # Steps from 1 to 3 in the exponent: no interval that is worth printing.
    assert power_law([1.0, 2.0, 4.0, 8.0], [1.0, 2.0, 16.0, 32.0]) is None


def test_profile_by_hand() -> None:
    pytest.importorskip("pandas", reason="the frame of records needs pandas")
    table = frame(
        [
            record("a", 1, 1.0),
            record("b", 1, 2.0),
            record("a", 2, 3.0),
            record("b", 2, 1.0),
            record("a", 3, 9.0, outcome="timeout", status="feasible"),
            record("b", 3, 4.0),
            record("c", 1, 5.0),
        ]
    )
    curves = performance_profile(table)
    assert curves["a"][0].tolist() == [1.0, 3.0]
    assert curves["a"][1].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert curves["b"][0].tolist() == [1.0, 1.0, 2.0]
    # It was given one problem, and is not blamed for the others.
    assert curves["c"][1].tolist() == [1.0]
    assert table.loc[4, "charged"] == 10.0


def _repeated(label: str, d: int, *times: float | None) -> list[dict[str, Any]]:
    """Runs of one problem; None for one that timed out."""
    return [
        record(label, d, 10.0 if t is None else t, key=f"{label}-{d}-{k}", repeat=k)
        | ({"outcome": "timeout", "status": "feasible"} if t is None else {})
        for k, t in enumerate(times)
    ]


def test_repeats_are_no_further_problems() -> None:
    pytest.importorskip("pandas", reason="the frame of records needs pandas")
    from sparseopt.bench.reporting.report import families

    runs = [*_repeated("a", 1, 1.0, 2.0, 9.0), *_repeated("a", 2, 6.0, None, None)]
    runs += [*_repeated("b", 1, 4.0), *_repeated("b", 2, 5.0, 5.0, 7.0)]
    curves = performance_profile(frame(runs))
    # a solves problem 1 in 2 s (median) and problem 2 in one run of three: not.
    assert [part.tolist() for part in curves["a"]] == [[1.0], [0.5]]
    assert [part.tolist() for part in curves["b"]] == [[1.0, 2.0], [0.5, 1.0]]
    (family,) = families(frame(runs))
    assert family.problems == 2
    assert {line.backend: line.fastest for line in family.lines} == {"a": 1, "b": 1}
    # Eight runs of one problem are one pair, and no interval comes of them.
    many = [*_repeated("a", 1, *[1.0] * 8), *_repeated("b", 1, *[3.0] * 8)]
    (family,) = families(frame(many))
    assert "3 times its time (median of 1 problem)" in family.sentence
    assert not compare_runs(_repeated("a", 1, *[1.0] * 8), _repeated("a", 1, *[3.0] * 8)).slower


def test_runs_with_other_options_are_paired_by_their_labels() -> None:
    sizes = range(1, 8)
    before = [record("x", d, 1.0) for d in sizes]
    tuned = [record("x", d, 2.0, key=f"t{d}", options={"rule": "b"}) for d in sizes]
    found = compare_runs(before, tuned)
    assert (found.common, found.slower, found.options) == (7, ("x",), ("x",))
    # Another question is another solve.
    other = [record("x", d, 1.0, key=f"o{d}", params={"lam": 2.0}) for d in sizes]
    nothing = compare_runs(before, other)
    assert nothing.common == 0
    assert nothing.verdict == "nothing was compared: the runs have no solve in common"


def test_the_verdict_of_a_comparison_says_what_it_rests_on() -> None:
    eight = [record("x", d, 1.0) for d in range(8)]
    assert compare_runs(eight, eight).verdict == "nothing got worse"
    assert "too few problems" in compare_runs(eight[:3], eight[:3]).verdict
    failed = [record("x", 1, None, None, outcome="crash")]
    assert "too few problems" in compare_runs(failed, failed).verdict


def test_answers_to_one_question_expose_a_false_optimum_and_a_false_bound() -> None:
    good = record("good", 1, 1.0, 2.0, verdict="unproven")
    liar = record("liar", 1, 1.0, 2.1, verdict="unproven", bound=None)
    bold = record("bold", 1, 1.0, 2.5, status="feasible", outcome="timeout", bound=2.2)
    modest = record("modest", 1, 1.0, 2.5, status="converged", bound=1.0)
    elsewhere = record("elsewhere", 1, 1.0, 1.5, at=0.7)
    found = {r["label"]: r for r in settled([good, liar, bold, modest, elsewhere])}
    outcomes = {label: r["outcome"] for label, r in found.items()}
    assert outcomes == {
        "good": "ok",
        "liar": "wrong",
        "bold": "wrong",
        "modest": "ok",
        "elsewhere": "ok",
    }
    assert "good attains 2" in found["liar"]["message"]
    assert "claims the bound 2.2" in found["bold"]["message"]
    assert found["modest"]["excess"] == pytest.approx(0.25)
    # The records themselves stay what they are.
    assert liar["outcome"] == "ok"


def test_a_point_within_tolerance_does_not_beat_a_verified_bound() -> None:
    proven = record("proven", 1, 1.0, 8.946859, bound=8.946859)
    close = record("close", 1, 1.0, 8.946847, bound=8.946847, verdict="unproven", violation=9e-8)
    exact = close | {"label": "exact", "violation": 0.0}
    far = close | {"label": "far", "objective": 8.9}
    found = {r["label"]: r for r in settled([proven, close])}
    assert [found[name]["outcome"] for name in ("proven", "close")] == ["ok", "ok"]
    assert found["close"]["best"] == 8.946859
    assert found["close"]["excess"] == found["proven"]["excess"] == 0.0
    # A point without violation, or one that is far beyond, contradicts the bound.
    for other in (exact, far):
        found = {r["label"]: r for r in settled([proven, other])}
        assert found["proven"]["outcome"] == "wrong"


def test_small_values_are_compared_by_their_own_size() -> None:
    facts = {"sense": "max", "verdict": "unproven", "bound": None}
    best = record("best", 1, 1.0, 0.04, value_unit=0.2, **facts)
    # Wrong in the fifth digit: 4e-7 would pass beside values of size 1.
    liar = record("liar", 1, 1.0, 0.0399996, value_unit=0.2, **facts)
    near = record("near", 1, 1.0, 0.04 - 1e-7, value_unit=0.2, **facts)
    found = {r["label"]: r for r in settled([best, liar, near])}
    assert {name: r["outcome"] for name, r in found.items()} == {
        "best": "ok",
        "liar": "wrong",
        "near": "ok",
    }
    assert found["liar"]["excess"] == pytest.approx(2e-6)
    before, after = (record("x", 1, 1.0, v, value_unit=0.2, **facts) for v in (0.04, 0.0399996))
    assert compare_runs([before], [after]).regressed


def test_a_maximum_is_compared_the_other_way() -> None:
    low = record("low", 1, 1.0, 1.0, sense="max", bound=1.0, verdict="unproven")
    high = record("high", 1, 1.0, 2.0, sense="max", bound=2.0)
    found = {r["label"]: r["outcome"] for r in settled([low, high])}
    assert found == {"low": "wrong", "high": "ok"}


def test_regressions_are_flagged_by_their_interval() -> None:
    sizes = range(1, 9)
    before = [record("x", d, 1.0 + 0.01 * d) for d in sizes]
    same = [record("x", d, 1.05) for d in sizes]
    slower = [record("x", d, 1.5 + 0.01 * d) for d in sizes]
    assert not compare_runs(before, same).regressed
    found = compare_runs(before, slower)
    assert found.slower == ("x",)
    assert found.regressed
    assert found.times["x"].low > 1.1
    assert not compare_runs(slower, before).regressed
    assert not compare_runs(before, slower, tolerance=1.0).regressed
    # Five problems could all be slower by chance once in 32 times.
    assert compare_runs(before[:5], slower[:5]).slower == ()
    assert compare_runs(before[:6], slower[:6]).slower == ("x",)


def test_a_worse_end_is_a_regression_and_a_better_one_is_not() -> None:
    ok = [record("x", 1, 1.0)]
    crash = [record("x", 1, 1.0, outcome="crash", objective=None)]
    assert compare_runs(ok, crash).regressed
    assert not compare_runs(crash, ok).regressed
    (change,) = compare_runs(crash, ok).changes
    assert (change.before, change.after) == ("crash", "ok")
    weaker = [record("x", 1, 1.0, verdict="unproven")]
    assert compare_runs(ok, weaker).regressed
    worse = [record("x", 1, 1.0, 1.1)]
    assert compare_runs(ok, worse).regressed
    assert not compare_runs(worse, ok).regressed


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("n", [6, 9, 40])
def test_the_interval_of_a_median_ratio_covers_in_95_of_100(n: int) -> None:
    rng = np.random.default_rng(1)
    ratios = [median_ratio(2.0 * np.exp(rng.standard_normal(n)), np.ones(n)) for _ in range(1000)]
    assert all(ratio.low < ratio.median < ratio.high for ratio in ratios)
    covered = sum(ratio.low <= 2.0 <= ratio.high for ratio in ratios)
    assert 935 <= covered <= 990
    assert median_ratio([1.0] * 5, [2.0] * 5).high == math.inf


def test_paths_over_budgets_are_compared_budget_by_budget() -> None:
    best = record("best", 1, 1.0, curve=[[0.0, 3.0], [2.0, 2.0], [4.0, 1.0]])
    liar = record("liar", 1, 1.0, curve=[[0.0, 3.0], [2.0, 2.5], [4.0, 1.0]])
    modest = record("modest", 1, 1.0, status="converged", curve=[[0.0, 3.0], [2.0, 2.5]])
    found = {r["label"]: r for r in settled([best, liar, modest])}
    assert [found[name]["outcome"] for name in ("best", "liar", "modest")] == ["ok", "wrong", "ok"]
    assert "for the budget 2; 2 is attained" in found["liar"]["message"]
    assert found["modest"]["excess"] == pytest.approx(0.25)
    assert found["best"]["excess"] == 0.0


def test_cells_count_and_add_up_the_medians_of_repeats() -> None:
    pytest.importorskip("pandas", reason="the frame of records needs pandas")
    from sparseopt.bench.displays.tables import TableSpec, laid_out

    times = {1: (1.0, 2.0, 9.0), 2: (5.0, 5.0, 6.0)}
    records = [
        record("x", d, time, key=f"{d} {k}", repeat=k)
        for d, many in times.items()
        for k, time in enumerate(many)
    ]
    records.append(record("x", 3, 10.0, None, key="late", outcome="timeout", status="no_solution"))
    values = ("time:total", "time:max", "solved:count")
    spec = TableSpec("t", rows=("backend",), columns=("value",), values=values)
    ((head, cells),) = laid_out(frame(records), spec).rows
    assert head == ("x",)
    assert [cell.text for cell in cells] == ["7 [6 of 7]", "9 [6 of 7]", "6 of 7"]


@pytest.mark.parametrize(
    ("statistic", "runs", "text"),
    [
        ("mean", 3, "4"),
        ("mean-sd", 3, "4 (4.36)"),
        ("mean-se", 3, "4 (2.52)"),
        ("mean-ci", 3, "4 ± 11"),
        ("mean-ci", 2, "1.5"),  # the interval of two would be 6.4 to either side
    ],
)
def test_means_have_the_spread_that_was_asked_for(statistic: str, runs: int, text: str) -> None:
    pytest.importorskip("pandas", reason="the frame of records needs pandas")
    from sparseopt.bench.displays.tables import TableSpec, laid_out

    times = (1.0, 2.0, 9.0)[:runs]
    records = [record("x", 1, t, key=str(k), repeat=k) for k, t in enumerate(times)]
    spec = TableSpec("t", rows=("backend",), columns=("value",), statistic=statistic)
    ((_, cells),) = laid_out(frame(records), spec).rows
    assert [cell.text for cell in cells] == [text]

"""Every budget at once: against the dynamic program, ties and gaps included."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparseopt
from sparseopt import SolveParams, Verdict
from sparseopt.backend import Control
from sparseopt.problems import BudgetTables, Candidates, L0GraphicalModel
from sparseopt.solvers.l0.budgets import exact_path as driver
from sparseopt.solvers.l0.budgets import hull
from sparseopt.solvers.l0.budgets.exact_path import exact_path
from sparseopt.solvers.l0.tables import gaussian, ising
from sparseopt.solvers.l0.threads import in_threads


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    driver.warm_up()


def path_of(problem: BudgetTables):
    return exact_path(problem, problem.last_budget(), Control(SolveParams())).path


def agrees(problem: BudgetTables) -> None:
    reference = sparseopt.solve(problem, backend="knapsack-dp", check=False).path
    result = sparseopt.solve(problem, backend="l0-tables")
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    scale = 1e-12 * (1.0 + np.abs(problem.values).sum())
    np.testing.assert_allclose(result.path.objective, reference.objective, rtol=0, atol=scale)
    np.testing.assert_array_equal(result.path.certified, reference.certified)
    for K in result.path.budgets:
        counts = result.path.at(K)
        assert counts.sum() <= K
        assert problem.objective(counts) == pytest.approx(reference.objective[K], abs=scale)


table = st.lists(st.integers(-4, 4), min_size=1, max_size=6)


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(st.lists(table, min_size=1, max_size=7))
def test_integer_tables_of_any_shape(tables):
    agrees(BudgetTables([list(map(float, t)) for t in tables]))


@pytest.mark.thorough
@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=7))
def test_tables_that_drop_only_every_second_time(drops):
    agrees(BudgetTables([np.repeat(10.0 - np.cumsum(d), 2) for d in drops]))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", range(3))
def test_many_random_tables(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 12, size=150)
    agrees(BudgetTables([np.sort(rng.exponential(size=s + 1))[::-1] for s in sizes]))


def test_many_tables_with_ties():
    rng = np.random.default_rng(0)
    agrees(BudgetTables([-np.cumsum(rng.integers(0, 4, size=11)).astype(float) for _ in range(80)]))


def test_jumps_of_two_that_no_single_step_can_fill():
    # All nodes are equal, so that every odd budget leaves a unit unused.
    problem = BudgetTables([[2.0, 2.0, 0.0]] * 30)
    path = path_of(problem)
    assert path.objective.tolist() == [60.0 - 2.0 * (K // 2) for K in range(61)]
    assert path.certified.tolist() == [K % 2 == 0 for K in range(61)]


def test_one_long_jump():
    agrees(BudgetTables([[*np.linspace(9.0, 8.9, 40), 0.0], [5.0, 4.0, 3.5], [1.0, 0.2]]))


def test_a_budget_ends_the_path_also_within_a_segment():
    rng = np.random.default_rng(1)
    tables = [np.sort(rng.exponential(size=8))[::-1] for _ in range(20)]
    whole = path_of(BudgetTables(tables))
    for last in range(0, 140, 7):
        part = path_of(BudgetTables(tables, budget=last))
        np.testing.assert_array_equal(part.budgets, np.arange(last + 1))
        np.testing.assert_allclose(part.objective, whole.objective[: last + 1], rtol=1e-13)


def test_small_memory_grows(monkeypatch):
    rng = np.random.default_rng(2)
    problem = BudgetTables([np.sort(rng.exponential(size=12))[::-1] for _ in range(60)])
    plain = path_of(problem)
    grown = []
    larger = driver._larger
    monkeypatch.setattr(driver, "_larger", lambda *a: grown.append(a[-1]) or larger(*a))
    monkeypatch.setattr(driver, "FIRST_ROOMS", 1)
    monkeypatch.setattr(driver, "FIRST_SUMS", 1)
    np.testing.assert_allclose(path_of(problem).objective, plain.objective, rtol=1e-13)
    assert set(grown) == {driver.ROOMS, driver.SUMS}


def test_a_limit_leaves_valid_counts_and_bounds(monkeypatch):
    rng = np.random.default_rng(3)
    problem = BudgetTables([np.sort(rng.exponential(size=11))[::-1] for _ in range(200)])
    monkeypatch.setattr(driver, "SEGMENTS_PER_CALL", 10)
    control = Control(SolveParams())
    control.interrupted = True
    found = exact_path(problem, problem.total, control)
    value = path_of(problem).objective
    assert found.limit is not None
    assert (found.path.objective >= value - 1e-12).all()
    assert (found.path.bound <= value + 1e-12).all()
    assert found.path.objective[-1] > value[-1] + 1.0
    for K in (0, 5, 40, problem.total):
        counts = found.path.at(K)
        assert counts.sum() <= K
        assert problem.objective(counts) == pytest.approx(found.path.objective[K])


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
@pytest.mark.parametrize("scaling", ["standardised", "rss"])
@pytest.mark.parametrize("backend", ["l0-tables", "spica", "knapsack-dp", "highs-knapsack"])
def test_nodes_that_fit_exactly_are_verified(backend, scaling, unit):
    """All losses vanish up to rounding, and what rounding leaves has no digit in common."""
    X = unit * np.random.default_rng(0).normal(size=(20, 3))
    X[:, 2] = X[:, 0] - X[:, 1]
    model = L0GraphicalModel(X, ~np.eye(3, dtype=bool), scaling=scaling)
    result = sparseopt.solve(model, backend=backend)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    assert (result.path.objective >= 0.0).all()
    assert result.objective <= 1e-14 * result.path.objective[0]


def test_threads_sort_segments_alike(monkeypatch):
    rng = np.random.default_rng(0)
    # Whole numbers: many slopes tie.
    tables = BudgetTables(
        [
            np.sort(rng.integers(0, 9, int(rng.integers(1, 6))))[::-1].astype(float)
            for _ in range(60)
        ]
    )
    alone = hull.steepest_first(tables)
    monkeypatch.setattr(hull, "THREADED_SEGMENTS", 0)
    for threads in (2, 3):
        together = hull.steepest_first(tables, threads)
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, other)


def test_threads_find_the_same_path(monkeypatch):
    """Stretches that begin in the middle: every digit and every change is that of one thread."""
    rng = np.random.default_rng(4)
    random = [np.sort(rng.exponential(size=int(s)))[::-1] for s in rng.integers(1, 12, 150)]
    whole = [-np.cumsum(rng.integers(0, 4, size=11)).astype(float) for _ in range(80)]
    for tables in (random, whole, [[2.0, 2.0, 0.0]] * 30, [[1.0, 2.0]] * 12):
        for budget in (None, 11):
            problem = BudgetTables(tables, budget=budget)
            last = problem.last_budget()
            alone = exact_path(problem, last, Control(SolveParams()))
            with monkeypatch.context() as patch:
                patch.setattr(driver, "THREADED_SEGMENTS", 0)
                for threads in (2, 3, 7):
                    found = exact_path(problem, last, Control(SolveParams()), threads)
                    assert found.limit is None
                    np.testing.assert_array_equal(found.multiplier, alone.multiplier)
                    for name in ("objective", "bound", "certified"):
                        np.testing.assert_array_equal(
                            getattr(found.path, name), getattr(alone.path, name)
                        )
                    for name in ("ptr", "node", "count"):
                        np.testing.assert_array_equal(
                            getattr(found.path.changes, name), getattr(alone.path.changes, name)
                        )


@pytest.mark.parametrize("stopped", [0, 1, 2])
def test_a_limit_in_one_thread_ends_the_path_there(monkeypatch, stopped):
    rng = np.random.default_rng(3)
    problem = BudgetTables([np.sort(rng.exponential(size=11))[::-1] for _ in range(200)])
    value = path_of(problem).objective
    monkeypatch.setattr(driver, "SEGMENTS_PER_CALL", 10)
    monkeypatch.setattr(driver, "THREADED_SEGMENTS", 0)
    follow, begun = driver._follow, []

    def interrupted(stretch, problem, hull, control, report):
        begun.append(stretch)
        own = Control(SolveParams())
        own.interrupted = len(begun) == stopped + 1
        follow(stretch, problem, hull, own, report)

    monkeypatch.setattr(driver, "_follow", interrupted)
    monkeypatch.setattr(
        driver, "in_threads", lambda work, threads: [work(worker) for worker in range(threads)]
    )
    found = exact_path(problem, problem.total, Control(SolveParams()), 3)
    assert found.limit is not None and len(begun) == 3
    ended = int(begun[stopped].core.state[driver.SPENT])
    path = found.path
    np.testing.assert_array_equal(path.objective[: ended + 1], value[: ended + 1])
    assert (path.objective[ended:] == value[ended]).all() and not path.certified[ended + 1 :].any()
    assert (path.bound <= value + 1e-12).all()
    for K in (0, ended // 2, ended, ended + 1, problem.total):
        counts = path.at(K)
        assert counts.sum() <= K
        assert problem.objective(counts) == pytest.approx(path.objective[K])


class Listener(Control):
    """Notes what is reported, and from which thread; the first report may end the solve."""

    def __init__(self, ends: bool) -> None:
        super().__init__(SolveParams())
        self.seen, self.ends = [], ends

    def progress(self, text: str, every: float = 0.2, **details) -> None:
        self.seen.append((text, threading.get_ident()))
        self.interrupted = self.ends


def test_the_first_worker_is_the_thread_that_asked():
    ran: dict[int, int] = {}
    in_threads(lambda worker: ran.update({worker: threading.get_ident()}), 3)
    assert sorted(ran) == [0, 1, 2]
    assert ran[0] == threading.get_ident() and threading.get_ident() not in (ran[1], ran[2])


@pytest.mark.parametrize("ends", [False, True])
def test_budgets_are_reported_from_there_and_a_report_may_end_them(monkeypatch, ends):
    monkeypatch.setattr(driver, "SEGMENTS_PER_CALL", 2)
    monkeypatch.setattr(driver, "THREADED_SEGMENTS", 0)
    rng = np.random.default_rng(6)
    tables = BudgetTables([np.sort(rng.exponential(size=8))[::-1] for _ in range(60)])
    control = Listener(ends)
    found = exact_path(tables, tables.total, control, 2)
    assert set(control.seen) == {("budgets", threading.get_ident())}
    assert (found.limit is not None) is ends


@pytest.mark.parametrize("module", [gaussian, ising])
def test_tables_are_reported_with_several_threads(monkeypatch, module):
    """Whatever the first worker takes; here it takes all."""
    monkeypatch.setattr(module, "in_threads", lambda work, threads: work(0))
    X = np.where(np.random.default_rng(6).random((40, 30)) < 0.5, -1.0, 1.0)
    loss = "gaussian" if module is gaussian else "ising"
    model = L0GraphicalModel(X, Candidates.window(30, 3), loss=loss)
    control = Listener(ends=False)
    search = gaussian.gaussian_tables if module is gaussian else ising.ising_tables
    assert search(model, control, 2).done.all()
    assert {text for text, _ in control.seen} == {"tables"}

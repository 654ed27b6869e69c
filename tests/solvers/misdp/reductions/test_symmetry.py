"""Symmetries of MISDPs: which are found, the rows that they give, and what the checker believes."""

import itertools

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import sparseopt
from sparseopt import Certificate, Status, Verdict
from sparseopt.checking.evidence import Malformed
from sparseopt.checking.misdp.symmetry import left_out
from sparseopt.generators.misdp import k_partitioning, truss_topology
from sparseopt.problems import MISDP, MISDPBuilder, SemidefiniteBlock
from sparseopt.problems.misdp.cones import pack_symmetric, unpack_symmetric
from sparseopt.proofs.misdp_symmetry import SymmetryTest
from sparseopt.result import Result
from sparseopt.solvers.misdp.reductions.merging import merge
from sparseopt.solvers.misdp.reductions.symmetry import connected, order

pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")


def circulant(weights, k):
    """Partition n nodes in k parts, with weights of pairs by their distance around a ring."""
    n = len(weights)
    away = [min(j - i, n - j + i) for i, j in itertools.combinations(range(n), 2)]
    problem = k_partitioning(seed=0, nodes=n, k=k)
    return problem.with_changes(c=np.array([float(weights[d]) for d in away]))


def paley(n, k):
    squares = {x * x % n for x in range(1, n)}
    return circulant([float(d in squares) for d in range(n)], k)


def least_partition(problem, n, k):
    """The optimum over all partitions whose parts have two nodes or more."""
    i, j = np.array(list(itertools.combinations(range(n), 2))).T
    labels = np.array(list(itertools.product(range(k), repeat=n - 1)))
    labels = np.column_stack([np.zeros(len(labels), dtype=int), labels])
    sizes = (labels[:, :, None] == np.arange(k)).sum(axis=1)
    labels = labels[((sizes == 0) | (sizes >= 2)).all(axis=1)]
    return float(((labels[:, i] == labels[:, j]) @ problem.c).min())


@pytest.fixture
def rows_only(monkeypatch):
    """Have rows by symmetry, however few symmetries there are."""
    monkeypatch.setattr("sparseopt.solvers.misdp.reductions.symmetry.SYMMETRY_GROUP", 1)


def against_enumeration(seed):
    problem = circulant(np.random.default_rng(seed).integers(-5, 11, 9), 3)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(least_partition(problem, 9, 3))
    return result.certificate.arrays


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rows_by_symmetry_against_enumeration(seed, rows_only):
    assert len(against_enumeration(seed)["symmetry_leaders"]) >= 9


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_orbital_fixing_against_enumeration(seed):
    assert "symmetry_leaders" not in against_enumeration(seed)


@pytest.mark.thorough
def test_rows_by_symmetry_save_nodes(monkeypatch, rows_only):
    problem = paley(13, 3)
    fewer = sparseopt.solve(problem, backend="misdp-bnb")
    monkeypatch.setattr("sparseopt.solvers.misdp.engines.bnb.order", lambda merged: merged)
    more = sparseopt.solve(problem, backend="misdp-bnb")
    assert fewer.objective == more.objective == 5.0
    assert 1.5 * fewer.nodes < more.nodes


@pytest.mark.thorough
def test_orbital_fixing_saves_nodes(monkeypatch):
    problem = circulant(np.random.default_rng(5).integers(-5, 11, 15), 4)
    fewer = sparseopt.solve(problem, backend="misdp-bnb")
    monkeypatch.setattr("sparseopt.solvers.misdp.engines.bnb.order", lambda merged: merged)
    more = sparseopt.solve(problem, backend="misdp-bnb")
    assert fewer.objective == more.objective == -27.0
    # points by signs save nodes of either
    assert fewer.verdict is Verdict.VERIFIED and 2 * fewer.nodes < more.nodes


def test_orbits_of_a_paley_graph(rows_only):
    """Its 78 symmetries move each edge to all 39; two leave an edge in place."""
    found = order(merge(paley(13, 3)))
    rows = found.problem.A.shape[0] - 13
    assert rows == 38 + 1


def test_all_symmetries_of_a_paley_graph():
    problem = paley(13, 3)
    variables, lines = order(merge(problem)).group
    assert len(variables) == len(np.unique(variables, axis=0)) == 78
    test = SymmetryTest(problem)
    assert all(test.holds(*move) for move in zip(variables, lines, strict=True))


def turned(seed):
    """Minimise t + c'x with M(x) + t I psd, which stays as it is when x and M are turned round.

    Returns the problem, and its optimum by enumeration (inf where nothing is feasible).
    """
    rng = np.random.default_rng(seed)
    s, width = [(4, 3), (5, 2), (6, 2), (7, 1), (8, 1)][rng.integers(5)]
    turns = [np.roll(np.eye(s), k, axis=0) for k in range(s)]
    first = rng.integers(-2, 3, (s, s)) * (rng.random((s, s)) < 0.5)
    F = np.array([turn @ (first + first.T) @ turn.T for turn in turns], dtype=float)
    around = rng.integers(-2, 3, s // 2 + 1)[np.minimum(np.arange(s), s - np.arange(s))]
    constant = np.array([np.roll(around, k) for k in range(s)], dtype=float)
    low, cost = float(rng.integers(-1, 1)), float(rng.integers(-2, 3))
    line = rng.integers(-1, 3, s).astype(float)
    line[0] += 1.0
    rows, floor = np.array([np.roll(line, k) for k in range(s)]), float(rng.integers(-1, 4))
    model = MISDPBuilder("min")
    x = model.variables(s, lower=low, upper=low + width, integer=True)
    t = model.variable(lower=-1.0, upper=50.0)
    model.semidefinite((x, F), (t, np.eye(s)), constant=constant)
    for row in rows:
        model.row((x, row), lower=floor)
    model.objective((x, np.full(s, cost)), (t, 1.0))
    points = np.array(list(itertools.product(low + np.arange(width + 1.0), repeat=s)))
    points = points[(points @ rows.T >= floor).all(axis=1)]
    least = np.linalg.eigvalsh(constant + np.tensordot(points, F, axes=1)).min(axis=1, initial=99.0)
    values = points.sum(axis=1) * cost + np.maximum(-least, -1.0)
    return model.build(), float(values.min(initial=np.inf))


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize("seed", range(40))
def test_turned_problems_against_enumeration(seed):
    problem, optimum = turned(seed)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert result.verdict is Verdict.VERIFIED
    if np.isinf(optimum):
        assert result.status is Status.INFEASIBLE
    else:
        assert result.objective == pytest.approx(optimum, abs=1e-6)


def mirrored_truss(slack=2.5):
    """A truss of 3 x 3 nodes that are pulled down at one end: upside down it is pulled up."""
    problem = truss_topology(columns=3, rows=3, slack=slack)
    (block,) = problem.blocks
    bars = unpack_symmetric(block.F.toarray()[:, 1::2].sum(axis=1), block.size)[1:, 1:]
    load = np.zeros(block.size - 1)
    load[-5::2] = -1.0
    constant = np.zeros((block.size, block.size))
    constant[0, 0] = np.ceil(slack * load @ np.linalg.solve(bars, load))
    constant[0, 1:] = constant[1:, 0] = load
    block = SemidefiniteBlock(block.F, pack_symmetric(constant), block.size)
    return problem.with_changes(blocks=[block])


def factorial_design(k):
    """E-optimal design: k of the 3^2 experiments with levels -1, 0 and 1 of each factor."""
    levels = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=2)))
    rows = np.column_stack([np.ones(9), levels, levels.prod(axis=1)])
    model = MISDPBuilder("max")
    q = model.variables(9, lower=0.0, upper=1.0, integer=True)
    t = model.variable(lower=0.0)
    model.row((q, np.ones(9)), upper=float(k))
    model.semidefinite((q, [np.outer(row, row) for row in rows]), (t, -np.eye(4)))
    model.objective((t, 1.0))
    choices = [list(some) for some in itertools.combinations(range(9), k)]
    return model.build(), max(np.linalg.eigvalsh(rows[s].T @ rows[s])[0] for s in choices)


@pytest.mark.thorough
def test_a_mirror_changes_signs_of_lines(monkeypatch):
    problem = mirrored_truss()
    variables, lines = order(merge(problem)).group
    assert len(variables) == 2
    assert sorted(np.where(lines[1] < 0, -1 - lines[1], lines[1])) == list(range(13))
    assert 0 < (lines[1] < 0).sum() < 13
    fewer = sparseopt.solve(problem, backend="misdp-bnb")
    assert (
        fewer.verdict is Verdict.VERIFIED and (fewer.certificate.arrays["images_lines"] < 0).any()
    )
    monkeypatch.setattr("sparseopt.solvers.misdp.engines.bnb.order", lambda merged: merged)
    more = sparseopt.solve(problem, backend="misdp-bnb")
    assert fewer.objective == pytest.approx(more.objective, rel=1e-9)
    assert 1.2 * fewer.nodes < more.nodes


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("k", [4, 5, 6])
def test_designs_with_signs_against_enumeration(k):
    problem, optimum = factorial_design(k)
    variables, lines = order(merge(problem)).group
    # Factors may be exchanged, and the levels of each turned round.
    assert len(variables) == 8 and (lines < 0).any()
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(optimum, abs=1e-6)


def test_a_sign_belongs_to_a_symmetry():
    """Both matrices exchange their lines; with the second variable one sign must change."""
    model = MISDPBuilder("min")
    x = model.variables(2, lower=0.0, upper=1.0, integer=True)
    cross = np.array([[1.0, 1.0], [1.0, 1.0]])
    model.semidefinite((x, [cross, cross * [[1.0, -1.0], [-1.0, 1.0]]]), constant=np.eye(2))
    model.objective((x, np.ones(2)))
    test = SymmetryTest(model.build())
    swap = np.array([1, 0])
    assert test.holds(swap, np.array([0, -2])) and test.holds(swap, np.array([-1, 1]))
    assert test.holds(swap, np.array([1, -1])) and test.holds(np.arange(2), np.array([-1, -2]))
    assert not test.holds(swap, np.array([0, 1])) and not test.holds(swap, np.array([-1, -2]))
    assert not test.holds(swap, np.array([0, -1])) and not test.holds(swap, np.array([0, -3]))


def test_random_data_have_no_symmetry():
    for problem in (k_partitioning(seed=0, nodes=10), truss_topology(seed=0)):
        merged = merge(problem)
        assert order(merged).problem is merged.problem


@pytest.mark.thorough
def test_points_are_moved_to_images_that_have_the_rows(rows_only):
    problem = paley(13, 3)
    found = order(merge(problem))
    result = sparseopt.solve(problem, backend="misdp-bnb")
    x, cut = result.x, 0
    for move in result.certificate.arrays["symmetry_variables"]:
        image = np.empty_like(x)
        image[move] = x
        down = found.down(image)
        assert max(problem.residuals(image).values()) <= 1e-9
        assert max(found.problem.residuals(down).values()) <= 1e-9
        assert problem.objective(down) == problem.objective(x)
        cut += max(found.problem.residuals(image).values()) > 0.5
    assert cut > 10
    unknown = found.down(np.full(len(x), np.nan))
    assert np.isnan(unknown).all()


def one_of_two(**changes):
    """Minimise x_0 + x_1 with x_0 + x_1 >= 1, which exchanges its variables."""
    model = MISDPBuilder("min")
    x = model.variables(2, lower=0.0, upper=1.0, integer=True)
    model.row((x, np.ones(2)), lower=1.0)
    model.semidefinite((x, [np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]))
    model.objective((x, np.ones(2)))
    return model.build().with_changes(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"c": [1.0, 1.0 + 1e-15]},
        {"upper": [1.0, 2.0]},
        {"integer": [True, False]},
        {"A": [[1.0, 2.0]]},
    ],
)
def test_what_differs_in_a_number_is_no_symmetry(changes):
    swap = np.array([1, 0])
    assert SymmetryTest(one_of_two()).holds(swap, swap)
    assert not SymmetryTest(one_of_two()).holds(swap, np.arange(2))
    assert not SymmetryTest(one_of_two()).holds(np.array([1, 1]), swap)
    assert not SymmetryTest(one_of_two(**changes)).holds(swap, swap)


def infeasible_by(leaders, variables, lines):
    """The claim that rows by symmetry leave nothing."""
    R = len(leaders)
    arrays = {
        "lower": np.zeros((1, 2)),
        "upper": np.ones((1, 2)),
        "rows": np.ones((1, 1 + R)),
        "psd": np.zeros((1, 3)),
        "infeasible": np.array([True]),
        "symmetry_leaders": np.array(leaders),
        "symmetry_variables": np.array(variables),
        "symmetry_lines": np.array(lines),
    }
    return Result(status=Status.INFEASIBLE, certificate=Certificate("misdp-leaves", arrays))


def test_a_later_symmetry_must_not_move_an_earlier_leader():
    """x_0 >= x_1 and x_1 >= x_0 + ... : both are symmetries, but no point need have both rows."""
    swap = [1, 0]
    # With exactly one of them chosen both rows leave nothing.
    problem = one_of_two(row_upper=[1.0])
    claim = infeasible_by([0, 1], [swap, swap], [swap, swap])
    report = sparseopt.check(problem, claim)
    assert report.verdict is Verdict.REFUTED and "leader" in "; ".join(report.messages)


@pytest.mark.parametrize(
    ("leaders", "variables", "lines", "complaint"),
    [
        ([0], [[1, 0]], [[0, 1]], "does not stay"),
        ([0], [[1, 1]], [[1, 0]], "does not stay"),
        ([2], [[1, 0]], [[1, 0]], "does not name"),
        ([-1], [[1, 0]], [[1, 0]], "does not name"),
        ([0], [[1.0, 0.0]], [[1, 0]], "must hold integers"),
        ([0, 0], [[1, 0]], [[1, 0]], "must hold integers"),
        ([0], [[1, 0, 2]], [[1, 0]], "must hold integers"),
        ([[0]], [[1, 0]], [[1, 0]], "must hold integers"),
    ],
)
def test_what_is_no_symmetry_is_refuted(leaders, variables, lines, complaint):
    report = sparseopt.check(one_of_two(), infeasible_by(leaders, variables, lines))
    assert report.verdict is Verdict.REFUTED and complaint in "; ".join(report.messages)


def images(**changes):
    """Of two integers that may be exchanged, x_1 = 1 is left out where x_0 = 0."""
    arrays = {
        "lower": np.array([[0.0, 1.0]]),
        "upper": np.array([[0.0, 1.0]]),
        "by": np.array([0]),
        "variables": np.array([[1, 0]]),
        "lines": np.array([[1, 0]]),
        **changes,
    }
    return {f"images_{name}": array for name, array in arrays.items()}


def test_a_box_is_left_out_that_a_symmetry_takes_elsewhere():
    lower, upper = left_out(one_of_two(), images())
    assert lower.tolist() == upper.tolist() == [[0.0, 1.0]]
    assert left_out(one_of_two(), {}) is None
    with pytest.raises(Malformed, match="a pool is stated"):
        left_out(one_of_two(), images(), pool=True)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"variables": np.array([[0, 1]])}, "does not stay"),
        ({"lines": np.array([[0, 1]])}, "does not stay"),
        ({"lower": np.ones((1, 2)), "upper": np.ones((1, 2))}, "box 0 .* meets box 0"),
        ({"by": np.array([1])}, "does not name"),
        ({"by": np.array([-1])}, "does not name"),
        ({"by": np.array([0.0])}, "do not fit"),
        ({"lower": np.zeros((2, 2))}, "do not fit"),
        ({"upper": np.array([[0.0, np.nan]])}, "NaN"),
        ({"variables": np.array([[1, 0, 2]])}, "do not fit"),
    ],
)
def test_what_is_wrongly_left_out_is_refuted(changes, complaint):
    with pytest.raises(Malformed, match=complaint):
        left_out(one_of_two(), images(**changes))


def test_two_boxes_are_not_left_out_for_one_another():
    ends = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(Malformed, match=r"box 0 .* meets box 1"):
        left_out(one_of_two(), images(lower=ends, upper=ends, by=np.array([0, 0])))


def test_a_pool_of_solutions_is_not_proven_by_rows_that_leave_some_out():
    problem = one_of_two()
    whole = sparseopt.solve(problem, backend="misdp-bnb", options={"solutions": 2})
    assert len(whole.pool) == 2 and "symmetry_leaders" not in whole.certificate.arrays
    arrays = dict(whole.certificate.arrays)
    arrays["rows"] = np.pad(arrays["rows"], ((0, 0), (0, 1)))
    arrays |= {
        "symmetry_leaders": np.array([0]),
        "symmetry_variables": np.array([[1, 0]]),
        "symmetry_lines": np.array([[1, 0]]),
    }
    false = whole.with_changes(certificate=Certificate("misdp-leaves", arrays))
    assert sparseopt.check(problem, false).verdict is not Verdict.VERIFIED


def test_two_equal_matrices_may_be_exchanged():
    """x_0 and x_1 belong to a matrix each, and no variable is in both."""
    model = MISDPBuilder("min")
    x = model.variables(2, lower=0.0, upper=3.0, integer=True)
    for j in range(2):
        model.semidefinite((x[j], np.eye(2)), constant=np.array([[-1.5, 0.2], [0.2, -1.0]]))
    model.row((x, np.ones(2)), upper=5.0)
    model.objective((x, np.ones(2)))
    problem: MISDP = model.build()
    assert len(order(merge(problem)).group[0]) == 2
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert result.verdict is Verdict.VERIFIED and result.objective == 4.0


@pytest.mark.parametrize("seed", range(20))
def test_connected_components_are_scipys(seed):
    rng = np.random.default_rng(seed)
    count, edges = int(rng.integers(1, 60)), int(rng.integers(0, 90))
    first, second = rng.integers(0, count, (2, edges))
    if seed % 4 == 0:  # a long chain
        order_ = rng.permutation(count)
        first, second = order_[:-1], order_[1:]
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(count, count))
    part = connected_components(graph, directed=False)[1]
    least = np.full(count, count)
    np.minimum.at(least, part, np.arange(count))
    np.testing.assert_array_equal(connected(count, first, second), least[part])

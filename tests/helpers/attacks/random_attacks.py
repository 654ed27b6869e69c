"""Random attacks on the checker, as many as wanted: each result is false, and none may be verified.

    python tests/helpers random_attacks --count 10000 --exact

Each minute it prints how many there were of each kind, and what became of them.

Beside the lies about true results (:mod:`attacks`) these are made to be believed: coefficients
near rounding, coordinates that cancel, fixed charges, leaves that overlap or miss, segments of
paths (:mod:`segment_attacks`), their multipliers (:mod:`multiplier_attacks`), paths over levels
(:mod:`quantile_attacks`), places of paths over whole numbers (:mod:`integer_attacks`), and
certificates of all families, changed (:mod:`forged_proofs`).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from attacks import lies
from forged_proofs import KINDS, answer, false_statements, forged
from integer_attacks import false_places, of_another_instance
from multiplier_attacks import multiplier_attacks
from quantile_attacks import quantile_attacks
from segment_attacks import ATTACKS, forgeries
from small_misdps import draw

import sparseopt
from sparseopt import (
    Certificate,
    ProblemError,
    Result,
    SolveParams,
    SparseOptError,
    Status,
    Verdict,
    exact,
)
from sparseopt.checking import check
from sparseopt.problems import (
    CLIME,
    MISDP,
    STRS,
    BudgetTables,
    DantzigSelector,
    LADLasso,
    ParametricLP,
    STRSPath,
)

_EACH = 20
"""Problems of each family that takes no solver, for one that does."""
_WITH_SEGMENTS = (DantzigSelector, LADLasso, ParametricLP, CLIME)
"""Problems of :func:`random_problem` whose paths have segments."""
_WITH_PLACES = (STRSPath, BudgetTables)
"""Those whose paths are over whole numbers."""
_MINUTE = 60.0
"""Seconds between two tables of what was found so far."""


def small_coefficients(rng: np.random.Generator) -> Iterator[tuple[str, Any, Result]]:
    """Yield claims that a small coefficient makes false, for LPs that are hard to see through."""
    small, size = 10.0 ** rng.uniform(-15.5, -7.0), 10.0 ** rng.uniform(-3.0, 3.0)
    zero = [0.0, 0.0]
    problem = ParametricLP(
        [[-1.0, 1.0], [1.0, -1.0 - small]], [-size, 0.0], zero, [-1.0, 0.0], zero
    )
    nu = np.array([1.0, 1.0]) * 10.0 ** rng.uniform(-3.0, 3.0)
    yield "Farkas", problem, _claim(Status.INFEASIBLE, "farkas", {"nu": nu})
    problem = ParametricLP([[1.0, -1.0 + small], [-1.0, 1.0]], [size, 0.0], zero, [1.0, 0.0], zero)
    for ray in ([1.0, 1.0], [1.0, 1.0 + small * rng.uniform(0.1, 0.9)]):
        arrays = {"x": np.zeros(2), "ray": np.array(ray)}
        yield "ray", problem, _claim(Status.UNBOUNDED, "ray", arrays)
    problem = ParametricLP(
        [[1.0, -1.0], [-1.0, 1.0], [0.0, small]],
        [0.0, 0.0, size],
        [0.0] * 3,
        [-1.0, 1.0 + small],
        zero,
    )
    yield "reduced cost", problem, stated_point(problem, [0.0, 0.0], [0.0, 1.0, 0.0], 0.0)


def inflated(rng: np.random.Generator) -> Iterator[tuple[str, Any, Result]]:
    """Yield points whose coordinates cancel, so that errors look like rounding."""
    t, size = 10.0 ** rng.uniform(7.0, 15.0), 10.0 ** rng.uniform(-1.0, 3.0)
    problem = ParametricLP(
        [[1.0, 1.0, -1.0], [0.0, 1.0, -1.0], [0.0, -1.0, 1.0]],
        [size, 0.0, 0.0],
        [0.0] * 3,
        [1.0, 0.0, 0.0],
        [0.0] * 3,
    )
    more = size * (1.0 + 10.0 ** rng.uniform(-3.0, 1.0))
    yield "inflation", problem, stated_point(problem, [more, t, t], [1.0, 0.0, 1.0], more)
    yield "inflation", problem, stated_point(problem, [more, t, t], [2.0, t, t + 2.0], more)
    yield "inflation", problem, stated_point(problem, [0.0, t, t], [1.0, t, t + 1.0], 0.0)


def beyond_bounds(rng: np.random.Generator) -> Iterator[tuple[str, Any, Result]]:
    """Yield points beyond a bound by 1e-6 or more of it, beside large coordinates that cancel."""
    t, size = 10.0 ** rng.uniform(3.0, 15.0), 10.0 ** rng.uniform(-1.0, 3.0)
    over = 1.0 + 10.0 ** rng.uniform(-6.0, -3.0)
    a, b = rng.normal(size=(2, 8))
    y = 3.0 * size * a + 0.1 * size * rng.normal(size=8)
    ends = [[-np.inf] * 3, [size, np.inf, np.inf]]
    lad = LADLasso(np.column_stack([a, b, -b]), y, fit_intercept=False, bounds=ends)
    true = sparseopt.solve(lad, lam=0.0)
    x = np.asarray(true.x) * [over, 1.0, 1.0] + [0.0, t * size, t * size]
    value = lad.objective(x, 0.0)
    yield "beyond bounds", lad, true.with_changes(x=x, objective=value, bound=value)
    zero = np.zeros(3)
    problem = MISDP(
        c=[-1.0, 0.0, 0.0],
        A=[[0.0, 1.0, -1.0]],
        row_lower=[0.0],
        row_upper=[0.0],
        lower=zero,
        upper=ends[1],
    )
    true = sparseopt.solve(problem)
    for row in (False, True):
        if row:
            A, top = [[1.0, 1.0, -1.0], [0.0, 1.0, -1.0]], [size, 0.0]
            low, high = [-np.inf, 0.0], np.full(3, np.inf)
            problem = MISDP(
                c=[-1.0, 0.0, 0.0], A=A, row_lower=low, row_upper=top, lower=zero, upper=high
            )
            true = sparseopt.solve(problem)
        point, value = np.array([size * over, t, t]), -size * over
        false = true.with_changes(x=point, objective=value, bound=value, trace=())
        yield "beyond bounds", problem, false


def loose_bounds(rng: np.random.Generator) -> Iterator[tuple[str, Any, Result]]:
    """Yield points beyond a bound, beside another that is so loose that it hides the difference."""
    loose, size = 10.0 ** rng.uniform(12.0, 18.0), 10.0 ** rng.uniform(-1.0, 3.0)
    more = size * (1.0 + 10.0 ** rng.uniform(-3.0, 0.0))
    zero = [0.0, 0.0]
    problem = ParametricLP([[1.0], [1.0]], [size, loose * size], zero, [1.0], [0.0])
    for value in (size, more):
        yield "loose bounds", problem, stated_point(problem, [more], [1.0, 0.0], value)
    problem = ParametricLP(
        [[1.0, 1.0, -1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [size, loose * size, loose * size],
        [0.0] * 3,
        [1.0, 0.0, 0.0],
        [0.0] * 3,
    )
    far = loose * size / 2.0
    for point in ([more, 0.0, 0.0], [more, far, far]):
        yield "loose bounds", problem, stated_point(problem, point, [1.0, 1.0, 1.0], more)
    X = np.diag([size, size / loose])
    selector = DantzigSelector(X, [3.0 * size, 0.0])
    true = sparseopt.solve(selector, lam=size * size)
    x = np.array([true.x[0] * size / more, 0.0])
    value = selector.objective(x)
    yield "loose bounds", selector, true.with_changes(x=x, objective=value, bound=value)


def fixed_charges(rng: np.random.Generator) -> Iterator[tuple[str, Any, Result]]:
    """Yield integers that are zero up to 1 / M where y <= M k and y >= 1."""
    large = 10.0 ** rng.uniform(4.0, 12.0)
    cost = float(rng.integers(1, 1000))
    problem = MISDP(
        c=[cost, 0.0],
        A=[[large, -1.0]],
        row_lower=[0.0],
        lower=[0.0, 1.0],
        upper=[1.0, 10.0],
        integer=[0],
    )
    for k in (0.0, 1.0 / large, 1e-7):
        claim = Result(
            status=Status.OPTIMAL,
            x=np.array([k, 1.0]),
            objective=cost * k,
            bound=cost * k,
            certificate=Certificate(
                "misdp-leaves",
                {
                    "lower": np.zeros((1, 1)),
                    "upper": np.ones((1, 1)),
                    "rows": np.zeros((1, 1)),
                    "infeasible": np.zeros(1, dtype=bool),
                },
            ),
            kind=problem.kind,
            problem=problem,
        )
        yield "fixed charge", problem, claim


def multiples(rng: np.random.Generator) -> Iterator[tuple[str, Any, Result]]:
    """Yield worse points that multipliers for a multiple of the costs are to prove optimal.

    Minimise y without ends with d y >= n + b, b a bit: n / d by the multiplier 1 for d times the
    costs. The scale is that of the worse point, nearly d, a multiplier is larger, or another cost.
    """
    d, n = float(rng.integers(2, 1000)), float(rng.integers(-1000, 1000))
    problem = MISDP(
        c=[0.0, 1.0],
        A=[[-1.0, d]],
        row_lower=[n],
        lower=[0.0, -np.inf],
        upper=[1.0, np.inf],
        integer=[0],
    )
    value = n / d + max(1.0, abs(n / d)) * 10.0 ** rng.uniform(-5.5, 1.0)
    near = d * (1.0 + 10.0 ** rng.uniform(-16.0, -7.0) * rng.choice([-1.0, 1.0]))
    worse = n / value if n / value > 0.0 else d
    for scale, y in (
        (worse, 1.0),
        (near, near / d),
        (d, value * d / n if n else 1.0),
        (d * 1e300, 1e300),
        (d * 2.0**-1060, 2.0**-1060),
        (1e-300, 1.0),
    ):
        arrays = {
            "lower": np.zeros((1, 1)),
            "upper": np.ones((1, 1)),
            "rows": np.array([[y]]),
            "infeasible": np.zeros(1, dtype=bool),
            "cost_scale": np.array([scale]),
        }
        x = np.array([0.0, value])
        claim = _claim(Status.OPTIMAL, "misdp-leaves", arrays)
        yield (
            "multiples of the costs",
            problem,
            claim.with_changes(
                x=x, objective=value, bound=value, kind=problem.kind, problem=problem
            ),
        )


def leaves(problem: Any, result: Result, rng: np.random.Generator) -> Iterator[tuple[str, Result]]:
    """Yield claims of a worse optimum by leaves that overlap or miss, of a sparse direction."""
    certificate = result.certificate
    assert certificate is not None
    arrays = {name: np.asarray(array) for name, array in certificate.arrays.items()}
    count = len(arrays["mu"])
    sides = [(arrays[f"{s}_ptr"], arrays[f"{s}_index"]) for s in ("in", "out")]
    for _ in range(20):
        chosen = rng.integers(0, count, int(rng.integers(0, 2 * count + 1)))
        new = {name: a for name, a in arrays.items() if name.startswith("pair_")}
        for name in ("mu", "pair"):
            if name in arrays:
                new[name] = arrays[name][chosen]
        for name, (ptr, index) in zip(("in", "out"), sides, strict=True):
            parts = [index[ptr[k] : ptr[k + 1]] for k in chosen]
            new[f"{name}_ptr"] = np.cumsum([0, *map(len, parts)])
            new[f"{name}_index"] = np.concatenate([*parts, index[:0]])
        at = int(rng.integers(len(problem.A)))
        x = np.eye(len(problem.A))[at] * (1.0 if problem.linear[at] >= 0.0 else -1.0)
        value = problem.objective(x)
        if value < result.objective - 1e-3 * problem.value_unit:
            yield (
                "leaves that overlap or miss",
                result.with_changes(
                    x=x, objective=value, bound=value, certificate=Certificate("leaves", new)
                ),
            )


def cancelled(rng: np.random.Generator) -> Iterator[tuple[str, Any, Result]]:
    """Yield claims about sparse directions whose entries cancel to an optimum that is far smaller.

    The best point of two variables is worth `optimum`, single ones lose `large`; the claim is worth
    some part of a thousand less, which is 1e-9 of `large`.
    """
    D, large = int(rng.integers(3, 7)), 2.0 ** float(rng.integers(20, 30))
    optimum = large * 10.0 ** rng.uniform(-6.5, -5.7)
    A = -large * np.eye(D)
    A[0, 1] = A[1, 0] = large + optimum
    less = 0.9e-9 * large
    angle = 0.5 * np.arcsin((optimum - less + large) / (large + optimum))
    x = np.zeros(D)
    x[:2] = np.cos(angle), np.sin(angle)
    problem = STRS(A, d=2)
    value = problem.objective(x)
    empty = {name: np.zeros(2, dtype=np.int64) for name in ("in_ptr", "out_ptr")}
    empty |= {name: np.zeros(0, dtype=np.int64) for name in ("in_index", "out_index")}
    claim = Result(
        status=Status.OPTIMAL,
        x=x,
        objective=value,
        bound=value,
        certificate=Certificate("leaves", {"mu": np.array([value + less / 2.0]), **empty}),
        kind=problem.kind,
        problem=problem,
    )
    yield "cancelled optimum", problem, claim


def _claim(status: Status, kind: str, arrays: dict[str, Any]) -> Result:
    certificate = Certificate(kind, arrays)
    return Result(
        status=status, certificate=certificate, params=SolveParams(lam=0.0), kind="parametric-lp"
    )


def stated_point(problem: ParametricLP, x: Any, nu: Any, value: float) -> Result:
    """Return a result that calls a point at lam = 0 optimal, its multipliers nu the proof."""
    nu = np.asarray(nu, dtype=float)
    return Result(
        status=Status.OPTIMAL,
        x=np.asarray(x, dtype=float),
        objective=value,
        bound=value,
        duals={"rows": nu},
        certificate=Certificate("dual", {"nu": nu}),
        params=SolveParams(lam=0.0),
        kind=problem.kind,
        problem=problem,
    )


def loose_box(rng: np.random.Generator, d: int) -> tuple[Any, Any]:
    """Return bounds of d variables: upper ones that nothing reaches, and lower ones, some zero."""
    high = 10.0 ** rng.uniform(9.0, 15.0, d)
    return np.where(rng.random(d) < 0.5, 0.0, -high), high


def random_problem(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """Return a small problem of any family, and a question.

    Half of the linear programs have rows or bounds that nothing ever reaches.
    """
    kind, n, d = int(rng.integers(8)), int(rng.integers(4, 9)), int(rng.integers(2, 5))
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    question = [{"lam": float(rng.uniform(0.1, 1.5))}, {}, {"lam": (0.9, 0.5)}][
        int(rng.integers(3))
    ]
    loose = bool(rng.integers(2))
    bounds = loose_box(rng, d) if loose else None
    if kind == 0:
        return DantzigSelector(X, y, bounds=bounds), question
    if kind == 1:
        return LADLasso(X, y, fit_intercept=bool(rng.integers(2)), bounds=bounds), question
    if kind == 2:
        A, b = rng.uniform(0.2, 2.0, (d, n)), rng.uniform(0.5, 2.0, d)
        rate = b / 2.0
        if loose:
            A, rate = np.vstack([A, A]), np.append(rate, np.zeros(d))
            b = np.append(b, b * 10.0 ** rng.uniform(9.0, 15.0, d))
        return ParametricLP(A, b, rate, rng.normal(size=n), -rng.uniform(0.5, 1.0, n)), question
    M = rng.normal(size=(n, n))
    if kind == 3:
        return STRS(M + M.T, M[0], d=d), {}
    if kind == 4:
        return STRSPath(M + M.T, M[0], d_max=d), {}
    if kind == 5:
        return BudgetTables([np.sort(rng.normal(size=d))[::-1] for _ in range(n)]), {}
    if kind == 6:
        return CLIME(np.cov(rng.normal(size=(20, 3)), rowvar=False)), {"lam_min": 0.05}
    return draw(int(rng.integers(10**6))), {}


def main() -> None:
    """Attack the checker, and with --exact the program in rational arithmetic, at random."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="attacks of each kind")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--kinds", nargs="*", help="forged proofs of these kinds of problems alone")
    parser.add_argument("--plain", action="store_true", help="no forged proofs")
    parser.add_argument("--results", action="store_true", help="lies about true results alone")
    parser.add_argument("--paths", action="store_true", help="false segments and places alone")
    options = parser.parse_args()
    choice = options.count, options.seconds, options.seed, options.exact
    if options.paths:
        found = path_campaign(*choice)
    elif options.kinds is None:
        forged_kinds = () if options.plain or options.results else KINDS
        found = campaign(*choice, forged_kinds, made=not options.results, each=True)
    else:
        found = forged_campaign(*choice, options.kinds or KINDS)
    print(table(found))


def table(found: dict[str, Counter[str]]) -> str:
    """Return one line for each kind of attacks, and one for all: how many had which verdict."""
    total = sum((found[kind] for kind in found if kind != "true"), Counter[str]())
    lines = [(kind, found[kind]) for kind in sorted(found)] + [("all but true", total)]
    return "\n".join(
        f"{kind}: " + ", ".join(f"{word} {number}" for word, number in sorted(counts.items()))
        for kind, counts in lines
    )


class Judge:
    """Gives attacks to the checker and to the exact program, and counts verdicts by kind.

    Attributes
    ----------
    found : dict of str to Counter
        How many attacks of a kind there were, and how many had each verdict.
    """

    def __init__(self, count: int, exactly: bool, folder: str) -> None:
        self.found: dict[str, Counter[str]] = defaultdict(Counter)
        self._count, self._exactly, self._folder = count, exactly, folder
        self._written: Any = None  # the problem in the file
        self._printed = time.monotonic()

    def enough(self, kind: str) -> bool:
        """Return whether a kind has its number."""
        return self.found.get(kind, Counter())["attacks"] >= self._count

    def attack(self, kind: str, problem: Any, result: Result, read: bool = True) -> None:
        """Count the verdicts on one result; `read` is false where the exact program may differ."""
        if self.enough(kind):
            return
        try:
            report = check(problem, result)
        except ProblemError:
            self.found[kind].update(["attacks", "of another instance"])
            return
        verdict = report.verdict.value
        self.found[kind].update(["attacks", verdict])
        if kind != "true" and report.verdict is Verdict.VERIFIED:
            print(f"{kind}: verified: {report.messages}", flush=True)
        if time.monotonic() - self._printed > _MINUTE:
            self._printed = time.monotonic()
            print(table(self.found), flush=True)
        if not (self._exactly and read):
            return
        files = Path(self._folder, "p.npz"), Path(self._folder, "r.json")
        try:
            if self._written is not problem:
                self._written = None
                sparseopt.save(problem, files[0])
                self._written = problem
            sparseopt.save(result.with_changes(problem=problem, kind=problem.kind), files[1])
            other, why = exact.check(*files, 20.0)
        except (TypeError, ValueError, KeyError, SparseOptError, exact.Unreadable):
            other, why = "not a file", ""
        self.found[kind].update([f"exactly {other}"])
        judged = {verdict, other} <= {"verified", "proven", "refuted"}
        if judged and (verdict == "verified") != (other == "proven"):
            self.found[kind].update(["disagreements"])
            print(f"{kind}: {verdict}, exactly {other}: {why}", flush=True)

    def forged_enough(self, kind: str) -> bool:
        """Return whether what :meth:`forge` yields for this kind of problem has its number."""
        statements = f"false statements ({kind})"
        return self.enough(f"forged proofs ({kind})") and (
            statements not in self.found or self.enough(statements)
        )

    def forge(self, kind: str, rng: np.random.Generator, count: int = 20) -> None:
        """Forge proofs about a problem of that kind, and make false statements of true points."""
        problem, result = answer(kind, rng)
        if result.verdict is Verdict.VERIFIED and result.status is Status.OPTIMAL:
            for claim in forged(problem, result, rng, count):
                self.attack(f"forged proofs ({kind})", problem, claim)
            for claim in false_statements(problem, result, rng):
                self.attack(f"false statements ({kind})", problem, claim)
            for name, claim in false_places(problem, result, rng):
                self.attack(f"whole numbers ({name})", problem, claim)


def forged_campaign(
    count: int, seconds: float, seed: int, exactly: bool, kinds: Collection[str]
) -> dict[str, Counter[str]]:
    """Forge proofs until each kind of problem has its number, or the time is over."""
    rng, end = np.random.default_rng(seed), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(count, exactly, folder)
        while time.monotonic() < end:
            left = [kind for kind in kinds if not judge.enough(f"forged proofs ({kind})")]
            for kind in left:
                if time.monotonic() < end:
                    judge.forge(kind, rng, 100)
            if not left:
                break
    return judge.found


def path_campaign(count: int, seconds: float, seed: int, exactly: bool) -> dict[str, Counter[str]]:
    """Attack paths until each kind that was seen has its number, or the time is over."""
    rng, end = np.random.default_rng(seed), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(count, exactly, folder)
        while time.monotonic() < end and not (
            judge.found and all(judge.enough(kind) for kind in judge.found)
        ):
            _about_a_path(judge, rng)
    return judge.found


def campaign(
    count: int,
    seconds: float,
    seed: int = 0,
    exactly: bool = False,
    kinds: Collection[str] = (),
    made: bool = True,
    each: bool = False,
) -> dict[str, Counter[str]]:
    """Attack until kinds have their number, or the time is over; return verdicts by kind.

    The kind "true" has results of our engines that the checker verified; `kinds` are those of
    problems whose proofs are forged. Without those that are `made` to be believed there is time for
    lies about more results. The common kinds are enough unless `each` kind is to have its number:
    the rarest come up in one of a few hundred problems, so that paths are attacked by those alone.
    """
    rng, end = np.random.default_rng(seed), time.monotonic() + seconds
    common = ("true", "numbers", "Farkas", "fixed charge") if made else ("true", "numbers")
    made_kinds: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(count, exactly, folder)
        while time.monotonic() < end and not all(
            judge.enough(kind) for kind in (*common, *(judge.found if each else ()))
        ):
            if made and not (made_kinds and all(judge.enough(kind) for kind in made_kinds)):
                others = set(judge.found) - made_kinds
                _made_to_be_believed(judge, rng)
                made_kinds |= set(judge.found) - others
            for kind in kinds:
                if not judge.forged_enough(kind):
                    judge.forge(kind, rng)
            _about_a_result(judge, rng, end)
            if each and judge.enough("true"):
                _about_a_path(judge, rng)
    return judge.found


def _made_to_be_believed(judge: Judge, rng: np.random.Generator) -> None:
    families = small_coefficients, inflated, loose_bounds, fixed_charges, cancelled, multiples
    for family in families:
        for _ in range(_EACH):
            for kind, problem, result in family(rng):
                judge.attack(kind, problem, result)
    for kind, problem, result in multiplier_attacks(rng):
        # The exact program says up to which lam it has checked.
        judge.attack(kind, problem, result, read=kind != "rates")
    for kind, problem, result in quantile_attacks(rng):
        judge.attack(f"levels ({kind})", problem, result)
    if not judge.enough("beyond bounds"):
        for kind, problem, result in beyond_bounds(rng):
            judge.attack(kind, problem, result)


def _about_a_result(judge: Judge, rng: np.random.Generator, end: float) -> None:
    """Lie about one result of ours."""
    problem, question = random_problem(rng)
    result = sparseopt.solve(problem, **question)
    if result.verdict is Verdict.REFUTED:
        print(f"our own {problem.kind}: refuted: {result.check_messages}", flush=True)
    if result.verdict is not Verdict.VERIFIED or result.status is not Status.OPTIMAL:
        judge.found["true"].update([f"{result.status}, {result.verdict}"])
        return
    judge.attack("true", problem, result)
    for name, lie in lies(problem, result):
        if name.startswith(("a trace", "names")):
            continue
        # The exact program mends multipliers: it proves the point and the bound by others.
        judge.attack(_kind_of(name), problem, lie, read=not name.startswith("path.nu"))
        if time.monotonic() > end:
            break
    for kind, lie in forgeries(problem, result, rng):
        judge.attack(kind, problem, lie, read=not kind.endswith("(multipliers)"))
    for kind, lie in false_places(problem, result, rng):
        judge.attack(f"whole numbers ({kind})", problem, lie)
    for kind, lie in of_another_instance(result):
        judge.attack(f"instances ({kind})", problem, lie)
    if isinstance(problem, STRS):
        for kind, lie in leaves(problem, result, rng):
            judge.attack(kind, problem, lie)


def _about_a_path(judge: Judge, rng: np.random.Generator) -> None:
    """Attack one path, many times, by what has not yet its number."""
    rare = {
        name: attack
        for name, attack in ATTACKS.items()
        if not all(judge.enough(f"{name} ({about})") for about in ("points", "multipliers"))
    }
    problem, question = random_problem(rng)
    while not isinstance(problem, _WITH_SEGMENTS + _WITH_PLACES) or "lam" in question:
        problem, question = random_problem(rng)
    result = sparseopt.solve(problem, **question)
    if result.verdict is not Verdict.VERIFIED or result.status is not Status.OPTIMAL:
        return
    for _ in range(_EACH):
        if isinstance(problem, _WITH_SEGMENTS):
            for kind, lie in forgeries(problem, result, rng, rare):
                judge.attack(kind, problem, lie, read=not kind.endswith("(multipliers)"))
        else:
            for kind, lie in false_places(problem, result, rng):
                judge.attack(f"whole numbers ({kind})", problem, lie)


def _kind_of(name: str) -> str:
    for word in ("inf", "nan", "1e+308"):
        if word in name.split():
            return f"numbers {word}"
    words = ("objective", "bound", "both", "neither", "no objective", "no bound")
    if name.startswith(words):
        return "numbers"
    if name.startswith(("x", "a longer", "a shorter", "a text", "no point")):
        return "points"
    return "paths" if name.startswith(("path", "stopped", "no path", "counts")) else "statements"


if __name__ == "__main__":
    main()

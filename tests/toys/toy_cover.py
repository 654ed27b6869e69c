"""A family of somebody else: weighted covers y, at most K of n sets, by enumeration.

    min c'y   subject to   A y >= b,   y_1 + ... + y_n <= K,   y in {0, 1}^n

The answer is a point for one budget K, or a path over all of them. The certificate names for every
point a row that it violates, or -1 where it violates none.
"""

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import sparseopt as so
from sparseopt.io.results import PathFormat
from sparseopt.testing import FamilySamples, Sample


@dataclass(frozen=True, eq=False, repr=False)
class Cover(so.Problem):
    """c of shape (n,), A of shape (m, n), b of shape (m,)."""

    c: np.ndarray
    A: np.ndarray
    b: np.ndarray

    kind: ClassVar[str] = "toy-cover"
    family: ClassVar[str] = "toy"
    parameter: ClassVar[str] = "budget"

    def _coerce(self):
        for name in ("c", "A", "b"):
            self._set(name, np.asarray(getattr(self, name), dtype=float))

    def validate(self):
        if self.A.shape != (len(self.b), len(self.c)):
            raise so.ProblemError(f"A is {self.A.shape}; expected (len(b), len(c))", "A")

    @property
    def size(self):
        return {"n": len(self.c), "m": len(self.b)}

    def objective(self, x, lam=None):
        return float(self.c @ x)

    def residuals(self, x, lam=None):
        row = np.append(self.b - self.A @ x, 0.0).max()
        return {"rows": float(row), "integers": float(np.abs(x - (x > 0.5)).max())}

    def points(self):
        """Return all points, the cheapest first, shape (2^n, n)."""
        every = np.array(list(itertools.product((0.0, 1.0), repeat=len(self.c))))
        return every[np.argsort(every @ self.c, kind="stable")]


@dataclass(frozen=True, eq=False)
class CoverPath(so.PathResult):
    """The cheapest cover of each budget, from the smallest that suffices; x of shape (B, n)."""

    knots: np.ndarray
    x: np.ndarray
    objective: np.ndarray
    stopped_by: str = "budget"

    kind: ClassVar[str] = "toy-budgets"
    parameter: ClassVar[str] = "budget"

    def at(self, value):
        return self.x[np.searchsorted(self.knots, value)]

    def objective_at(self, value):
        return float(self.objective[np.searchsorted(self.knots, value)])

    def to_frame(self):
        import pandas as pd

        return pd.DataFrame({"budget": self.knots, "objective": self.objective})


class Enumeration(so.Backend):
    """Try all points, the cheapest first."""

    name = "toy-enumeration"
    summary = "all covers, cheapest first"
    families = frozenset({"toy"})
    features = frozenset({so.Feature.EXACT, so.Feature.CERTIFICATE})

    def _solve(self, problem, params, options, control):
        points = problem.points()
        missed = problem.b - points @ problem.A.T
        row = np.where(missed.max(axis=1) > 0.0, missed.argmax(axis=1), -1)
        evidence = so.Certificate("toy-rows", {"row": row})
        covers = points[row < 0]
        budgets = range(len(problem.c) + 1) if params.budget is None else [params.budget]
        cheapest = {float(K): covers[covers.sum(axis=1) <= K][:1] for K in budgets}
        best = {K: found[0] for K, found in cheapest.items() if len(found)}
        if not best:
            return so.Result(status=so.Status.INFEASIBLE, certificate=evidence)
        x, value = np.array(list(best.values())), np.array([problem.c @ y for y in best.values()])
        path = CoverPath(np.array(list(best)), x, value) if params.budget is None else None
        end = float(value[-1])
        status = so.Status.OPTIMAL
        return so.Result(
            status=status, x=x[-1], objective=end, bound=end, path=path, certificate=evidence
        )


def verify(problem, result, findings):
    """Every point that would be better than what is stated must violate the row that is named."""
    points, row = problem.points(), np.asarray(result.certificate.arrays["row"])
    out = (row >= 0) & ((problem.b[:, None] > problem.A @ points.T)[row, np.arange(len(row))])
    spent, asked, path = points.sum(axis=1), result.params.budget, result.path
    stated = {len(problem.c) if asked is None else asked: (result.objective, result.x)}
    if path is not None:
        stated |= {K: (path.objective_at(K), path.at(K)) for K in path.knots}
        stated[path.knots[0] - 1] = (None, None)
        findings.cover("path")
    for K, (value, x) in stated.items():
        if x is not None and (x.sum() > K or max(problem.residuals(x).values()) > 0.0):
            findings.refute(f"budget {K}: {x} is no cover of at most {K} sets")
        limit = np.inf if value is None else value - 1e-9
        if ((spent <= K) & (points @ problem.c < limit) & ~out).any():
            findings.refute(f"budget {K}: there is a cheaper cover than {value}")
    findings.prove(f"{int(out.sum())} points violate a row that is named")


def draw(path, ax, **style):
    """Draw the objective against the budget."""
    ax.step(path.knots, path.objective, where="post", **style)
    ax.set_xlabel("budget")
    return ax


def random_cover(n: int = 6, m: int = 4, seed: int = 0):
    """Return a random cover; y = 1 is feasible."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 3, size=(m, n)).astype(float)
    return Cover(c=rng.uniform(1.0, 2.0, n), A=A, b=np.floor(A.sum(axis=1) / 2.0))


def samples(rng):
    """Return problems with known answers, for the conformance suite."""
    pair = Cover(c=[2.0, 3.0, 4.0], A=[[1.0, 2.0, 2.0]], b=[3.0])
    cheap = Sample("pair", pair, {"budget": 2}, 5.0, known_by="the first two reach 3")
    none = Sample("none", pair, {"budget": 1}, status=so.Status.INFEASIBLE)
    return FamilySamples(samples=(cheap, none), large=(Sample("large", random_cover(n=14)),))


FORMAT = PathFormat(
    encode=lambda path: {name: getattr(path, name) for name in ("knots", "x", "objective")},
    decode=lambda part: CoverPath(*(part.array(name) for name in ("knots", "x", "objective"))),
    schema={"type": "object", "required": ["kind", "knots", "x", "objective"]},
)
TOY = so.Family(
    name="toy",
    problems={"toy-cover": Cover},
    verifier=verify,
    paths={"toy-budgets": FORMAT},
    samples=samples,
    small={"toy-cover": ("toy-cover", {"n": 3})},
    generators={"toy-cover": random_cover},
    pictures={"toy-budgets": draw},
)

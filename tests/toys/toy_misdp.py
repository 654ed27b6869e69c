"""What a package of somebody else may bring: a family of problems, a backend and a verifier.

Integer points y of a box with a matrix inequality, the smallest form of the mixed-integer
semidefinite programs to come:

    min c'y   subject to   A_1 y_1 + ... + A_n y_n - A_0 psd,   0 <= y <= upper, integer

Only public names are imported. A certificate lists a vector v with v'(...)v < 0 for every point
that would be better.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparseopt import Backend, Certificate, Feature, Problem, ProblemError, Result, Status, Verdict
from sparseopt.checking import register_verifier
from sparseopt.testing import FamilySamples, Sample

FAMILY = "toy-misdp"
PSD = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ToyMISDP(Problem):
    """c of shape (n,), A of shape (n, k, k), A0 of shape (k, k)."""

    c: np.ndarray
    A: np.ndarray
    A0: np.ndarray
    upper: int = 1

    kind: ClassVar[str] = "toy-misdp"
    family: ClassVar[str] = FAMILY

    def _coerce(self):
        for name in ("c", "A", "A0"):
            try:
                self._set(name, np.asarray(getattr(self, name), dtype=float))
            except (TypeError, ValueError) as error:
                raise ProblemError(f"{name}: {error}", name) from error

    def validate(self):
        n, k = len(self.c), len(self.A0)
        if self.A.shape != (n, k, k) or self.A0.shape != (k, k):
            raise ProblemError(f"A has shape {self.A.shape}; expected {(n, k, k)}", "A")
        if not isinstance(self.upper, int) or self.upper < 1:
            raise ProblemError(f"upper is {self.upper!r}; expected an integer >= 1", "upper")

    @property
    def size(self):
        return {"n": len(self.c), "k": len(self.A0)}

    def matrix(self, y):
        return np.tensordot(y, self.A, axes=1) - self.A0

    def objective(self, x, lam=None):
        return float(self.c @ x)

    def residuals(self, x, lam=None):
        return {
            "psd": max(0.0, -float(np.linalg.eigvalsh(self.matrix(x))[0])),
            "integers": float(np.abs(x - np.rint(x)).max()),
            "box": float(np.maximum(np.maximum(-x, x - self.upper), 0.0).max()),
        }

    def points(self):
        """Return all integer points of the box, the best objective first."""
        box = np.array(list(itertools.product(range(self.upper + 1), repeat=len(self.c))), float)
        return box[np.argsort(box @ self.c, kind="stable")]


class ToyEnumeration(Backend):
    """Take the points from the best objective on until one is feasible."""

    name = "toy-enumeration"
    summary = "all integer points, best first"
    features = frozenset({Feature.EXACT, Feature.DUAL_BOUND, Feature.CERTIFICATE})

    def supports(self, problem):
        if problem.family == FAMILY:
            return True, ""
        return False, f"{self.name} does not take {problem.kind}"

    def _solve(self, problem, params, options, control):
        cuts = []
        certificate = {}
        for y in problem.points():
            values, vectors = np.linalg.eigh(problem.matrix(y))
            certificate["cuts"] = np.array(cuts).reshape(-1, len(problem.A0))
            if values[0] >= -PSD:
                value = problem.objective(y)
                return Result(
                    status=Status.OPTIMAL,
                    x=y,
                    objective=value,
                    bound=value,
                    certificate=Certificate("toy-cuts", certificate),
                    nodes=len(cuts) + 1,
                )
            cuts.append(vectors[:, 0])
            limit = control.limit()
            if limit is not None:
                return Result(status=Status.NO_SOLUTION, limit=limit, bound=problem.objective(y))
        certificate["cuts"] = np.array(cuts)
        return Result(
            status=Status.INFEASIBLE,
            certificate=Certificate("toy-cuts", certificate),
            nodes=len(cuts),
        )


def verify(problem, result, findings):
    """Every point that would be better than the bound must have a cut."""
    if result.certificate is None or result.certificate.kind != "toy-cuts":
        findings.doubt("there are no cuts")
        return
    points = problem.points()
    if result.status is not Status.INFEASIBLE:
        points = points[points @ problem.c < result.bound - 1e-9]
    cuts = np.asarray(result.certificate.arrays["cuts"])
    if len(cuts) < len(points):
        findings.refute(f"{len(cuts)} cuts for {len(points)} points")
        return
    for y, v in zip(points, cuts, strict=False):
        if not v @ problem.matrix(y) @ v < -PSD / 2.0:
            findings.refute(f"the point {y} is not cut off")
            return
    findings.prove(f"{len(points)} better points are cut off")


register_verifier(FAMILY, verify)


def _invalid():
    problem = ToyMISDP(c=[1.0], A=[[[1.0]]], A0=[[0.0]])
    object.__setattr__(problem, "upper", 0)
    return problem


def samples():
    """Known answers, for the conformance suite."""
    rng = np.random.default_rng(0)
    one = np.ones((1, 1))
    M = rng.normal(size=(14, 3, 3))
    large = M @ M.transpose(0, 2, 1)
    return FamilySamples(
        samples=(
            Sample(
                "cover",
                ToyMISDP(c=[2.0, 3.0], A=np.stack([one, 2.0 * one]), A0=2.0 * one, upper=2),
                {},
                3.0,
                known_by="y_1 + 2 y_2 >= 2",
            ),
            Sample(
                "block",
                ToyMISDP(
                    c=[1.0, 1.0],
                    A=[[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]],
                    A0=[[0.0, -2.0], [-2.0, 0.0]],
                    upper=4,
                ),
                {},
                4.0,
                known_by="y_1 y_2 >= 4",
            ),
            Sample(
                "infeasible",
                ToyMISDP(c=[1.0], A=one[None], A0=5.0 * one, upper=4),
                status=Status.INFEASIBLE,
            ),
        ),
        large=(Sample("large", ToyMISDP(np.arange(1.0, 15.0), large, large.sum(axis=0) * 0.9)),),
        invalid=_invalid,
    )


__all__ = ["ToyEnumeration", "ToyMISDP", "Verdict", "samples", "verify"]

"""True paths without an engine: all bases of a tiny problem, enumerated, and closed forms.

Nothing here shares code with the checker. A basis is solved as two dense systems, the p equations
z_i = kink for theta and the m equations v_i = slope for nu; its range of lam follows from the
remaining conditions, which are affine in lam; objectives are sums of polynomials.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from sparseopt import Certificate, Result, SolveParams, Status
from sparseopt.paths.parametric import ParametricPath, SparseRows

TINY = 1e-9


@dataclass
class Function:
    """One convex piecewise-linear function: kinks (q, 2), slopes (q + 1, 2), by lam."""

    kinks: np.ndarray
    slopes: np.ndarray

    def codes(self):
        """All codes: at each kink, and on each piece of finite slope."""
        at = [2 * k + 1 for k in range(len(self.kinks))]
        on = [2 * k for k in range(len(self.slopes)) if np.isfinite(self.slopes[k, 0])]
        return sorted(at + on)

    def value(self, code, z):
        """The value as a polynomial in lam, where z = z[0] + lam z[1] is on the code's piece."""
        k = code // 2
        last = k if code % 2 else max(k - 1, 0)
        total = np.zeros(3)
        for j in range(1, last + 1):
            total += product(self.slopes[j], self.kinks[j] - self.kinks[j - 1])
        if code % 2 == 0:
            total += product(self.slopes[k], z - self.kinks[last])
        return total


def product(one, two):
    return np.array([one[0] * two[0], one[0] * two[1] + one[1] * two[0], one[1] * two[1]])


def functions(program):
    """The functions of all coordinates, variables first."""
    found = []
    for pieces in (program.phi, program.psi):
        for i in range(len(pieces)):
            kinks = slice(pieces.ptr[i], pieces.ptr[i + 1])
            slopes = slice(pieces.ptr[i] + i, pieces.ptr[i + 1] + i + 1)
            found.append(
                Function(
                    np.stack([pieces.kink[kinks], pieces.kink_rate[kinks]], axis=1),
                    np.stack([pieces.slope[slopes], pieces.slope_rate[slopes]], axis=1),
                )
            )
    return found


@dataclass
class Basis:
    """A basis with its solution, (p, 2) and (m, 2), and the range of lam where it is optimal."""

    codes: np.ndarray
    theta: np.ndarray
    nu: np.ndarray
    low: float
    high: float


def dense(program):
    A = program.A.as_array()
    return A.toarray() if hasattr(A, "toarray") else np.asarray(A)


def solve_basis(program, codes):
    """Solve a basis; None where its equations are singular."""
    A, f = dense(program), functions(program)
    m, p = A.shape
    Z, V = np.vstack([np.eye(p), A]), np.vstack([-A.T, np.eye(m)])
    at = [i for i, code in enumerate(codes) if code % 2]
    on = [i for i, code in enumerate(codes) if not code % 2]
    if len(at) != p or min(rank(Z[at]), rank(V[on])) < 1e-9:
        return None
    theta = np.linalg.solve(Z[at], np.array([f[i].kinks[codes[i] // 2] for i in at]))
    nu = np.linalg.solve(V[on], np.array([f[i].slopes[codes[i] // 2] for i in on]))
    z, v = Z @ theta, V @ nu
    low, high = 0.0, np.inf
    for i, code in enumerate(codes):
        k = code // 2
        limits = []
        if code % 2:
            limits = [v[i] - f[i].slopes[k], f[i].slopes[k + 1] - v[i]]
        else:
            limits += [z[i] - f[i].kinks[k - 1]] if k > 0 else []
            limits += [f[i].kinks[k] - z[i]] if k < len(f[i].kinks) else []
        for slack, rate in limits:
            if abs(rate) < 1e-12:
                if slack < -TINY:
                    return None
            elif rate > 0.0:
                low = max(low, -slack / rate)
            else:
                high = min(high, -slack / rate)
    return Basis(np.array(codes), theta, nu, low, high) if low <= high else None


def rank(square):
    return np.linalg.svd(square, compute_uv=False)[-1]


def all_bases(program):
    """Every basis that is optimal on a range of positive length."""
    p = program.A.shape[1]
    found = []
    for codes in itertools.product(*(f.codes() for f in functions(program))):
        if sum(code % 2 for code in codes) == p:
            basis = solve_basis(program, codes)
            if basis is not None and basis.high - basis.low > TINY:
                found.append(basis)
    return found


def brute_path(problem, lam_min=0.0):
    """Return the bases of the whole path, or of the part down to where it ends."""
    bases = all_bases(problem.canonical())
    lam, chosen = max(basis.high for basis in bases), []
    while lam > lam_min:
        fit = [b for b in bases if b.low < lam - TINY and b.high >= lam - TINY]
        if not fit:
            break
        best = min(fit, key=lambda basis: basis.low)
        chosen.append(replace(best, low=max(best.low, lam_min), high=lam))
        lam = chosen[-1].low
    return chosen


def basis_at(problem, lam):
    """Return the basis that is optimal around one lam."""
    return next(b for b in all_bases(problem.canonical()) if b.low < lam < b.high)


def objective(program, basis):
    """Return the objective on a basis as a polynomial in lam."""
    A, f = dense(program), functions(program)
    z = np.vstack([basis.theta, A @ basis.theta])
    total = np.array(program.offset)
    for i, code in enumerate(basis.codes):
        total = total + f[i].value(code, z[i])
    return total


def path_result(problem, bases, stopped_by="lam_min", arrays=None, **question):
    """Build the result that a backend would return for these bases."""
    program = problem.canonical()
    low, high = np.array([b.low for b in bases]), np.array([b.high for b in bases])
    theta, nu, values = [], [], []
    for basis in bases:
        for rows, line in ((theta, basis.theta), (nu, basis.nu)):
            index = np.flatnonzero(line.any(axis=1))
            value = line[index, 0] + basis.low * line[index, 1]
            rows.append((index, value, line[index, 1]))
        a, b, c = problem.canonical_sign * objective(program, basis)
        values.append([a + basis.low * (b + basis.low * c), b + 2 * basis.low * c, c])
    changes = [np.flatnonzero(a.codes != b.codes) for a, b in itertools.pairwise(bases)]
    certificate = Certificate(
        "segments",
        {
            "low": low,
            "high": high,
            "codes": bases[0].codes.astype(np.int16),
            "change_ptr": np.cumsum([0, 0, *(len(change) for change in changes)]),
            "changed": np.concatenate([np.zeros(0, np.int64), *changes]),
            "change_code": np.concatenate(
                [
                    np.zeros(0, np.int16),
                    *(b.codes[change] for b, change in zip(bases[1:], changes, strict=True)),
                ]
            ).astype(np.int16),
            **(arrays or {}),
        },
        {"end": stopped_by} if stopped_by.endswith("below") else {},
    )
    path = ParametricPath(
        low=low,
        high=high,
        theta=SparseRows.stack(theta),
        nu=SparseRows.stack(nu),
        objective=np.array(values),
        shape=program.A.shape,
        names=problem.coefficient_names,
        stopped_by=stopped_by,
    )
    end = low[-1]
    return Result(
        status=Status.OPTIMAL,
        x=path.at(end),
        objective=path.objective_at(end),
        bound=path.objective_at(end),
        duals={"rows": path.dual_at(end)},
        path=path,
        certificate=certificate,
        params=SolveParams(**question),
        kind=problem.kind,
        problem=problem,
    )


def point_result(problem, lam):
    """Build the result of one lam from the basis that is optimal there."""
    basis = basis_at(problem, lam)
    theta, nu = (line[:, 0] + lam * line[:, 1] for line in (basis.theta, basis.nu))
    a, b, c = objective(problem.canonical(), basis)
    value = problem.canonical_sign * (a + lam * (b + lam * c))
    return Result(
        status=Status.OPTIMAL,
        x=theta,
        objective=value,
        bound=value,
        duals={"rows": nu},
        certificate=Certificate("dual", {"nu": nu}),
        params=SolveParams(lam=lam),
        kind=problem.kind,
        problem=problem,
    )

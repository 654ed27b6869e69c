"""Paths with false segments, made by somebody who has read how the checker proves them.

Each attack changes a true path and its certificate of the kind "segments" (that of a column of
"columnwise", too): segments that were not there, with rates that make errors look like rounding;
knots left out or moved; wrong slopes that fit at both ends; bases of other segments. The objective
that is stated is always the one that the stated numbers have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparseopt import Certificate, Result
from sparseopt.checking.parametric.bases.tables import CodeTables
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.paths.parametric import ParametricPath, SparseRows
from sparseopt.problems.parametric.pieces import Pieces

Array = np.ndarray
Rng = np.random.Generator


Attack = Callable[["Editor", list["Segment"], Rng], "list[Segment] | None"]

FAR = 1e8
"""Bounds beyond this are loose: the data of the random problems are near one."""


@dataclass
class Segment:
    """One segment as dense numbers; rows of theta and nu are values at `low`, and rates."""

    low: float
    high: float
    codes: Array
    theta: Array
    nu: Array

    def copy(self, **changes: Any) -> Segment:
        """Return another one with its own arrays."""
        own = replace(self, codes=self.codes.copy(), theta=self.theta.copy(), nu=self.nu.copy())
        return replace(own, **changes)

    def part(self, low: float, high: float) -> Segment:
        """Return what it says of a part of its range."""
        theta, nu = self.theta.copy(), self.nu.copy()
        if low > self.low:
            theta[0] += (low - self.low) * theta[1]
            nu[0] += (low - self.low) * nu[1]
        return self.copy(low=low, high=high, theta=theta, nu=nu)


class Editor:
    """Takes the path of a problem in its general form apart, and puts it together again."""

    def __init__(self, program: Any, sign: float) -> None:
        self.program, self.sign = program, sign
        pieces = Pieces.concatenate(program.phi, program.psi)
        self.tables = CodeTables(pieces)
        self.far = np.maximum.reduceat(np.abs(pieces.kink), pieces.ptr[:-1]) > FAR

    def read(self, path: ParametricPath, certificate: Certificate) -> list[Segment]:
        """Return the segments."""
        m, p = self.program.A.shape
        arrays, codes, out = certificate.arrays, None, []
        codes = np.array(arrays["codes"])
        for s, (low, high) in enumerate(zip(path.low, path.high, strict=True)):
            here = slice(*arrays["change_ptr"][s : s + 2])
            codes[arrays["changed"][here]] = arrays["change_code"][here]
            vectors = []
            for rows, length in ((path.theta, p), (path.nu, m)):
                both = np.zeros((2, length))
                at = slice(*rows.ptr[s : s + 2])
                both[:, rows.index[at]] = rows.value[at], rows.rate[at]
                vectors.append(both)
            out.append(Segment(float(low), float(high), codes.copy(), *vectors))
        return out

    def write(
        self, path: ParametricPath, certificate: Certificate, segments: list[Segment]
    ) -> tuple[ParametricPath, Certificate]:
        """Return the path with these segments, and its certificate."""
        changes, before = [], segments[0].codes
        for each in segments:
            at = np.flatnonzero(each.codes != before)
            changes.append((at, each.codes[at]))
            before = each.codes
        arrays = {
            **certificate.arrays,
            "low": np.array([each.low for each in segments]),
            "high": np.array([each.high for each in segments]),
            "codes": segments[0].codes,
            "change_ptr": np.cumsum([0, *(len(at) for at, _ in changes)]),
            "changed": np.concatenate([at for at, _ in changes]),
            "change_code": np.concatenate([code for _, code in changes]),
        }
        forged = replace(
            path,
            low=arrays["low"],
            high=arrays["high"],
            theta=_sparse([each.theta for each in segments]),
            nu=_sparse([each.nu for each in segments]),
            objective=self.sign * np.array([self.objective(each) for each in segments]),
        )
        return forged, Certificate(certificate.kind, arrays, certificate.values)

    def objective(self, each: Segment) -> Array:
        """Return the quadratic in step that the numbers of a segment have by its codes."""
        lines = self.tables.lines[self.tables.start + each.codes]
        A = self.program.A
        z = np.stack([np.concatenate([part, A.matvec(part)]) for part in each.theta])
        on, lam = (each.codes & 1) == 0, each.low
        a, b, c = lines[:, 8:11].T
        o = self.program.offset
        total = np.array([o[0] + lam * (o[1] + lam * o[2]), o[1] + 2.0 * lam * o[2], o[2]])
        total += [(a + lam * (b + lam * c)).sum(), (b + 2.0 * lam * c).sum(), c.sum()]
        active = on & (lines[:, 11] != 0.0)
        slope, rate = lines[active, 4] + lam * lines[active, 5], lines[active, 5]
        own = z[:, active]
        of_pieces = [slope @ own[0], slope @ own[1] + rate @ own[0], rate @ own[1]]
        return np.asarray(total + of_pieces)

    def value(self, theta: Array, lam: float) -> float:
        """Return the objective of a point, infinite where it is outside a domain by 1e-6."""
        program = self.program
        parts = ((program.phi, theta), (program.psi, program.A.matvec(theta)))
        terms = ((each.value, z, each.domain(lam)) for each, z in parts)
        return self._total(lam, terms, 1.0)

    def dual_value(self, nu: Array, lam: float) -> float:
        """Return the bound of multipliers, -infinite where they are outside slopes by 1e-6.

        Where a bound is far, rounding errors of its multiplier are taken off: they are no lie.
        """
        program, p = self.program, self.program.A.shape[1]
        v = np.concatenate([-program.A.rmatvec(nu), nu])
        less = np.sign(v) * np.maximum(np.abs(v) - 1e-6 * (1.0 + np.abs(v)), 0.0)
        v = np.where(self.far, less, v)
        parts = ((program.phi, v[:p]), (program.psi, v[p:]))
        terms = ((each.conjugate, v, each.slope_range(lam)) for each, v in parts)
        return self._total(lam, terms, -1.0)

    def _total(self, lam: float, terms: Iterator[tuple[Any, Array, Any]], sign: float) -> float:
        constant, rate, curve = self.program.offset
        total = float(constant + lam * (rate + lam * curve))
        for function, x, (low, high) in terms:
            inside = np.clip(x, low, high)
            if not (np.abs(x - inside) <= 1e-6 * (1.0 + np.abs(inside))).all():
                return sign * np.inf
            total += sign * float(function(inside, lam).sum())
        return total


def _sparse(vectors: list[Array]) -> SparseRows:
    rows = []
    for both in vectors:
        at = np.flatnonzero(both.any(axis=0))
        rows.append((at, both[0, at], both[1, at]))
    return SparseRows.stack(rows)


def forgeries(
    problem: Any, result: Result, rng: Rng, attacks: dict[str, Attack] | None = None
) -> Iterator[tuple[str, Result]]:
    """Yield (name, result with a false segment) for a path that is optimal, by all attacks."""
    certificate = result.certificate
    if certificate is None or certificate.kind not in ("segments", "columnwise"):
        return
    for name, attack in (attacks or ATTACKS).items():
        for _ in range(3):
            found = _forge(problem, result, attack, rng)
            if found is not None:
                about, forged = found
                yield f"{name} ({about})", forged


def _forge(problem: Any, result: Result, attack: Attack, rng: Rng) -> tuple[str, Result] | None:
    """Return what the false segments are wrong about, and the result."""
    path: Any = result.path
    certificate = result.certificate
    assert certificate is not None
    if isinstance(path, ParametricPath):
        editor = Editor(problem.canonical(), problem.canonical_sign)
        made = _edited(editor, path, certificate, attack, rng)
        return None if made is None else (made[0], restated(result, *made[1:]))
    assert isinstance(path, ColumnwisePath)
    at = int(rng.integers(len(path.columns)))
    one = problem.column(at)
    parts = columns_of(certificate, len(path.columns))
    made = _edited(
        Editor(one.canonical(), one.canonical_sign), path.columns[at], parts[at], attack, rng
    )
    if made is None:
        return None
    columns = list(path.columns)
    about, columns[at], parts[at] = made
    whole = replace(path, columns=columns)
    end = float(whole.low[-1])
    value = sum(column.objective_at(end) for column in columns)
    return about, result.with_changes(
        path=whole,
        certificate=joined(certificate, parts),
        x=whole.at(end),
        objective=value,
        bound=value,
        duals={"rows": whole.dual_at(end)},
    )


def columns_of(certificate: Certificate, count: int) -> list[Certificate]:
    """Take a certificate of columns apart, into one of the kind "segments" for each."""
    arrays, parts = certificate.arrays, []
    at, code = arrays["changed"], arrays["change_code"]
    for i in range(count):
        begin, end = arrays["column_ptr"][i : i + 2]
        ptr = arrays["change_ptr"][begin : end + 1]
        first, rest = slice(*ptr[:2]), slice(ptr[1], ptr[-1])
        codes = np.array(arrays["codes"])
        codes[at[first]] = code[first]
        part = {name: arrays[name][begin:end] for name in ("low", "high")}
        part |= {"codes": codes, "changed": at[rest], "change_code": code[rest]}
        part["change_ptr"] = np.concatenate([[0], ptr[1:] - ptr[1]])
        parts.append(Certificate("segments", part))
    return parts


def joined(certificate: Certificate, parts: list[Certificate]) -> Certificate:
    """Put the certificates of all columns together again."""
    base, at, code, counts = np.array(certificate.arrays["codes"]), [], [], []
    for part in parts:
        own = part.arrays
        first = np.flatnonzero(own["codes"] != base)
        at += [first, own["changed"]]
        code += [own["codes"][first], own["change_code"]]
        counts += [len(first), *np.diff(own["change_ptr"])[1:]]
    names = ("low", "high")
    arrays = {
        **certificate.arrays,
        **{name: np.concatenate([part.arrays[name] for part in parts]) for name in names},
        "column_ptr": np.cumsum([0, *(len(part.arrays["low"]) for part in parts)]),
        "changed": np.concatenate(at),
        "change_code": np.concatenate(code),
        "change_ptr": np.cumsum([0, *counts]),
    }
    return Certificate(certificate.kind, arrays, certificate.values)


def _edited(
    editor: Editor, path: ParametricPath, certificate: Certificate, attack: Attack, rng: Rng
) -> tuple[str, ParametricPath, Certificate] | None:
    """Return a forged path, or None where the attack makes no false one."""
    true = editor.read(path, certificate)
    false = attack(editor, [each.copy() for each in true], rng)
    if false is not None and rng.random() < 0.5:
        false = with_true_points(false, true)
    about = {falsehood(editor, each, true) for each in false or ()}
    if about <= {None}:
        return None
    return "points" if "points" in about else "multipliers", *editor.write(path, certificate, false)


def with_true_points(false: list[Segment], true: list[Segment]) -> list[Segment]:
    """Return false segments cut at the true knots, with true points: the multipliers are wrong."""
    parts = (
        (one, home, max(one.low, home.low), min(one.high, home.high))
        for one in false
        for home in true
    )
    return [
        one.part(low, high).copy(theta=home.part(low, high).theta)
        for one, home, low, high in parts
        if low < high or low == high == one.low == one.high
    ]


def falsehood(editor: Editor, each: Segment, true: list[Segment]) -> str | None:
    """Return which of its numbers are not optimal, by far, in the middle of a segment."""
    lam = 0.5 * (each.low + each.high) if np.isfinite(each.high) else each.low + 1.0
    home = next((one for one in true if one.low <= lam <= one.high), None)
    if home is None:
        return None
    best = editor.value(home.theta[0] + (lam - home.low) * home.theta[1], lam)
    # Beside far bounds the checker's unit is up to 10^4 times that of the others.
    enough = 1e-4 * (abs(best) + 1.0) if editor.far.any() else 1e-5 * (abs(best) + 1e-2)
    if not np.isfinite(best):
        return None
    if editor.value(each.theta[0] + (lam - each.low) * each.theta[1], lam) > best + enough:
        return "points"
    bound = editor.dual_value(each.nu[0] + (lam - each.low) * each.nu[1], lam)
    return "multipliers" if bound < best - enough else None


def restated(result: Result, path: ParametricPath, certificate: Certificate) -> Result:
    """Return the result with another path, and its end as the answer."""
    m, p = path.shape
    last = len(path.low) - 1
    value = float(path.objective[last, 0])
    return result.with_changes(
        path=path,
        certificate=certificate,
        x=path.theta.dense(last, 0.0, p),
        objective=value,
        bound=value,
        duals={"rows": path.nu.dense(last, 0.0, m)},
    )


def _pick(segments: list[Segment], rng: Rng) -> int | None:
    """Return the place of a segment of some length."""
    places = [s for s, one in enumerate(segments) if one.low < one.high]
    return int(rng.choice(places)) if places else None


def _insert(segments: list[Segment], s: int, false: Segment) -> list[Segment]:
    """Put a segment that is within segment s in its place."""
    one, keep = segments[s], [false]
    if false.high < one.high:
        keep.insert(0, one.part(false.high, one.high))
    if one.low < false.low:
        keep.append(one.part(one.low, false.low))
    return [*segments[:s], *keep, *segments[s + 1 :]]


def steep_rates(editor: Editor, segments: list[Segment], rng: Rng) -> list[Segment] | None:
    """A short segment that states 0, or a multiple of the truth, with rates that hide all else."""
    s = _pick(segments, rng)
    if s is None:
        return None
    one = segments[s]
    top = min(one.high, 2.0 * one.low + 1.0)
    low = one.low + (top - one.low) * rng.choice([0.0, rng.random()])
    length = rng.choice([0.0, 10.0 ** rng.uniform(-16.0, -6.0)]) * max(low, 1e-3)
    false = one.part(low, min(low + length, top))
    factor = rng.choice([0.0, 0.0, rng.normal()])
    size = 10.0 ** rng.uniform(0.0, 200.0 if length == 0.0 else 20.0)
    for both in (false.theta, false.nu):
        both[0] *= factor
        both[1] = size * rng.normal(size=both.shape[1])
    return _insert(segments, s, false)


def merged(editor: Editor, segments: list[Segment], rng: Rng) -> list[Segment] | None:
    """Two to four segments in one, whose numbers are right at both ends."""
    count = int(rng.integers(2, 5))
    if len(segments) < count + 1:
        return None
    s = int(rng.integers(1, len(segments) - count + 1))
    group = segments[s : s + count]
    one = group[int(rng.integers(count))].copy(low=group[-1].low, high=group[0].high)
    length = one.high - one.low
    if length <= 0.0:
        return None
    for name in ("theta", "nu"):
        bottom, top = getattr(group[-1], name), getattr(group[0], name)
        end = top[0] + (group[0].high - group[0].low) * top[1]
        setattr(one, name, np.stack([bottom[0], (end - bottom[0]) / length]))
    return [*segments[:s], one, *segments[s + count :]]


def stretched(editor: Editor, segments: list[Segment], rng: Rng) -> list[Segment] | None:
    """A knot that is moved, so that one of two segments goes too far."""
    s = _pick(segments[:-1], rng)
    if s is None:
        return None
    one, two = segments[s], segments[s + 1]
    size = 10.0 ** rng.uniform(-4.0, 0.0)
    if rng.random() < 0.5:
        knot = one.low - size * (one.low - two.low)
    else:
        knot = one.low + size * (min(one.high, 2.0 * one.low + 1.0) - one.low)
    segments[s], segments[s + 1] = one.part(knot, one.high), two.part(two.low, knot)
    return segments


def left_out(editor: Editor, segments: list[Segment], rng: Rng) -> list[Segment] | None:
    """A segment that is missing; one beside it has its range."""
    if len(segments) < 3:
        return None
    s = int(rng.integers(1, len(segments) - 1))
    one, two = segments[s - 1], segments[s + 1]
    if rng.random() < 0.5:
        segments[s - 1] = one.part(segments[s].low, one.high)
    else:
        segments[s + 1] = two.part(two.low, segments[s].high)
    return [*segments[:s], *segments[s + 1 :]]


def codes_of_another(editor: Editor, segments: list[Segment], rng: Rng) -> list[Segment] | None:
    """The numbers of one segment with the basis of another, or the other way round."""
    if len(segments) < 2:
        return None
    s, other = (int(k) for k in rng.choice(len(segments), 2, replace=False))
    if rng.random() < 0.5:
        segments[s].codes = segments[other].codes.copy()
    for name in ("theta", "nu"):
        if rng.random() < 0.7:
            setattr(segments[s], name, getattr(segments[other], name).copy())
    return segments


def another_vertex(editor: Editor, segments: list[Segment], rng: Rng) -> list[Segment] | None:
    """The exact solution of a neighbouring basis, which is not optimal, on a part of a range."""
    s = _pick(segments, rng)
    if s is None:
        return None
    false, p = segments[s].copy(), editor.program.A.shape[1]
    for _ in range(int(rng.integers(1, 3))):
        at_kink = np.flatnonzero(false.codes & 1)
        on_piece = np.flatnonzero(~false.codes & 1)
        out, into = int(rng.choice(at_kink)), int(rng.choice(on_piece))
        false.codes[out] += rng.choice([-1, 1])
        last = editor.tables.last_codes[into]
        if last == 0:
            return None
        false.codes[into] = rng.choice(np.arange(1, last, 2))
    lines = editor.tables.lines[editor.tables.start + false.codes]
    if not np.isfinite(lines[~false.codes & 1 == 1, 4]).all():
        return None
    A = editor.program.A.block(np.arange(len(false.nu[0])), np.arange(p))
    columns, rows = (false.codes[:p] & 1) == 0, (false.codes[p:] & 1) == 1
    kernel = A[np.ix_(rows, columns)]
    if not columns.any() or np.linalg.cond(kernel) > 1e12:
        return None
    kinks = np.stack([lines[:, 0] + false.low * lines[:, 1], lines[:, 1]])
    slopes = np.stack([lines[:, 4] + false.low * lines[:, 5], lines[:, 5]])
    for k in (0, 1):
        theta, nu = np.where(columns, 0.0, kinks[k, :p]), np.where(rows, 0.0, slopes[k, p:])
        theta[columns] = np.linalg.solve(kernel, kinks[k, p:][rows] - (A @ theta)[rows])
        nu[rows] = np.linalg.solve(kernel.T, -slopes[k, :p][columns] - (A.T @ nu)[columns])
        false.theta[k], false.nu[k] = theta, nu
    if not (np.isfinite(false.theta).all() and np.isfinite(false.nu).all()):
        return None
    low = false.low + rng.choice([0.0, 0.5, 1.0 - 1e-9]) * (min(false.high, 9.0) - false.low)
    if not low < false.high:
        return None
    return _insert(segments, s, false.part(low, false.high))


def cancelling(editor: Editor, segments: list[Segment], rng: Rng) -> list[Segment] | None:
    """Large multiples of two columns, or rows, on a part of a range; as good as 0 where equal."""
    s = _pick(segments, rng)
    if s is None:
        return None
    one = segments[s]
    false = one.part(one.low, one.high if rng.random() < 0.5 else min(one.high, 2.0 * one.low + 1))
    for both in (false.theta, false.nu):
        if both.shape[1] < 2 or rng.random() < 0.3:
            continue
        at = rng.choice(both.shape[1], 2, replace=False)
        size = 10.0 ** rng.uniform(-6.0, 16.0)
        both[int(rng.integers(2)), at] += size * rng.choice([-1.0, 1.0], 2)
    return _insert(segments, s, false)


def off_a_little(editor: Editor, segments: list[Segment], rng: Rng) -> list[Segment] | None:
    """One number that is off, or all by one factor."""
    one = segments[int(rng.integers(len(segments)))]
    both = one.theta if rng.random() < 0.5 else one.nu
    k, size = int(rng.integers(2)), 10.0 ** rng.uniform(-8.0, 0.0)
    if rng.random() < 0.5:
        both[k] *= 1.0 + size * rng.choice([-1.0, 1.0])
    else:
        both[k, rng.integers(both.shape[1])] += size * rng.normal() * (np.abs(both).max() + 1e-3)
    return segments


ATTACKS: dict[str, Attack] = {
    "steep rates": steep_rates,
    "merged segments": merged,
    "stretched segments": stretched,
    "missing segments": left_out,
    "codes of another segment": codes_of_another,
    "another vertex": another_vertex,
    "cancelling numbers": cancelling,
    "numbers off a little": off_a_little,
}

"""Check a result in exact arithmetic: a second opinion that shares no code with the package.

    python exact.py INSTANCE.npz RESULT.json [--seconds 600] [--json]

Instances of the parametric problems, budgets, sparse trust-region problems, selections of
variables with the linear or the quadratic kernel, MISDPs, robust subspaces and fits to a mean
embedding, up to what the seconds allow. Not covered: the Gaussian kernel, names, traces, and why a
path ends before it reaches what was asked.

Standard library only; every number of the two files is taken as the rational number that it is.
What is proven is a theorem about these numbers, with the margins that the report states: how far
the point is outside the constraints, how far the stated objective is off, and by how much another
feasible point could be better. Exit codes: 0 proven, 1 refuted, 2 unreadable, 3 not proven (no
evidence, evidence that needs more than this program does, or too large).

Floating point is used to guess (a direction, a factorisation, a multiplier), never to decide.
Exponentials and logarithms are rounded correctly at 45 digits: thirty below the margins.
"""

# mypy: ignore-errors

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import struct
import sys
import time
import zipfile
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from io import BytesIO
from itertools import accumulate, pairwise
from pathlib import Path

ZERO, ONE = Fraction(0), Fraction(1)
FEASIBLE, OBJECTIVE, CONIC, GAP = 1e-8, 1e-9, 1e-7, 1e-9  # margins, relative to the data's units
BY_NORMS = -2  # in place of the pair of a leaf
LIMIT = 2**29  # bytes that an archive may unpack to
DIGITS = Context(prec=45, Emin=-(10**9), Emax=10**9)
SUBSET_WORK = 3_000_000  # products of two entries that the dual vectors of a tree may take
COMPONENT_WORK = 5_000_000  # products of two entries of the data that a matrix may take


class Refuted(Exception):
    """Something stated is false."""


class Unproven(Exception):
    """Nothing false was found, and the claim is not proven."""


class Empty(Exception):
    """A box holds no point."""


class Unreadable(Exception):
    """A file is not what it should be."""


class Clock:
    """Ends the work after some seconds of processor time."""

    end = math.inf

    @classmethod
    def check(cls):
        if time.process_time() > cls.end:
            raise Unproven("too large: the time is over before all is checked")


# ---- Files


def read_npy(data):
    if data[:6] != b"\x93NUMPY" or len(data) < 12:
        raise Unreadable("an entry is no .npy array")
    wide = data[6] > 1
    size = struct.unpack("<I" if wide else "<H", data[8 : 12 if wide else 10])[0]
    begin = 12 if wide else 10
    header = ast.literal_eval(data[begin : begin + size].decode("latin1").strip())
    codes = {"f8": "d", "f4": "f", "i8": "q", "i4": "i", "i2": "h", "i1": "b", "u1": "B", "b1": "?"}
    code = codes.get(str(header["descr"])[1:])
    if code is None or str(header["descr"])[0] not in "<|":
        raise Unreadable(f"an array of the type {header['descr']!r}")
    shape, body = tuple(header["shape"]), data[begin + size :]
    count = math.prod(shape)
    if len(body) != count * struct.calcsize(code):
        raise Unreadable("an array is cut off")
    values = list(struct.unpack(f"<{count}{code}", body))
    if header["fortran_order"] and len(shape) == 2:
        rows, columns = shape
        values = [values[i + j * rows] for i in range(rows) for j in range(columns)]
    return Table(shape, values, str(header["descr"]))


class Table:
    """An array: its shape, and its numbers by rows."""

    def __init__(self, shape, values, descr=""):
        self.shape, self.values, self.descr = tuple(shape), values, descr

    def rows(self):
        width = self.shape[1]
        return [self.values[i * width : (i + 1) * width] for i in range(self.shape[0])]


def read_archive(raw):
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        if sum(info.file_size for info in archive.infolist()) > LIMIT:
            raise Unproven("too large: an archive unpacks to more than 512 MB")
        return {
            i.filename.removesuffix(".npy"): read_npy(archive.read(i)) for i in archive.infolist()
        }


def read_instance(path):
    arrays = read_archive(Path(path).read_bytes())
    header = json.loads(bytes(arrays.pop("__header__").values))
    if header.get("format") != "sparseopt-instance" or header.get("version") != 1:
        raise Unreadable("no instance of version 1")
    return header, arrays


def fingerprint(header, arrays):
    """SHA-256 of the content: kind and values, then all arrays by name."""
    digest = hashlib.sha256(json.dumps([header["kind"], header["params"]], sort_keys=True).encode())
    names = {
        name.rsplit(".", 1)[0] if f"{name.rsplit('.', 1)[0]}.indptr" in arrays else name
        for name in arrays
    }
    for name in sorted(names):
        parts = (
            [name]
            if name in arrays
            else [f"{name}.{part}" for part in ("data", "indices", "indptr")]
        )
        for part in parts:
            table = arrays[part]
            digest.update(json.dumps([part, table.descr, list(table.shape)]).encode())
            code = {
                "f8": "d",
                "f4": "f",
                "i8": "q",
                "i4": "i",
                "i2": "h",
                "i1": "b",
                "u1": "B",
                "b1": "?",
            }
            digest.update(
                struct.pack(f"<{len(table.values)}{code[table.descr[1:]]}", *table.values)
            )
        if name not in arrays:
            digest.update(json.dumps([name, list(arrays[f"{name}.shape"].values)]).encode())
    return digest.hexdigest()


def read_result(path):
    path = Path(path)
    tree = json.loads(path.read_text("utf-8"))
    if tree.get("format") != "sparseopt-result" or tree.get("version") != 1:
        raise Unreadable("no result of version 1")
    beside = {}
    if tree.get("arrays"):
        raw = (path.parent / Path(tree["arrays"]["file"]).name).read_bytes()
        if hashlib.sha256(raw).hexdigest() != tree["arrays"]["sha256"]:
            raise Unreadable("the arrays beside the result are not its own")
        beside = read_archive(raw)
    words = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

    def decode(node):
        if isinstance(node, dict) and "dtype" in node and "shape" in node:
            if "entry" in node:
                return beside[node["entry"]]
            values = [words.get(v, v) if isinstance(v, str) else v for v in node["data"]]
            if len(values) != math.prod(node["shape"]) or any(isinstance(v, str) for v in values):
                raise Unreadable("an array of the result is not its shape")
            return Table(node["shape"], values)
        if isinstance(node, dict):
            return {key: decode(value) for key, value in node.items()}
        if isinstance(node, list):
            return [decode(value) for value in node]
        return node

    tree["path"], tree["certificate"] = decode(tree["path"]), decode(tree["certificate"])
    tree["x"], tree["duals"] = decode(tree["x"]), decode(tree["duals"])
    for name in ("objective", "bound"):
        tree[name] = words.get(tree[name], tree[name])
    return tree


def exact(value):
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise Refuted(f"{value!r} is stated where a finite number belongs")
    return Fraction(value)


def exacts(values):
    return [exact(value) for value in values]


def decimal(value):
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


# ---- Linear algebra


def whole(values):
    """Fractions as integers over one denominator."""
    scale = math.lcm(*(v.denominator for v in values)) if values else 1
    return [v.numerator * (scale // v.denominator) for v in values], scale


class Matrix:
    """A sparse matrix of integers over one denominator, by rows and by columns."""

    def __init__(self, rows, width):
        rows = [{j: a for j, a in row.items() if a} for row in rows]
        flat, self.scale = whole([a for row in rows for a in row.values()])
        numbers, self.shape = iter(flat), (len(rows), width)
        self.rows = [[(j, next(numbers)) for j in row] for row in rows]
        self.columns = [[] for _ in range(width)]
        for i, row in enumerate(self.rows):
            for j, a in row:
                self.columns[j].append((i, a))

    def _times(self, lines, x):
        ints, scale = whole(x)
        scale *= self.scale
        return [Fraction(sum(a * ints[j] for j, a in line), scale) for line in lines]

    def times(self, x):
        Clock.check()
        return self._times(self.rows, x)

    def transposed(self, x):
        return self._times(self.columns, x)

    def column(self, j):
        return {i: Fraction(a, self.scale) for i, a in self.columns[j]}


def solve(equations, targets, count):
    """Some x with E x = b exactly, zero where no pivot is; None where there is none (Bareiss)."""
    rows = []
    for row, b in zip(equations, targets, strict=True):
        ints, _ = whole([*(row.get(j, ZERO) for j in range(count)), b])
        rows.append(ints)
    last, pivots = 1, []
    for i, row in enumerate(rows):
        Clock.check()
        pivot = max(range(count), key=lambda j: abs(row[j]), default=None)
        if pivot is None or row[pivot] == 0:
            if row[-1]:
                return None
            pivots.append(None)
            continue
        for other in rows[i + 1 :]:
            entry = other[pivot]
            other[:] = [
                (row[pivot] * a - entry * b) // last for a, b in zip(other, row, strict=True)
            ]
        last = row[pivot]
        pivots.append(pivot)
    found = {}
    for row, pivot in zip(reversed(rows), reversed(pivots), strict=True):
        if pivot is not None:
            known = sum(row[j] * y for j, y in found.items())
            found[pivot] = (last * row[-1] - known) // row[pivot]
    return [Fraction(found.get(j, 0), last) for j in range(count)]


def positive(matrix, slack):
    """Whether M + slack I is positive semidefinite, by a guessed factor and a small remainder.

    M + slack I = L L' + R, where L is a rounded Cholesky factor of M + slack / 2 I and R has a
    dominant diagonal: both are semidefinite.
    """
    Clock.check()
    n, half = len(matrix), float(slack) / 2.0
    L = []
    for i in range(n):
        line = []
        for j in range(i + 1):
            rest = float(matrix[i][j]) - sum(
                a * b for a, b in zip(line, L[j] if j < i else line, strict=False)
            )
            if j < i:
                line.append(rest / L[j][j])
            elif rest + half <= 0.0:
                return False
            else:
                line.append(math.sqrt(rest + half))
        L.append(line)
    unit = 2 ** max(0, 70 - math.frexp(max((abs(a) for line in L for a in line), default=1.0))[1])
    ints = [[round(Fraction(a) * unit) for a in line] for line in L]
    left = [ZERO] * n
    for i in range(n):
        for j in range(i + 1):
            product = sum(a * b for a, b in zip(ints[i], ints[j], strict=False))
            rest = matrix[i][j] - Fraction(product, unit * unit)
            if i == j:
                left[i] += rest + slack
            else:
                left[i] -= abs(rest)
                left[j] -= abs(rest)
    return all(a >= 0 for a in left)


def semidefinite(matrix):
    """Whether a symmetric matrix of fractions is positive semidefinite, by elimination."""
    matrix = [list(row) for row in matrix]
    for k, row in enumerate(matrix):
        if row[k] < 0 or (row[k] == 0 and any(row[k:])):
            return False
        for other in matrix[k + 1 :] if row[k] else []:
            factor = other[k] / row[k]
            other[k:] = [a - factor * b for a, b in zip(other[k:], row[k:], strict=True)]
    return True


def root_up(value):
    """A rational that is at least the root of a nonnegative one."""
    if value <= 0:
        return ZERO
    scale = 2 ** max(
        0, 2 * (70 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    )
    return Fraction(math.isqrt(value.numerator * scale // value.denominator) + 1, math.isqrt(scale))


# ---- Parametric problems: sums of convex piecewise-linear functions of theta and of A theta


class Function:
    """Kinks and slopes as pairs (constant, rate); a slope None is infinite. Zero at kink 0."""

    def __init__(self, kinks, slopes):
        self.kinks, self.slopes = kinks, slopes

    def at(self, lam):
        kinks = [a + lam * b if b else a for a, b in self.kinks]
        slopes = [None if s is None else s[0] + lam * s[1] if s[1] else s[0] for s in self.slopes]
        return kinks, slopes


def ratio(off, unit):
    return float(off) / unit if unit else math.inf


def value_at(piece, z):
    """f(z), and how far z is outside the domain; what is outside counts as at its end."""
    kinks, slopes = piece
    inside = max(z, kinks[0]) if slopes[0] is None else z
    inside = min(inside, kinks[-1]) if slopes[-1] is None else inside
    total = ZERO
    if inside < kinks[0]:
        total = slopes[0] * (inside - kinks[0])
    for k, begin in enumerate(kinks):
        end = kinks[k + 1] if k + 1 < len(kinks) else inside
        step = min(max(inside, begin), max(end, begin)) - begin
        if step > 0:
            total += slopes[k + 1] * step
    return total, abs(z - inside)


def conjugate(piece, v):
    """The largest v z - f(z), for v between the outer slopes."""
    kinks, slopes = piece
    best, total = v * kinks[0], ZERO
    for k in range(1, len(kinks)):
        total += slopes[k] * (kinks[k] - kinks[k - 1])
        best = max(best, v * kinks[k] - total)
    return best


def constant(*values):
    return [(exact(v) if not isinstance(v, Fraction) else v, ZERO) for v in values]


def absolute(weight):
    return Function(constant(0), constant(-weight, weight))


def lam_absolute(weight):
    return Function(constant(0), [(ZERO, -weight), (ZERO, weight)])


def within(functions, arrays, power):
    """Functions with the one kink 0 on their bounds, and the constant that 0 at first kinks costs.

    The offset multiplies lam ** power.
    """
    out, offset = list(functions), [ZERO, ZERO, ZERO]
    ends = arrays["bounds"].rows() if "bounds" in arrays else ([], [])
    for j, (low, high) in enumerate(zip(*ends, strict=True)):
        left, right = functions[j].slopes
        kinks, slopes = [(ZERO, ZERO)], []
        if low < 0 and math.isfinite(low):
            kinks.insert(0, (exact(low), ZERO))
            offset[power] += left[power] * exact(low)
        slopes += [None] * math.isfinite(low) + [left] * (low < 0)
        if high > 0 and math.isfinite(high):
            kinks.append((exact(high), ZERO))
        if low == 0 and high == 0:
            kinks.append((ZERO, ZERO))
        slopes += [right] * (high > 0 or low == 0) + [None] * math.isfinite(high)
        out[j] = Function(kinks, slopes)
    return out, offset


def band(center, radius):
    return Function([(center, -radius), (center, radius)], [None, (ZERO, ZERO), None])


class Program:
    """min sum phi_j(theta_j) + sum psi_i((A theta)_i) + offset; the sign is -1 for a maximum."""

    def __init__(self, A, phi, psi, offset=(0, 0, 0), sign=1):
        self.A, self.phi, self.psi, self.sign = A, phi, psi, sign
        self.offset = [Fraction(o) for o in offset]
        both = [*phi, *psi]
        self.moves = (
            any(b for f in both for _, b in f.kinks),
            any(s is not None and s[1] for f in both for s in f.slopes),
        )


def dense(table):
    return [{j: Fraction(a) for j, a in enumerate(row) if a} for row in table.rows()]


def sparse(arrays, name):
    if name in arrays:
        return dense(arrays[name]), arrays[name].shape[1]
    data, index, ptr = (arrays[f"{name}.{part}"].values for part in ("data", "indices", "indptr"))
    rows = [{} for _ in ptr[1:]]
    for i, row in enumerate(rows):
        for k in range(ptr[i], ptr[i + 1]):
            row[index[k]] = row.get(index[k], ZERO) + Fraction(data[k])
    rows = [{j: a for j, a in row.items() if a} for row in rows]
    return rows, arrays[f"{name}.shape"].values[1]


def gram(rows, width, divisor, count):
    """X' diag(count) X / divisor exactly."""
    A, (times, unit) = Matrix(rows, width), whole(count)
    full = [[0] * len(rows) for _ in range(width)]
    for j, column in enumerate(A.columns):
        for i, a in column:
            full[j][i] = a
    counted = [list(map(int.__mul__, column, times)) for column in full]
    scale = divisor * unit * A.scale**2
    out = [{} for _ in range(width)]
    for i in range(width):
        Clock.check()
        for j in range(i + 1):
            out[i][j] = out[j][i] = Fraction(sum(map(int.__mul__, full[i], counted[j]))) / scale
    return out


def programs(header, arrays):
    """The general form of a parametric instance; one for each column where it falls apart."""
    kind, params = header["kind"], header["params"]

    def weights(name, count):
        return exacts(arrays[name].values) if name in arrays else [ONE] * count

    if kind == "piecewise-linear-program":
        rows, p = sparse(arrays, "A")
        parts = []
        for name in ("phi", "psi"):
            get = lambda part, name=name: arrays[f"{name}_{part}"].values  # noqa: E731
            ptr, found = get("ptr"), []
            for i in range(len(ptr) - 1):
                kinks = range(ptr[i], ptr[i + 1])
                slopes = range(ptr[i] + i, ptr[i + 1] + i + 1)
                found.append(
                    Function(
                        [(exact(get("kink")[k]), exact(get("kink_rate")[k])) for k in kinks],
                        [
                            (exact(get("slope")[k]), exact(get("slope_rate")[k]))
                            if math.isfinite(get("slope")[k])
                            else None
                            for k in slopes
                        ],
                    )
                )
            parts.append(found)
        return [Program(Matrix(rows, p), *parts, exacts(arrays["offset"].values))]
    if kind == "parametric-lp":
        rows, n = sparse(arrays, "A")
        b, b_bar, c, c_bar = (exacts(arrays[k].values) for k in ("b", "b_bar", "c", "c_bar"))
        phi = [Function(constant(0), [None, (-s, -r)]) for s, r in zip(c, c_bar, strict=True)]
        flat = (ZERO, ZERO)
        if params["form"] == "inequality":
            psi = [Function([t], [flat, None]) for t in zip(b, b_bar, strict=True)]
        else:
            psi = [Function([t, t], [None, flat, None]) for t in zip(b, b_bar, strict=True)]
        return [Program(Matrix(rows, n), phi, psi, sign=-1)]
    if kind in ("lad-lasso", "quantile-lasso", "l1-svm"):
        y, rows = exacts(arrays["y"].values), dense(arrays["X"])
        d, count = arrays["X"].shape[1], weights("sample_weights", len(rows))
        w = weights("weights", d)
        if params.get("fit_intercept", kind == "l1-svm"):
            w = [*w, ZERO]
            rows = [{**row, d: ONE} for row in rows]
        if kind == "l1-svm":
            rows = [{j: a * t for j, a in row.items()} for row, t in zip(rows, y, strict=True)]
            psi = [Function(constant(1), constant(-k, 0)) for k in count]
        else:
            tau = exact(params["tau"]) if kind == "quantile-lasso" else Fraction(1, 2)
            scale = 2 if kind == "lad-lasso" else 1
            psi = [
                Function(constant(t), constant(-scale * k * tau, scale * k * (1 - tau)))
                for t, k in zip(y, count, strict=True)
            ]
        phi, offset = within([lam_absolute(a) for a in w], arrays, 1)
        return [Program(Matrix(rows, len(w)), phi, psi, offset)]
    if kind in ("dantzig-selector", "compressed-sensing"):
        y, rows, d = exacts(arrays["y"].values), dense(arrays["X"]), arrays["X"].shape[1]
        if kind == "dantzig-selector":
            count = weights("sample_weights", len(rows))
            divisor = sum(count) if params.get("scale") == "n" else ONE
            counted = [k * t for k, t in zip(count, y, strict=True)]
            A = Matrix(rows, d)
            y, sums, total = A.transposed(counted), A.transposed(count), sum(count)
            rows = gram(rows, d, divisor, count)
            if params.get("fit_intercept"):
                # The products of the centred data.
                level = sum(counted) / total
                y = [a - s * level for a, s in zip(y, sums, strict=True)]
                parts = [s / (divisor * total) for s in sums]
                rows = [
                    {j: row.get(j, ZERO) - s * parts[j] for j in range(d)}
                    for row, s in zip(rows, sums, strict=True)
                ]
            y = [a / divisor for a in y]
        w, r = weights("weights", d), weights("row_weights", len(rows))
        return [l1_program(rows, d, y, w, r, arrays)]
    if kind in ("lpd", "clime"):
        rows, d = sparse(arrays, "S")
        w, r = weights("weights", d), weights("row_weights", d)
        if kind == "lpd":
            return [l1_program(rows, d, exacts(arrays["delta"].values), w, r)]
        return [l1_program(rows, d, [Fraction(i == k) for i in range(d)], w, r) for k in range(d)]
    if kind in ("matrix-dantzig", "differential-network"):
        if kind == "matrix-dantzig":
            left, right = transpose(arrays["Z"].rows()), arrays["X"].rows()
            center = [exacts(row) for row in arrays["Y"].rows()]
        else:
            left, right = arrays["S_Y"].rows(), arrays["S_X"].rows()
            sign = 1 if params["sign"] == "y-x" else -1
            center = [
                [sign * (exact(a) - exact(b)) for a, b in zip(*pair, strict=True)]
                for pair in zip(right, left, strict=True)
            ]
        width = len(left[0]) * len(right[0])
        if len(left) * len(right) * width > 4_000_000:
            raise Unproven("too large: a Kronecker product of more than 4 million entries")
        rows = [
            {
                j2 * len(right[0]) + j1: Fraction(a) * Fraction(b)
                for j2, a in enumerate(l)
                for j1, b in enumerate(r)
                if a and b
            }
            for l in left
            for r in right
        ]
        w, r = (
            exacts(v for row in transpose(arrays[name].rows()) for v in row)
            if name in arrays
            else [ONE] * length
            for name, length in (("weights", width), ("row_weights", len(rows)))
        )
        return [l1_program(rows, width, [v for row in transpose(center) for v in row], w, r)]
    raise Unproven(f"instances of the kind {kind!r} are not covered")


def transpose(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def l1_program(rows, width, center, w, r, arrays=()):
    psi = [band(c, k) for c, k in zip(center, r, strict=True)]
    phi, offset = within([absolute(a) for a in w], arrays, 0)
    return Program(Matrix(rows, width), phi, psi, offset)


class Point:
    """One lam: the functions there, their units, and what theta and nu prove."""

    def __init__(self, program, lam):
        self.program, self.lam = program, lam
        self.phi = [f.at(lam) for f in program.phi]
        self.psi = [f.at(lam) for f in program.psi]
        o = program.offset
        self.offset = o[0] + lam * (o[1] + lam * o[2])
        self.kinks = [float(max(map(abs, k))) for k, _ in self.psi]
        self.units = self._units()

    def _units(self):
        """For rows and variables: the size that the data lead one to expect."""
        A, scale = self.program.A, float(self.program.A.scale)
        own = [float(max(map(abs, k))) for k, _ in self.phi]
        typical = list(own)
        for i, row in enumerate(A.rows):
            for j, a in row:
                typical[j] = max(typical[j], self.kinks[i] * scale / abs(a))
        rows = [
            kink + max((abs(a) / scale * typical[j] for j, a in row), default=0.0)
            for kink, row in zip(self.kinks, A.rows, strict=True)
        ]
        return typical, rows

    def primal(self, theta):
        """P(theta), with the largest violation in units of the terms, which units limit."""
        A = self.program.A
        z, total, worst = A.times(theta), self.offset, 0.0
        scale, sizes = float(A.scale), [abs(float(t)) for t in theta]
        largest = max(sizes, default=0.0)
        for j, (piece, t) in enumerate(zip(self.phi, theta, strict=True)):
            value, off = value_at(piece, t)
            total += value
            if off:
                limit = min(largest, self.units[0][j]) or largest
                worst = max(worst, ratio(off, limit + float(max(map(abs, piece[0])))))
        for i, (piece, t) in enumerate(zip(self.psi, z, strict=True)):
            value, off = value_at(piece, t)
            total += value
            if off:
                terms = sum(abs(a) / scale * sizes[j] for j, a in A.rows[i])
                worst = max(worst, ratio(off, min(terms, self.units[1][i]) + self.kinks[i]))
        return total, worst

    def objective_unit(self):
        best = 0.0
        for pieces, units in ((self.phi, self.units[0]), (self.psi, self.units[1])):
            for (_, slopes), unit in zip(pieces, units, strict=True):
                best = max([best, *(abs(float(s)) * unit for s in slopes if s is not None)])
        return best

    def dual(self, nu, value, allowed):
        """Return a lower bound of P by multipliers near nu, and what of it is a charge.

        What is outside the slopes is charged by :meth:`_loss`, or put to their ends exactly.
        """
        given = nu
        nu = [clip(v, *ends(piece)) for v, piece in zip(nu, self.psi, strict=True)]
        steepest = max((abs(s) for f in self.phi for s in f[1] if s is not None), default=ZERO)
        entry = max((abs(a) for row in self.program.A.rows for _, a in row), default=1)
        near = max(map(abs, given), default=ZERO) + steepest * self.program.A.scale / entry
        near /= 10**8
        put, best = set(), None
        for _ in range(6):
            v = self._prices(nu)
            out = self._outside(v)
            loss = self._loss(out, value) if out else ZERO
            if any(abs(a - b) > near for a, b in zip(given, nu, strict=True)):
                break
            if loss is not None:
                pairs = [*zip(self.phi, v, strict=True), *zip(self.psi, nu, strict=True)]
                conj = sum((conjugate(f, clip(a, *ends(f))) for f, a in pairs), ZERO)
                found = self.offset - conj - loss
                best = max(best, (found, loss)) if best else (found, loss)
                if loss <= allowed / 2:
                    break
            # Those whose cost is too large, or has no bound, are put to the ends of their slopes.
            costly = {j for j in out if (self._loss({j: out[j]}, value) or ONE) * 1000 > allowed}
            if costly <= put:
                break
            put |= costly
            nu = self._put(nu, sorted(put), v)
            if nu is None:
                break
        return best

    def _prices(self, nu):
        return [-a for a in self.program.A.transposed(nu)]

    def _outside(self, v):
        """How far multipliers of variables are outside their slopes."""
        found = {}
        for j, (a, piece) in enumerate(zip(v, self.phi, strict=True)):
            low, high = ends(piece)
            off = max(
                low - a if low is not None else ZERO, a - high if high is not None else ZERO, ZERO
            )
            if off:
                found[j] = off
        return found

    def _loss(self, out, value):
        """What multipliers outside may cost: all costs together are within the objective."""
        least = ZERO
        for piece in [*self.phi, *self.psi]:
            low, high = ends(piece)
            if (low is not None and low > 0) or (high is not None and high < 0):
                return None
            least -= conjugate(piece, ZERO)
        rate = kinks = ZERO
        for j, off in out.items():
            low, high = ends(self.phi[j])
            both = [abs(s) for s in (low, high) if s is not None]
            steep = min(both, default=ZERO)
            if steep == 0:
                return None
            rate = max(rate, off / steep)
            kinks += steep * max(map(abs, self.phi[j][0]))
        return rate * (max(value - self.offset - least, ZERO) + kinks)

    def _inside_rows(self, nu):
        found = []
        size = max(map(abs, nu), default=ZERO)
        for i, (a, piece) in enumerate(zip(nu, self.psi, strict=True)):
            low, high = ends(piece)
            margin = size / 2**40
            if (low is None or a - low > margin) and (high is None or high - a > margin):
                found.append(i)
        return found

    def _put(self, nu, columns, v):
        """Multipliers near nu whose prices of some variables are at their slopes exactly."""
        rows = self._inside_rows(nu)
        place = {i: k for k, i in enumerate(rows)}
        if not columns or len(columns) > 80 or len(rows) > 2000:
            return None
        equations, targets = [], []
        for j in columns:
            low, high = ends(self.phi[j])
            equations.append(
                {place[i]: a for i, a in self.program.A.column(j).items() if i in place}
            )
            end = min((s for s in (low, high) if s is not None), key=lambda s: abs(s - v[j]))
            targets.append(v[j] - end)
        step = solve(equations, targets, len(rows))
        if step is None:
            return None
        nu = list(nu)
        for i, s in zip(rows, step, strict=True):
            low, high = ends(self.psi[i])
            nu[i] += s
            if (low is not None and nu[i] < low) or (high is not None and nu[i] > high):
                return None
        return nu


def ends(piece):
    return piece[1][0], piece[1][-1]


def clip(value, low, high):
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


# ---- What a parametric result states


def check_parametric(header, arrays, result):
    status, path, certificate = result["status"], result["path"], result["certificate"]
    lam, parts = result["params"].get("lam"), programs(header, arrays)
    if status in ("infeasible", "unbounded"):
        if certificate and lam is None and "low" in certificate["arrays"] and len(parts) == 1:
            end = exact(result["params"].get("lam_min") or 0.0)
            return unbounded_range(parts[0], end, certificate["arrays"])
        if len(parts) > 1 or not isinstance(lam, int | float) or certificate is None:
            raise Unproven("a claim that there is no optimum is covered for a single lam")
        return no_optimum(parts[0], exact(lam), status, certificate["arrays"])
    if status != "optimal" and path is None:
        raise Unproven(f"the status {status} is not covered without a path")
    report = Report(result["params"].get("rel_gap", 1e-6))
    if path is None:
        if len(parts) > 1:
            stacked(parts, result, exact(lam), report)
        else:
            nu = certificate and certificate["arrays"].get("nu")
            if not nu:
                raise Unproven("there are no multipliers")
            x = exacts(result["x"].values)
            if result["duals"]:
                same(result["duals"]["rows"].values, exacts(nu.values), "the multipliers")
            report.at(
                parts[0], exact(lam), x, exacts(nu.values), result["objective"], result["bound"]
            )
    elif path["kind"] == "grid":
        if len(parts) > 1:
            raise Unproven("grids of problems that fall apart into columns are not covered")
        knots = path["knots"].values
        if knots != sorted(set(lam or ()), reverse=True)[: len(knots)] or len(knots) < len(
            set(lam)
        ):
            raise Unproven("the grid does not have all values that were asked")
        for k, at in enumerate(knots):
            theta, nu = (exacts(path[name].rows()[k]) for name in ("theta", "nu"))
            report.at(
                parts[0], exact(at), theta, nu, path["values"].values[k], path["bounds"].values[k]
            )
        same(result["x"].values, exacts(path["theta"].rows()[-1]), "x")
        same([result["objective"]], exacts(path["values"].values[-1:]), "the objective")
        same([result["bound"]], exacts(path["bounds"].values[-1:]), "the bound")
        if result["duals"]:
            same(result["duals"]["rows"].values, exacts(path["nu"].rows()[-1]), "the multipliers")
        if path["stopped_by"] != "grid":
            raise Refuted(f"the grid is whole, and does not end by {path['stopped_by']!r}")
    else:
        if path["kind"] == "quantiles":
            raise Unproven("paths over the levels of quantile regression are not covered")
        several = path["columns"] if path["kind"] == "columnwise" else [path]
        if len(several) != len(parts):
            raise Refuted("the path has not one part for each column")
        for program, part in zip(parts, several, strict=True):
            segments(program, part, report)
        check_end(several, parts, result, report)
    return report.message()


def check_end(several, parts, result, report):
    """Where and why a path ends, and that the result states its end."""
    path, params = result["path"], result["params"]
    end = max(part["low"].values[-1] for part in several)
    count, reason = len(several[0]["low"].values), path["stopped_by"]
    if params.get("lam") is not None or any(part["low"].values[-1] > end for part in several):
        raise Refuted("single values of lam were asked, or the columns end apart")
    if reason == "lam_min":
        good = end == (params.get("lam_min") or 0.0)
    elif reason == "max_knots":
        good = params.get("max_knots") in (
            count,
            count + math.isfinite(several[0]["high"].values[0]),
        )
    elif reason in ("infeasible_below", "unbounded_below", "max_nonzeros"):
        raise Unproven(f"proven from lam = {end:.9g} on, but not why the path ends ({reason})")
    else:
        good = result["status"] == "feasible" and reason == result["limit"]
    if not good:
        raise Refuted(f"the path ends at {end:.9g}, not by {reason!r}")
    x, nu, total, size = [], [], ZERO, ZERO
    for part, program in zip(several, parts, strict=True):
        lows = part["low"].values
        s = max(k for k, low in enumerate(lows) if k == 0 or lows[k - 1] > end)
        step = exact(end) - exact(lows[s])
        a, b, c = exacts(part["objective"].rows()[s])
        total += a + step * (b + step * c)
        size = max(size, abs(total), Fraction(1e-5 * Point(program, exact(end)).objective_unit()))
        for out, name, length in ((x, "theta", program.phi), (nu, "nu", program.psi)):
            value, rate = (
                exacts(dense_row(part[name], s, word, len(length))) for word in ("value", "rate")
            )
            out += [v + step * w for v, w in zip(value, rate, strict=True)]
    same(result["x"].values, x, "x")
    if result["duals"]:
        same(result["duals"]["rows"].values, nu, "the multipliers")
    for name, allowed in (("objective", 0), ("bound", report.rel_gap)):
        if abs(exact(result[name]) - total) > max(Fraction(OBJECTIVE), allowed) * size:
            raise Refuted(f"the {name} is not that of the path's end")


def same(one, two, name):
    if len(one) != len(two) or any(
        abs(exact(a) - b) > abs(b) / 10**12 for a, b in zip(one, two, strict=True)
    ):
        raise Refuted(f"{name} is not what it is stated to be elsewhere")


def dense_row(rows, s, part, length):
    ptr = rows["ptr"].values
    s %= len(ptr) - 1
    out = [0.0] * length
    for k in range(ptr[s], ptr[s + 1]):
        out[rows["index"].values[k]] = rows[part].values[k]
    return out


class Report:
    """The worst margins of all points that were checked."""

    def __init__(self, rel_gap):
        self.rel_gap, self.count, self.notes = Fraction(rel_gap), 0, []
        self.worst = {"outside the constraints": 0.0, "objective": 0.0, "gap": 0.0}

    def note(self, name, margin, allowed, text):
        self.worst[name] = max(self.worst[name], float(margin))
        if not margin <= allowed:
            raise Refuted(f"{text} by {float(margin):.3g}")

    def at(self, program, lam, theta, nu, objective, bound, stated=None):
        """Prove one lam: theta is feasible, its value is the one stated, and none is better."""
        point = Point(program, lam)
        value, off = point.primal(theta)
        here = f"at lam = {float(lam):.9g}"
        self.count += 1
        self.note("outside the constraints", off, FEASIBLE, f"{here} the point is infeasible")
        size = max(abs(value), Fraction(1e-5 * point.objective_unit()))
        objective = exact(objective) * program.sign if stated is None else stated
        error = abs(objective - value)
        self.note("objective", error, Fraction(OBJECTIVE) * size, f"{here} the objective is off")
        allowed = max(self.rel_gap * abs(value), Fraction(GAP) * size)
        proven, charge = point.dual(nu, value, allowed) or (value - 2 * allowed, 2 * allowed)
        if value - proven - charge <= allowed < value - proven:
            raise Unproven(f"{here} multipliers near the stated ones prove nothing exactly")
        self.note("gap", value - proven, allowed, f"{here} the multipliers leave a gap")
        if bound is not None:
            if abs(exact(bound) * program.sign - value) > allowed:
                raise Refuted(f"{here} objective and bound do not meet")
            beyond = exact(bound) * program.sign - proven
            self.note("gap", beyond, Fraction(GAP) * size, f"{here} the bound is not proven: off")

    def message(self):
        worst = ", ".join(f"{name} {value:.2g}" for name, value in self.worst.items())
        return "; ".join([f"optimal, proven at {self.count} places; margins: {worst}", *self.notes])


def segments(program, path, report):
    """Prove a path at both ends of each segment, and in the middle where kinks and slopes move.

    Feasible sets and slopes are affine on a segment; where only one of the two moves the gap is a
    convex function of lam, so what holds at the ends holds between them. A part of 1e-9 of each
    segment at its ends is left out.
    """
    low, high, objective = path["low"].values, path["high"].values, path["objective"].rows()
    p, m = len(program.phi), len(program.psi)
    if any(a != b for a, b in zip(low, high[1:], strict=False)) or low != sorted(low, reverse=True):
        raise Refuted("the segments do not meet")
    for s, (begin, end) in enumerate(zip(low, high, strict=True)):
        theta, nu = (
            [exacts(dense_row(path[name], s, part, length)) for part in ("value", "rate")]
            for name, length in (("theta", p), ("nu", m))
        )
        quadratic = [program.sign * c for c in exacts(objective[s])]
        length = exact(end) - exact(begin) if math.isfinite(end) else max(exact(begin), ONE)
        # Knots are rounded: next to them one basis alone is optimal, and its kernel exact.
        inside = length / 2**30
        places = [inside, length - inside, *([length / 2] if all(program.moves) else [])]
        for step in places:
            report.at(
                program,
                exact(begin) + step,
                *([a + step * b for a, b in zip(*pair, strict=True)] for pair in (theta, nu)),
                None,
                None,
                stated=quadratic[0] + step * (quadratic[1] + step * quadratic[2]),
            )
    if math.isfinite(high[0]):
        report.notes.append(f"what is above lam = {high[0]:.6g} is not covered")
    else:
        report.notes.append(f"the largest lam checked is {2 * low[0] or 1.0:.6g}")


def stacked(parts, result, lam, report):
    """A point of a problem that falls apart: each column by itself, its share of the objective."""
    x, nu = exacts(result["x"].values), exacts(result["certificate"]["arrays"]["nu"].values)
    total, p, m = ZERO, len(parts[0].phi), len(parts[0].psi)
    for k, part in enumerate(parts):
        theta = x[k * p : (k + 1) * p]
        value, _ = Point(part, lam).primal(theta)
        report.at(part, lam, theta, nu[k * m : (k + 1) * m], None, None, stated=value)
        total += value
    if abs(total - exact(result["objective"])) > Fraction(OBJECTIVE) * max(total, ONE / 10**9):
        raise Refuted("the objective is not that of x")


def no_optimum(program, lam, status, arrays):
    """A Farkas proof or a ray, its signs as they stand."""
    point, total = Point(program, lam), ZERO
    if status == "infeasible":
        nu = exacts(arrays["nu"].values)
        prices = [-a for a in program.A.transposed(nu)]
        for (kinks, slopes), v in zip([*point.phi, *point.psi], [*prices, *nu], strict=True):
            if v and slopes[-1 if v > 0 else 0] is not None:
                raise Unproven("a multiplier points to an open side, if only by rounding")
            total += v * kinks[-1 if v > 0 else 0]
    else:
        _, off = point.primal(exacts(arrays["x"].values))
        if off > FEASIBLE:
            raise Refuted("the ray starts at an infeasible point")
        ray = exacts(arrays["ray"].values)
        for (_, slopes), w in zip(
            [*point.phi, *point.psi], [*ray, *program.A.times(ray)], strict=True
        ):
            slope = slopes[-1 if w > 0 else 0]
            if w and slope is None:
                raise Unproven("the ray leaves a constraint, if only by rounding")
            total += w * slope if w else ZERO
    if total >= 0:
        raise Refuted(f"the evidence does not prove the problem {status}")
    return f"{status} at lam = {float(lam):.9g}, proven"


def unbounded_range(program, end, arrays):
    """Directions that improve the objective at all lam, from points that are affine in lam."""
    low, points, rates = exacts(arrays["low"].values), arrays["x"].rows(), arrays["x_rate"].rows()
    if low != sorted(set(low), reverse=True) or low[-1:] != [end] or len(points) != len(low):
        raise Refuted("the points do not cover the range")
    costs = []
    for name in ("ray", "ray_above"):
        if name in arrays:
            ray = exacts(arrays[name].values)
            w = [*ray, *program.A.times(ray)]
            slopes = [
                f.slopes[-1 if v > 0 else 0] if v else (ZERO, ZERO)
                for f, v in zip([*program.phi, *program.psi], w, strict=True)
            ]
            if None in slopes:
                raise Unproven("the ray leaves a constraint, if only by rounding")
            costs.append([sum(s[k] * v for s, v in zip(slopes, w, strict=True)) for k in (0, 1)])
    (a, b), (c, d) = costs[0], costs[-1]
    # one direction for all lam, or two that both improve somewhere between
    middle = max(end, -(a / b + c / d) / 2) if len(costs) > 1 and b > 0 > d else end
    if a + b * end >= 0 or a + b * middle >= 0 or c + d * middle >= 0 or d > 0:
        raise Refuted("the directions do not improve the objective at all lam")
    for k, (x, rate) in enumerate(zip(map(exacts, points), map(exacts, rates), strict=True)):
        for lam in low[max(k - 1, 0) : k + 1]:
            theta = [v + (lam - low[k]) * r for v, r in zip(x, rate, strict=True)]
            if Point(program, lam).primal(theta)[1] > FEASIBLE:
                raise Refuted("the ray starts at an infeasible point")
    moves = exacts(rates[0])
    for f, v in zip([*program.phi, *program.psi], [*moves, *program.A.times(moves)], strict=True):
        below, above = f.slopes[0] is None, f.slopes[-1] is None
        if (below and v < f.kinks[0][1]) or (above and v > f.kinks[-1][1]):
            raise Unproven("the points leave a constraint for large lam, if only by rounding")
    return f"unbounded at all lam >= {float(end):.9g}, proven"


# ---- Sparse trust-region subproblems


def check_sphere(header, arrays, result):
    if header["kind"] == "kernel-selection":
        A, a = kernel_terms(header["params"], arrays)
    else:
        A = [exacts(row) for row in arrays["A"].rows()]
        a = exacts(arrays["a"].values) if "a" in arrays else [ZERO] * len(A)
    size = result["params"].get("size")
    size = size if size is not None else header["params"].get("d", header["params"].get("d_max"))
    certificate, path = result["certificate"], result["path"]
    if certificate is None:
        raise Unproven("there is no certificate")
    arrays = {name: table.values for name, table in certificate["arrays"].items()}
    if path is None:
        x = exacts(result["x"].values)
        if len(x) != len(A):
            raise Refuted("x has another length")
        sphere_size(
            A, a, size, x, exact(result["objective"]), exact(result["bound"]), arrays, result
        )
        return f"optimal up to the gap stated, for {size} nonzeros"
    sizes = path["sizes"].values
    if sizes != list(range(1, len(sizes) + 1)) or len(sizes) != size:
        raise Unproven("the sizes are not all that were asked")
    if path["stopped_by"] != "d_max":
        raise Refuted("all sizes are there, and another end is stated")
    for name in ("objective", "bound"):
        same([result[name]], exacts(path[name].values[-1:]), f"the {name}")
    for k, d in enumerate(sizes):
        own = {
            name.removesuffix(f"_{d}"): v for name, v in arrays.items() if name.endswith(f"_{d}")
        }
        x = exacts(dense_row(path["points"], k, "value", len(A)))
        numbers = (exact(path[name].values[k]) for name in ("objective", "bound"))
        sphere_size(A, a, d, x, *numbers, own, result)
    same(result["x"].values, exacts(dense_row(path["points"], -1, "value", len(A))), "x")
    return f"optimal up to the gaps stated, for {len(sizes)} sizes"


def kernel_terms(params, arrays):
    """A and a of a selection by the linear kernel, or by the quadratic one without the variance.

    With k_s(u, v) = exp(-(u_s - v_s)^2 / (2 tau_s^2)) for each pair of observations, a is twice the
    sum of k with the pairs' weights in the squared MMD; A is that of k k', or minus lam times the
    covariance of the rows' means. Values of k are integers over 10^40.
    """
    lam, quadratic = exact(params["lam"]), params["kernel"] == "quadratic"
    if params["kernel"] not in ("linear", "quadratic") or (quadratic and lam):
        raise Unproven(f"the kernel {params['kernel']} with lam = {float(lam):g} is not covered")
    Z = [exacts(row) for row in arrays["x"].rows() + arrays["y"].rows()]
    n, N, width = arrays["x"].shape[0], len(Z), [2 * v for v in exacts(arrays["bandwidth"].values)]
    m, D, paired = N - n, len(width), 2 * n == N
    share = {True: Fraction(1, n * (n - 1)), False: Fraction(1, m * (m - 1))}
    share[None] = -Fraction(1, n * (n - 1) if paired else n * m)
    line, square = {w: [0] * D for w in share}, {w: [[0] * D for _ in range(D)] for w in share}
    rows = [[[0, 0] for _ in range(D)] for _ in range(N)]
    for i in range(N):
        Clock.check()
        for j in range(i, N):
            same = (i < n) == (j < n)
            k = [
                int(DIGITS.scaleb(DIGITS.exp(decimal(-((u - v) ** 2) / w)), 40))
                for u, v, w in zip(Z[i], Z[j], width, strict=True)
            ]
            for s, v in enumerate(k):
                rows[i][s][j >= n] += v
                rows[j][s][i >= n] += v * (i != j)
            if i == j or (paired and j - i == n):
                continue
            group = i < n if same else None
            for s, v in enumerate(k):
                line[group][s] += v
                for t in range(s + 1 if quadratic else 0):
                    square[group][s][t] += v * k[t]
    unit = 10**40
    a = [2 * sum(share[w] * line[w][s] for w in share) / unit for s in range(D)]
    if quadratic:
        lower = [
            [2 * sum(share[w] * square[w][s][t] for w in share) / unit**2 for t in range(s + 1)]
            for s in range(D)
        ]
        A = [[lower[max(s, t)][min(s, t)] for t in range(D)] for s in range(D)]
        return A, [2 * exact(params["c"]) * v for v in a]
    means = [[m * v[0] - n * v[1] for v in row] for row in rows]  # times n m
    if paired:
        groups = [
            (4, [list(map(int.__sub__, *pair)) for pair in zip(means[:n], means[n:], strict=True)])
        ]
    else:
        groups = [(Fraction(8 * m, N), means[:n]), (Fraction(8 * n, N), means[n:])]
    V = [[ZERO] * D for _ in range(D)]
    for factor, own in groups:
        count, columns = len(own), list(zip(*own, strict=True))
        for s in range(D):
            for t in range(D):
                centred = count * sum(map(int.__mul__, columns[s], columns[t])) - sum(
                    columns[s]
                ) * sum(columns[t])
                V[s][t] += factor * Fraction(centred, (count * n * m * unit) ** 2)
    return [[-lam * v for v in row] for row in V], a


def sphere_size(A, a, d, x, objective, bound, arrays, result):
    """One size: the point, the gap, a cover of all supports by leaves, and a bound on each."""
    unit = max(max(abs(v) for row in A for v in row), max(map(abs, a)), abs(bound))
    sphere_point(A, a, d, x, objective, bound, unit, result)
    sphere_leaves(A, a, d, bound, arrays, unit)


def sphere_point(A, a, d, x, objective, bound, unit, result):
    """The length, the nonzeros and the value of a point, and the gap."""
    on = [i for i, v in enumerate(x) if v]
    square = sum(x[i] * x[i] for i in on)
    if len(on) > d or abs(square - 1) > 2e-8:
        raise Refuted(
            f"x has {len(on)} nonzeros, and a length off 1 by {float(square - 1) / 2:.3g}"
        )
    quadratic = sum(x[i] * sum(A[i][j] * x[j] for j in on) for i in on) / square
    linear = sum(a[i] * x[i] for i in on)
    value = quadratic + linear / Fraction(math.sqrt(square))
    if abs(value - objective) > Fraction(OBJECTIVE) * unit * len(A):
        raise Refuted(f"the objective is off by {float(value - objective):.3g}")
    gap = Fraction(result["params"].get("rel_gap", 1e-6)) * max(abs(objective), abs(bound))
    if result["status"] == "optimal" and bound - objective > max(gap, Fraction(GAP) * unit):
        raise Refuted("objective and bound do not meet")


def sphere_leaves(A, a, d, bound, arrays, unit):
    """A cover of all supports of size d by leaves, and the bound on each."""
    leaves = []
    for k, mu in enumerate(arrays["mu"]):
        fixed = {}
        for name, word in (("in", True), ("out", False)):
            ptr = arrays[f"{name}_ptr"]
            fixed |= {i: word for i in arrays[f"{name}_index"][ptr[k] : ptr[k + 1]]}
        inside = sum(fixed.values())
        if inside <= d and len(A) - (len(fixed) - inside) >= d:
            if inside == d:
                fixed = {i: fixed.get(i, False) for i in range(len(A))}
            elif len(fixed) - inside == len(A) - d:
                fixed = {i: fixed.get(i, True) for i in range(len(A))}
            leaves.append((fixed, exact(mu), arrays["pair"][k] if "pair" in arrays else -1))
    if not covered([set(fixed.items()) for fixed, _, _ in leaves], d, len(A), 0, 0):
        raise Refuted("the leaves do not hold all supports")
    pool = row_pairs(arrays) if "pair_ptr" in arrays else []
    for fixed, mu, pair in leaves:
        F = [i for i in range(len(A)) if fixed.get(i, True)]
        if pair == BY_NORMS:
            U = bound + Fraction(GAP) * unit
            if any(a) or U < 0 or squares_at_most(A, F, [i for i in F if i in fixed], d) > U * U:
                raise Refuted(f"norms on a leaf do not prove the bound {float(bound):.12g}")
            continue
        corner, line, block = bound - mu, [a[i] for i in F], [[A[i][j] for j in F] for i in F]
        if pool and pair >= 0:
            place, l, L = pool[pair]
            at = [place[i] for i in F]
            line = [v - l[k] for v, k in zip(line, at, strict=True)]
            block = [
                [v - (L[r][c] + L[c][r]) / 2 for v, c in zip(row, at, strict=True)]
                for row, r in zip(block, at, strict=True)
            ]
            corner -= rows_at_most(
                [l[k] for k in at], [[L[r][c] for c in at] for r in at], F, fixed, d
            )
        N = [[corner, *(-v / 2 for v in line)]]
        for k, row in enumerate(block):
            N.append([-line[k] / 2, *(mu * (k == c) - v for c, v in enumerate(row))])
        if not positive(N, Fraction(GAP) * unit):
            raise Refuted(f"a leaf does not prove the bound {float(bound):.12g} for {d} nonzeros")


def covered(leaves, d, D, inside, outside):
    """Whether leaves (sets of fixed variables) of a search tree hold every support."""
    if inside > d or D - outside < d or any(not leaf for leaf in leaves):
        return True
    if not leaves:
        return False
    common = set.intersection(*({i for i, _ in leaf} for leaf in leaves))
    if not common:
        raise Unproven("the leaves are not those of a tree that branches on one variable at a time")
    i = min(common)
    return all(
        covered(
            [leaf - {(i, w)} for leaf in leaves if (i, w) in leaf],
            d,
            D,
            inside + w,
            outside + (not w),
        )
        for w in (True, False)
    )


def check_component(header, arrays, result):
    """The longest image of d columns: leaves for a kernel, norms of products for all others."""
    columns = [exacts(column) for column in zip(*arrays["X"].rows(), strict=True)]
    D, n, d = len(columns), len(columns[0]), header["params"]["d"]
    certificate = result["certificate"]
    if certificate is None or certificate["kind"] != "kernel-leaves":
        raise Unproven("there is no certificate 'kernel-leaves'")
    if n * D * D > COMPONENT_WORK:
        raise Unproven(f"too large: {D} columns have more products than minutes allow")
    A = [[sum(v * w for v, w in zip(x, y, strict=True)) for y in columns] for x in columns]
    own = {name: table.values for name, table in certificate["arrays"].items()}
    x, objective, bound = (
        exacts(result["x"].values),
        *map(exact, (result["objective"], result["bound"])),
    )
    if len(x) != D:
        raise Refuted("x has another length")
    unit = max(max(A[j][j] for j in range(D)), abs(bound))
    sphere_point(A, [ZERO] * D, d, x, objective, bound, unit, result)
    kernel, outside = own["kernel"], sorted(set(range(D)) - set(own["kernel"]))
    if kernel != sorted(set(kernel)) or not set(kernel) <= set(range(D)):
        raise Refuted("the kernel is no increasing list of columns")
    more, inner = Fraction(GAP) * unit, [[A[i][j] for j in kernel] for i in kernel]
    u = [largest([A[i][i] for i in kernel], k) for k in range(d + 1)]
    for k, stated in zip(own["sizes"], exacts(own["bounds"]), strict=True):
        leaves = {
            name.removesuffix(f"_{k}"): v for name, v in own.items() if name.endswith(f"_{k}")
        }
        sphere_leaves(inner, [ZERO] * len(kernel), k, stated, leaves, unit)
        u[k] = min(u[k], stated if k == d else stated + more)
    if len(kernel) >= d and u[d] > bound + more:
        raise Refuted(f"nothing proves the bound within the {len(kernel)} columns of the kernel")
    for m in range(max(1, d - len(kernel)), min(d, len(outside)) + 1):
        rows = [
            A[j][j] + largest([abs(A[j][i]) for i in outside if i != j], m - 1) for j in outside
        ]
        q = min(largest([A[j][j] for j in outside], m), max(rows))
        c = largest([largest([A[j][i] ** 2 for i in kernel], d - m) for j in outside], m)
        left = bound + more - u[d - m], bound + more - q
        if min(left) < 0 or left[0] * left[1] < c:
            raise Refuted(f"supports with {m} columns outside the kernel may exceed the bound")
    return f"optimal up to the gap stated, for {d} of {D} columns, {len(kernel)} in the kernel"


def largest(values, count):
    """The sum of the largest values, of all where there are fewer."""
    return sum(sorted(values, reverse=True)[: max(count, 0)], ZERO)


def check_subset(header, arrays, result):
    """Regression with few nonzeros: a tree, and the bounds of dual vectors y - Xw at its nodes."""
    given, certificate = header["params"], result["certificate"]
    columns = [exacts(column) for column in zip(*arrays["X"].rows(), strict=True)]
    y, p, k = exacts(arrays["y"].values), len(columns), given["k"]
    ridge, price = exact(given["ridge"]), exact(given["penalty"])
    M = exact(given["bound"]) if "bound" in given else None
    x, objective, bound = (
        exacts(result["x"].values),
        *map(exact, (result["objective"], result["bound"])),
    )
    on = [j for j, v in enumerate(x) if v]
    if len(x) != p or len(on) > k or (M is not None and any(abs(x[j]) > M for j in on)):
        raise Refuted("x has another length, more than k nonzeros, or exceeds the bound")
    rest = [v - sum(columns[j][i] * x[j] for j in on) for i, v in enumerate(y)]
    value = sum(v * v for v in rest) / 2 + ridge * sum(x[j] ** 2 for j in on) / 2 + price * len(on)
    size = sum(v * v for v in y) / 2
    if abs(value - objective) > Fraction(OBJECTIVE) * max(value, size):
        raise Refuted(f"the objective is off by {float(value - objective):.3g}")
    gap = Fraction(result["params"].get("rel_gap", 1e-6)) * max(abs(objective), abs(bound))
    if result["status"] == "optimal" and objective - bound > max(gap, Fraction(GAP) * size):
        raise Refuted("objective and bound do not meet")
    if bound <= 0:
        return "the bound is not above 0, which no objective value is below"
    if certificate is None or certificate["kind"] != "subset-tree":
        raise Unproven("there is no certificate 'subset-tree'")
    own = {name: table.values for name, table in certificate["arrays"].items()}
    children = tree_children(own["parent"], own["variable"], own["inside"])
    target = bound - Fraction(GAP) * max(bound, size / 1000)
    vectors = len(own["w_ptr"]) - 1
    if vectors * p * len(y) > SUBSET_WORK:
        raise Unproven(f"too large: {vectors} dual vectors for {p} columns")
    stack, leaves = [(0, [], list(range(p)))], 0
    while stack:
        node, inside, free = stack.pop()
        if len(inside) > k:
            continue
        if own["dual"][node] >= 0:
            begin, end = own["w_ptr"][own["dual"][node] : own["dual"][node] + 2]
            w = zip(own["w_index"][begin:end], exacts(own["w_value"][begin:end]), strict=True)
            r = list(y)
            for j, v in w:
                r = [a - v * c for a, c in zip(r, columns[j], strict=True)]
            cost = {
                j: ridge_gain(abs(sum(map(Fraction.__mul__, columns[j], r))), ridge, M) - price
                for j in [*inside, *free]
            }
            m, ranked = k - len(inside), sorted(free, key=cost.__getitem__, reverse=True)
            spent = [max(cost[j], ZERO) for j in ranked] + [ZERO]
            found = sum(map(Fraction.__mul__, y, r)) - sum(v * v for v in r) / 2
            found -= sum(cost[j] for j in inside) + sum(spent[:m])
            if found >= target:
                leaves += 1
                continue
            last = spent[m - 1] if 0 < m < len(spent) else ZERO
            following = spent[min(m, len(spent) - 1)]
            inside = inside + [
                j for j in ranked[:m] if found + max(cost[j], ZERO) - following >= target
            ]
            out = {j for j in ranked[m:] if found + last - cost[j] >= target}
            free = [j for j in free if j not in out and j not in inside]
            if len(inside) > k:
                continue
        if node not in children:
            raise Refuted(f"nothing proves the bound at node {node}")
        j, below = children[node]
        left = [i for i in free if i != j]
        if j in free or j not in inside:
            stack.append((below[0], inside, left))
        if j in free or j in inside:
            stack.append((below[1], [*inside, j] if j in free else inside, left))
    return f"optimal up to the gap stated, for {k} of {p} columns, {leaves} closed nodes"


def tree_children(parent, variable, inside):
    """The variable that each inner node is split by, and its two children: out, in."""
    children = {}
    for node in range(1, len(parent)):
        above = children.setdefault(parent[node], (variable[node], {}))
        if not 0 <= parent[node] < node or above[0] != variable[node] or inside[node] in above[1]:
            raise Refuted(f"node {node} does not fit into a tree")
        above[1][inside[node]] = node
    if any(set(below) != {0, 1} for _, below in children.values()):
        raise Refuted("a node does not have two children")
    return children


def ridge_gain(c, ridge, M):
    """The maximum of c b - ridge b^2 / 2 over abs(b) <= M, for c >= 0; M is None for no bound."""
    if M is None or c <= ridge * M:
        return c * c / (2 * ridge) if ridge else ZERO if not c else M * c
    return M * c - ridge * M * M / 2


def row_pairs(arrays):
    pool, at = [], 0
    for begin, end in pairwise(arrays["pair_ptr"]):
        own, n = arrays["pair_index"][begin:end], end - begin
        L = exacts(arrays["pair_L"][at : at + n * n])
        place = {i: k for k, i in enumerate(own)}
        pool.append(
            (place, exacts(arrays["pair_l"][begin:end]), [L[k * n : k * n + n] for k in range(n)])
        )
        at += n * n
    return pool


def squares_at_most(A, F, inside, d):
    """A bound of the sum of the squared entries on any support of d variables of a leaf."""
    free, rows = [i for i in F if i not in inside], []
    for i in free:
        others = largest([A[i][j] ** 2 for j in free if j != i], d - len(inside) - 1)
        rows.append(A[i][i] ** 2 + 2 * sum(A[i][j] ** 2 for j in inside) + others)
    among = sum(A[i][j] ** 2 for i in inside for j in inside)
    return among + largest(rows, d - len(inside))


def rows_at_most(l, L, F, fixed, d):
    """A bound of what the row multipliers take away, summed over any support of the leaf.

    Row i is at most mu + l^2 / 4 mu / (mu^2 - L_ii mu - r^2 / 4) for every mu beyond the root of
    the denominator; a good mu is guessed.
    """
    free = [k for k, i in enumerate(F) if i not in fixed]
    bounds, left = [], d - (len(F) - len(free))
    for k in range(len(F)):
        squares = sorted((L[k][c] ** 2 for c in free if c != k), reverse=True)
        own = left - (k in free)
        r = sum(squares[: max(own, 0)], ZERO) + sum(
            L[k][c] ** 2 for c in range(len(F)) if c != k and c not in free
        )
        b, diagonal, radius = float(l[k]) ** 2 / 4.0, float(L[k][k]), float(r)
        both = math.sqrt(diagonal * diagonal + radius)
        least = radius / (2.0 * (both - diagonal)) if diagonal < 0.0 else (diagonal + both) / 2.0
        unit = max(abs(least), math.sqrt(b), 1e-300)
        low, high = 1e-13 * unit, 8.0 * unit
        for _ in range(60 if b else 0):
            one, two = low + (high - low) * 0.382, low + (high - low) * 0.618
            f = [least + s + b * (least + s) / (s * (s + both)) for s in (one, two)]
            low, high = (low, two) if f[0] < f[1] else (one, high)
        mu = Fraction(least + (low + high) / 2.0 if b else least + 1e-13 * unit)
        more = Fraction(1e-13 * unit)
        while (
            (rest := mu * mu - L[k][k] * mu - r / 4) < 0 or (l[k] and rest == 0) or 2 * mu < L[k][k]
        ):
            mu, more = mu + more, 2 * more
        bounds.append(max(mu + (l[k] ** 2 / 4 * mu / rest if l[k] else ZERO), ZERO))
    chosen = sorted((bounds[k] for k in free), reverse=True)[:left]
    return sum((bounds[k] for k in range(len(F)) if k not in free), ZERO) + sum(chosen, ZERO)


# ---- Budgets: tables and graphs


def check_budget(header, arrays, result):
    path = result["path"]
    if header["kind"] == "budget-tables":
        ptr, values = arrays["ptr"].values, exacts(arrays["values"].values)
        tables = [values[a:b] for a, b in pairwise(ptr)]
        attained = tables
    else:
        tables, attained, attained_by = graph_tables(header["params"], arrays, path)
    budgets, J, cache = path["budgets"].values, len(tables), {}
    if path["stopped_by"] != "budget":
        raise Unproven("only paths that end at the last budget are covered")
    multiplier = result["certificate"]["arrays"]["multiplier"].values
    last = result["params"].get("budget")
    last = (
        last
        if last is not None
        else header["params"].get("budget", sum(len(t) - 1 for t in tables))
    )
    if budgets != list(range(last + 1)):
        raise Unproven("the path does not have every budget that was asked")
    if last * sum(map(len, tables)) > 60_000_000:
        raise Unproven("too large: a dynamic program of more than 60 million steps")
    scale = math.lcm(*(v.denominator for t in tables for v in t))
    best = [0] + [None] * last
    for table in tables:
        Clock.check()
        ints = [int(v * scale) for v in table]
        new = [None] * (last + 1)
        for K, base in enumerate(best):
            if base is not None:
                for k, v in enumerate(ints[: last + 1 - K]):
                    if new[K + k] is None or base + v < new[K + k]:
                        new[K + k] = base + v
        best = new
    optimum = [
        Fraction(v, scale) for v in accumulate((math.inf if b is None else b for b in best), min)
    ]
    changes, counts = path["changes"], [0] * J
    total = sum((t[0] for t in attained), ZERO)
    margin = Fraction(OBJECTIVE) * max(sum((abs(t[0]) for t in tables), ZERO), ONE / 10**300)
    for K in budgets:
        for k in range(changes["ptr"].values[K], changes["ptr"].values[K + 1]):
            j, count = changes["node"].values[k], changes["count"].values[k]
            if not 0 <= count < len(tables[j]):
                raise Refuted("a count is outside its table")
            total += attained[j][count] - attained[j][counts[j]]
            counts[j] = count
        objective, bound = (exact(path[name].values[K]) for name in ("objective", "bound"))
        if sum(counts) > K or abs(total - objective) > margin:
            raise Refuted(f"at budget {K} the counts are too many, or have another objective")
        lam = exact(multiplier[K])
        if path["certified"].values[K]:
            if lam not in cache:
                cache[lam] = sum((min(v + lam * k for k, v in enumerate(t)) for t in tables), ZERO)
            if lam < 0 or cache[lam] - lam * K < objective - margin:
                raise Refuted(f"at budget {K} the multiplier does not certify the counts")
        if bound > optimum[K] + margin:
            raise Refuted(
                f"at budget {K} the bound {float(bound):.12g} exceeds {float(optimum[K]):.12g}"
            )
        gap = Fraction(result["params"].get("rel_gap", 1e-6)) * abs(objective)
        if result["status"] == "optimal" and objective - bound > max(gap, margin):
            raise Refuted(f"at budget {K} objective and bound do not meet")
    if (
        abs(exact(result["objective"]) - objective) > margin
        or abs(exact(result["bound"]) - bound) > margin
    ):
        raise Refuted("objective and bound are not the path's at the last budget")
    if header["kind"] == "budget-tables":
        same(result["x"].values, [Fraction(c) for c in counts], "x")
    else:
        beyond = attained_by(exacts(result["x"].values)) - objective
        if beyond > margin and header["params"].get("loss") == "ising":
            raise Unproven("the point stops short of the loss of neighbours that separate a node")
        if abs(beyond) > margin:
            raise Refuted("the objective at the last budget is not that of x")
    return f"optimal for {len(budgets)} budgets, margin {float(margin):.3g}"


def graph_tables(params, arrays, path):
    """The best losses of 0, 1, ... neighbours over all subsets, those attained, and those of x."""
    n, d = arrays["X"].shape
    ptr, index = arrays["ptr"].values, arrays["index"].values
    if params.get("loss", "gaussian") == "ising":
        return ising_tables(params, arrays, path)
    scaled = (lambda v, null: n * ln(v)) if params["scaling"] == "nlogrss" else Fraction.__truediv__
    if sum(2 ** (b - a) * (b - a + 1) ** 2 for a, b in pairwise(ptr)) > 20_000_000:
        raise Unproven("too large: more subsets of candidates than minutes allow")
    ints, scale = whole(exacts(arrays["X"].values))
    columns = [ints[j::d] for j in range(d)]
    ridge, tables, attained, at = exact(params.get("ridge", 0.0)), [], [], 0
    product, grams = {}, []

    def attained_by(x):
        if len(x) != len(index):
            raise Refuted("x has another length")
        total = ZERO
        for j, (G, null) in enumerate(grams):
            beta = [*x[ptr[j] : ptr[j + 1]], -ONE]
            on = [k for k, b in enumerate(beta) if b]
            total += scaled(sum((beta[a] * beta[b] * G[a][b] for a in on for b in on), ZERO), null)
        return total

    def inner(i, j):
        key = (min(i, j), max(i, j))
        if key not in product:
            product[key] = Fraction(
                sum(map(int.__mul__, columns[i], columns[j])), n * scale * scale
            )
        return product[key]

    for j in range(d):
        Clock.check()
        own = index[ptr[j] : ptr[j + 1]]
        G = [[inner(a, b) + ridge * (a == b and a != j) for b in [*own, j]] for a in [*own, j]]
        null = G[-1][-1] if params["scaling"] == "standardised" else ONE
        grams.append((G, null))
        best, masks = [G[-1][-1]] + [None] * len(own), {0: G[-1][-1]}

        def grow(S, first, size, mask, best=best, masks=masks):
            for k in range(first, len(S) - 1):
                if S[k][k] > 0:
                    T = [
                        [
                            v - row[k] * w / S[k][k] if c > k else v
                            for c, (v, w) in enumerate(zip(row, S[k], strict=True))
                        ]
                        if r > k
                        else row
                        for r, row in enumerate(S)
                    ]
                    loss = T[-1][-1]
                    masks[mask | 1 << k] = loss
                    if best[size + 1] is None or loss < best[size + 1]:
                        best[size + 1] = loss
                    grow(T, k + 1, size + 1, mask | 1 << k)

        grow(G, 0, 0, 0)
        stated = path["supports"].values[at : at + len(own) + 1]
        if any(mask not in masks or mask.bit_count() > k for k, mask in enumerate(stated)):
            raise Unproven("a stated support holds candidates that depend on each other")
        at += len(own) + 1
        best = list(accumulate((b if b is not None else best[0] for b in best), min))
        tables.append([scaled(b, null) for b in best])
        attained.append([scaled(masks[mask], null) for mask in stated])
    return tables, attained, attained_by


def ln(value):
    if value <= 0:
        raise Unproven("a node is fitted perfectly: its loss has no logarithm")
    return Fraction(DIGITS.ln(decimal(value)))


def ising_tables(params, arrays, path):
    """The same with the logistic loss: a lower bound for each subset, by duality at its fit.

    Rows count by their pattern z in {-1, 1}^k. For every p in [0, 1], g = sum p z / n, the loss
    is at least mean H(p) - g'g / (4 ridge), or mean H(p) - B |g|_1 for coefficients up to B.
    """
    n, ridge, ptr, index = (
        arrays["X"].shape[0],
        exact(params.get("ridge", 0.0)),
        arrays["ptr"].values,
        arrays["index"].values,
    )
    if sum(3 ** (b - a) for a, b in pairwise(ptr)) > 3_000_000:
        raise Unproven("too large: more subsets of candidates than minutes allow")
    rows = [list(map(int, row)) for row in arrays["X"].rows()]
    scale = ln(Fraction(2)) if params["scaling"] == "standardised" else ONE
    nodes, tables, attained, at = [], [], [], 0
    for j, (a, b) in enumerate(pairwise(ptr)):
        nodes.append(Counter(tuple(row[j] * row[k] for k in index[a:b]) for row in rows))
        least, fits = [None] * (b - a + 1), {0: ()}
        for mask in range(2 ** (b - a)):
            Clock.check()
            on = [k for k in range(b - a) if mask >> k & 1]
            some = Counter()
            for z, count in nodes[-1].items():
                some[tuple(z[k] for k in on)] += count
            start = list(fits[mask & (mask - 1)])
            fits[mask] = logistic_fit(some, [0.0, *start] if on else [], float(ridge), n)
            low = logistic_bound(some, fits[mask], ridge, n)
            if least[len(on)] is None or low < least[len(on)]:
                least[len(on)] = low
        stated = path["supports"].values[at : at + b - a + 1]
        at += b - a + 1
        if any(mask not in fits or mask.bit_count() > k for k, mask in enumerate(stated)):
            raise Refuted("a stated support is none of its node's")
        tables.append([v / scale for v in accumulate(least, min)])
        attained.append([])
        for mask in stated:
            beta = iter(exacts(fits[mask]))
            full = [next(beta) if mask >> k & 1 else ZERO for k in range(b - a)]
            attained[-1].append(logistic_loss(nodes[-1], full, ridge, n) / scale)

    def attained_by(x):
        if len(x) != len(index):
            raise Refuted("x has another length")
        parts = [x[a:b] for a, b in pairwise(ptr)]
        pairs = zip(nodes, parts, strict=True)
        return sum((logistic_loss(*pair, ridge, n) for pair in pairs), ZERO) / scale

    return tables, attained, attained_by


def logistic_loss(patterns, beta, ridge, n):
    """Sum count log(1 + exp(-z'beta)) / n + ridge beta'beta."""
    total, linear = Decimal(0), ZERO
    for z, count in patterns.items():
        pull = sum((v * b for v, b in zip(z, beta, strict=True)), ZERO)
        odds = DIGITS.exp(decimal(-abs(pull)))
        linear += count * max(-pull, ZERO)
        total = DIGITS.add(total, count * DIGITS.ln(DIGITS.add(1, odds)))
    return (Fraction(total) + linear) / n + ridge * sum(b * b for b in beta)


def logistic_fit(patterns, beta, ridge, n):
    """A guess of the coefficients, by Newton steps of a length of at most 4."""
    size = range(len(beta))
    for _ in range(60 if beta else 0):
        slope, bend = [2.0 * ridge * n * b for b in beta], [[0.0] * len(beta) for _ in size]
        for z, count in patterns.items():
            p = 1.0 / (1.0 + math.exp(min(sum(map(float.__mul__, map(float, z), beta)), 700.0)))
            for k in size:
                slope[k] -= count * p * z[k]
                for i in range(k + 1):
                    bend[k][i] += count * p * (1.0 - p) * z[k] * z[i]
        floor = 2.0 * ridge * n + 1e-13 * sum(bend[k][k] for k in size) + 1e-300
        step = solve_rounded(bend, slope, floor)
        length = max(map(abs, step))
        beta = [
            b - s * min(1.0, 4.0 / length if length else 1.0)
            for b, s in zip(beta, step, strict=True)
        ]
        if length < 1e-14 or max(map(abs, beta)) > 60.0:
            break
    return beta


def solve_rounded(lower, right, floor):
    """(M + floor I) x = b in floats, by Cholesky's method."""
    L, y = [], []
    for i, row in enumerate(lower):
        line = []
        for j in range(i):
            line.append((row[j] - sum(map(float.__mul__, line, L[j]))) / L[j][j])
        line.append(math.sqrt(max(row[i] + floor - sum(v * v for v in line), floor)))
        L.append(line)
        y.append((right[i] - sum(map(float.__mul__, line, y))) / line[i])
    for i in reversed(range(len(y))):
        y[i] = (y[i] - sum(L[k][i] * y[k] for k in range(i + 1, len(y)))) / L[i][i]
    return y


def logistic_bound(patterns, beta, ridge, n):
    odds, weight = {}, [[0.0] * len(beta) for _ in beta]
    pull = [0.0] * len(beta)
    for z, count in patterns.items():
        p = 1.0 / (1.0 + math.exp(min(sum(map(float.__mul__, map(float, z), beta)), 700.0)))
        odds[z] = p
        for k in range(len(beta)):
            pull[k] += count * p * z[k]
            for i in range(k + 1):
                weight[k][i] += count * p * (1.0 - p) * z[k] * z[i]
    step = [0.0] * len(beta)
    if beta and not ridge:
        # A Newton step of the dual takes g to zero up to rounding.
        step = solve_rounded(
            weight, pull, 1e-14 * sum(weight[k][k] for k in range(len(beta))) + 1e-300
        )
    total, g = Decimal(0), [ZERO] * len(beta)
    for z, count in patterns.items():
        p = odds[z]
        p = Fraction(
            min(max(p - p * (1.0 - p) * sum(map(float.__mul__, map(float, z), step)), 0.0), 1.0)
        )
        for q in (p, 1 - p):
            if q:
                total = DIGITS.subtract(
                    total, count * DIGITS.multiply(decimal(q), DIGITS.ln(decimal(q)))
                )
        g = [v + count * p * sign for v, sign in zip(g, z, strict=True)]
    off = sum(v * v for v in g) / (4 * ridge * n) if ridge else 1000 * sum(map(abs, g))
    return max((Fraction(total) - off) / n, ZERO)


# ---- Mixed-integer semidefinite programs


def check_misdp(header, arrays, result):
    if "indicators_a" in arrays or "indicators_a.indptr" in arrays:
        raise Unproven("indicator constraints are not covered")
    if "Q" in arrays or "Q.indptr" in arrays:
        raise Unproven("quadratic objectives of mixed-integer programs are not covered")
    problem = Conic(header, arrays)
    certificate = result["certificate"]
    if certificate and (result["status"], certificate["kind"]) == ("unbounded", "ray"):
        return problem.unbounded(*(exacts(certificate["arrays"][k].values) for k in ("x", "ray")))
    if certificate is None or certificate["kind"] not in ("misdp-leaves", "rank-one-leaves"):
        raise Unproven("only leaves are covered, and rays")
    infeasible = result["status"] == "infeasible"
    bound, text = None, "infeasible, proven"
    if not infeasible:
        value, off = problem.point(exacts(result["x"].values))
        unit = max(max(map(abs, problem.c)), abs(problem.offset), abs(value))
        objective, bound = exact(result["objective"]), exact(result["bound"])
        if abs(objective - value) > Fraction(OBJECTIVE) * unit:
            raise Refuted(f"the objective is off by {float(objective - value):.3g}")
        gap = Fraction(result["params"].get("rel_gap", 1e-6)) * max(abs(objective), abs(bound))
        if result["status"] == "optimal" and abs(objective - bound) > max(
            gap, Fraction(GAP) * unit
        ):
            raise Refuted("objective and bound do not meet")
        text = f"optimal up to the gap stated; x is off by {float(off):.2g} of its units"
    tables = certificate["arrays"]
    if "merged_into" in tables or "merged_times" in tables:
        problem.merge(*(tables[f"merged_{name}"].values for name in ("into", "times")))
    prove = problem.rank_one if certificate["kind"] == "rank-one-leaves" else problem.leaves
    prove(tables, bound)
    return text + ("; its other solutions are not covered" if "pool_x" in tables else "")


def triangle(size):
    return [(i, j) for j in range(size) for i in range(j, size)]


class Conic:
    """A MISDP as linear forms: rows, entries of cones, packed entries of matrices."""

    def __init__(self, header, arrays):
        self.sign = -1 if header["sense"] == "max" else 1
        self.c = [self.sign * v for v in exacts(arrays["c"].values)]
        self.offset = self.sign * exact(header["params"].get("offset", 0.0))
        self.scale = max(*map(abs, self.c), abs(self.offset))
        n = len(self.c)

        def numbers(name, count, word=None):
            given = arrays[name].values if name in arrays else [word] * count
            return [None if v is None or math.isinf(v) else exact(v) for v in given]

        self.integer = (
            [j for j, v in enumerate(arrays["integer"].values) if v] if "integer" in arrays else []
        )
        self.low, self.high = numbers("lower", n), numbers("upper", n)
        self.forms = sparse(arrays, "A")[0] if "A" in arrays or "A.indptr" in arrays else []
        self.m = len(self.forms)
        self.constants = [ZERO] * self.m
        self.row_low, self.row_high = numbers("row_lower", self.m), numbers("row_upper", self.m)
        self.cones, self.blocks = [], []
        for name, constant in (("cones", "cones_g"), ("blocks", "blocks_F0")):
            if constant not in arrays:
                continue
            flags = arrays["cones_rotated" if name == "cones" else "blocks_rank_one"].values
            begin = len(self.forms)
            self.forms += sparse(arrays, f"{name}_F")[0]
            self.constants += exacts(arrays[constant].values)
            for size, flag in zip(arrays[f"{name}_size"].values, flags, strict=True):
                length = size if name == "cones" else size * (size + 1) // 2
                part = (range(begin, begin + length), size, flag)
                (self.cones if name == "cones" else self.blocks).append(part)
                begin += length

    def values(self, x):
        return [
            sum((a * x[j] for j, a in form.items()), g)
            for form, g in zip(self.forms, self.constants, strict=True)
        ]

    def unit(self, places):
        """The least of the largest coefficients of the continuous variables, and the constant."""
        tops = {}
        for i in places:
            for j, a in self.forms[i].items():
                if j not in self.integer:
                    tops[j] = max(tops.get(j, ZERO), abs(a))
        unit = min(tops.values(), default=Fraction(1e-5))
        constant = max((abs(self.constants[i]) for i in places), default=ZERO)
        return min(unit, constant) if constant else unit

    def point(self, x):
        """The objective of x with its integers rounded, and its violation in units."""
        worst = ZERO
        for j in self.integer:
            if abs(x[j] - round(x[j])) > CONIC:
                raise Refuted(f"x[{j}] is no integer")
            x[j] = Fraction(round(x[j]))
        h = self.values(x)
        for value, low, high, unit in [
            *zip(x, self.low, self.high, [ONE] * len(x), strict=True),
            *((h[i], self.row_low[i], self.row_high[i], self.row_unit(i)) for i in range(self.m)),
        ]:
            off = max(
                low - value if low is not None else ZERO, value - high if high is not None else ZERO
            )
            worst = max(worst, off / unit)
        for places, _, rotated in self.cones:
            u, unit = [h[i] for i in places], self.unit(places)
            tail = sum(v * v for v in u[2 if rotated else 1 :])
            lift = Fraction(CONIC) * unit
            if rotated:
                good = min(u[0], u[1]) + lift >= 0 and 2 * (u[0] + lift) * (u[1] + lift) >= tail
            else:
                good = u[0] + lift >= 0 and (u[0] + lift) ** 2 >= tail
            worst = max(worst, ZERO if good else ONE)
        for places, size, _ in self.blocks:
            good = positive(
                unpacked([h[i] for i in places], size), Fraction(CONIC) * self.unit(places)
            )
            worst = max(worst, ZERO if good else ONE)
        for places, size, flag in self.blocks:
            if flag:
                # what is left of a matrix of rank one beside its largest column
                M = unpacked([h[i] for i in places], size)
                top = max(M, key=lambda row: max(map(abs, row)))
                k = M.index(top)
                if top[k] <= 0:
                    worst = max(worst, max(map(abs, top)) / self.unit(places))
                    continue
                rest = max(
                    abs(M[i][j] - M[i][k] * M[k][j] / top[k])
                    for i in range(size)
                    for j in range(size)
                )
                worst = max(worst, rest / max(top[k], self.unit(places)))
        if worst > CONIC:
            raise Refuted(f"x is infeasible: off by {float(worst):.3g} of a unit")
        value = sum(a * b for a, b in zip(self.c, x, strict=True)) + self.offset
        return self.sign * value, worst

    def unbounded(self, x, ray):
        """From a feasible point a direction improves the objective, and leaves no constraint."""
        self.point(x)
        step = sum(a * b for a, b in zip(self.c, ray, strict=True))
        if step >= 0:
            raise Refuted("the ray does not improve the objective")
        moves = [sum((a * ray[j] for j, a in form.items()), ZERO) for form in self.forms]
        rows = zip(moves, self.row_low, self.row_high, strict=False)
        for v, low, high in [*zip(ray, self.low, self.high, strict=True), *rows]:
            if (v < 0 and low is not None) or (v > 0 and high is not None):
                raise Unproven("the ray leaves a row or a bound, if only by rounding")
        # Some multiple of a rational step moves integers to integers.
        for places, _, rotated in self.cones:
            u = [moves[i] for i in places]
            heads, tail = (u[:2], u[2:]) if rotated else (u[:1], u[1:])
            product = 2 * u[0] * u[1] if rotated else u[0] ** 2
            if min(heads) < 0 or product < sum(v * v for v in tail):
                raise Unproven("the ray leaves a cone, if only by rounding")
        for places, size, _ in self.blocks:
            if not semidefinite(unpacked([moves[i] for i in places], size)):
                raise Unproven("the ray leaves a semidefinite cone, if only by rounding")
        return f"unbounded: a feasible point and a ray that improves by {-float(step):.6g} a step"

    def row_unit(self, i):
        ends_ = [abs(e) for e in (self.row_low[i], self.row_high[i]) if e]
        return min([self.unit([i]), *ends_])

    def merge(self, into, times):
        """Put Y = sum t_j x_j in the place of integers whose columns are exactly t_j times one."""
        whole, groups = self.integer, {}
        if len(into) != len(whole) or len(times) != len(whole):
            raise Refuted("merged_into or merged_times has another length")
        for k, (to, t) in enumerate(zip(into, times, strict=True)):
            if not 0 <= to < len(whole) or into[to] != to or t < 1 or times[to] != 1:
                raise Refuted("merged_into and merged_times do not name groups")
            groups.setdefault(to, []).append((whole[k], Fraction(t)))
        for to, members in groups.items():
            if len(members) < 2:
                continue
            first, of = whole[to], dict(members)
            if any(self.c[j] != t * self.c[first] for j, t in members):
                raise Unproven("the costs of merged variables are no exact multiples")
            if any(self.low[j] is None or self.high[j] is None for j in of):
                raise Unproven("a merged variable has no bounds")
            low = {j: Fraction(math.ceil(self.low[j])) for j in of}
            room = sum(t * (math.floor(self.high[j]) - low[j]) for j, t in members)
            for i, form in enumerate(self.forms):
                same = all(form.get(j, ZERO) == t * form.get(first, ZERO) for j, t in members)
                if not same and i >= self.m:
                    raise Unproven("the columns of merged variables are no exact multiples")
                end = self.row_high[i] if i < self.m else None
                if end is not None and form.keys() == of.keys() and min(form.values()) > 0:
                    left = end - sum(a * low[j] for j, a in form.items())
                    room = min(room, max(left, ZERO) * max(of[j] / a for j, a in form.items()))
                if not same:
                    self.forms[i], self.row_low[i], self.row_high[i] = {}, None, None
                for j in of.keys() - {first}:
                    self.forms[i].pop(j, None)
            for j in of.keys() - {first}:
                self.low[j] = self.high[j] = self.c[j] = ZERO
            self.low[first] = sum(t * low[j] for j, t in members)
            self.high[first] = self.low[first] + math.floor(room)
        self.integer = [j for k, j in enumerate(whole) if into[k] == k]

    def leaves(self, arrays, bound):
        count = arrays["lower"].shape[0]
        width = {"rows": self.m, "cones": sum(len(p) for p, *_ in self.cones)}
        width["psd"] = len(self.forms) - sum(width.values())
        table = {
            name: arrays[name].rows() if name in arrays else [[]] * count
            for name in ("lower", "upper", *width)
        }
        step, margin = self.step(), Fraction(GAP) * max(self.scale, abs(bound or ZERO))
        target = cutoff = None
        if bound is not None:
            target, cutoff = self.sign * bound - self.offset - margin, bound
            if step:
                # The next better objective that a point may have.
                costs = step * (math.ceil(target / step) - 1)
                cutoff = self.sign * (costs + self.offset)
        whole_low, whole_high = self.tighten(list(self.low), list(self.high), cutoff)
        if whole_low is None:
            return
        boxes = [list(zip(table["lower"][k], table["upper"][k], strict=True)) for k in range(count)]
        region = [(whole_low[j], whole_high[j]) for j in self.integer]
        region = [
            (-math.inf if a is None else math.ceil(a), math.inf if b is None else math.floor(b))
            for a, b in region
        ]
        if not boxes_cover(boxes, region):
            raise Unproven("the leaves do not cover all integers that are left here")
        farkas = arrays["infeasible"].values if "infeasible" in arrays else [bound is None] * count
        for k in range(count):
            low, high = list(whole_low), list(whole_high)
            for j, (a, b) in zip(self.integer, boxes[k], strict=True):
                low[j] = (
                    low[j]
                    if math.isinf(a)
                    else exact(a)
                    if low[j] is None
                    else max(low[j], exact(a))
                )
                high[j] = (
                    high[j]
                    if math.isinf(b)
                    else exact(b)
                    if high[j] is None
                    else min(high[j], exact(b))
                )
            dual = exacts([v for name in width for v in table[name][k]])
            for attempt in (False, True):
                if attempt:
                    low, high = self.tighten(low, high, cutoff)
                    if low is None:
                        break
                found = self.bound(dual, low, high, bool(farkas[k]))
                if found is not None and step and not farkas[k]:
                    found = step * math.ceil(found / step)
                if found is not None and (found > 0 if farkas[k] else found >= target):
                    break
            else:
                if found is None:
                    raise Unproven(f"leaf {k}: a variable has no bound that this program derives")
                goal = float(ZERO if farkas[k] else target)
                raise Unproven(f"leaf {k} proves {float(found):.12g} only, not {goal:.12g}")

    def step(self):
        """What all costs are multiples of, if all are on integers; else 0."""
        costs = [(j, v) for j, v in enumerate(self.c) if v]
        if not costs or any(j not in self.integer for j, _ in costs):
            return ZERO
        common = math.lcm(*(v.denominator for _, v in costs))
        return Fraction(math.gcd(*(abs(int(v * common)) for _, v in costs)), common)

    def rank_one(self, arrays, bound):
        """A tree of boxes over the entries of the matrices of rank one, leaves in each."""
        low, high = self.tighten(list(self.low), list(self.high), bound, 10**10)
        if low is None:
            return
        places, pairs = [], []
        for own, size, flag in self.blocks:
            if flag and size > 1:
                at = dict(
                    zip(triangle(size), range(len(places), len(places) + len(own)), strict=True)
                )
                places += own
                pairs += [(at[i, j], at[i, i], at[j, j]) for i, j in at if i != j]
        diagonal = {i for _, *both in pairs for i in both}
        root = []
        for e, i in enumerate(places):
            top = self.most(i, low, high)
            under = self.most(i, high, low)
            if e in diagonal:
                under = max(under, ZERO) if under is not None else ZERO
            root.append((under, top))
        begin = self.shrink(root, pairs)
        if begin is None:
            return
        stated = [
            (None if math.isinf(a) else exact(a), None if math.isinf(b) else exact(b))
            for a, b in zip(arrays["root_lower"].values, arrays["root_upper"].values, strict=True)
        ]
        for (a, b), (c, d) in zip(stated, begin, strict=True):
            # rounded roots of the engine may cut by some last bits: those are given back
            if (a is not None and (c is None or c < a - abs(a) / 10**9)) or (
                b is not None and (d is None or d > b + abs(b) / 10**9)
            ):
                raise Unproven("the boxes leave out entries that this program cannot exclude")
        entry, value, children = (arrays[k] for k in ("entry", "value", "children"))
        names = ("lower", "upper", "rows", "cones", "psd", "infeasible")
        open_ = [(0, begin)]
        while open_:
            Clock.check()
            node, box = open_.pop()
            e = entry.values[node]
            if e < 0:
                box = self.shrink(box, pairs)
                if box is not None:
                    mine = [k for k, o in enumerate(arrays["owner"].values) if o == node]
                    part = {}
                    for name in names:
                        if name in arrays and len(arrays[name].shape) == 1:
                            part[name] = Table((len(mine),), [arrays[name].values[k] for k in mine])
                        elif name in arrays:
                            kept = [v for k in mine for v in arrays[name].rows()[k]]
                            part[name] = Table((len(mine), arrays[name].shape[1]), kept)
                    self.relaxed(places, pairs, box).leaves(part, bound)
                continue
            cut, (a, b) = exact(value.values[node]), box[e]
            one, two = children.rows()[node]
            if min(one, two) <= node:
                raise Refuted("children come before their parents")
            below, above = list(box), list(box)
            below[e] = (a, cut if b is None else min(b, cut))
            above[e] = (cut if a is None else max(a, cut), b)
            open_ += [(one, below), (two, above)]

    def shrink(self, box, pairs):
        """Bounds that X_ij^2 = X_ii X_jj implies; None where the box is empty."""
        box = list(box)
        for _ in range(4):
            for k, i, j in pairs:
                (a, b), (c, d), (e, f) = box[k], box[i], box[j]
                c, e = max(c or ZERO, ZERO), max(e or ZERO, ZERO)
                if d is not None and f is not None:
                    top = root_up(max(d, ZERO) * max(f, ZERO))
                    a, b = -top if a is None else max(a, -top), top if b is None else min(b, top)
                if c and e:
                    least = c * e / root_up(c * e)  # not above the root
                    a = max(a, least) if a is not None and a >= 0 else a
                    b = min(b, -least) if b is not None and b <= 0 else b
                box[k] = (a, b)
                least = max(a if a is not None else ZERO, -b if b is not None else ZERO, ZERO) ** 2
                most = None if a is None or b is None else max(b, -a, ZERO) ** 2
                for one, two in ((i, j), (j, i)):
                    (c, d), (e, f) = box[one], box[two]
                    c = max(c or ZERO, least / f if least and f is not None and f > 0 else ZERO)
                    if e is not None and e > 0 and most is not None:
                        d = most / e if d is None else min(d, most / e)
                    box[one] = (c, d)
            # outwards to some bits more than a float has, so that fractions stay short
            box = [(rounded(a, -1), rounded(b, 1)) for a, b in box]
            if any(a is not None and b is not None and a > b for a, b in box):
                return None
        return box

    def relaxed(self, places, pairs, box):
        """The problem with rows for a box in place of the ranks.

        E_i X_jj + E_j X_ii - E_i E_j <= (l + u) X_ij - l u for E = both ends of the diagonals.
        """
        other = object.__new__(Conic)
        other.__dict__ |= self.__dict__
        entries = [(self.forms[i], self.constants[i]) for i in places]
        rows = [
            (form, None if a is None else a - g, None if b is None else b - g)
            for (form, g), (a, b) in zip(entries, box, strict=True)
        ]
        for side in (0, 1):
            for k, i, j in pairs:
                (l, u), one, two = box[k], box[i][side], box[j][side]
                form, top = {}, None
                if None not in (l, u, one, two):
                    top = one * two - l * u
                    for at, factor in ((j, one), (i, two), (k, -(l + u))):
                        top -= factor * entries[at][1]
                        for v, a in entries[at][0].items():
                            form[v] = form.get(v, ZERO) + factor * a
                rows.append(({v: a for v, a in form.items() if a}, None, top))
        m, count = self.m, len(rows)
        other.m = m + count
        other.forms = [*self.forms[:m], *(r for r, _, _ in rows), *self.forms[m:]]
        other.constants = [*self.constants[:m], *[ZERO] * count, *self.constants[m:]]
        other.row_low = [*self.row_low, *(a for _, a, _ in rows)]
        other.row_high = [*self.row_high, *(b for _, _, b in rows)]
        for name in ("cones", "blocks"):
            parts = [
                (range(p.start + count, p.stop + count), *rest) for p, *rest in getattr(self, name)
            ]
            setattr(other, name, parts)
        return other

    def bound(self, dual, low, high, farkas):
        """What multipliers of any quality prove on a box: moved into their cones, and charged."""
        dual = list(dual)
        constant = ZERO
        for i in range(self.m):
            end = self.row_low[i] if dual[i] > 0 else self.row_high[i]
            if end is None:
                dual[i] = ZERO
            else:
                constant += dual[i] * end
        for places, _, rotated in self.cones:
            z = [dual[i] for i in places]
            if rotated:
                tail = root_up((z[0] - z[1]) ** 2 + 2 * sum(v * v for v in z[2:]))
                lift = max(tail - z[0] - z[1], ZERO) / 2
                dual[places[1]] += lift
            else:
                lift = max(root_up(sum(v * v for v in z[1:])) - z[0], ZERO)
            dual[places[0]] += lift
        weight = {}
        for places, size, _ in self.blocks:
            entries = [dual[i] for i in places]
            shift = max(map(abs, entries), default=ZERO) / 10**15
            while shift and not positive(unpacked(entries, size), shift):
                shift *= 10
            for i, (a, b) in zip(places, triangle(size), strict=True):
                dual[i] += shift if a == b else ZERO
                weight[i] = 1 if a == b else 2
        r = [ZERO] * len(self.c) if farkas else list(self.c)
        for i, form in enumerate(self.forms):
            v = dual[i] * weight.get(i, 1)
            if v:
                constant -= v * self.constants[i]
                for j, a in form.items():
                    r[j] -= v * a
        for rj, a, b in zip(r, low, high, strict=True):
            end = a if rj > 0 else b
            if rj and end is None:
                return None
            constant += rj * end if rj else ZERO
        return constant

    def tighten(self, low, high, bound, steps=1000):
        """Bounds that rows, the cutoff, diagonals and two-by-two minors imply; None if empty."""
        forms = [
            (form, g, a, b)
            for form, g, a, b in zip(
                self.forms, self.constants, self.row_low, self.row_high, strict=False
            )
        ]
        if bound is not None:
            forms.append(
                (
                    {j: a for j, a in enumerate(self.c) if a},
                    ZERO,
                    None,
                    self.sign * bound - self.offset,
                )
            )
        entries, minors = {}, []
        for places, size, _ in self.blocks:
            diagonal = {a: i for i, (a, b) in zip(places, triangle(size), strict=True) if a == b}
            for i, (a, b) in zip(places, triangle(size), strict=True):
                entries[i] = [ZERO if a == b else None, None]
                if a != b:
                    minors.append((i, diagonal[a], diagonal[b]))
        for places, _, rotated in self.cones:
            for k, i in enumerate(places):
                entries[i] = [ZERO if k < (2 if rotated else 1) else None, None]
        for _ in range(12):
            changed = False
            for i, two, three in minors:
                tops = [self.most(k, low, high) for k in (two, three)]
                if None not in tops:
                    top = root_up(max(tops[0], ZERO) * max(tops[1], ZERO))
                    entries[i] = [-top, top]
            some = [(self.forms[i], self.constants[i], *ends_) for i, ends_ in entries.items()]
            for form, g, a, b in [*forms, *some]:
                try:
                    if a is not None:
                        changed |= propagate(
                            {j: -v for j, v in form.items()}, g - a, low, high, steps
                        )
                    if b is not None:
                        changed |= propagate(form, b - g, low, high, steps)
                except Empty:
                    return None, None
            for j in self.integer:
                low[j] = low[j] if low[j] is None else Fraction(math.ceil(low[j]))
                high[j] = high[j] if high[j] is None else Fraction(math.floor(high[j]))
            if any(
                a is not None and b is not None and a > b for a, b in zip(low, high, strict=True)
            ):
                return None, None
            if not changed:
                break
        return low, high

    def most(self, i, low, high):
        total = self.constants[i]
        for j, a in self.forms[i].items():
            end = high[j] if a > 0 else low[j]
            if end is None:
                return None
            total += a * end
        return total


def propagate(form, top, low, high, steps=1000):
    """Bounds of each variable by a'x <= top, rounded outwards to floats; whether one moved."""
    ends_ = {j: low[j] if a > 0 else high[j] for j, a in form.items()}
    open_ = [j for j, end in ends_.items() if end is None]
    if len(open_) > 1:
        return False
    least = sum((a * ends_[j] for j, a in form.items() if ends_[j] is not None), ZERO)
    changed = False
    if not open_ and least > top:
        raise Empty
    for j, a in form.items():
        if open_ and j != open_[0]:
            continue
        end = (top - least + (ZERO if open_ else a * ends_[j])) / a
        end = Fraction(math.nextafter(float(end), math.inf if a > 0 else -math.inf))
        side, better = (
            (high, lambda new, old: new < old) if a > 0 else (low, lambda new, old: new > old)
        )
        if side[j] is None or (
            better(end, side[j]) and abs(end - side[j]) > max(abs(end), ONE) / steps
        ):
            side[j] = end
            changed = True
    return changed


def boxes_cover(boxes, region):
    """Whether boxes hold all integer points of a region: cut where a box ends, and look again."""
    Clock.check()
    if any(a > b for a, b in region):
        return True
    boxes = [
        box
        for box in boxes
        if all(c <= b and d >= a for (a, b), (c, d) in zip(region, box, strict=True))
    ]
    for box in boxes:
        if all(c <= a and d >= b for (a, b), (c, d) in zip(region, box, strict=True)):
            return True
    for j, (a, b) in enumerate(region):
        for c, d in (box[j] for box in boxes):
            for cut in ([d] if a <= d < b else []) + ([c - 1] if a < c <= b else []):
                left, right = list(region), list(region)
                left[j], right[j] = (a, cut), (cut + 1, b)
                return boxes_cover(boxes, left) and boxes_cover(boxes, right)
    return False


def rounded(value, side):
    """A nearby fraction of 80 bits that is not below (side 1) or not above; None stays."""
    if not value:
        return value
    unit = Fraction(2) ** (80 - value.numerator.bit_length() + value.denominator.bit_length())
    return side * Fraction(math.ceil(side * value * unit)) / unit


def unpacked(entries, size):
    matrix = [[ZERO] * size for _ in range(size)]
    for v, (i, j) in zip(entries, triangle(size), strict=True):
        matrix[i][j] = matrix[j][i] = v
    return matrix


# ---- Robust subspaces and fits to a mean embedding


def check_robust(header, arrays, result):
    """The sum of distances from the span of W, and a bound for all subspaces.

    It is at least sum u_i'x_i - (the k largest eigenvalues of (X'U + U'X) / 2), for all u_i with
    |u_i| <= 1, and sum u_i = 0 where the centre is free.
    """
    X, k = [exacts(row) for row in arrays["X"].rows()], header["params"]["k"]
    N, n, centred = len(X), len(X[0]), header["params"].get("centre") is not None
    table, certificate = result["x"], result["certificate"]
    if certificate is None:
        raise Unproven("there is no certificate")
    if table.shape != (n, k + centred):
        raise Refuted("the answer has another shape")
    W = transpose([exacts(row) for row in table.rows()])
    middle = [sum(column) / N if centred else ZERO for column in zip(*X, strict=True)]
    unit = sum(
        (root_up(sum((a - b) ** 2 for a, b in zip(x, middle, strict=True))) for x in X), ZERO
    )
    for i, v in enumerate(W[:k]):
        for j, w in enumerate(W[: i + 1]):
            if abs(dot(v, w) - (i == j)) > FEASIBLE:
                raise Refuted("the basis is not orthonormal")
    shift = W[k] if centred else middle
    value, off = ZERO, []
    G = [[dot(v, w) for w in W[:k]] for v in W[:k]]
    for x in X:
        Clock.check()
        p = [a - b for a, b in zip(x, shift, strict=True)]
        along = [dot(p, w) for w in W[:k]]
        part = solve([dict(enumerate(row)) for row in G], along, k)
        off.append(
            [a - dot(part, column) for a, column in zip(p, zip(*W[:k], strict=True), strict=True)]
        )
        value += root_up(sum(v * v for v in off[-1]))
    if abs(value - exact(result["objective"])) > OBJECTIVE * unit:
        raise Refuted("the objective is not that of x")
    evidence = certificate["arrays"] | {"floor": certificate["values"].get("floor")}
    U = directions(evidence, X, middle, W, k, shift, off)
    U = [[Fraction(v) for v in u] for u in U]
    if centred:
        mean = [sum(column) / N for column in zip(*U, strict=True)]
        U = [[a - b for a, b in zip(u, mean, strict=True)] for u in U]
        longest = max(ONE, *(root_up(dot(u, u)) for u in U))
        U = [[v / longest for v in u] for u in U]
    else:
        lengths = [max(ONE, root_up(dot(u, u))) for u in U]
        U = [[v / length for v in u] for u, length in zip(U, lengths, strict=True)]
    P = [[a - b for a, b in zip(x, middle, strict=True)] for x in X]
    cross = [[dot(a, b) for b in zip(*U, strict=True)] for a in zip(*P, strict=True)]
    S = [[(cross[i][j] + cross[j][i]) / 2 for j in range(n)] for i in range(n)]
    proven = sum(cross[i][i] for i in range(n)) - sum(largest_eigenvalues(S, k), ZERO)
    finish(result, value, proven, unit)
    return f"optimal up to the gap stated: the sum of distances is at least {float(proven):.12g}"


def finish(result, value, proven, unit):
    """A bound is proven, and where optimality is claimed it meets the objective."""
    bound = exact(result["bound"])
    if bound > proven + Fraction(GAP) * unit:
        raise Refuted(f"the bound {float(bound):.12g} is stated, {float(proven):.12g} is proven")
    asked = result["params"]
    gap = Fraction(asked.get("rel_gap", 1e-6)) * max(abs(value), abs(bound))
    gap = max(gap, Fraction(asked.get("abs_gap", 0.0)), Fraction(GAP) * unit)
    if result["status"] == "optimal" and value - bound > gap:
        raise Refuted("objective and bound do not meet")


def directions(arrays, X, origin, W, k, shift, off):
    """The vectors that a certificate "inliers" or "relaxation" describes, in floats: a guess."""
    get = lambda name: arrays[name].rows() if len(arrays[name].shape) > 1 else arrays[name].values  # noqa: E731
    points = [[float(a - b) for a, b in zip(x, origin, strict=True)] for x in X]
    high = max(float(max(x[j] for x in X) - min(origin)) for j in range(len(origin)))
    low = max(float(max(origin) - min(x[j] for x in X)) for j in range(len(origin)))
    size = 2.0 ** round(math.log2(max(high, low))) if max(high, low) > 0.0 else 1.0
    points = [[v / size for v in row] for row in points]
    if "complement" in arrays:
        matrix, floor = get("complement"), arrays["floor"]
        away = get("shift") if "shift" in arrays else [0.0] * len(origin)
        found = []
        for row in points:
            r = [fdot(line, [a - b for a, b in zip(row, away, strict=True)]) for line in matrix]
            length = max(math.sqrt(fdot(r, r)), floor)
            found.append([v / length for v in r])
        return found
    inlier, cross, metric = get("inlier"), get("cross"), get("metric")
    basis = [list(map(float, w)) for w in W[:k]]
    away = [float(a - b) / size for a, b in zip(shift, origin, strict=True)]
    part = [fdot(away, w) for w in basis]
    away = [
        a - fdot(part, column) for a, column in zip(away, zip(*basis, strict=True), strict=True)
    ]
    centre = get("middle") if "middle" in arrays else [0.0] * k
    found = []
    for row, inside, r in zip(points, inlier, off, strict=True):
        if not inside:
            r = [float(v) for v in r]
            length = math.sqrt(fdot(r, r)) or 1.0
            found.append([v / length for v in r])
            continue
        z = [fdot(w, [a - b for a, b in zip(row, away, strict=True)]) for w in basis]
        lifted = [*z, 1.0] if "middle" in arrays else z
        w = [-sum(map(float.__mul__, lifted, column)) for column in zip(*cross, strict=True)]
        part = [fdot(w, b) for b in basis]
        w = [a - fdot(part, column) for a, column in zip(w, zip(*basis, strict=True), strict=True)]
        length = max(1.0, math.sqrt(fdot(w, w)))
        w = [v / length for v in w]
        v = [fdot(line, [a - b for a, b in zip(z, centre, strict=True)]) for line in metric]
        scale = math.sqrt(max(0.0, 1.0 - fdot(w, w))) / (math.sqrt(fdot(v, v)) or 1.0)
        found.append(
            [a + scale * fdot(v, c) for a, c in zip(w, zip(*basis, strict=True), strict=True)]
        )
    return found


def dot(one, two):
    return sum((a * b for a, b in zip(one, two, strict=True)), ZERO)


def fdot(one, two):
    return math.fsum(a * b for a, b in zip(one, two, strict=True))


def largest_eigenvalues(S, k):
    """Upper bounds of the k largest eigenvalues: S - t I has fewer than i positive ones at each.

    The number of positive pivots of an elimination is that of positive eigenvalues (Sylvester).
    """
    n, size = len(S), max((abs(v) for row in S for v in row), default=ZERO)
    unit = 2 ** max(0, 90 - (size.numerator.bit_length() - size.denominator.bit_length()))
    ints = [[round(v * unit) for v in row] for row in S]  # moves eigenvalues by n / (2 unit)
    rough = [[v / unit for v in row] for row in ints]
    reach, found = float(size) * n or 1.0, []
    for i in range(1, k + 1):
        low, high = -reach, reach
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (
                (middle, high) if (positives(rough, middle, 0.0) or 0) >= i else (low, middle)
            )
        step = reach * 1e-15
        while True:
            Clock.check()
            t = round(Fraction(high + step) * unit)
            above = positives(ints, t, 0)
            if above is not None and above < i:
                break
            step *= 2.0
        found.append(Fraction(2 * t + n, 2 * unit))
    return found


def positives(S, t, zero):
    """How many eigenvalues of S are above t; None where a pivot vanishes. Bareiss in integers."""
    M = [[v - t * (i == j) for j, v in enumerate(row)] for i, row in enumerate(S)]
    last, count, whole_ = 1, 0, isinstance(zero, int)
    for k, row in enumerate(M):
        if row[k] == 0:
            return None
        count += (row[k] > 0) == (last > 0) if whole_ else row[k] > 0
        for other in M[k + 1 :]:
            entry = other[k]
            if whole_:
                other[k:] = [
                    (row[k] * a - entry * b) // last
                    for a, b in zip(other[k:], row[k:], strict=True)
                ]
            else:
                entry /= row[k]
                other[k:] = [a - entry * b for a, b in zip(other[k:], row[k:], strict=True)]
        last = row[k] if whole_ else 1
    return count


def check_embedding(header, arrays, result):
    """f(b) >= f(a) + min_i of the gradient at i - gradient'a, on the simplex."""
    mu = exacts(arrays["mu"].values)
    points = [[v - m for v, m in zip(exacts(row), mu, strict=True)] for row in arrays["Phi"].rows()]
    x = exacts(result["x"].values)
    if len(x) != len(points):
        raise Refuted("x has another length")
    if min(x) < -FEASIBLE or abs(sum(x) - 1) > FEASIBLE:
        raise Refuted("x is no distribution")
    a = [max(v, ZERO) for v in x]
    total, flat = sum(a), Matrix([dict(enumerate(row)) for row in points], len(mu))
    r = [v / total for v in flat.transposed(a)]
    slopes, value = flat.times(r), dot(r, r)
    unit = max(dot(p, p) for p in points)
    if abs(value - exact(result["objective"])) > OBJECTIVE * unit:
        raise Refuted("the objective is not that of x")
    finish(result, value, max(value - 2 * (value - min(slopes)), ZERO), unit)
    return f"optimal up to the gap stated: the squared distance is {float(value):.12g}"


# ---- The program

CHECKS = {
    "strs": check_sphere,
    "strs-path": check_sphere,
    "kernel-selection": check_sphere,
    "sparse-component": check_component,
    "sparse-regression": check_subset,
    "budget-tables": check_budget,
    "l0-graphical-model": check_budget,
    "misdp": check_misdp,
    "robust-subspace": check_robust,
    "embedding-fit": check_embedding,
}


def check(instance: str | Path, result: str | Path, seconds: float = 600.0) -> tuple[str, str]:
    """Return a verdict, "proven", "refuted" or "unproven", and why.

    Parameters
    ----------
    instance : path
        Of an instance, ``.npz``.
    result : path
        Of its result, ``.json``.
    seconds : float, default 600
        Of processor time, after which the verdict is "unproven".

    Raises
    ------
    Unreadable, OSError, ValueError, KeyError
        When a file is not what it should be, or the result belongs to another instance.
    """
    Clock.end = time.process_time() + seconds
    header, arrays = read_instance(instance)
    claimed = read_result(result)
    if claimed["instance"] != fingerprint(header, arrays):
        raise Unreadable("the result belongs to another instance")
    try:
        if claimed["status"] not in ("optimal", "feasible", "infeasible", "unbounded"):
            raise Unproven(f"the status {claimed['status']} claims nothing that is covered")
        solved = claimed["status"] in ("optimal", "feasible")
        if solved and None in (claimed["x"], claimed["objective"], claimed["bound"]):
            raise Refuted("a point, its objective and its bound belong to this status")
        parametric = header["kind"] not in CHECKS
        if set(claimed["duals"]) - ({"rows"} if parametric else set()):
            raise Unproven("there are multipliers that are not covered")
        if not solved and (claimed["x"], claimed["path"]) != (None, None):
            raise Refuted("a point or a path does not belong to this status")
        return "proven", CHECKS.get(header["kind"], check_parametric)(header, arrays, claimed)
    except Refuted as error:
        return "refuted", str(error)
    except Unproven as error:
        return "unproven", str(error)
    except (
        IndexError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        ZeroDivisionError,
    ) as error:
        return "refuted", f"the evidence is malformed ({type(error).__name__}: {error})"
    except ValueError as error:
        return "refuted", f"the evidence is malformed ({error})"
    finally:
        Clock.end = math.inf


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="exact", description=__doc__.splitlines()[0])
    parser.add_argument("instance")
    parser.add_argument("result")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        verdict, why = check(options.instance, options.result, options.seconds)
    except (Unreadable, OSError, zipfile.BadZipFile, KeyError, ValueError, struct.error) as error:
        verdict, why = "unreadable", str(error) or type(error).__name__
    except Unproven as error:
        verdict, why = "unproven", str(error)
    if options.json:
        print(json.dumps({"verdict": verdict, "message": why}))
    else:
        print(f"{verdict}: {why}")
    return {"proven": 0, "refuted": 1, "unreadable": 2, "unproven": 3}[verdict]


if __name__ == "__main__":
    sys.exit(main())

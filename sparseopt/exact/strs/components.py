"""Sparse components from the data."""

# mypy: ignore-errors

from __future__ import annotations

from fractions import Fraction

from ..common.algebra import largest
from ..common.rationals import ZERO, exact, exacts
from ..common.verdicts import GAP, Clock, Refuted, Unproven
from .spheres import sphere_leaves, sphere_point

COMPONENT_WORK = 5_000_000  # products of two entries of the data that a matrix may take


def check_component(header, arrays, result):
    """The longest image of d columns: leaves for a kernel, norms of products for all others."""
    columns = [exacts(column) for column in zip(*arrays["X"].rows(), strict=True)]
    D, n, d = len(columns), len(columns[0]), header["params"]["d"]
    certificate = result["certificate"]
    if certificate is None or certificate["kind"] not in ("kernel-leaves", "anchor-leaves"):
        raise Unproven("there is no certificate 'kernel-leaves' or 'anchor-leaves'")
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
    sphere_point(A, [ZERO] * D, d, x, objective, bound, unit, unit, result)
    if certificate["kind"] == "anchor-leaves":
        return located(A, d, bound, own)
    kernel, outside = own["kernel"], sorted(set(range(D)) - set(own["kernel"]))
    if kernel != sorted(set(kernel)) or not set(kernel) <= set(range(D)):
        raise Refuted("the kernel is no increasing list of columns")
    more, inner = Fraction(GAP) * unit, [[A[i][j] for j in kernel] for i in kernel]
    u = [largest([A[i][i] for i in kernel], k) for k in range(d + 1)]
    if not set(own["sizes"]) <= set(range(1, min(d, len(kernel)) + 1)):
        raise Refuted("there are bounds of sizes that no support in the kernel has")
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


def located(A, d, bound, own):
    """Bounds of 2, ..., d columns: each says where larger supports of the next size must be."""
    D, most = len(A), max(A[j][j] for j in range(len(A)))
    stated = dict(zip(own["sizes"], exacts(own["bounds"]), strict=True))
    u = [largest([A[j][j] for j in range(D)], k) for k in range(d + 1)]
    for k in range(2, d + 1):
        fewer = max(u[k - 1], most)
        if k > 2:
            u[k] = min(u[k], ((k - 1) * fewer - min(A[j][j] for j in range(D))) / (k - 2))
        if k not in stated:
            continue
        unit = max(most, abs(stated[k]))
        claim = stated[k] + Fraction(GAP) * unit
        kernel = own[f"kernel_{k}"]
        if kernel != sorted(set(kernel)) or not set(kernel) <= set(range(D)):
            raise Refuted(f"the kernel of {k} columns is no increasing list of columns")
        if not near_anchors(A, k, fewer, claim) <= set(kernel):
            raise Refuted(f"supports of {k} columns beyond their kernel may exceed the bound")
        if len(kernel) >= k:
            leaves = {
                name.removesuffix(f"_{k}"): v for name, v in own.items() if name.endswith(f"_{k}")
            }
            inner = [[A[i][j] for j in kernel] for i in kernel]
            sphere_leaves(inner, [ZERO] * len(kernel), k, stated[k], leaves, unit)
        u[k] = min(u[k], claim)
    if u[d] > bound + Fraction(GAP) * max(most, abs(bound)):
        raise Refuted(f"nothing proves the bound for {d} columns")
    return f"optimal up to the gap stated, for {d} of {D} columns, by bounds of {len(stated)} sizes"


def near_anchors(A, k, u, U):
    """The columns that may share a support of k columns, whose value exceeds U, with an anchor."""
    D = len(A)
    if u >= U:
        raise Unproven(f"the bound of {k} columns is not above that of {k - 1}")
    zeta = [(U - u) / (2 * U - A[j][j] - u) for j in range(D)]
    norms = [(U - A[j][j]) ** 2 * z / (1 - z) for j, z in enumerate(zeta)]
    left, kept = set(range(D)), set()
    while True:
        Clock.check()
        rows = {j: largest([A[j][r] ** 2 for r in left if r != j], k - 1) for j in left}
        fewer = {j for j in left if rows[j] >= norms[j]}
        if fewer == left:
            break
        left = fewer
    for i in left:
        Clock.check()
        p = U * max(Fraction(1, k), zeta[i]) / A[i][i] if A[i][i] else None
        if p is not None and p <= 1:
            own = {j for j in left if j == i or at_angle(A, i, j, p, U * zeta[j])}
            kept |= shared(A, i, own, norms, k, U)
    return kept


def at_angle(A, i, j, p, image):
    """Whether lines through x_i and x_j can have squared cosines p and image / |x_j|^2 with v."""
    if image > A[j][j]:
        return False
    q = image / A[j][j] if image else ZERO
    cosine = A[i][j] ** 2 / (A[i][i] * A[j][j]) if A[j][j] else ZERO
    more = p + q - 1 - cosine
    return more <= 0 or 4 * cosine * (1 - p) * (1 - q) >= more * more


def shared(A, i, own, norms, k, U):
    """The columns of a list that are left after the sums of its rows; none without its anchor."""
    while len(own) >= k:
        Clock.check()
        others = own - {i}
        row = {
            j: largest([A[j][r] ** 2 for r in others if r != j], k - 2) + A[j][i] ** 2
            for j in others
        }
        term = {j: A[j][j] ** 2 + A[j][i] ** 2 + row[j] for j in others}
        reach = {j: abs(A[j][i]) for j in others}
        fewer = {
            j
            for j in others
            if row[j] >= norms[j]
            and A[i][i] + with_one(reach, j, k) > U
            and A[i][i] ** 2 + with_one(term, j, k) > U * U
        }
        if fewer == others:
            return own
        own = fewer | {i}
    return set()


def with_one(values, j, k):
    """The largest sum of k - 1 values of which j is one."""
    return values[j] + largest([v for r, v in values.items() if r != j], k - 2)

"""Sparse components from the data."""

# mypy: ignore-errors

from __future__ import annotations

from fractions import Fraction

from .algebra import largest
from .rationals import ZERO, exact, exacts
from .spheres import sphere_leaves, sphere_point
from .verdicts import GAP, Refuted, Unproven

COMPONENT_WORK = 5_000_000  # products of two entries of the data that a matrix may take


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
    sphere_point(A, [ZERO] * D, d, x, objective, bound, unit, unit, result)
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

"""Proofs by boxes of the entries of matrices that must have rank one.

**"rank-one-leaves"** is a binary tree of N boxes. Node 0 is the box ``root_lower, root_upper`` (E,)
of all entries of those matrices; it must hold all that follow from the constraints (and the claimed
bound as a cutoff). ``entry`` (N,) says which entry a node is split at, at ``value`` (N,), into its
``children`` (N, 2): below and above; -1 in a leaf. In each leaf the problem with the rows of
:class:`~sparseopt.proofs.misdp.rank_one.RankOneBoxes` in place of the ranks has a certificate
"misdp-leaves" of its own: the entries of ``lower, upper, rows, cones, psd, infeasible`` whose
``owner`` (L,) is the leaf. One that the rank empties needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from sparseopt.checking.misdp.rays import Malformed
from sparseopt.checking.report import Findings
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.misdp.propagation import Propagation
from sparseopt.proofs.misdp.rank_one import RankOneBoxes
from sparseopt.result import Certificate, Result, Verdict

__all__ = ["verify_boxes"]

_OWN = ("lower", "upper", "rows", "cones", "psd", "infeasible")

Verifier = Callable[[MISDP, Result, float | None, Findings], None]


def verify_boxes(
    problem: MISDP, result: Result, bound: float | None, findings: Findings, verify: Verifier
) -> None:
    """Prove a bound, or with None that nothing is feasible.

    Parameters
    ----------
    problem : MISDP
    result : Result
        With the certificate.
    bound : float or None
    findings : Findings
    verify : callable
        Judges a certificate "misdp-leaves" of one leaf.
    """
    assert result.certificate is not None
    boxes, arrays = RankOneBoxes(problem), result.certificate.arrays
    count = len(boxes.F0)
    root = tuple(_vector(arrays, name, count) for name in ("root_lower", "root_upper"))
    implied = Propagation(problem).tighten(cutoff=bound)
    derived = None if implied is None else boxes.box(*implied)
    claim = "nothing is feasible" if bound is None else f"nothing is better than {bound:.12g}"
    if derived is None:
        findings.prove(f"{claim}: the bounds that follow from the constraints cross")
        return
    if (root[0] > derived[0]).any() or (root[1] < derived[1]).any():
        findings.refute("the boxes leave out entries of the matrices of rank one")
        return
    owner = np.asarray(arrays.get("owner"))
    leaves = 0
    for node, low, high in _leaves(arrays, root[0], root[1]):
        leaves += 1
        tight = boxes.tightened(low, high)
        if tight is None:
            continue
        if owner.dtype.kind not in "iu" or owner.ndim != 1:
            raise Malformed("owner is not a vector of integers")
        own = {name: _part(arrays, name, owner == node) for name in _OWN if name in arrays}
        part = result.with_changes(certificate=Certificate("misdp-leaves", own))
        found = Findings()
        verify(boxes.relaxed(*tight), part, bound, found)
        report = found.report()
        if report.verdict is not Verdict.VERIFIED:
            say = findings.refute if found.refuted else findings.doubt
            say(f"box {node} of the ranks: {report.messages[0]}")
            return
    findings.prove(f"{claim}: {leaves} boxes cover all matrices of rank one")


def _leaves(
    arrays: Mapping[str, Array], low: Array, high: Array
) -> Iterator[tuple[int, Array, Array]]:
    """Walk the tree; return (node, lower, upper) of its leaves."""
    entry, value, children = (np.asarray(arrays.get(k)) for k in ("entry", "value", "children"))
    N = len(entry) if entry.ndim == 1 and entry.dtype.kind in "iu" else 0
    if N == 0 or value.shape != (N,) or value.dtype.kind not in "iuf" or children.shape != (N, 2):
        raise Malformed("entry, value and children do not describe a tree")
    if children.dtype.kind not in "iu" or not np.isfinite(value).all():
        raise Malformed("value holds numbers that are not finite, or children none that are whole")
    open_ = [(0, low, high)]
    while open_:
        node, low, high = open_.pop()
        split = int(entry[node])
        if split < 0:
            yield node, low, high
            continue
        first, second = (int(child) for child in children[node])
        # Children come after their parents, so the walk ends.
        if split >= len(low) or not node < first < N or not node < second < N:
            raise Malformed(f"node {node} has no such entry or children")
        below, above = high.copy(), low.copy()
        below[split] = min(high[split], value[node])
        above[split] = max(low[split], value[node])
        open_ += [(first, low, below), (second, above, high)]


def _part(arrays: Mapping[str, Array], name: str, which: Array) -> Array:
    array = np.asarray(arrays[name])
    if array.ndim == 0 or len(array) != len(which):
        raise Malformed(f"{name} and owner disagree on the number of leaves")
    return array[which]


def _vector(arrays: Mapping[str, Array], name: str, length: int) -> Array:
    array = np.asarray(arrays.get(name))
    if array.dtype.kind not in "iuf" or array.shape != (length,) or np.isnan(array).any():
        raise Malformed(f"{name} is not a vector of {length} numbers")
    return np.asarray(array, dtype=float)

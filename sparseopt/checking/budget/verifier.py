r"""The verifier of problems with one cardinality budget: tables, and models that lead to tables.

The certificate "budget" of a model holds, beside the multipliers, ``tables``: the scaled loss of
every node for 0, 1, ... neighbours. The path holds the neighbours that attain them. Three things
are checked:

1. the stated neighbours attain the tables: their least squares are solved again;
2. no other neighbours do better: all subsets of the candidates of all nodes are looked through
   with bounds, computed again from X (:mod:`sparseopt.checking.budget.gaussian_subsets`,
   :mod:`sparseopt.checking.budget.ising_subsets`), as far as some 20 seconds allow. Where nodes
   are left, the verdict is ``unproven`` and says how many;
3. given the tables, the path over the budgets (:mod:`sparseopt.checking.budget.tables`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sparseopt.checking.budget import gaussian_subsets, ising_subsets
from sparseopt.checking.budget.fits import largest_margins, support_losses
from sparseopt.checking.budget.tables import verify_path
from sparseopt.checking.cancelling import LAST_DIGITS, combination
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import OBJECTIVE, ROUNDED, SUMMATION, UNSCALED
from sparseopt.checking.verifiers import Evaluation, plain_evaluation
from sparseopt.paths.budget import BudgetPath
from sparseopt.paths.graph import GraphPath
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Result, Status

_TABLE = 1e-9
"""Errors of table entries, relative to the loss without neighbours."""
_LOGARITHM, _PERFECT = 1e-12, 1e-4
"""The same where logarithms are added up, and the loss below which errors are relative to itself
alone."""
_MARGIN = 10.0
"""The largest margin of a fit to values that the neighbours separate is well above this."""
_VANISHED = 1e-7
"""A mean loss below this vanishes: the neighbours separate all values."""
_LARGE = 100.0
"""Coefficients, in units of the node's standard deviation, whose terms are looked at one by one."""


class BudgetVerifier:
    """Judges results of problems with one cardinality budget."""

    def __call__(
        self, problem: BudgetTables | L0GraphicalModel, result: Result, findings: Findings
    ) -> None:
        """Prove a path over all budgets; the last point was checked before."""
        if result.status in (Status.INFEASIBLE, Status.UNBOUNDED, Status.INF_OR_UNB):
            findings.refute(
                f"the status is {result.status.value}, but no neighbours at all is feasible, and "
                "there are finitely many choices"
            )
        elif isinstance(problem, L0GraphicalModel):
            _verify_model(problem, result, findings)
        elif not isinstance(result.path, BudgetPath):
            findings.doubt("there is no path over the budgets")
        else:
            path = result.path
            findings.cover("path")
            verify_path(problem, result, path, findings)
            if result.x is None or not np.array_equal(result.x, path.at(path.budgets[-1])):
                findings.refute("x is not the path's solution at the last budget")

    def evaluate(
        self, problem: BudgetTables | L0GraphicalModel, x: Array, lam: float | None
    ) -> Evaluation:
        """Evaluate a point; large coefficients that cancel leave its value in doubt."""
        if not isinstance(problem, L0GraphicalModel):
            plain = plain_evaluation(problem, x, lam)
            # Counts are whole numbers, however large they are.
            over = max(plain.residuals.values()) / UNSCALED
            least = max(abs(plain.value), LAST_DIGITS * plain.size / OBJECTIVE)
            return replace(plain, violation=over, data_size=least)
        x = np.asarray(x, dtype=float)
        losses = problem.node_losses(x)
        blurred, errors = _large_coefficients(problem, x, losses)
        values = problem.scaled(losses, np.arange(len(losses)))
        plain = plain_evaluation(problem, x, lam, (float(values.sum()), problem.scale_of(values)))
        # Coefficients are there or not, however large others are.
        violation = math.inf if plain.residuals["budget"] else 0.0
        plain = replace(plain, violation=violation, rounding=_of_sum(problem, losses, errors))
        if problem.loss != "gaussian":
            return plain
        size = plain.size + _of_sum(problem, losses, blurred) / OBJECTIVE
        return replace(plain, size=size, data_size=max(abs(plain.value), ROUNDED * plain.size))


verify = BudgetVerifier()


def _large_coefficients(problem: L0GraphicalModel, x: Array, losses: Array) -> tuple[Array, Array]:
    r"""Bound the rounding errors of losses where coefficients are large.

    A residual is known up to :math:`\gamma t` with :math:`t = |y| + |X| |\beta|`, so its mean
    square is up to :math:`2 \gamma \sqrt{\ell\,\overline{t^2}} + \gamma^2\,\overline{t^2}`.
    Such squares are computed anew in 106 bits. Logistic losses are no steeper than 1 in the margin.

    Parameters
    ----------
    problem : L0GraphicalModel
    x : array of shape (total,)
    losses : array of shape (d,)
        In and out.

    Returns
    -------
    blurred, errors : arrays of shape (d,)
        Of losses in double precision, and of those that are left.
    """
    candidates, null = problem.candidates, problem.null_losses()
    node = np.repeat(np.arange(candidates.nodes), candidates.sizes)
    weight = np.abs(x) * np.sqrt(null[candidates.index])
    large = np.bincount(node, weight, minlength=candidates.nodes) > _LARGE * np.sqrt(null)
    blurred, errors = np.zeros(len(losses)), np.zeros(len(losses))
    for j in np.flatnonzero(large):
        own = candidates.of(int(j))
        beta = x[candidates.ptr[j] : candidates.ptr[j + 1]]
        if problem.loss == "ising":
            blurred[j] = errors[j] = SUMMATION * float(np.abs(beta).sum())
            continue
        columns, target = (problem.X[:, k].astype(float) for k in (own, j))
        rest, moved = combination(columns, beta, target, precise=True)
        terms = float(problem.shares @ np.square(np.abs(target) + np.abs(columns) @ np.abs(beta)))
        losses[j] = problem.shares @ rest**2 + problem.ridge * float(beta @ beta)
        blurred[j] = 2.0 * SUMMATION * math.sqrt(losses[j] * terms) + SUMMATION**2 * terms
        errors[j] = problem.shares @ ((2.0 * np.abs(rest) + moved) * moved)
    return blurred, errors


def _of_sum(problem: L0GraphicalModel, losses: Array, errors: Array) -> float:
    """Return what errors of losses make of the sum of the scaled ones."""
    at = np.flatnonzero(errors)
    units = {
        "standardised": problem.null_losses()[at],
        "nlogrss": losses[at] / problem.observations,
        "rss": np.ones(len(at)),
    }
    with np.errstate(divide="ignore"):
        return float((errors[at] / units[problem.scaling]).sum())


def _verify_model(problem: L0GraphicalModel, result: Result, findings: Findings) -> None:
    path = result.path
    if not isinstance(path, GraphPath):
        findings.doubt("there is no path of graphs over the budgets")
        return
    findings.cover("path")
    d = problem.X.shape[1]
    if not _same_question(problem, path, findings):
        return
    _check_point(problem, result, path, findings)
    certificate = result.certificate
    if certificate is None or "tables" not in certificate.arrays:
        findings.doubt("there is no certificate 'budget' with tables that could prove the bounds")
        return
    ptr = problem.candidates.ptr + np.arange(d + 1)
    values = np.asarray(certificate.arrays["tables"], dtype=float)
    if values.shape != (ptr[-1],) or not np.isfinite(values).all():
        findings.refute(f"the tables must be {int(ptr[-1])} finite numbers")
        return
    _check_tables(problem, path, values, findings)
    tables = BudgetTables(values, ptr, problem.budget)
    verify_path(tables, result, path, findings, fitted=True)


def _same_question(problem: L0GraphicalModel, path: GraphPath, findings: Findings) -> bool:
    """Refute a path for other candidates, or whose supports are no subsets of them."""
    own, given = problem.candidates, path.candidates
    same = (
        np.array_equal(own.ptr, given.ptr)
        and np.array_equal(own.index, given.index)
        and (problem.loss, problem.scaling, problem.ridge) == (path.loss, path.scaling, path.ridge)
    )
    if not same:
        findings.refute("the path is for other candidates, or for another loss or scaling")
        return False
    lengths = own.sizes + 1
    supports = np.asarray(path.supports)
    entries = int(lengths.sum())
    if supports.shape != (entries,) or path.separated.shape != (entries,):
        findings.refute(f"the path has no support for each of the {entries} entries of the tables")
        return False
    node = np.repeat(np.arange(len(lengths)), lengths)
    count = np.arange(entries) - np.repeat(own.ptr[:-1] + np.arange(len(lengths)), lengths)
    used = np.bitwise_count(supports.astype(np.int64))
    wrong = (supports < 0) | (supports >> own.sizes[node] != 0) | (used > count)
    if wrong.any():
        at = int(np.argmax(wrong))
        findings.refute(
            f"the support of node {int(node[at])} for {int(count[at])} neighbours is none of so "
            "many of its candidates"
        )
        return False
    return True


def _check_point(
    problem: L0GraphicalModel, result: Result, path: GraphPath, findings: Findings
) -> None:
    """Refute coefficients outside the neighbours at the last budget."""
    if result.x is None or np.shape(result.x) != (problem.total,):
        return
    if np.any(np.asarray(result.x)[~path.selected(int(path.budgets[-1]))]):
        findings.refute("x has coefficients outside the path's neighbours at the last budget")


def _check_tables(
    problem: L0GraphicalModel, path: GraphPath, values: Array, findings: Findings
) -> None:
    """Prove that the tables hold the smallest losses, and that the supports attain them."""
    d = problem.X.shape[1]
    lengths = problem.candidates.sizes + 1
    node = np.repeat(np.arange(d), lengths)
    null = problem.null_losses()
    tolerance = _TABLE * null[node]
    stated = _unscaled(problem, values, node, null)
    attained = support_losses(problem, np.asarray(path.supports, dtype=np.int64))
    error = np.abs(stated - attained)
    findings.measure("tables", float((error / null[node]).max()))
    false = error > tolerance
    narrow = np.array(
        [_rounded(problem, path, int(at), int(node[at])) for at in np.flatnonzero(false)]
    )
    if false.any() and (error[false] <= tolerance[false] + narrow * null[node[false]]).all():
        findings.doubt(
            f"the losses of {int(false.sum())} stated supports are not known to {_TABLE:g}: their "
            "candidates nearly depend on each other"
        )
        return
    if false.any():
        at = int(np.argmax(false))
        findings.refute(
            f"the table of node {int(node[at])} states {stated[at]:.17g}, its neighbours attain "
            f"{attained[at]:.17g}"
        )
        return
    _check_separated(problem, path, stated, findings)
    narrow = tolerance
    if problem.scaling == "nlogrss":
        small = stated < _PERFECT * null[node]
        least = np.where(small, 0.0, _LOGARITHM * null[node])
        narrow = np.minimum(tolerance, np.maximum(_TABLE * stated, least))
        blurred = error > narrow
        for place in np.flatnonzero(small & ~blurred).tolist():
            known = _logarithm_known(problem, path, place, int(node[place]), attained[place])
            blurred[place] = not known
        if blurred.any():
            findings.doubt(
                f"{int(blurred.sum())} stated supports fit their nodes so well that the logarithms "
                "of their losses are not known"
            )
    _check_others(problem, stated, narrow, tolerance, findings)


def _check_others(
    problem: L0GraphicalModel, stated: Array, narrow: Array, wide: Array, findings: Findings
) -> None:
    """Prove that no neighbours have losses below those stated.

    What is below by no more than the wide tolerance leaves a doubt alone, where the narrow one is
    that of logarithms.
    """
    search = ising_subsets if problem.loss == "ising" else gaussian_subsets
    proof = search.prove_tables(problem, stated - narrow, narrow)
    if proof.beaten is not None and problem.scaling == "nlogrss":
        surely = search.prove_tables(problem, stated - wide, wide)
        if surely.beaten is None:
            findings.doubt(f"node {proof.beaten[0]} may have better neighbours than stated")
            return
    if proof.beaten is not None:
        j, size, loss = proof.beaten
        findings.refute(
            f"node {j} has better neighbours than its table states: {size} of them attain "
            f"{loss:.17g}"
        )
        return
    proven = int(proof.proven.sum())
    findings.prove(
        f"no subset of the candidates of {proven} nodes does better: all were looked through again"
    )
    d = problem.X.shape[1]
    if proven < d:
        findings.doubt(
            f"the best neighbours of {d - proven} of {d} nodes are not proven: their subsets are "
            "too much work to be looked through again, or losses of some are not known well enough"
        )


def _check_separated(
    problem: L0GraphicalModel, path: GraphPath, losses: Array, findings: Findings
) -> None:
    """Refute losses that are said to have no minimum where they have one, and the reverse."""
    separated = np.asarray(path.separated, dtype=bool)
    if problem.loss != "ising" or problem.ridge > 0.0:
        if separated.any():
            findings.refute(f"node entries {np.flatnonzero(separated)[:3]} have a minimum each")
        return
    said = np.flatnonzero(separated)
    margins = largest_margins(problem, np.asarray(path.supports, dtype=np.int64), said)
    if (margins < _MARGIN).any():
        at = int(said[int(np.argmin(margins))])
        findings.refute(f"the neighbours of table entry {at} do not separate the node's values")
    if (~separated & (losses < _VANISHED)).any():
        at = int(np.argmax(~separated & (losses < _VANISHED)))
        findings.refute(f"the neighbours of table entry {at} separate the node's values")


def _logarithm_known(
    problem: L0GraphicalModel, path: GraphPath, at: int, node: int, loss: float
) -> bool:
    """Return whether rounding leaves enough digits of a small loss for its logarithm.

    Its root is off by no more than rounding in a column times the sum of the coefficients
    (:mod:`~sparseopt.checking.budget.gaussian_dependent`).
    """
    chosen = path.candidates.of(node)[_places(path, at)]
    columns, target = problem.columns(chosen), problem.columns(node)
    if problem.ridge > 0.0:
        shift = np.sqrt(len(columns) * problem.ridge)
        columns = np.vstack([columns, shift * np.eye(len(chosen))])
        target = np.append(target, np.zeros(len(chosen)))
    length = float(np.linalg.norm(target))
    columns = columns / np.linalg.norm(columns, axis=0)
    beta = np.linalg.lstsq(columns, target / length, rcond=None)[0]
    off = gaussian_subsets.rounding(problem) * (1.0 + float(np.abs(beta).sum()))
    null = length * length / problem.X.shape[0]
    return bool(2.0 * off <= _TABLE * np.sqrt(loss / null))


def _places(path: GraphPath, at: int) -> list[int]:
    """Return which of its node's candidates a support has."""
    bits = int(path.supports[at])
    return [k for k in range(bits.bit_length()) if bits >> k & 1]


def _rounded(problem: L0GraphicalModel, path: GraphPath, at: int, node: int) -> float:
    """Return by how much a support's loss may be off by rounding, relative to no neighbours'."""
    chosen = problem.candidates.of(node)[_places(path, at)]
    if problem.loss != "gaussian" or problem.ridge > 0.0 or len(chosen) == 0:
        return 0.0
    columns = problem.columns(chosen)
    sine = np.linalg.svd(columns / np.linalg.norm(columns, axis=0), compute_uv=False)[-1]
    return float(SUMMATION / sine) if sine > 0.0 else np.inf


def _unscaled(problem: L0GraphicalModel, values: Array, node: Array, null: Array) -> Array:
    """Return the losses that were scaled."""
    if problem.scaling == "standardised":
        return np.asarray(values * null[node])
    if problem.scaling == "nlogrss":
        return np.asarray(np.exp(values / problem.observations))
    return values

"""Graphical models whose nodes choose their neighbours under one common budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array, as_vector, freeze, is_sparse, unmasked
from sparseopt.problems.budget.candidates import Candidates
from sparseopt.problems.budget.column_blocks import ColumnBlocks
from sparseopt.problems.budget.tables import BudgetProblem
from sparseopt.problems.fields import as_names, as_weights, check_lengths, names_in

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

Loss = Literal["gaussian", "ising"]
Scaling = Literal["standardised", "rss", "nlogrss"]

_BLOCK = 2048
"""Nodes whose losses are evaluated at once."""
_ENTRIES = 1 << 24
"""Entries of X that are looked at at once."""
_IN_CACHE = 1 << 17
"""Entries that several operations pass over one after another."""
_VANISHED = 1e-14
"""Loss relative to that of no neighbours whose logarithm is not taken: residuals of 1e-7 of the
column have lost the digits that the checker compares, 1e-9 of the logarithm."""


@dataclass(frozen=True, eq=False, repr=False)
class L0GraphicalModel(BudgetProblem):
    r"""Choose the best K neighbours of all nodes together, for every K.

    .. math:: \min_{\beta_1, \dots, \beta_d} \sum_{j=1}^d s_j(\ell_j(\beta_j))
              \quad\text{subject to}\quad \sum_j \|\beta_j\|_0 \le K,\;
              \operatorname{supp}(\beta_j) \subseteq N_j

    K counts selected neighbours over nodes: an edge whose two ends select each other counts twice.
    The loss of node j is

    .. math:: \ell_j(\beta) = \frac1n \|X_j - X_{N_j} \beta\|_2^2 + \rho \|\beta\|_2^2
              \quad\text{or}\quad
              \ell_j(\beta) = \frac1n \sum_i \log(1 + e^{-x_{ij} \sum_k \beta_k x_{ik}})
              + \rho \|\beta\|_2^2

    for loss "gaussian" and "ising". There is no intercept: X is taken as it is, so centre Gaussian
    columns first. A point x holds the coefficients of all candidates in the order of
    ``candidates.index``, shape (sum of all :math:`|N_j|`,).

    - Columns that are copies of others, or combinations of them up to an angle of 1e-8, are
      allowed: the loss of a set of neighbours is its minimum, and a node never needs a column that
      adds nothing.
    - A node without candidates keeps :math:`\ell_j(0)`.
    - With loss "ising" a set of neighbours may separate the two values of a node. Its loss is then
      the infimum, which no coefficients attain; solvers stop on the way there and say so. A ridge
      gives a minimum.

    Parameters
    ----------
    X : array of shape (n, d), ColumnBlocks, or path of a .npy file
        One row for each sample. float32, float64 and int8 arrays are kept as they are, also
        memory-mapped ones, as a file is; other types become float64. Solvers read what they need
        of :class:`~sparseopt.problems.ColumnBlocks`, and of files, in blocks of nodes.
    candidates : Candidates, bool array of shape (d, d), or scipy.sparse matrix
        Who may choose whom.
    budget : int, optional
        The largest K of interest; default the number of all candidates.
    loss : {"gaussian", "ising"}, default "gaussian"
    scaling : {"standardised", "rss", "nlogrss"}, default "standardised"
        :math:`s_j(\ell)` is :math:`\ell / \ell_j(0)`, :math:`\ell` itself (which prefers nodes of
        large variance), or :math:`n \log \ell` (Gaussian only).
    ridge : float, default 0.0
        :math:`\rho \ge 0`, in the units of :math:`\ell`.
    names : list of d str, optional
        Of the nodes, for pictures. Default: a data frame's columns, or none.
    sample_weights : array of shape (n,), optional
        The number of times :math:`s_i > 0` that each row counts, default 1: means are weighted, and
        n in the scaling is the sum of the weights.

    Raises
    ------
    ProblemError
        When shapes do not fit, X is not finite, not -1 or 1 for "ising", has a constant column, or
        has no more rows than a Gaussian node has candidates while there is no ridge; when the
        budget is out of range or a choice unknown.

    References
    ----------
    Fang, Liu, Wang: Blessing of massive scale (SPICA), problem (1.1).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import Candidates, L0GraphicalModel
    >>> X = np.random.default_rng(0).normal(size=(20, 4))
    >>> L0GraphicalModel(X, Candidates.window(4, 2))
    L0GraphicalModel(n=20, d=4, candidates=8)
    """

    X: Any
    candidates: Any
    budget: int | None = None
    loss: Loss = "gaussian"
    scaling: Scaling = "standardised"
    ridge: float = 0.0
    names: Sequence[str] | None = None
    sample_weights: Array | None = None

    kind: ClassVar[str] = "l0-graphical-model"

    def _coerce(self) -> None:
        names = names_in(self.names, self.X)
        self._set("X", _matrix(self.X))
        self._set("names", as_names(names, self.X.shape[1]))
        weights = as_weights("sample_weights", self.sample_weights, self.X.shape[0], positive=True)
        self._set("sample_weights", weights)
        candidates = self.candidates
        if is_sparse(candidates):
            candidates = Candidates.from_adjacency(candidates)
        elif not isinstance(candidates, Candidates):
            candidates = Candidates.from_mask(candidates)
        self._set("candidates", candidates)
        self._coerce_budget()
        ridge = self.ridge
        if isinstance(ridge, bool) or not isinstance(ridge, Real):
            raise ProblemError(f"ridge is {ridge!r}; expected a number >= 0", "ridge")
        self._set("ridge", float(ridge))

    def validate(self) -> None:
        """Check the data against the loss, and the choices."""
        n, d = self.X.shape
        if self.candidates.nodes != d:
            raise ProblemError(
                f"the candidates are for {self.candidates.nodes} nodes; X has {d} columns",
                "candidates",
            )
        for name, choices in (
            ("loss", ("gaussian", "ising")),
            ("scaling", ("standardised", "rss", "nlogrss")),
        ):
            if getattr(self, name) not in choices:
                raise ProblemError(
                    f"{name} is {getattr(self, name)!r}; expected one of {choices}", name
                )
        if not 0.0 <= self.ridge < math.inf:
            raise ProblemError(f"ridge is {self.ridge}; expected a number >= 0", "ridge")
        if self.loss == "ising" and self.scaling == "nlogrss":
            raise ProblemError("scaling 'nlogrss' is for loss 'gaussian'; take another", "scaling")
        self._check_budget("the candidates")
        self._check_data()
        most = int(self.candidates.sizes.max())
        if self.loss == "gaussian" and self.ridge == 0.0 and n <= most:
            j = int(self.candidates.sizes.argmax())
            raise ProblemError(
                f"X has {n} rows, and node {j} has {most} candidates: they fit it perfectly. Give "
                "fewer candidates, or a ridge > 0",
                "candidates",
            )

    def _check_data(self) -> None:
        """Check X in blocks of columns, so that a memory-mapped one is never read as a whole."""
        n, d = self.X.shape
        step = max(1, _ENTRIES // n)
        for first in range(0, d, step):
            block = np.asarray(self.X[:, first : first + step])
            low, high = block.min(axis=0), block.max(axis=0)
            finite = np.isfinite(low) & np.isfinite(high)
            if not finite.all():
                j = int(np.argmin(finite))
                i = int(np.argmin(np.isfinite(block[:, j])))
                raise ProblemError(
                    f"X[{i}, {first + j}] is {block[i, j]}; expected finite numbers", "X"
                )
            if self.loss == "ising":
                spin = np.abs(block) == 1
                if not spin.all():
                    i, j = (int(k) for k in np.argwhere(~spin)[0])
                    raise ProblemError(
                        f"X[{i}, {first + j}] is {block[i, j]}; loss 'ising' needs -1 and 1: give "
                        "2 * X - 1 for values 0 and 1",
                        "X",
                    )
            check_lengths("X", np.maximum(high, -low)[None], first=first)
            constant = np.flatnonzero(low == high)
            if len(constant):
                j = int(constant[0])
                raise ProblemError(
                    f"column {first + j} of X is constant ({low[j]}): nothing can be learned about "
                    "this node; leave it out",
                    "X",
                )

    # ---- what the losses are made of

    @property
    def observations(self) -> float:
        """How many observations the rows stand for: n, or the sum of the weights."""
        return float(self.X.shape[0] if self.sample_weights is None else self.sample_weights.sum())

    @property
    def shares(self) -> Array:
        """The share of each row in a mean, shape (n,); they sum to one."""
        n = self.X.shape[0]
        if self.sample_weights is None:
            return np.full(n, 1.0 / n)
        return np.asarray(self.sample_weights / self.sample_weights.sum())

    def columns(self, chosen: Any) -> Array:
        r"""Return columns of X in double precision, shape (n, ...), so that means are plain ones.

        With loss "gaussian" row i is multiplied by :math:`\sqrt{n s_i / \sum_l s_l}`.

        Parameters
        ----------
        chosen : int, slice or int array
        """
        found = np.asarray(self.X[:, chosen], dtype=np.float64)
        if self.sample_weights is None or self.loss != "gaussian":
            return found
        return np.asarray(found * self._roots.reshape(-1, *[1] * (found.ndim - 1)))

    @cached_property
    def _roots(self) -> Array:
        return np.asarray(np.sqrt(self.shares * self.X.shape[0]))

    # ---- what people ask

    @property
    def total(self) -> int:
        """The number of all candidates: the largest budget that can be spent."""
        return int(self.candidates.total)

    @property
    def size(self) -> Mapping[str, int]:
        n, d = self.X.shape
        return {"n": int(n), "d": int(d), "candidates": self.total}

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the sum of the scaled losses at the coefficients x."""
        return float(self.node_objectives(x).sum())

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the sum of the sizes of the nodes' terms at the coefficients x.

        A residual is a difference of terms as large as the column itself, so a loss is known up to
        rounding errors of the loss without neighbours, however small it is: a node's size is the
        larger of the two absolute scaled losses, and at least n for the logarithm.
        """
        return self.scale_of(self.node_objectives(x))

    def scale_of(self, objectives: Array) -> float:
        """Return the same where the scaled losses are known, shape (d,)."""
        size = np.abs(objectives)
        if self.scaling == "nlogrss":
            unit = np.full(len(size), self.observations)
        else:
            unit = self.scaled(self.null_losses(), np.arange(self.X.shape[1]))
        return float(np.maximum(size, unit).sum())

    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Return by how much the number of nonzero coefficients exceeds the budget `lam`."""
        used = np.count_nonzero(as_vector("x", x, self.total))
        limit = self.last_budget() if lam is None else lam
        return {"budget": max(0.0, float(used - limit))}

    def node_objectives(self, x: Array) -> Array:
        """Return the scaled loss of every node at the coefficients x, shape (d,)."""
        return self.scaled(self.node_losses(x), np.arange(self.X.shape[1]))

    def node_losses(self, x: Array, test: Any = None, test_weights: Array | None = None) -> Array:
        r"""Return :math:`\ell_j(\beta_j)` of every node at the coefficients x, shape (d,).

        With `test`, an array of shape (m, d) of other observations, it is their mean loss, without
        the ridge; `test_weights` of shape (m,) say how often each counts.
        """
        X, weights = (self.X, self.sample_weights) if test is None else (test, test_weights)
        x = as_vector("x", x, self.total)
        out = np.empty(self.X.shape[1])
        for first, last, columns, local in self._blocks():
            ptr = self.candidates.ptr[first : last + 1]
            beta = x[ptr[0] : ptr[-1]]
            rows = np.ascontiguousarray(X[:, columns].T, dtype=np.float64)
            shape = (last - first, len(columns))
            fitted = sp.csr_array((beta, local, ptr - ptr[0]), shape=shape) @ rows
            if self.loss == "gaussian":
                fitted -= X[:, first:last].T
                loss = np.square(fitted, out=fitted)
            else:
                fitted *= X[:, first:last].T
                loss = np.logaddexp(0.0, np.negative(fitted, out=fitted), out=fitted)
            loss = loss.mean(axis=1) if weights is None else loss @ (weights / weights.sum())
            if test is None and self.ridge > 0.0:
                node = np.repeat(np.arange(last - first), np.diff(ptr))
                penalty = np.bincount(node, weights=beta * beta, minlength=last - first)
                loss = loss + self.ridge * penalty
            out[first:last] = loss
        return out

    def null_losses(self) -> Array:
        r"""Return :math:`\ell_j(0)` of every node, shape (d,)."""
        return self._null_losses.copy()

    @cached_property
    def _null_losses(self) -> Array:
        n, d = self.X.shape
        if self.loss == "ising":
            return np.full(d, math.log(2.0))
        out = np.empty(d)
        step, width = (max(1, entries // n) for entries in (_ENTRIES, _IN_CACHE))
        for first in range(0, d, step):
            block = self.X[:, first : first + step]
            for begin in range(0, block.shape[1], width):
                part = block[:, begin : begin + width].astype(np.float64)
                at = first + begin
                if self.sample_weights is not None:
                    part *= self._roots[:, None]
                out[at : at + part.shape[1]] = np.square(part, out=part).mean(axis=0)
        return out

    def scaled(self, losses: Array, nodes: Array) -> Array:
        r"""Return :math:`s_j(\ell)` of losses, one for each entry of `nodes`.

        Raises
        ------
        ProblemError
            When the scaling takes the logarithm of a loss that is 0, or rounding.
        """
        if self.scaling == "rss":
            return losses
        null = self.null_losses()[nodes]
        if self.scaling == "standardised":
            return np.asarray(losses / null)
        vanished = losses <= _VANISHED * null
        if vanished.any():
            j = int(nodes[int(np.argmax(vanished))])
            raise ProblemError(
                f"the residuals of node {j} vanish, and scaling 'nlogrss' takes their logarithm: "
                "give a ridge > 0, or another scaling",
                "scaling",
            )
        return np.asarray(self.observations * np.log(losses))

    def _blocks(self) -> Iterator[tuple[int, int, Array, Array]]:
        """Yield blocks of nodes: (first, last, their candidates, places of each among them)."""
        d = self.X.shape[1]
        for first in range(0, d, _BLOCK):
            last = min(first + _BLOCK, d)
            ptr = self.candidates.ptr
            columns, local = np.unique(
                self.candidates.index[ptr[first] : ptr[last]], return_inverse=True
            )
            yield first, last, columns, local

    # ---- files

    def payload(self) -> tuple[dict[str, Any], dict[str, Array | sp.csr_array]]:
        values: dict[str, Any] = {
            "loss": self.loss,
            "scaling": self.scaling,
            "ridge": self.ridge,
        }
        if self.budget is not None:
            values["budget"] = self.budget
        if self.names is not None:
            values["names"] = self.names
        arrays: dict[str, Array | sp.csr_array] = {
            "X": np.asarray(self.X),
            "ptr": self.candidates.ptr,
            "index": self.candidates.index,
        }
        if self.candidates.coordinates is not None:
            arrays["coordinates"] = self.candidates.coordinates
        if self.sample_weights is not None:
            arrays["sample_weights"] = self.sample_weights
        return values, arrays

    @classmethod
    def from_payload(cls, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        given = dict(arrays)
        missing = sorted({"X", "ptr", "index"} - set(given))
        if missing:
            raise ProblemError(f"{cls.kind}: the array {missing[0]} is missing", missing[0])
        candidates = Candidates(
            given.pop("ptr"), given.pop("index"), given.pop("coordinates", None)
        )
        return super().from_payload({**values, "candidates": candidates}, given)


def _matrix(given: Any) -> Any:
    """Return X as a matrix of a type that is kept, without reading a file or blocks as a whole."""
    if isinstance(given, str | PathLike):
        try:
            given = np.load(given, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise ProblemError(f"X cannot be read from {given}: {error}", "X") from None
    if is_sparse(given):
        raise ProblemError("X is sparse; expected a dense array (X.toarray())", "X")
    X = given if isinstance(given, ColumnBlocks) else np.asanyarray(unmasked("X", given))
    if X.dtype.kind not in "biuf":
        raise ProblemError(f"X has the type {X.dtype}; expected real numbers", "X")
    if X.ndim != 2 or 0 in X.shape:
        raise ProblemError(f"X has shape {X.shape}; expected n samples x d nodes", "X")
    if isinstance(X, ColumnBlocks):
        return X
    if X.dtype not in (np.dtype(np.float32), np.dtype(np.int8)):
        X = np.asarray(X, dtype=np.float64)
    return freeze(X, given)

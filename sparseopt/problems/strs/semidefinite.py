"""The sparse trust-region subproblem as a mixed-integer semidefinite program."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.builder import MISDPBuilder
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.problems.strs.problem import STRS


def strs_as_misdp(problem: STRS, formulation: Literal["weak", "strong"] = "strong") -> MISDP:
    r"""Return a MISDP with the same optimal value.

    With Z of size D + 1, indexed from 0, standing for (1, z)(1, z)', and binary q for the support,

    .. math:: \max \; \Big\langle \begin{pmatrix} 0 & a'/2 \\ a/2 & A \end{pmatrix}, Z \Big\rangle
              \quad\text{subject to}\quad
              & Z \succeq 0,\; Z_{00} = 1,\; \operatorname{tr} Z = 2,\; \sum_i q_i \le d, \\
              & Z_{ii} \le q_i \quad (i = 1, \dots, D).

    For fixed q two equations leave an optimal Z of rank one, so rank one need not be asked. Its
    continuous relaxation is that of the dense problem. The strong formulation replaces the last
    line by

    .. math:: \sum_{j \ge 1} Z_{ij}^2 \le Z_{ii} q_i, \qquad
              \Big( \sum_{j \ge 1} |Z_{ij}| \Big)^2 \le d\, Z_{ii} q_i,

    rotated cones; the absolute values are variables of their own.

    Parameters
    ----------
    problem : STRS
    formulation : {"strong", "weak"}, default "strong"
        (17) or (15) of the paper.

    Returns
    -------
    MISDP
        With the variables q, then (strong only) the absolute values of Z_ij for 1 <= i < j, then
        the lower triangle of Z. The support of a solution is where q is 1; where the optimal Z is
        unique, z is its first column below the diagonal.

    Raises
    ------
    ProblemError
        For another formulation.

    References
    ----------
    Wang, Dey, Xie: Variable selection for kernel two-sample tests, theorem 4.4, corollary 4.5.

    Examples
    --------
    >>> import numpy as np
    >>> strs_as_misdp(STRS(A=np.eye(4), a=np.arange(4.0), d=2), "weak")
    MISDP(n=19, integers=4, m=7, cones=0, blocks=1, largest_block=5)
    """
    if formulation not in ("weak", "strong"):
        raise ProblemError(
            f"formulation is {formulation!r}; expected 'weak' or 'strong'", "formulation"
        )
    D, d = problem.A.shape[0], problem.d
    model = MISDPBuilder("max")
    q = model.variables(D, lower=0.0, upper=1.0, integer=True, name="q")
    size = {}
    if formulation == "strong":
        for i in range(D):
            for j in range(i + 1, D):
                size[i, j] = size[j, i] = model.variable(lower=0.0, name=f"abs[{i},{j}]")
    Z = model.matrix(D + 1, name="Z")
    model.row((q, np.ones(D)), upper=float(d))
    model.row((Z[0, 0], 1.0), lower=1.0, upper=1.0)
    model.row((np.diagonal(Z), np.ones(D + 1)), lower=2.0, upper=2.0)
    if formulation == "strong":
        _add_cones(model, problem, q, Z, size)
    else:
        for i in range(D):
            model.row((Z[i + 1, i + 1], 1.0), (q[i], -1.0), upper=0.0)
    costs = np.zeros((D + 1, D + 1))
    costs[1:, 1:] = problem.A
    costs[0, 1:] = costs[1:, 0] = problem.linear / 2.0
    model.objective((Z, costs))
    return model.build()


def _add_cones(
    model: MISDPBuilder, problem: STRS, q: Array, Z: Array, size: dict[tuple[int, int], int]
) -> None:
    D, d = problem.A.shape[0], problem.d
    for (i, j), absolute in size.items():
        if i < j:
            model.row((absolute, 1.0), (Z[i + 1, j + 1], 1.0), lower=0.0)
            model.row((absolute, 1.0), (Z[i + 1, j + 1], -1.0), lower=0.0)
    for i in range(D):
        own = (Z[i + 1, i + 1], 1.0)
        row = [[(Z[i + 1, j + 1], 1.0)] for j in range(D)]
        model.cone([[own], [(q[i], 0.5)], *row], rotated=True)
        absolute_sum = [own, *((size[i, j], 1.0) for j in range(D) if j != i)]
        model.cone([[own], [(q[i], d / 2.0)], absolute_sum], rotated=True)

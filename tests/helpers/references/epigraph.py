"""An independent reference: the epigraph linear program of a piecewise-linear program, by HiGHS."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

STATUS = {0: "optimal", 2: "infeasible", 3: "unbounded"}


def solve_epigraph(program, lam):
    """Return (status, objective) of min sum_i t_i with t_i above every line of f_i, at one lam."""
    A = program.A.as_array()
    A = A.toarray() if sp.issparse(A) else A
    m, p = A.shape
    values = np.vstack([np.eye(p), A])
    rows, rhs = [], []
    coordinate = 0
    for pieces in (program.phi, program.psi):
        kinks, slopes = pieces.kinks_at(lam), pieces.slopes_at(lam)
        for i in range(len(pieces)):
            t = kinks[pieces.ptr[i] : pieces.ptr[i + 1]]
            s = slopes[pieces.slope_ptr[i] : pieces.slope_ptr[i + 1]]
            at_kink = np.concatenate([[0.0], np.cumsum(s[1:-1] * np.diff(t))])
            for q, slope in enumerate(s):
                row = np.zeros(p + p + m)
                anchor = max(q - 1, 0)
                if np.isinf(slope):
                    row[:p] = np.sign(slope) * values[coordinate]
                    rhs.append(np.sign(slope) * t[anchor])
                else:
                    row[:p] = slope * values[coordinate]
                    row[p + coordinate] = -1.0
                    rhs.append(slope * t[anchor] - at_kink[anchor])
                rows.append(row)
            coordinate += 1
    cost = np.concatenate([np.zeros(p), np.ones(p + m)])
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    answer = linprog(
        cost, np.array(rows), np.array(rhs), bounds=(None, None), method="highs", options=tight
    )
    o = program.offset
    constant = o[0] + lam * (o[1] + lam * o[2])
    value = None if answer.fun is None else answer.fun + constant
    return STATUS.get(answer.status, f"linprog status {answer.status}"), value

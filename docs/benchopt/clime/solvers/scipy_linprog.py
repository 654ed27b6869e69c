"""One linear program for each column, by SciPy."""

import numpy as np
from benchopt import BaseSolver
from scipy.optimize import linprog


class Solver(BaseSolver):
    """HiGHS through ``scipy.optimize.linprog``."""

    name = "scipy-linprog"
    requirements = ["scipy"]
    sampling_strategy = "run_once"

    def set_objective(self, S, lam):
        self.S, self.lam = S, float(lam)

    def run(self, _):
        S, d = self.S, len(self.S)
        both = np.block([[S, -S], [-S, S]])
        columns = []
        for unit in np.eye(d):
            limits = np.concatenate([self.lam + unit, self.lam - unit])
            found = linprog(np.ones(2 * d), A_ub=both, b_ub=limits)
            columns.append(found.x[:d] - found.x[d:])
        self.Omega = np.column_stack(columns)

    def get_result(self):
        return {"Omega": self.Omega}

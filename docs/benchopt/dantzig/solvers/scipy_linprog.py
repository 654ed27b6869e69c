"""The linear program as a textbook writes it, by SciPy."""

import numpy as np
from benchopt import BaseSolver
from scipy.optimize import linprog


class Solver(BaseSolver):
    """HiGHS through ``scipy.optimize.linprog``."""

    name = "scipy-linprog"
    requirements = ["scipy"]
    sampling_strategy = "run_once"

    def set_objective(self, X, y, lam):
        self.X, self.y, self.lam = X, y, float(lam)

    def run(self, _):
        gram, target = self.X.T @ self.X, self.X.T @ self.y
        d = len(target)
        found = linprog(
            np.ones(2 * d),
            A_ub=np.block([[gram, -gram], [-gram, gram]]),
            b_ub=np.concatenate([target + self.lam, self.lam - target]),
        )
        self.theta = found.x[:d] - found.x[d:]

    def get_result(self):
        return {"theta": self.theta}

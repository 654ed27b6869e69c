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
        n, d = self.X.shape
        signed = self.y[:, None] * self.X
        found = linprog(
            np.concatenate([np.full(2 * d, self.lam), np.ones(n)]),
            A_ub=np.hstack([-signed, signed, -np.eye(n)]),
            b_ub=-np.ones(n),
        )
        self.theta = found.x[:d] - found.x[d : 2 * d]

    def get_result(self):
        return {"theta": self.theta}

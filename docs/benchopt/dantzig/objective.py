"""The Dantzig selector: least l1 norm with all residual correlations at most lam."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """min ||theta||_1 subject to |X'(y - X theta)| <= lam."""

    name = "dantzig"
    min_benchopt_version = "1.6"
    requirements = ["numpy"]
    parameters = {"share": [0.5, 0.1]}  # lam, as a share of the one with theta = 0

    def set_data(self, X, y):
        self.X, self.y = X, y
        self.lam = self.share * np.abs(X.T @ y).max()

    def get_objective(self):
        return {"X": self.X, "y": self.y, "lam": self.lam}

    def get_one_result(self):
        return {"theta": np.zeros(self.X.shape[1])}

    def evaluate_result(self, theta):
        violation = np.abs(self.X.T @ (self.y - self.X @ theta)).max() - self.lam
        return {"value": float(np.abs(theta).sum()), "violation": max(float(violation), 0.0)}

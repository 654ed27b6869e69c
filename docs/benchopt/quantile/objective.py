"""Quantile regression with an l1 penalty, at the level 0.3."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """min sum_i rho(y_i - x_i'theta) + lam ||theta||_1."""

    name = "quantile"
    min_benchopt_version = "1.6"
    requirements = ["numpy"]
    parameters = {"share": [0.5, 0.1]}  # lam, as a share of the one with theta = 0

    def set_data(self, X, y):
        self.X, self.y = X, y
        self.lam = self.share * np.abs(X.T @ np.where(y > 0, 0.3, -0.7)).max()

    def get_objective(self):
        return {"X": self.X, "y": self.y, "lam": self.lam}

    def get_one_result(self):
        return {"theta": np.zeros(self.X.shape[1])}

    def evaluate_result(self, theta):
        residual = self.y - self.X @ theta
        loss = np.maximum(0.3 * residual, -0.7 * residual).sum()
        return {"value": float(loss + self.lam * np.abs(theta).sum()), "violation": 0.0}

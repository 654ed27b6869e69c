"""The support vector machine with the hinge loss and an l1 penalty, without an intercept."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """min sum_i (1 - y_i x_i'theta)_+ + lam ||theta||_1."""

    name = "l1svm"
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
        loss = np.maximum(1.0 - self.y * (self.X @ theta), 0.0).sum()
        return {"value": float(loss + self.lam * np.abs(theta).sum()), "violation": 0.0}

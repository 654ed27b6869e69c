"""Sparse PCA: the direction of d variables with the largest variance."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """max x'Sx subject to ||x||_2 = 1 and at most d entries that are not zero."""

    name = "sparse-pca"
    min_benchopt_version = "1.6"
    requirements = ["numpy"]
    parameters = {"d": [3, 5]}

    def set_data(self, X):
        self.S = np.corrcoef(X.T)

    def get_objective(self):
        return {"S": self.S, "d": self.d}

    def get_one_result(self):
        return {"x": np.eye(len(self.S))[0]}

    def evaluate_result(self, x):
        over = max(np.count_nonzero(x) - self.d, 0) + abs(np.linalg.norm(x) - 1.0)
        # benchopt minimises
        return {"value": -float(x @ self.S @ x), "violation": float(over)}

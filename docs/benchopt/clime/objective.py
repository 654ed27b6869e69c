"""CLIME: a sparse inverse of a covariance matrix."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """min sum_ij |Omega_ij| subject to |S Omega - I| <= lam."""

    name = "clime"
    min_benchopt_version = "1.6"
    requirements = ["numpy"]
    parameters = {"lam": [0.5, 0.2]}

    def set_data(self, X):
        self.S = np.corrcoef(X.T)

    def get_objective(self):
        return {"S": self.S, "lam": self.lam}

    def get_one_result(self):
        return {"Omega": np.zeros_like(self.S)}

    def evaluate_result(self, Omega):
        violation = np.abs(self.S @ Omega - np.eye(len(Omega))).max() - self.lam
        return {"value": float(np.abs(Omega).sum()), "violation": max(float(violation), 0.0)}

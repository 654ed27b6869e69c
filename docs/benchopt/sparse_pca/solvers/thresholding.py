"""The largest loadings of the first principal component."""

import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """The first eigenvector on its d largest entries."""

    name = "thresholding"
    requirements = ["numpy"]
    sampling_strategy = "run_once"

    def set_objective(self, S, d):
        self.S, self.d = S, int(d)

    def run(self, _):
        first = np.linalg.eigh(self.S)[1][:, -1]
        kept = np.argsort(-np.abs(first))[: self.d]
        self.x = np.zeros(len(first))
        self.x[kept] = np.linalg.eigh(self.S[np.ix_(kept, kept)])[1][:, -1]

    def get_result(self):
        return {"x": self.x}

"""Observations of a Gaussian chain."""

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """n observations of d variables, each of which depends on the one before."""

    name = "simulated"
    parameters = {"n, d": [(100, 20), (200, 80)], "seed": [0]}

    def get_data(self):
        X = np.random.default_rng(self.seed).standard_normal((self.n, self.d))
        for j in range(1, self.d):
            X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
        return {"X": X}

"""Observations with one sparse direction of large variance."""

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """n observations of D variables, five of which share a factor."""

    name = "simulated"
    parameters = {"n, D": [(80, 15), (200, 40)], "seed": [0]}

    def get_data(self):
        rng = np.random.default_rng(self.seed)
        X = rng.standard_normal((self.n, self.D))
        X[:, :5] += 1.5 * rng.standard_normal((self.n, 1))
        return {"X": X}

"""Observations of a sparse model."""

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """n observations of d normal variables, five of which matter."""

    name = "simulated"
    parameters = {"n, d": [(60, 30), (200, 400)], "seed": [0]}

    def get_data(self):
        rng = np.random.default_rng(self.seed)
        X = rng.standard_normal((self.n, self.d))
        y = X[:, :5] @ np.array([3.0, -2.0, 1.5, 1.0, -1.0]) + rng.standard_normal(self.n)
        return {"X": X, "y": y}

"""Real data that scikit-learn ships."""

from benchopt import BaseDataset
from sklearn.datasets import load_wine


class Dataset(BaseDataset):
    """Wine, 178 x 13."""

    name = "wine"
    requirements = ["scikit-learn"]

    def get_data(self):
        return {"X": load_wine().data}

"""Real data that scikit-learn ships."""

from benchopt import BaseDataset
from sklearn.datasets import load_breast_cancer


class Dataset(BaseDataset):
    """Breast cancer, 569 x 30, columns centred and divided by their standard deviations."""

    name = "breast-cancer"
    requirements = ["scikit-learn"]

    def get_data(self):
        X, y = load_breast_cancer(return_X_y=True)
        return {"X": (X - X.mean(axis=0)) / X.std(axis=0), "y": 2.0 * y - 1.0}

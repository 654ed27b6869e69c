"""Real data that scikit-learn ships."""

from benchopt import BaseDataset
from sklearn.datasets import load_diabetes


class Dataset(BaseDataset):
    """Diabetes, 442 x 10, columns centred and divided by their standard deviations."""

    name = "diabetes"
    requirements = ["scikit-learn"]

    def get_data(self):
        X, y = load_diabetes(return_X_y=True)
        return {"X": (X - X.mean(axis=0)) / X.std(axis=0), "y": y - y.mean()}

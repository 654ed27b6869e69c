"""Real data that installed packages ship, read from their files; nothing is downloaded.

Examples
--------
>>> from sparseopt import datasets
>>> data = datasets.load("diabetes")
>>> data.X.shape, data.names[2], data.package
((442, 10), 'bmi', 'scikit-learn')
"""

from sparseopt.datasets.instances import instances
from sparseopt.datasets.sources import Dataset, available, load, names

__all__ = ["Dataset", "available", "instances", "load", "names"]

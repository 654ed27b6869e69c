"""
Inside a service: progress, cancelling, limits
==============================================

A solve reports while it works, and can be ended from outside. What it knows by
then is returned, with its bound.
"""

import threading

from sklearn.datasets import load_digits

import sparseopt
from sparseopt.problems import STRS

X = load_digits().data
problem = STRS.from_data(X[:, X.std(axis=0) > 0.5], d=15)

token = sparseopt.Cancel()
reports = []
timer = threading.Timer(1.5, token.cancel)  # somebody closes the browser
timer.start()
result = sparseopt.solve(problem, cancel=token, on_progress=reports.append)
timer.cancel()

print(
    result.status.value, result.limit and result.limit.value, result.verdict.value
)
print(f"variance {result.objective:.4f}, at most {result.bound:.4f}")
print(f"reports: {len(reports)}")

# %%
# Everything that goes wrong is a ``SparseOptError`` with a sentence for a
# person:

try:
    sparseopt.solve(problem, backend="strs-bbn")
except sparseopt.SparseOptError as error:
    print(type(error).__name__, "-", error)

"""
Inside a service: progress, cancelling, limits
==============================================

A solve reports while it works, and can be ended from outside. What it knows by
then is returned, with its bound.
"""

import threading

import numpy as np

import sparseopt
from sparseopt.problems import STRS

# A matrix of noise has no component that stands out: a hard case.
noise = np.random.default_rng(0).normal(size=(150, 150))
problem = STRS(A=noise + noise.T, d=15)

token = sparseopt.Cancel()
reports = []
timer = threading.Timer(1.5, token.cancel)  # somebody closes the browser
timer.start()
result = sparseopt.solve(problem, cancel=token, on_progress=reports.append)
timer.cancel()

print(
    result.status.value, result.limit and result.limit.value, result.verdict.value
)
print(f"objective {result.objective:.2f}, at most {result.bound:.2f}")
print(f"reports: {len(reports)}")

# %%
# Everything that goes wrong is a ``SparseOptError`` with a sentence for a
# person:

try:
    sparseopt.solve(problem, size=200)
except sparseopt.SparseOptError as error:
    print(f"{type(error).__name__}: {error}")

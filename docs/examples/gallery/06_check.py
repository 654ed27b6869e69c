"""
A checker that catches a lie
============================

The checker imports no solver. It judges an answer by the data and the
certificate alone, also one from a file, or from somebody else.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_wine

import sparseopt
from sparseopt.io import load_result
from sparseopt.problems import STRS

problem = STRS.from_data(load_wine().data, d=4)
result = sparseopt.solve(problem)
sparseopt.check(problem, result)

# %%
# Somebody claims that another choice of four is optimal, with the same
# certificate:

x = np.zeros(13)
x[:4] = 0.5
lie = replace(
    result, x=x, objective=problem.objective(x), bound=problem.objective(x)
)
report = sparseopt.check(problem, lie)
print(report.verdict)
for message in report.messages:
    print("-", message)

# %%
# Results are files: what was proven today can be checked next year.

with TemporaryDirectory() as folder:
    file = Path(folder) / "wine.json"
    sparseopt.save(result, file)
    print(sparseopt.check(problem, load_result(file)).verdict)

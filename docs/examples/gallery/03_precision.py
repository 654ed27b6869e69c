"""
A sparse precision matrix: CLIME
================================

Which measurements of wine depend on each other, given all others? CLIME
estimates the inverse of the correlation matrix, column by column, for every lam
at once.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import sparseopt
from sparseopt.pictures import plot_graph
from sparseopt.problems import CLIME

data = load_wine()
names = [
    name.split("/")[0].replace("_", " ").replace("alcalinity of ash", "alcalinity")
    for name in data.feature_names
]
problem = CLIME(np.corrcoef(data.data.T), names=names)
result = sparseopt.solve(problem, lam_min=0.05)
print(result.status, result.verdict)

# %%
# Its entries along the path:

ax = sparseopt.plot(result)

# %%
# The graph at lam = 0.25. A partial correlation has the opposite sign of its
# entry; width is strength, and negative ones are dashed.

omega = problem.symmetrised(result.path.at(0.25))
scale = np.sqrt(np.diag(omega))
partial = -omega / np.outer(scale, scale)
fig, ax = plt.subplots(figsize=(7, 6), layout="constrained")
ax = plot_graph(partial, ax=ax, names=names)

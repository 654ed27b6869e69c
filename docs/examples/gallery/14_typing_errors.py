"""
Thirty typing errors
====================

A plane through thirty measurements shows benign and malignant tumours apart.
Now thirty rows get a typing error each, in one entry. Principal components
minimise squared distances, so these few turn the plane. Least distances do not
mind.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import sparseopt
from sparseopt.problems import RobustSubspace

data = load_breast_cancer()
clean = (data.data - np.median(data.data, axis=0)) / data.data.std(axis=0)
rng = np.random.default_rng(0)
X = clean.copy()
wrong = rng.choice(len(X), 30, replace=False)
X[wrong, rng.integers(0, 30, 30)] += 40.0

problem = RobustSubspace(X, k=2)
robust = sparseopt.solve(problem)
usual = sparseopt.solve(problem, backend="pca")
robust

# %%
# The same tumours on both planes
# -------------------------------

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
results = {"least distances": robust, "principal components": usual}
for ax, (name, result) in zip(axes, results.items()):
    score = clean @ result.x
    for value, colour in ((1, "#332288"), (0, "#CC6677")):
        ax.plot(*score[data.target == value].T, ".", color=colour)
    ax.set(title=name, xlabel="first coordinate", ylabel="second coordinate")
axes[0].legend([data.target_names[1], data.target_names[0]])

# %%
# And the errors stand out by their distances:

farthest = np.argsort(-problem.distances(robust.x))[:30]
print(
    f"{np.isin(farthest, wrong).sum()} of the 30 farthest rows are the wrong ones"
)

# %%
# Real data lie in no plane exactly: the status is ``converged``, with a lower
# bound for all planes from a convex relaxation, which the checker has
# recomputed.

print(
    f"{robust.objective:.1f}, at least {robust.bound:.1f}, {robust.verdict.value}"
)

"""
A subspace among outliers, proven
=================================

**How many outliers can there be?** *Family: subspaces.*

Most points lie in a subspace of three dimensions, the others anywhere in
twenty. Principal components are turned by the others. The least sum of
distances is not: it finds the subspace exactly while one point in six lies in
it, and proves that nothing is better while one in four does.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparseopt
from sparseopt import generators

truth = np.diag([1.0] * 3 + [0.0] * 17)
shares = np.array([0.15, 0.17, 0.2, 0.25, 0.3, 0.4, 0.6, 0.8, 0.95])
methods = {
    "irls": "least distances",
    "reaper": "its relaxation",
    "tyler": "Tyler's estimator",
    "outlier-pursuit": "outlier pursuit",
    "pca": "principal components",
}

errors = {name: [] for name in methods}
proven = []
for share in shares:
    problem = generators.generate("haystack", inliers=float(share), seed=4)
    for name in methods:
        result = sparseopt.solve(problem, backend=name)
        W = result.x
        errors[name].append(max(np.linalg.norm(W @ W.T - truth), 1e-16))
        if name == "irls":
            optimal = result.status == "optimal"
            proven.append(optimal and result.verdict == "verified")

# %%
# How far is the subspace that was found?
# ---------------------------------------

fig, ax = plt.subplots(layout="constrained")
colours = ["#332288", "#CC6677", "#117733", "#AA4499", "#2F9485"]
for (name, label), colour in zip(methods.items(), colours):
    ax.semilogy(shares, errors[name], ".-", color=colour, label=label)
ax.set_xlabel("share of points in the subspace")
ax.set_ylabel("error of the projection")
ax.set_title("Points in three of twenty dimensions, and outliers")
ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

# %%
# What the certificate says
# -------------------------
# The problem is not convex, so a good subspace might be a bad one among others.
# For any vectors u_i of length 1 there is a lower bound for *all* subspaces, by
# one eigendecomposition. Where it equals the sum of distances, nothing better
# exists. These answers are proven:

for share, done in zip(shares, proven, strict=True):
    print(f"{share:.0%} in the subspace: {'proven' if done else 'a bound only'}")

# %%
# Which points are outliers?
# --------------------------
# Every picture of a subspace is :func:`sparseopt.plot` of its result: the points
# in it, their distances, or the angles to another subspace. Here those of
# principal components to the subspace of least distances.

problem = generators.generate("haystack", inliers=0.6, noise=0.02, seed=4)
result = sparseopt.solve(problem)
pca = sparseopt.solve(problem, backend="pca")
fig, (left, middle, right) = plt.subplots(
    1, 3, figsize=(11, 3.4), layout="constrained"
)
sparseopt.plot(result, left)
sparseopt.plot(result, middle, show="outliers")
sparseopt.plot(pca, right, show="angles", to=result)

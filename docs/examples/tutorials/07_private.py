"""
Synthetic rows from one private release
=======================================

**Can a table be shared without its rows?** *Family: private data.*

The mean of some features of the rows is released once, with noise: that is all
that ever leaves. A distribution with the same mean features makes synthetic
rows, as many as one likes, at no further cost in privacy.
"""

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from sparseopt import private

iris = load_iris(as_frame=True)
columns = [  # bounds that a botanist knows, not the data's
    private.Number("petal length (cm)", 0.0, 8.0, length=1.0),
    private.Number("petal width (cm)", 0.0, 3.0, length=0.4),
]
features = private.FeatureMap(columns)
released = private.release(iris.data, features=features, epsilon=5.0, delta=1e-4)
print(fill(str(released.statement), 80))

# %%
# The statement is audited by code that the release does not use:

print(private.audit(released.statement).messages[0])

# %%
# The distribution is a problem like any other
# --------------------------------------------
# Weights on a grid of public points are fitted to the release. That is a convex
# problem, and its solution is verified.

synthesis = private.synthesise(released, 1600)
rows, _ = synthesis.sample(150, seed=1)
print(synthesis.result.status, synthesis.result.verdict)

# %%
# What the rows look like, beside those that nobody else should see
# -----------------------------------------------------------------

x, y = (column.name for column in columns)
fig, axes = plt.subplots(1, 2, sharex=True, sharey=True, figsize=(8, 4))
for ax, table, title in zip(
    axes, (iris.data, rows), ("real", "synthetic"), strict=True
):
    ax.scatter(np.asarray(table[x]), np.asarray(table[y]), s=12, color="#332288")
    ax.set_title(title)
    ax.set_xlabel(x)
axes[0].set_ylabel(y)
fig.tight_layout()

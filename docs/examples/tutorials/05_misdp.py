"""
A mixed-integer semidefinite program
====================================

**Which four measurements explain the disease best?** *Family: mixed-integer
semidefinite programs (MISDP).*

Semidefinite constraints and integers together: robust trusses, partitions of
graphs, or least squares with a number of nonzeros. As an example: which four of
the ten measurements of the diabetes data explain the disease best?
"""

import numpy as np
from sklearn.datasets import load_diabetes

import sparseopt
from sparseopt.problems import MISDPBuilder

data = load_diabetes()
names = data.feature_names
# Least squares needs X and y only up to a rotation, so 442 rows become 10.
Q, R = np.linalg.qr(data.data * np.sqrt(len(data.data)))
z = Q.T @ (data.target - data.target.mean()) / data.target.std()
ridge = 1.0

# %%
# With binary q_j for "variable j is used", the least squares with a ridge is
# the smallest t for which
#
# .. math::
#
#    \begin{pmatrix} I + X \operatorname{diag}(q) X' / \rho & y \\
#    y' & t \end{pmatrix} \succeq 0 .
#
# The builder puts this together, matrix by matrix:

p = len(names)
model = MISDPBuilder("min")
q = model.variables(p, lower=0, upper=1, integer=True, name="q")
t = model.variable(lower=0, name="t")
model.row((q, np.ones(p)), upper=4)


def bordered(square, side=0.0, corner=0.0):
    """Return a matrix with one more row and column."""
    side = np.broadcast_to(side, len(square))
    return np.block(
        [[square, side[:, None]], [side[None, :], np.array([[corner]])]]
    )


rank_ones = [bordered(np.outer(column, column) / ridge) for column in R.T]
model.semidefinite(
    (q, rank_ones),
    (t, bordered(np.zeros((p, p)), corner=1.0)),
    constant=bordered(np.eye(p), side=z),
)
model.objective((t, 1.0))
problem = model.build()
print(problem)

# %%
# Branch and bound over semidefinite relaxations proves the optimum:

result = sparseopt.solve(problem, backend="misdp-bnb")
print(result.status, result.verdict)
print([name for name, used in zip(names, result.x[q]) if used > 0.5])

# %%
# How good are the other choices of four? All 210, by formula:

from itertools import combinations

import matplotlib.pyplot as plt

losses = {}
for S in combinations(range(p), 4):
    part = R[:, S]
    losses[S] = z @ np.linalg.solve(np.eye(p) + part @ part.T / ridge, z)
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.hist(list(losses.values()), bins=40, color="#332288")
ax.axvline(result.objective, color="#CC6677", label="proven optimum")
ax.set(xlabel="least squares with ridge", ylabel="choices of four")
ax.legend()
assert abs(min(losses.values()) - result.objective) < 1e-4

# %%
# What the certificate says
# -------------------------
# The leaves of the tree cover all choices, and each has a dual matrix. From
# that and the data alone the checker computes a lower bound for its leaf. All
# bounds are at most the gap below the value found.

print(result.verdict, result.gap)

"""
Two sparse components beside scikit-learn's
===========================================

A second component explains what the first has left: project it out and ask
again. Both are proven optimal, each with four of thirteen variables.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import SparsePCA
from sklearn.preprocessing import StandardScaler

import sparseopt
from sparseopt.problems import STRS

data = load_wine()
Z = StandardScaler().fit_transform(data.data)
S = Z.T @ Z / len(Z)
first = sparseopt.solve(STRS(A=S, d=4))
P = np.eye(13) - np.outer(first.x, first.x)
second = sparseopt.solve(STRS(A=P @ S @ P, d=4))
print(first.verdict, second.verdict)

# %%
# The variance that the span of two components explains, ours and those of
# ``SparsePCA`` with the least penalty that leaves at most four variables in
# each:


def explained(V):
    """Return the share of the variance within the span of the columns."""
    Q = np.linalg.qr(V)[0]
    return np.trace(Q.T @ S @ Q) / np.trace(S)


ours = np.column_stack([first.x, second.x])
for alpha in np.arange(1.0, 8.0, 0.25):
    theirs = SparsePCA(2, alpha=alpha, random_state=0).fit(Z).components_.T
    if np.count_nonzero(theirs, axis=0).max() <= 4:
        break
print(f"ours {explained(ours):.1%}, SparsePCA {explained(theirs):.1%}")

# %%
# The three cultivars on our two components:

fig, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
for kind, colour in enumerate(("#332288", "#CC6677", "#117733")):
    ax.plot(
        *(Z[data.target == kind] @ ours).T,
        "o",
        color=colour,
        label=f"cultivar {kind}",
    )
ax.set(xlabel="first component", ylabel="second component")
ax.legend()

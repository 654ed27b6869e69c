"""
A graph for every budget
========================

**Which pixels depend on each other?** *Family: budgets.*

Images of handwritten digits have 8 x 8 pixels. On which of the pixels around it
does a pixel depend, given the others? Every pixel is regressed on those that
touch it, and all regressions together may use K of them. The answer is exact
for every K at once.
"""

# sphinx_gallery_thumbnail_number = 2
import numpy as np
from sklearn.datasets import load_digits

import sparseopt
from sparseopt.pictures import plot_graph
from sparseopt.problems import Candidates, L0GraphicalModel

images = load_digits().data
# The pixels at the edge are nearly always empty.
kept = np.flatnonzero(images.std(axis=0) > 1.0)
X = images[:, kept]
X = (X - X.mean(axis=0)) / X.std(axis=0)
place = np.column_stack([kept % 8, 7 - kept // 8])
touching = np.abs(place[:, None] - place[None]).max(axis=2) == 1
problem = L0GraphicalModel(X, Candidates.from_mask(touching, coordinates=place))

result = sparseopt.solve(problem)
result

# %%
# How much is gained by each further neighbour?
# ---------------------------------------------

ax = sparseopt.plot(result)

# %%
# Three of the graphs
# -------------------
# With a small budget mostly vertical strokes are left: a pixel is best
# explained by those above and below it.

import matplotlib.pyplot as plt

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for ax, K in zip(axes, (40, 80, 160)):
    plot_graph(result.path.graph(K), place, ax)
    ax.set_title(f"K = {K}")

# %%
# How many?
# ---------
# The extended BIC over all budgets. With 1,797 images nearly every neighbour
# says something:

choice = result.select("ebic")
print(f"K = {choice.budget} of {problem.total}")
ax = choice.plot()

# %%
# What the certificate says
# -------------------------
# Two things are proven. For every pixel: no subset of its candidates of the
# same size fits better; the checker looks through all subsets with bounds of
# its own. For every K: no other way to spend K on the pixels has a smaller
# loss; that follows from one multiplier, or from a small dynamic program where
# a multiplier leaves a gap.

print(result.verdict)

"""
A model of your own: where does a signal change?
================================================

Any convex piecewise-linear terms make a problem. Here absolute deviations from
a signal plus lam times the absolute steps: the answer is constant in pieces.
The signal is the brightness of a photograph along one row.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import sparseopt
from sparseopt.problems import Pieces, PiecewiseLinearProgram

y = load_sample_image("china.jpg")[300, 150:310].mean(axis=1)
n = len(y)
A = np.vstack([np.eye(n), np.diff(np.eye(n), axis=0)])
problem = PiecewiseLinearProgram(
    A=A,
    phi=Pieces.free(n),
    psi=Pieces.concatenate(
        Pieces.check_loss(y, scale=2.0), Pieces.lam_absolute(np.ones(n - 1))
    ),
)

# %%
# Three values of lam, each proven optimal:

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(y, ".", color="#BBBBBB", label="photograph")
for lam, colour in ((1.0, "#44AA99"), (3.0, "#332288"), (10.0, "#CC6677")):
    result = sparseopt.solve(problem, lam=lam)
    steps = np.count_nonzero(np.abs(np.diff(result.x)) > 1e-9)
    print(f"lam = {lam:g}: {steps} steps, {result.verdict.value}")
    ax.plot(result.x, color=colour, label=f"lam = {lam:g}")
ax.set(xlabel="pixel", ylabel="brightness")
ax.legend()

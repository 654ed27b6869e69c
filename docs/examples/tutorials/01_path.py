"""
The whole path of a regression
==============================

**Which measurements predict the disease?** *Family: parametric linear
programs.*

The diabetes data have ten measurements of 442 patients, and how far the disease
progressed within a year. The Dantzig selector keeps few of the ten: it
minimises the sum of the absolute coefficients while no residual correlation
exceeds lam. Which lam? Here it need not be known in advance: the solution is
piecewise linear in lam, and the engine returns all of it.
"""

import numpy as np
from sklearn.datasets import load_diabetes

import sparseopt
from sparseopt.problems import DantzigSelector

data = load_diabetes()
problem = DantzigSelector(
    data.data, data.target - data.target.mean(), names=data.feature_names
)
result = sparseopt.solve(problem)
result

# %%
# The path
# --------
# From left to right lam decreases and variables enter: the body mass index
# (bmi) and a blood value (s5) first.

ax = sparseopt.plot(result)

# %%
# A model at any lam is read off, nothing is solved again:

for lam in (400.0, 100.0, 20.0):
    coefficients = result.path.at(lam)
    chosen = np.flatnonzero(coefficients)
    print(
        lam,
        {data.feature_names[j]: round(float(coefficients[j])) for j in chosen},
    )

# %%
# A choice of lam
# ---------------
# The rules compare all values of lam, and not a grid. Here an information
# criterion:

choice = result.select("bic")
print(
    f"lam = {choice.lam:.1f} keeps",
    [data.feature_names[j] for j in choice.support],
)
ax = choice.plot()

# %%
# What the certificate says
# -------------------------
# For each piece of the path the result has a primal and a dual solution, both
# affine in lam. The checker imports no solver. It recomputes both from the
# data, makes sure that they are feasible and have the same objective at both
# ends of the piece, hence in between, and that the pieces leave no hole. That
# is ``verified``: for every lam in the range, no coefficients with a smaller l1
# norm satisfy the constraints.

print(result.verdict, "from", result.path.knots[0], "to", result.path.knots[-1])

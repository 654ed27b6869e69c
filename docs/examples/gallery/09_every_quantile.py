"""
Every quantile at once
======================

With the odds tau / (1 - tau) as parameter, quantile regression is one
parametric linear program. Its path has every level tau, exactly.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from sparseopt.estimators import QuantileProcess

data = load_diabetes(as_frame=True)
X = data.data[["bmi", "bp", "s5"]]
process = QuantileProcess().fit(X, data.target)
print(f"{len(process.quantiles_)} levels with a change, {process.verdict_}")

# %%
# How the effect of each variable changes from the low to the high end of the
# response:

levels = process.quantiles_[
    (process.quantiles_ > 0.02) & (process.quantiles_ < 0.98)
]
coefficients = np.array([process.at(tau).coef_ for tau in levels])
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
colours = ["#332288", "#CC6677", "#117733"]
for name, values, colour in zip(X.columns, coefficients.T, colours):
    ax.step(levels, values, where="post", color=colour, label=name)
ax.set(xlabel="level", ylabel="coefficient")
ax.legend()

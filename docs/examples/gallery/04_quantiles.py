"""
Nine quantiles of one response
==============================

A quantile regression with an l1 penalty for each of nine levels: what raises
the middle of the distribution need not raise its upper end.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from sparseopt.estimators import QuantileLasso

data = load_diabetes(as_frame=True)
levels = np.arange(1, 10) / 10
models = [
    QuantileLasso(quantile=tau, rule="bic").fit(data.data, data.target)
    for tau in levels
]
print({str(model.verdict_) for model in models})

# %%
# What each variable adds, level by level:

coefficients = np.array([model.coef_ for model in models])
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
colours = {"bmi": "#332288", "s5": "#CC6677", "bp": "#117733", "sex": "#AA4499"}
for name, colour in colours.items():
    values = coefficients[:, list(data.data.columns).index(name)]
    ax.plot(levels, values, "o-", color=colour, label=name)
ax.axhline(0.0, color="black", linewidth=0.6)
ax.set(xlabel="quantile", ylabel="coefficient")
ax.legend()

"""
Compare with another package, fold by fold
==========================================

Is least absolute deviations worth it where some responses are wrong?
``cross_val_score`` fits both models within the same folds; each of them chooses
its penalty in folds of its own.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseopt.estimators import LADLassoCV

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
rng = np.random.default_rng(0)
wrong = rng.random(len(y)) < 0.1
y = y.where(~wrong, y + 1000)

folds = KFold(5, shuffle=True, random_state=0)
scores = {}
for name, model in (("squares", LassoCV()), ("absolute values", LADLassoCV(cv=5))):
    pipeline = make_pipeline(StandardScaler(), model)
    found = cross_val_score(
        pipeline, X, y, cv=folds, scoring="neg_median_absolute_error"
    )
    scores[name] = -found
    print(f"{name:16s} {-found.mean():.1f}")

# %%
# The typical error in each fold; a tenth of the responses is 1,000 too large:

fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for (name, found), colour in zip(scores.items(), ("#CC6677", "#332288")):
    ax.plot(found, range(1, len(found) + 1), "o", color=colour, label=name)
ax.set(xlabel="median absolute error", ylabel="fold", yticks=range(1, 6))
ax.legend()

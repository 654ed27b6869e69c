"""
A data frame in, a model with names out
=======================================

The estimators take data frames and keep the names. Here is the LAD-lasso, which
forgives outliers, with lam chosen by an exact information criterion.
"""

from sklearn.datasets import load_diabetes

from sparseopt.estimators import LADLasso

data = load_diabetes(as_frame=True, scaled=False)
model = LADLasso(rule="bic").fit(data.data, data.target)
for name, value in zip(model.feature_names_in_, model.coef_):
    print(f"{name:5s} {value:8.3f}")
print(f"lam = {model.lam_:.3g}, {model.verdict_}")

# %%
# The whole path is there, and any other lam is a fitted estimator for free:

ax = model.path_.plot()
sparser = model.at(4 * model.lam_)
print([name for name, c in zip(model.feature_names_in_, sparser.coef_) if c])

"""
Cross-validation without a grid
===============================

Each fold's path is known at every lam, so the cross-validated error is, too.
Its minimum over all lam is exact.
"""

from sklearn.datasets import load_breast_cancer

from sparseopt.problems import DantzigSelector
from sparseopt.selection import cross_validate

data = load_breast_cancer()
X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
y = 2.0 * data.target - 1.0
problem = DantzigSelector(X, y - y.mean(), names=data.feature_names)

cv = cross_validate(problem, folds=5, rule="1se", seed=0, lam_min=0.2)
print(f"{len(cv.knots)} knots")
print(f"minimum at {cv.lam_min:.2f}, one standard error at {cv.lam_1se:.2f}")
ax = cv.plot()

# %%
# The coefficients of the sparser choice, and fitted again without a penalty:

again = cv.refit()
for j in cv.support:
    print(f"{data.feature_names[j]:25s} {cv.x[j]:7.3f} {again[j]:7.3f}")

"""
Search a grid of the other parameters
=====================================

The penalty lam needs no grid: the path has every value. ``GridSearchCV`` is for
what is left, here the number of columns and the ridge of a logistic regression
whose columns are proven to be the best.
"""

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PowerTransformer

from sparseopt.estimators import SparseLogisticRegression

data = load_breast_cancer(as_frame=True)
X = data.data.filter(like="mean")
pipeline = Pipeline(
    [("normal", PowerTransformer()), ("model", SparseLogisticRegression())]
)
pipeline.set_output(transform="pandas")
grid = {"model__k": [1, 2, 3], "model__ridge": [0.05, 0.1, 0.2]}
search = GridSearchCV(pipeline, grid, scoring="neg_log_loss", cv=3)
search.fit(X, data.target)
model = search.best_estimator_["model"]
print(search.best_params_, model.verdict_)
print([str(model.feature_names_in_[j]) for j in model.support_])

# %%
# The mean loss of each choice, in the folds that no model has seen:

table = pd.DataFrame(search.cv_results_["params"])
table["loss"] = -search.cv_results_["mean_test_score"]
table.pivot(index="model__k", columns="model__ridge", values="loss").round(3)

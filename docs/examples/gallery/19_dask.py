"""
Folds and searches on a cluster
===============================

What runs in joblib runs on Dask's workers, without a change of the model: the
folds of a path, or a grid of scikit-learn. Here the cluster is this process;
``Client("scheduler:8786")`` is one of many machines.
"""

from dask.distributed import Client
from joblib import parallel_config
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseopt.estimators import LADLassoCV, QuantileLasso

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
client = Client(processes=False, dashboard_address=None)
with parallel_config("dask"):
    model = LADLassoCV(cv=5, n_jobs=-1).fit(X, y)
print(f"lam = {model.lam_:.4g}, {model.verdict_}")

# %%
# The same folds without a cluster give the same answer:

here = LADLassoCV(cv=5).fit(X, y)
print(here.lam_ == model.lam_, (here.coef_ == model.coef_).all())

# %%
# A grid of pipelines, each fit a task of its own:

pipeline = make_pipeline(StandardScaler(), QuantileLasso(quantile=0.8))
grid = {"quantilelasso__rule": ["aic", "bic", "ebic"]}
search = GridSearchCV(pipeline, grid, scoring="neg_mean_absolute_error", cv=3)
with parallel_config("dask"):
    search.fit(X, y)
print(search.best_params_)
client.close()

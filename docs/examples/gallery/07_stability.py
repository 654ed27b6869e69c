"""
Which variables are stable?
===========================

A choice that holds for most halves of the data is no accident. Stability
selection follows the paths of forty halves; at every lam the shares are
exact.
"""

from sklearn.datasets import load_breast_cancer

from sparseopt.estimators import LADLasso, StabilitySelector

data = load_breast_cancer(as_frame=True)
selector = StabilitySelector(LADLasso(), pairs=20, threshold=0.8)
selector.fit(data.data, data.target)
print(selector.get_feature_names_out().tolist())
print(f"expected false choices: at most {selector.bound_:.2f}")

# %%
# The share of the halves that choose each variable, as lam decreases:

ax = selector.result_.plot()

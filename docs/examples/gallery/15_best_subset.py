"""
The best model of every size
============================

Which three of thirty variables predict best, which four, which five? Every
answer is proven, all of them by one fit.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from sparseopt.estimators import BestSubset

data = load_breast_cancer(as_frame=True)
model = BestSubset(rule="ebic").fit(data.data, data.target)
print(f"{model.size_} variables by the extended BIC, {model.verdict_}")
for k in range(1, 6):
    print(k, ", ".join(data.feature_names[model.supports_[k]]))

# %%
# The models are not nested: the best one of two variables need not be a part of
# the best of three.

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.plot(range(len(model.rss_)), model.rss_, "o-", color="#332288", ms=4)
ax.axvline(model.size_, color="#CC6677", label="chosen")
ax.set(xlabel="variables", ylabel="residual sum of squares")
ax.legend()

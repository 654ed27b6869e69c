"""
A classifier with few measurements
==================================

The support vector machine with the hinge loss and an l1 penalty,
cross-validated over all lam, in a pipeline of scikit-learn.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseopt.estimators import L1SVC

data = load_breast_cancer(as_frame=True)
X, X_test, y, y_test = train_test_split(
    data.data, data.target, random_state=0, stratify=data.target
)
pipeline = make_pipeline(StandardScaler(), L1SVC(rule="1se", cv=5))
pipeline.set_output(transform="pandas").fit(X, y)
model = pipeline[-1]
print(f"accuracy on the test set: {pipeline.score(X_test, y_test):.3f}")
for name, value in zip(model.feature_names_in_, model.coef_[0]):
    if value:
        print(f"{name:25s} {value:7.3f}")

# %%
# The path behind it:

ax = model.path_.plot()

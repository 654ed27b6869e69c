"""
Select variables for another model
==================================

``SelectFromModel`` keeps the columns whose coefficients are not zero; what
comes behind it in the pipeline may be any model. Here the path of a sparse
classifier finds the pixels in which handwritten threes and eights differ, and a
nearest-neighbour rule compares those only.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseopt.estimators import L1SVC

data = load_digits()
two = (data.target == 3) | (data.target == 8)
X, y = data.data[two], data.target[two]
neighbours = KNeighborsClassifier(5)
pipeline = make_pipeline(
    StandardScaler(), SelectFromModel(L1SVC(rule="1se", cv=5)), neighbours
)
pipeline.fit(X, y)
chosen = pipeline[1].get_support()
print(f"{chosen.sum()} of {len(chosen)} pixels")

# %%
# The selection is repeated within every training part, so that the scores are
# honest:

alone = make_pipeline(StandardScaler(), neighbours)
for name, model in (("chosen pixels", pipeline), ("all pixels", alone)):
    print(f"{name:14s} {cross_val_score(model, X, y, cv=5).mean():.3f}")

# %%
# A three, an eight, and the pixels that are compared:

fig, axes = plt.subplots(1, 3, figsize=(7, 2.5), layout="constrained")
pictures = (X[y == 3][0], X[y == 8][0], chosen)
for ax, picture, title in zip(axes, pictures, ("three", "eight", "chosen")):
    ax.imshow(picture.reshape(8, 8), cmap="Greys")
    ax.set(title=title, xticks=[], yticks=[])

"""
One private release, many uses
==============================

A single differentially private release of a mean embedding, a statement that a
second program audits, and synthetic rows made of the release alone.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from sparseopt import private

table = load_breast_cancer(as_frame=True).data
data = {
    "radius": table["mean radius"].to_numpy(),
    "texture": table["mean texture"].to_numpy(),
}

# Bounds are public knowledge, never read off the data.
columns = [private.Number("radius", 5, 30), private.Number("texture", 5, 40)]
features = private.FeatureMap(columns)
released = private.release(data, features, epsilon=2.0, delta=1e-5)
print("the audit agrees:", private.audit(released.statement).holds)

# %%
# The weights of the synthetic distribution are the exact nearest point of a
# polytope:

found = private.synthesise(released, 400)
print(found.result.verdict)
rows, _ = found.sample(569)

fig, axes = plt.subplots(
    1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained"
)
axes[0].plot(data["radius"], data["texture"], ".", color="#332288")
axes[1].plot(rows["radius"], rows["texture"], ".", color="#CC6677")
axes[0].set(title="data", xlabel="radius", ylabel="texture")
axes[1].set(title="synthetic", xlabel="radius")
for name, values in (("data", data["radius"]), ("synthetic", rows["radius"])):
    print(f"mean radius, {name}: {np.mean(values):.2f}")

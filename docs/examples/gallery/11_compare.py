"""
Which solver is the fastest here?
=================================

Several backends on your own problem: each solve runs in a process of its own,
and the checker judges every answer.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import sparseopt
from sparseopt.problems import STRS

problem = STRS.from_data(load_wine().data, d=5)
table = sparseopt.compare(
    {"wine": problem},
    ["strs-bnb", "strs-oa", "brute-force", "truncation"],
    time_limit=20,
)
table[["backend", "outcome", "verdict", "objective", "gap", "time"]].round(5)

# %%

fig, ax = plt.subplots(figsize=(6, 2.5), layout="constrained")
ax.barh(table["backend"], table["time"], color="#332288")
ax.set(xlabel="seconds")

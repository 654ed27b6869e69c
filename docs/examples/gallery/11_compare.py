"""
Which solver is the fastest here?
=================================

Several backends on your own problem: each solve runs in a process of its own,
and the checker judges every answer.
"""

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

"""
A time limit, a bound, and another solver
=========================================

When exact search would take too long, a limit ends it. The best answer so far
comes with a bound: how much better any other answer can be at most.
"""

from sklearn.datasets import load_digits

import sparseopt
from sparseopt.problems import STRS

X = load_digits().data
X = X[:, X.std(axis=0) > 0.5]
problem = STRS.from_data(X, d=12)

for limit in (0.05, 2.0):
    result = sparseopt.solve(problem, time_limit=limit)
    print(f"{limit:.2f} s: {result.status.value}, {result.verdict.value}")
    print(f"    variance {result.objective:.5f}, at most {result.bound:.5f}")

# %%
# Which other solvers take this problem, and are installed here?

for info in sparseopt.backends(problem):
    if info.supports and info.available:
        print(f"{info.name:20s} {info.summary}")

# %%
# A heuristic beside it. It is fast, and its answer is checked, but it proves
# nothing:

quick = sparseopt.solve(problem, backend="truncation")
print(f"{quick.status.value}: {quick.objective:.5f}, {quick.verdict.value}")

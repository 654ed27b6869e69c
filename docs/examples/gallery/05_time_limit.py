"""
A time limit, a bound, and another solver
=========================================

When exact search would take too long, a limit ends it. The best answer so far
comes with a bound: how much better any other answer can be at most.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import sparseopt
from sparseopt.problems import STRS

X = load_digits().data
X = X[:, X.std(axis=0) > 0.5]
problem = STRS.from_data(X, d=12)

limits = [0.05, 0.2, 0.5, 1.0, 2.0]
results = [sparseopt.solve(problem, time_limit=limit) for limit in limits]
for limit, result in zip(limits, results):
    print(f"{limit:.2f} s: {result.status.value}, gap {result.gap:.1%}")

# %%

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
bounds = [result.bound for result in results]
ax.plot(limits, bounds, "v-", color="#CC6677", label="bound")
values = [result.objective for result in results]
ax.plot(limits, values, "o-", color="#332288", label="best answer")
ax.set(xlabel="time limit in seconds", ylabel="variance")
ax.legend()

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

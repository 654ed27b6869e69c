"""Best subsets by looking at all of them."""

import itertools

import numpy as np

from sparseopt.problems import L0GraphicalModel


def smallest_losses(problem: L0GraphicalModel, node: int) -> np.ndarray:
    """The smallest loss of a Gaussian node with at most 0, 1, ... neighbours, before scaling."""
    X, n = np.asarray(problem.X, dtype=float), problem.X.shape[0]
    candidates = problem.candidates.of(node)
    best = np.full(len(candidates) + 1, np.inf)
    for k in range(len(candidates) + 1):
        for chosen in itertools.combinations(candidates, k):
            columns = np.vstack([X[:, chosen], np.sqrt(n * problem.ridge) * np.eye(k)])
            target = np.append(X[:, node], np.zeros(k))
            # Columns of one length: else the small ones drown.
            length = np.linalg.norm(columns, axis=0)
            beta = np.linalg.lstsq(columns / length, target, rcond=None)[0] / length
            best[k] = min(best[k], np.square(target - columns @ beta).sum() / n)
    return np.minimum.accumulate(best)

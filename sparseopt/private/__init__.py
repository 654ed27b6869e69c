"""Private data: one release of a mean embedding, its statement, and synthetic data from it.

>>> import numpy as np
>>> from sparseopt import private
>>> people = {"age": np.array([23.0, 41.0, 57.0, 38.0])}
>>> features = private.FeatureMap([private.Number("age", 0, 100)])
>>> released = private.release(people, features=features, epsilon=1.0, delta=1e-3)
>>> private.audit(released.statement).holds
True
>>> table, _ = private.synthesise(released, 64).sample(10)
>>> len(table["age"])
10
"""

from sparseopt.private.audit import AuditReport, audit
from sparseopt.private.discrete_gaussian import discrete_gaussian, insecure
from sparseopt.private.features import Category, FeatureMap, Number
from sparseopt.private.ledger import Ledger
from sparseopt.private.release import PrivateEmbedding, release
from sparseopt.private.statement import Statement
from sparseopt.private.synthesis import Synthesis, atoms, embedding_problem, move_atoms, synthesise

__all__ = [
    "AuditReport",
    "Category",
    "FeatureMap",
    "Ledger",
    "Number",
    "PrivateEmbedding",
    "Statement",
    "Synthesis",
    "atoms",
    "audit",
    "discrete_gaussian",
    "embedding_problem",
    "insecure",
    "move_atoms",
    "release",
    "synthesise",
]

"""The models as scikit-learn estimators, over the same solvers, paths, rules and checks.

scikit-learn is imported by this package only: ``pip install sparseopt[estimators]``.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError(
        "sparseopt.estimators needs scikit-learn: pip install 'sparseopt[estimators]'",
        name="sklearn",
    )

from sparseopt.estimators.basis_pursuit import BasisPursuit
from sparseopt.estimators.best_subset import BestSubset
from sparseopt.estimators.clime import CLIME
from sparseopt.estimators.dantzig_selector import DantzigSelector, DantzigSelectorCV
from sparseopt.estimators.differential_network import DifferentialNetwork
from sparseopt.estimators.displays import (
    ComponentsDisplay,
    CrossValidationDisplay,
    GraphDisplay,
    PathDisplay,
)
from sparseopt.estimators.graph_l0 import GaussianGraphL0, IsingGraphL0
from sparseopt.estimators.l1_svc import L1SVC
from sparseopt.estimators.lad_lasso import LADLasso, LADLassoCV
from sparseopt.estimators.matrix_dantzig import MatrixDantzig
from sparseopt.estimators.moment_subspace import MomentSubspace
from sparseopt.estimators.neighbourhood_graph import NeighbourhoodGraph
from sparseopt.estimators.private_mean_embedding import PrivateMeanEmbedding
from sparseopt.estimators.private_synthesizer import PrivateSynthesizer
from sparseopt.estimators.quantile_lasso import QuantileLasso, QuantileLassoCV
from sparseopt.estimators.quantile_process import QuantileProcess
from sparseopt.estimators.robust_subspace import RobustSubspace
from sparseopt.estimators.sparse_lda import SparseLDA
from sparseopt.estimators.sparse_logistic_regression import SparseLogisticRegression
from sparseopt.estimators.sparse_pca import SparsePCA
from sparseopt.estimators.sparse_regression import SparseRegression
from sparseopt.estimators.stability_selector import StabilitySelector
from sparseopt.estimators.sufficient_subspace import SufficientSubspace
from sparseopt.estimators.two_sample_selector import TwoSampleSelector
from sparseopt.estimators.two_sample_test import TwoSampleTest

__all__ = [
    "CLIME",
    "L1SVC",
    "BasisPursuit",
    "BestSubset",
    "ComponentsDisplay",
    "CrossValidationDisplay",
    "DantzigSelector",
    "DantzigSelectorCV",
    "DifferentialNetwork",
    "GaussianGraphL0",
    "GraphDisplay",
    "IsingGraphL0",
    "LADLasso",
    "LADLassoCV",
    "MatrixDantzig",
    "MomentSubspace",
    "NeighbourhoodGraph",
    "PathDisplay",
    "PrivateMeanEmbedding",
    "PrivateSynthesizer",
    "QuantileLasso",
    "QuantileLassoCV",
    "QuantileProcess",
    "RobustSubspace",
    "SparseLDA",
    "SparseLogisticRegression",
    "SparsePCA",
    "SparseRegression",
    "StabilitySelector",
    "SufficientSubspace",
    "TwoSampleSelector",
    "TwoSampleTest",
]

"""The models as scikit-learn estimators, over the same solvers, paths, rules and checks.

scikit-learn is imported by this package only: ``pip install sparseopt[estimators]``.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError(
        "sparseopt.estimators needs scikit-learn: pip install 'sparseopt[estimators]'",
        name="sklearn",
    )

from sparseopt.estimators.budget.best_subset import BestSubset
from sparseopt.estimators.budget.graph_l0 import GaussianGraphL0, IsingGraphL0
from sparseopt.estimators.budget.neighbourhood_graph import NeighbourhoodGraph
from sparseopt.estimators.component.sparse_pca import SparsePCA
from sparseopt.estimators.displays import (
    ComponentsDisplay,
    CrossValidationDisplay,
    GraphDisplay,
    PathDisplay,
)
from sparseopt.estimators.parametric.basis_pursuit import BasisPursuit
from sparseopt.estimators.parametric.clime import CLIME
from sparseopt.estimators.parametric.dantzig_selector import DantzigSelector, DantzigSelectorCV
from sparseopt.estimators.parametric.differential_network import DifferentialNetwork
from sparseopt.estimators.parametric.l1_svc import L1SVC
from sparseopt.estimators.parametric.lad_lasso import LADLasso, LADLassoCV
from sparseopt.estimators.parametric.matrix_dantzig import MatrixDantzig
from sparseopt.estimators.parametric.quantile_lasso import QuantileLasso, QuantileLassoCV
from sparseopt.estimators.parametric.quantile_process import QuantileProcess
from sparseopt.estimators.parametric.sparse_lda import SparseLDA
from sparseopt.estimators.private.private_mean_embedding import PrivateMeanEmbedding
from sparseopt.estimators.private.private_synthesizer import PrivateSynthesizer
from sparseopt.estimators.stability_selector import StabilitySelector
from sparseopt.estimators.subset.sparse_logistic_regression import SparseLogisticRegression
from sparseopt.estimators.subset.sparse_regression import SparseRegression
from sparseopt.estimators.subspace.moment_subspace import MomentSubspace
from sparseopt.estimators.subspace.robust_subspace import RobustSubspace
from sparseopt.estimators.subspace.sufficient_subspace import SufficientSubspace
from sparseopt.estimators.twosample.two_sample_selector import TwoSampleSelector
from sparseopt.estimators.twosample.two_sample_test import TwoSampleTest

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

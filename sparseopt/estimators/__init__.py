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
from sparseopt.estimators.dantzig_selector import DantzigSelector, DantzigSelectorCV
from sparseopt.estimators.l1_svc import L1SVC
from sparseopt.estimators.lad_lasso import LADLasso, LADLassoCV
from sparseopt.estimators.private_synthesizer import PrivateSynthesizer
from sparseopt.estimators.quantile_lasso import QuantileLasso, QuantileLassoCV
from sparseopt.estimators.quantile_process import QuantileProcess
from sparseopt.estimators.robust_subspace import RobustSubspace
from sparseopt.estimators.stability_selector import StabilitySelector

__all__ = [
    "L1SVC",
    "BasisPursuit",
    "DantzigSelector",
    "DantzigSelectorCV",
    "LADLasso",
    "LADLassoCV",
    "PrivateSynthesizer",
    "QuantileLasso",
    "QuantileLassoCV",
    "QuantileProcess",
    "RobustSubspace",
    "StabilitySelector",
]

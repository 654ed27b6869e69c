"""The models as scikit-learn estimators, over the same solvers, paths, rules and checks.

scikit-learn is imported by this package only: ``pip install sparseopt[estimators]``.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError(
        "sparseopt.estimators needs scikit-learn: pip install 'sparseopt[estimators]'",
        name="sklearn",
    )

from sparseopt.estimators.dantzig_selector import DantzigSelector, DantzigSelectorCV
from sparseopt.estimators.lad_lasso import LADLasso, LADLassoCV
from sparseopt.estimators.quantile_lasso import QuantileLasso, QuantileLassoCV

__all__ = [
    "DantzigSelector",
    "DantzigSelectorCV",
    "LADLasso",
    "LADLassoCV",
    "QuantileLasso",
    "QuantileLassoCV",
]

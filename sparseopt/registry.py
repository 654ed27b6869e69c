"""Which backends there are: ours by name, third parties by an entry point. Imports no solver."""

from __future__ import annotations

from collections.abc import Mapping

from sparseopt.backend import API_VERSION, Backend
from sparseopt.errors import BackendError, BackendNotFound
from sparseopt.installed import entry_points, resolve

ENTRY_POINT_GROUP = "sparseopt.backends"

_OWN: Mapping[str, tuple[str, str]] = {
    "homotopy": ("parametric", "sparseopt.solvers.homotopy:Homotopy"),
    "highs": ("parametric", "sparseopt.solvers.highs.backend:Highs"),
    "highs-ccg": ("parametric", "sparseopt.solvers.highs.ccg:HighsCCG"),
    "strs-bnb": ("strs", "sparseopt.solvers.strs.engines.bnb:SphereBranchAndBound"),
    "brute-force": ("strs", "sparseopt.solvers.strs.engines.brute_force:BruteForce"),
    "strs-admm": ("strs", "sparseopt.solvers.strs.relaxation.admm:SphereRelaxation"),
    "strs-oa": ("strs", "sparseopt.solvers.strs.engines.oa:SphereOuterApproximation"),
    "strs-cip": ("strs", "sparseopt.solvers.strs.engines.cip:ConvexIntegerProgram"),
    "truncation": ("strs", "sparseopt.solvers.strs.engines.truncation:Truncation"),
    "component-bnb": (
        "component",
        "sparseopt.solvers.strs.components.component:ComponentBranchAndBound",
    ),
    "subset-bnb": ("subset", "sparseopt.solvers.subset.bnb:SubsetBranchAndBound"),
    "strs-annealing": ("twosample", "sparseopt.solvers.strs.kernels.annealing:AnnealedSelection"),
    "l0-tables": ("budget", "sparseopt.solvers.l0.engines.l0_tables:L0Tables"),
    "spica": ("budget", "sparseopt.solvers.l0.engines.spica:Spica"),
    "highs-knapsack": ("budget", "sparseopt.solvers.highs.knapsack:HighsKnapsack"),
    "knapsack-dp": ("budget", "sparseopt.solvers.l0.engines.knapsack_dp:KnapsackDP"),
    "l1-neighbourhood": ("budget", "sparseopt.solvers.l0.engines.l1_neighbourhood:L1Neighbourhood"),
    "misdp-bnb": ("misdp", "sparseopt.solvers.misdp.engines.bnb:SemidefiniteBranchAndBound"),
    "misdp-oa": ("misdp", "sparseopt.solvers.misdp.engines.oa:OuterApproximationBackend"),
    "irls": ("subspace", "sparseopt.solvers.subspace.irls:ReweightedSubspace"),
    "reaper": ("subspace", "sparseopt.solvers.subspace.reaper:Reaper"),
    "tyler": ("subspace", "sparseopt.solvers.subspace.classical:Tyler"),
    "outlier-pursuit": ("subspace", "sparseopt.solvers.subspace.pursuit:OutlierPursuit"),
    "principal-component-pursuit": (
        "subspace",
        "sparseopt.solvers.subspace.pursuit:PrincipalComponentPursuit",
    ),
    "l1-alternating": ("subspace", "sparseopt.solvers.subspace.alternating:AlternatingRegressions"),
    "stiefel": ("subspace", "sparseopt.solvers.subspace.stiefel:SubspaceSearch"),
    "alternating-scheme": ("subspace", "sparseopt.solvers.subspace.scheme:AlternatingScheme"),
    "pca": ("subspace", "sparseopt.solvers.subspace.classical:PrincipalComponents"),
    "sir": ("subspace", "sparseopt.solvers.subspace.inverse:SlicedInverse"),
    "save": ("subspace", "sparseopt.solvers.subspace.inverse:SlicedAverageVariance"),
    "dr": ("subspace", "sparseopt.solvers.subspace.inverse:DirectionalRegression"),
    "phd": ("subspace", "sparseopt.solvers.subspace.inverse:HessianDirections"),
    "opg": ("subspace", "sparseopt.solvers.subspace.local:OuterProductGradients"),
    "mave": ("subspace", "sparseopt.solvers.subspace.local:MinimumAverageVariance"),
    "kdr": ("subspace", "sparseopt.solvers.subspace.local:KernelReduction"),
    "nearest-point": ("private", "sparseopt.solvers.private.nearest_point:NearestPoint"),
    "highs-qp": ("private", "sparseopt.solvers.private.highs_qp:HighsQP"),
    "cvxpy": ("misdp parametric private", "sparseopt.solvers.cvxpy.backend:Cvxpy"),
    "cvxpy-relaxation": (
        "misdp strs subspace",
        "sparseopt.solvers.cvxpy.relaxation:CvxpyRelaxation",
    ),
    "scip": ("misdp budget parametric strs subset", "sparseopt.solvers.adapters.scip_:Scip"),
    "gurobi": ("misdp budget parametric strs subset", "sparseopt.solvers.adapters.gurobi_:Gurobi"),
    "copt": ("misdp budget parametric strs", "sparseopt.solvers.adapters.copt_:Copt"),
    "xpress": ("misdp budget parametric strs subset", "sparseopt.solvers.adapters.xpress_:Xpress"),
    "mosek": ("misdp budget parametric", "sparseopt.solvers.adapters.mosek_:Mosek"),
    "scipsdp": ("misdp", "sparseopt.solvers.peers.scipsdp_:ScipSdp"),
    "pyprimal": ("parametric", "sparseopt.solvers.peers.pyprimal_:PyPrimal"),
    "sklearn-quantile": ("parametric", "sparseopt.solvers.peers.sklearn_:SklearnQuantile"),
    "quantreg": ("parametric", "sparseopt.solvers.peers.quantreg_:Quantreg"),
    "statsmodels": ("parametric", "sparseopt.solvers.peers.statsmodels_:StatsmodelsQuantReg"),
    "leaps": ("budget", "sparseopt.solvers.peers.leaps_:Leaps"),
    "abess": ("budget", "sparseopt.solvers.peers.abess_:Abess"),
    "sklearn-lars": ("budget", "sparseopt.solvers.peers.lars_:SklearnLars"),
    "sklearn-glasso": ("budget", "sparseopt.solvers.peers.glasso_:SklearnGraphicalLasso"),
}
"""Families and class, as ``backend="auto"`` prefers them; the peers come last."""


def _others() -> Mapping[str, str]:
    entries = entry_points(ENTRY_POINT_GROUP)
    return {name: target for name, target in entries.items() if name not in _OWN}


def backend_names(family: str | None = None) -> tuple[str, ...]:
    """Names of all registered backends, whether they can run here or not.

    Parameters
    ----------
    family : str, optional
        A family of problems; of our own backends only those that take some of it. Nothing is
        imported to find out.

    Returns
    -------
    tuple of str
        Ours in the order in which ``backend="auto"`` prefers them, then those of others.
    """
    own = (name for name, (taken, _) in _OWN.items() if family is None or family in taken.split())
    return (*own, *_others())


def get_backend(name: str) -> Backend:
    """Return the backend of that name.

    Parameters
    ----------
    name : str
        One of :func:`backend_names`.

    Returns
    -------
    Backend

    Raises
    ------
    BackendNotFound
        When no backend is registered under the name.
    BackendError
        When a third party's entry point cannot be loaded or has another API version.
    """
    # Entry points cost milliseconds to look up: only for names that are not our own.
    target = _OWN[name][1] if name in _OWN else _others().get(name)
    if target is None:
        import difflib

        names = backend_names()
        near = difflib.get_close_matches(name, names, 3)
        there = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names)}."
        raise BackendNotFound(
            f"no backend is called {name!r}; {there} One that is not registered is given as an "
            "object: backend=MyBackend()"
        )
    try:
        backend = resolve(target)()
    except Exception as error:
        raise BackendError(f"backend {name} cannot be loaded from {target!r}: {error}") from error
    if not isinstance(backend, Backend):
        raise BackendError(f"backend {name}: {target!r} is not a sparseopt Backend")
    if backend.api_version != API_VERSION:
        raise BackendError(
            f"backend {name} was written for API version {backend.api_version}; this is "
            f"{API_VERSION}: install matching versions"
        )
    return backend

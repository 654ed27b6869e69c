"""Which backends there are: ours by name, third parties by an entry point. Imports no solver."""

from __future__ import annotations

from collections.abc import Mapping

from sparseopt.backend import API_VERSION, Backend
from sparseopt.errors import BackendError, BackendNotFound
from sparseopt.installed import entry_points, resolve

__all__ = ["ENTRY_POINT_GROUP", "backend_names", "get_backend"]

ENTRY_POINT_GROUP = "sparseopt.backends"

_OWN: Mapping[str, str] = {
    "homotopy": "sparseopt.solvers.homotopy:Homotopy",
    "highs": "sparseopt.solvers.highs.backend:Highs",
    "highs-ccg": "sparseopt.solvers.highs.ccg:HighsCCG",
    "strs-bnb": "sparseopt.solvers.strs.bnb:SphereBranchAndBound",
    "brute-force": "sparseopt.solvers.strs.brute_force:BruteForce",
    "strs-admm": "sparseopt.solvers.strs.admm:SphereRelaxation",
    "strs-oa": "sparseopt.solvers.strs.oa:SphereOuterApproximation",
    "strs-cip": "sparseopt.solvers.strs.cip:ConvexIntegerProgram",
    "truncation": "sparseopt.solvers.strs.truncation:Truncation",
    "strs-annealing": "sparseopt.solvers.strs.annealing:AnnealedSelection",
    "l0-tables": "sparseopt.solvers.l0.l0_tables:L0Tables",
    "spica": "sparseopt.solvers.l0.spica:Spica",
    "highs-knapsack": "sparseopt.solvers.highs.knapsack:HighsKnapsack",
    "knapsack-dp": "sparseopt.solvers.l0.knapsack_dp:KnapsackDP",
    "l1-neighbourhood": "sparseopt.solvers.l0.l1_neighbourhood:L1Neighbourhood",
    "misdp-bnb": "sparseopt.solvers.misdp.bnb:SemidefiniteBranchAndBound",
    "misdp-oa": "sparseopt.solvers.misdp.oa:OuterApproximationBackend",
    "irls": "sparseopt.solvers.subspace.irls:ReweightedSubspace",
    "reaper": "sparseopt.solvers.subspace.reaper:Reaper",
    "tyler": "sparseopt.solvers.subspace.classical:Tyler",
    "pca": "sparseopt.solvers.subspace.classical:PrincipalComponents",
    "nearest-point": "sparseopt.solvers.private.nearest_point:NearestPoint",
    "cvxpy": "sparseopt.solvers.cvxpy.backend:Cvxpy",
    "cvxpy-relaxation": "sparseopt.solvers.cvxpy.relaxation:CvxpyRelaxation",
    "scip": "sparseopt.solvers.adapters.scip_:Scip",
    "gurobi": "sparseopt.solvers.adapters.gurobi_:Gurobi",
    "copt": "sparseopt.solvers.adapters.copt_:Copt",
    "xpress": "sparseopt.solvers.adapters.xpress_:Xpress",
    "mosek": "sparseopt.solvers.adapters.mosek_:Mosek",
    "scipsdp": "sparseopt.solvers.peers.scipsdp_:ScipSdp",
    "pyprimal": "sparseopt.solvers.peers.pyprimal_:PyPrimal",
    "sklearn-quantile": "sparseopt.solvers.peers.sklearn_:SklearnQuantile",
    "quantreg": "sparseopt.solvers.peers.quantreg_:Quantreg",
    "statsmodels": "sparseopt.solvers.peers.statsmodels_:StatsmodelsQuantReg",
    "leaps": "sparseopt.solvers.peers.leaps_:Leaps",
    "abess": "sparseopt.solvers.peers.abess_:Abess",
    "sklearn-lars": "sparseopt.solvers.peers.lars_:SklearnLars",
    "sklearn-glasso": "sparseopt.solvers.peers.glasso_:SklearnGraphicalLasso",
}
"""In the order in which ``backend="auto"`` prefers them; the peers come last."""


def _registered() -> Mapping[str, str]:
    return {**_OWN, **{k: v for k, v in entry_points(ENTRY_POINT_GROUP).items() if k not in _OWN}}


def backend_names() -> tuple[str, ...]:
    """Names of all registered backends, whether they can run here or not."""
    return tuple(_registered())


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
    target = _OWN.get(name) or _registered().get(name)
    if target is None:
        raise BackendNotFound(
            f"no backend is called {name!r}; there are: {', '.join(backend_names())}"
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

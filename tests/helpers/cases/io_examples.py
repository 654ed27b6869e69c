"""One problem of each kind and shape, and results of each shape, for the tests of files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import scipy.sparse as sp

from sparseopt import Certificate, Limit, Problem, Result, SolveParams, Status, Verdict
from sparseopt.paths.budget import BudgetPath, CountChanges
from sparseopt.paths.parametric import GridPath, ParametricPath, SparseRows
from sparseopt.paths.quantiles import QuantilePath
from sparseopt.paths.supports import SupportPath
from sparseopt.problems import (
    CLIME,
    L1SVM,
    LPD,
    STRS,
    BudgetTables,
    Candidates,
    CompressedSensing,
    DantzigSelector,
    DifferentialNetwork,
    EmbeddingFit,
    KernelSelection,
    L0GraphicalModel,
    L1Subspace,
    LADLasso,
    MatrixDantzig,
    MISDPBuilder,
    MMDSubspace,
    MomentSubspace,
    ParametricLP,
    Pieces,
    PiecewiseLinearProgram,
    QuantileLasso,
    RobustSubspace,
    SparseComponent,
    SparseLogisticRegression,
    SparseRegression,
    STRSPath,
    SufficientReduction,
)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def three_kinks(A: object = None) -> PiecewiseLinearProgram:
    """Variables: 3 kinks between finite slopes, bounded below, free; rows: a loss, a range."""
    return PiecewiseLinearProgram(
        A=np.array([[1.0, -2.0, 0.5], [0.3, 1.0, -1.0]]) if A is None else A,
        phi=Pieces(
            ptr=np.array([0, 3, 4, 5]),
            kink=np.array([-1.0, 0.25, 2.0, 0.5, 0.0]),
            kink_rate=np.array([0.0, 0.1, 0.2, 0.0, 0.0]),
            slope=np.array([-3.0, -0.5, 0.7, 4.0, -np.inf, 0.3, 0.0, 0.0]),
            slope_rate=np.array([-1.0, 0.0, 0.5, 1.0, 0.0, 0.2, 0.0, 0.0]),
        ),
        psi=Pieces(
            ptr=np.array([0, 1, 3]),
            kink=np.array([1.5, -1.0, 2.0]),
            kink_rate=np.array([0.0, -0.5, 0.1]),
            slope=np.array([-1.0, 2.0, -np.inf, 0.0, np.inf]),
            slope_rate=np.zeros(5),
        ),
        offset=np.array([0.1, -0.7, 1 / 3]),
        names=["age", "body mass", "x2"],
    )


def parametric_lp(**changes: object) -> ParametricLP:
    A = rng().normal(size=(4, 3))
    A[0, 1] = 0.0
    fields = {
        "A": A,
        "b": [1 / 3, -0.0, 2.0, 1e-90],
        "b_bar": [1.0, 0.0, 0.1, 0.2],
        "c": [1.0, 0.1, 0.0],
        "c_bar": [-0.3, -1.0, -0.0],
        **changes,
    }
    return ParametricLP(**fields)  # type: ignore[arg-type]


def regression(kind: Callable[..., Problem], **fields: object) -> Problem:
    return kind(X=rng().normal(size=(6, 4)), y=rng().normal(size=6), **fields)


def misdp(sense: Literal["min", "max"] = "max") -> Problem:
    """Everything that a MISDP may have."""
    model = MISDPBuilder(sense)
    x = model.variables(3, lower=[0, -np.inf, -2], upper=[3, 5, np.inf], integer=True, name="x")
    X = model.matrix(3, rank_one=True, name="X")
    model.row((X, np.eye(3)), (x, [1 / 3, 0, -1]), upper=4)
    model.row((X[0, 1], 1.0), (x[0], 0.1), lower=-1, upper=1)
    model.row((x, [1, 1, 1]), lower=2, upper=2)
    model.cone([[(x[0], 1.0)], [(X[0, 1], 2.0), (x[1], -1 / 3)]], constant=[1, 0])
    model.cone([[(x[0], 1.0)], [(x[1], 1.0)], [(X[2, 1], 0.7)]], rotated=True)
    model.semidefinite((x[:2], [np.eye(2), np.ones((2, 2))]), constant=0.1 * np.eye(2))
    model.objective((x, [1, 2, 0.3]), (X, np.ones((3, 3)) / 3), offset=0.5)
    return model.build()


def _sparse(dense: np.ndarray) -> sp.csr_array:
    return sp.csr_array(np.where(np.abs(dense) > 0.4, dense, 0.0))


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "dantzig": lambda: regression(DantzigSelector),
    "dantzig-weights": lambda: regression(
        DantzigSelector,
        scale="n",
        weights=[1.0, 0.0, 2.0, 1 / 3],
        row_weights=[1.0, 0.0, 2.0, 1 / 3],
        names=["a", "b", "größe", "d e"],
    ),
    "dantzig-fortran": lambda: DantzigSelector(
        X=np.asfortranarray(rng().normal(size=(5, 3))), y=np.arange(5)
    ),
    "lad": lambda: regression(LADLasso),
    "lad-intercept": lambda: regression(LADLasso, fit_intercept=True, weights=[0, 1, 2, 3]),
    "quantile": lambda: regression(QuantileLasso, tau=0.3),
    "quantile-intercept": lambda: regression(
        QuantileLasso, tau=0.9, fit_intercept=True, weights=[0, 1, 2, 3], names=list("abcd")
    ),
    "l0-gaussian": lambda: L0GraphicalModel(
        rng().normal(size=(20, 4)), Candidates.window(4, 2), budget=3, ridge=0.5
    ),
    "l0-ising": lambda: L0GraphicalModel(
        np.sign(rng().normal(size=(20, 4))), Candidates.window(4, 2), loss="ising"
    ),
    "sensing": lambda: regression(
        CompressedSensing, weights=[0, 1, 2, 3], row_weights=[1, 0, 1, 1, 1, 2]
    ),
    "lpd": lambda: LPD.from_samples(
        rng().normal(size=(5, 3)), rng().random((4, 3)), weights=[0, 1, 2], names=["a", "b", "c"]
    ),
    "svm": lambda: L1SVM(X=rng().normal(size=(4, 3)), y=[1, -1, -1, 1], weights=[0, 1, 2]),
    "clime": lambda: CLIME.from_data(rng().normal(size=(6, 3)), row_weights=[1, 2, 1]),
    "network": lambda: DifferentialNetwork.from_samples(
        rng().normal(size=(6, 3)), rng().random((5, 3)), sign="x-y", names=["a", "b", "c"]
    ),
    "matrix-dantzig": lambda: MatrixDantzig(
        X=rng().normal(size=(3, 2)),
        Z=rng().normal(size=(4, 2)),
        Y=rng().normal(size=(3, 2)),
        weights=np.arange(8.0).reshape(2, 4),
    ),
    "subspace": lambda: RobustSubspace(rng().normal(size=(7, 3)), k=2),
    "subspace-affine": lambda: RobustSubspace(rng().normal(size=(7, 3)), k=1, centre="estimate"),
    "l1": lambda: L1Subspace(rng().normal(size=(7, 3)), k=1, centre="estimate"),
    "moments": lambda: MomentSubspace(rng().normal(size=(7, 3)), k=2, weights=[0.0, 1.0, 2.0]),
    "mmd": lambda: MMDSubspace(rng().normal(size=(7, 3)), k=1, bandwidth=0.7),
    "reduction": lambda: SufficientReduction(
        rng().normal(size=(8, 3)), [0, 1, 1, 0, 1, 0, 0, 1], k=1, task="classification"
    ),
    "embedding-fit": lambda: EmbeddingFit(Phi=rng().normal(size=(5, 3)), mu=np.ones(3)),
    "plp-dense": three_kinks,
    "plp-sparse": lambda: three_kinks(sp.csr_array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]])),
    "plp-gram": lambda: regression(DantzigSelector).canonical(),  # type: ignore[attr-defined]
    "lp-dense": parametric_lp,
    "lp-sparse": lambda: parametric_lp(A=_sparse(rng().normal(size=(4, 3)))),
    "lp-equality": lambda: parametric_lp(form="equality", names=["u", "v", "w"]),
    "lp-odd-names": lambda: parametric_lp(names=["x y", "*", "x0"]),
    "lp-explicit-zero": lambda: parametric_lp(
        A=sp.csr_array((np.array([0.0, 2.0]), ([0, 3], [1, 2])), shape=(4, 3))
    ),
    "budget": lambda: BudgetTables([[5.0, 1.0], [4.0, 3.0, 0.0], [2.0]], budget=2),
    "selection": lambda: KernelSelection(
        rng().normal(size=(5, 3)), rng().random((4, 3)), "gaussian", d=2, lam=0.3
    ),
    "selection-quadratic": lambda: KernelSelection(
        rng().normal(size=(5, 3)), rng().random((5, 3)), "quadratic", d=1
    ),
    "subset": lambda: SparseRegression(
        rng().normal(size=(4, 6)), rng().normal(size=4), k=2, ridge=0.5, bound=3.0
    ),
    "subset-classes": lambda: SparseLogisticRegression(
        rng().normal(size=(4, 6)), [1.0, -1.0, 1.0, -1.0], k=2, ridge=0.5, penalty=0.1
    ),
    "subset-classes-weighted": lambda: SparseLogisticRegression(
        *(rng().normal(size=(4, 6)), [1.0, -1.0, 1.0, -1.0]),
        ridge=0.5,
        sample_weights=[1, 2, 3, 0.5],
    ),
    "component": lambda: SparseComponent(rng().normal(size=(4, 6)), d=2),
    "strs-path": lambda: STRSPath(A=np.diag([3.0, 2.0, 1.0]), a=np.array([0.5, 0.0, -1.0])),
    "strs": lambda: STRS(A=np.diag([3.0, 2.0, 1.0]), a=np.array([0.5, 0.0, -1.0]), d=2),
    "misdp": misdp,
    "misdp-min": lambda: misdp("min"),
}


def rows(count: int, length: int) -> SparseRows:
    ptr = np.minimum(np.arange(count + 1), length) * 1
    n = int(ptr[-1])
    return SparseRows(
        ptr=ptr.astype(np.int64),
        index=np.arange(n, dtype=np.int64) % length,
        value=rng().normal(size=n),
        rate=rng().normal(size=n),
    )


def parametric_path(segments: int = 3, m: int = 4, p: int = 5) -> ParametricPath:
    low = np.linspace(3.0, 0.1, segments)
    return ParametricPath(
        low=low,
        high=np.concatenate([[np.inf], low[:-1]]),
        theta=rows(segments, p),
        nu=rows(segments, m),
        objective=rng().normal(size=(segments, 3)),
        shape=(m, p),
        names=[f"x{j}" for j in range(p)],
        stopped_by="lam_min",
    )


def path_result(segments: int = 3, m: int = 4, p: int = 5, **changes: object) -> Result:
    path = parametric_path(segments, m, p)
    fields = {
        "status": Status.OPTIMAL,
        "raw_status": "done",
        "x": path.at(float(path.low[-1])),
        "objective": 1 / 3,
        "bound": 1 / 3 + 1e-12,
        "duals": {"rows": path.dual_at(float(path.low[-1]))},
        "path": path,
        "certificate": Certificate(
            kind="segments",
            arrays={
                "low": path.low,
                "high": path.high,
                "codes": np.zeros(m + p, np.int16),
                "change_ptr": np.arange(segments + 1, dtype=np.int64),
                "changed": np.arange(segments, dtype=np.int64),
                "change_code": np.ones(segments, np.int16),
            },
            values={"end": "lam_min", "slack": -np.inf, "depth": np.int64(3)},
        ),
        "build_time": 0.25,
        "solve_time": 0.1,
        "check_time": 1e-3,
        "iterations": 17,
        "nodes": 0,
        "trace": ((0.0, None, -np.inf), (0.5, 1.25, 1.0)),
        "verdict": Verdict.VERIFIED,
        "check_messages": ("fine", "größer"),
        "params": SolveParams(lam_min=0.1, time_limit=60.0),
        "options": {"rule": "largest", "tolerance": np.inf, "fast": True},
        "backend": "homotopy",
        "versions": {"sparseopt": "0.1.0", "numpy": "2"},
        "fingerprint": "0123456789abcdef" * 4,
        "kind": "dantzig-selector",
        "notes": ("by hand",),
        **changes,
    }
    return Result(**fields)  # type: ignore[arg-type]


def budget_result() -> Result:
    return Result(
        status=Status.OPTIMAL,
        x=np.array([1, 2, 0]),
        objective=1.0,
        bound=1.0,
        path=BudgetPath(
            budgets=np.arange(4),
            objective=np.array([9.0, 5.0, 4.0, 1.0]),
            bound=np.array([9.0, 5.0, 3.0, 1.0]),
            certified=np.array([True, True, False, True]),
            changes=CountChanges.from_columns(
                4, [np.array([0, 1, 1, 1]), np.array([0, 0, 1, 2]), np.zeros(4, np.int64)]
            ),
            nodes=3,
            stopped_by="budget",
        ),
        params=SolveParams(budget=3),
    )


def support_result() -> Result:
    return Result(
        status=Status.FEASIBLE,
        limit=Limit.TIME,
        x=np.array([0.6, 0.0, -0.8]),
        objective=3.0,
        bound=4.0,
        path=SupportPath(
            sizes=np.array([1, 2]),
            objective=np.array([2.0, 3.0]),
            bound=np.array([2.0, 4.0]),
            certified=np.array([True, False]),
            ptr=np.array([0, 1, 3]),
            index=np.array([1, 0, 2]),
            value=np.array([1.0, 0.6, -0.8]),
            variables=3,
            stopped_by="time",
        ),
    )


def grid_result() -> Result:
    knots = np.array([2.0, 1.0, 0.5])
    return Result(
        status=Status.OPTIMAL,
        x=np.ones(2),
        objective=1.0,
        bound=1.0,
        path=GridPath(
            knots=knots,
            theta=rng().normal(size=(3, 2)),
            nu=rng().normal(size=(3, 4)),
            values=np.array([0.0, 1.0, np.inf]),
            bounds=np.array([0.0, 1.0, -np.inf]),
            names=["a", "b"],
            stopped_by="lam",
        ),
        params=SolveParams(lam=[2.0, 1.0, 0.5]),
        certificate=Certificate(kind="dual-grid"),
    )


def quantile_result() -> Result:
    return Result(
        status=Status.OPTIMAL,
        path=QuantilePath(
            design=rng().normal(size=(5, 2)),
            y=np.arange(5.0),
            counts=np.ones(5),
            levels=np.array([0.0, 0.25, 0.5, 1.0]),
            theta=rng().normal(size=(3, 2)),
            bases=np.array([[0, 1], [0, 2], [4, 2]]),
            leaving=np.array([1, 0]),
            above=np.array([True, False]),
            moves=np.array([0, 1, 2]),
            names=["a", "b"],
        ),
    )


RESULTS: dict[str, Callable[[], Result]] = {
    "path": path_result,
    "large-path": lambda: path_result(segments=9000, m=9000, p=9500),
    "grid": grid_result,
    "budget": budget_result,
    "supports": support_result,
    "quantiles": quantile_result,
    "limit": lambda: Result(status=Status.FEASIBLE, limit=Limit.TIME, x=np.zeros((2, 3))),
    "no-solution": lambda: Result(status=Status.NO_SOLUTION, limit=Limit.INTERRUPTED),
    "unbounded": lambda: Result(
        status=Status.UNBOUNDED,
        objective=-np.inf,
        certificate=Certificate(kind="ray", arrays={"ray": np.ones(2), "x": np.zeros(2)}),
    ),
    "broken": lambda: Result(
        status=Status.NUMERICAL_ERROR, x=np.array([np.nan, np.inf, 1.0]), objective=np.nan
    ),
}

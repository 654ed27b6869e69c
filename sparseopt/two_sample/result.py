"""What a two-sample test says: :class:`TwoSampleTest`."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.errors import ParamError, ProblemError
from sparseopt.problems.base import Array, as_matrix
from sparseopt.result import Result
from sparseopt.sketch import bars, histogram
from sparseopt.two_sample.selecting import Chosen
from sparseopt.two_sample.tuning import Candidate
from sparseopt.verbs import borrows

_SHOWN = 10


@borrows
@dataclass(frozen=True, kw_only=True, eq=False)
class TwoSampleTest:
    """The outcome of :func:`~sparseopt.two_sample.two_sample_test`.

    Attributes
    ----------
    statistic : float
        The squared MMD of the test samples (sparse logistic regression: difference of mean scores).
    p_value : float
    alpha : float
    null : array of shape (B,)
        The statistic of the permutations.
    z : array of shape (D,)
        Weights of the variables; 0 where a variable was not selected.
    selection, kernel : str
    d : int or None
        Largest number of variables that was allowed.
    lam : float or None
        Weight of the variance in the selection.
    train_sizes, test_sizes : (int, int)
        How many observations of x and y the selection and the test used.
    result : Result or None
        Of the solve that selected, with its status, its bound and its certificate.
    candidates : tuple of Candidate
        Settings that were compared, the best first; empty where none were.
    x_test, y_test : arrays
        The samples that were tested.
    names : tuple of str
        Of all variables.
    notes : tuple of str
    seed : int
    """

    statistic: float
    p_value: float
    alpha: float
    null: Array = field(repr=False)
    z: Array = field(repr=False)
    selection: str
    kernel: str
    d: int | None
    lam: float | None
    train_sizes: tuple[int, int]
    test_sizes: tuple[int, int]
    result: Result | None = field(repr=False, default=None)
    candidates: tuple[Candidate, ...] = field(repr=False, default=())
    x_test: Array = field(repr=False)
    y_test: Array = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    notes: tuple[str, ...] = ()
    seed: int = 0
    chosen: Chosen = field(repr=False)

    @property
    def reject(self) -> bool:
        """Whether the hypothesis of equal distributions is rejected: p_value <= alpha."""
        return self.p_value <= self.alpha

    @property
    def selected(self) -> Array:
        """Indices of the selected variables, the largest weight first."""
        support = np.flatnonzero(self.z)
        return support[np.argsort(-np.abs(self.z[support]), kind="stable")]

    @property
    def selected_names(self) -> list[str]:
        """Names of the selected variables, the largest weight first."""
        return [self.names[s] for s in self.selected]

    @property
    def threshold(self) -> float:
        """The value that the statistic must exceed: the 1 - alpha quantile of the permutations."""
        # 0.95 * 1000 may be a little more than 950 in floating point.
        rank = int(np.ceil((1.0 - self.alpha) * (len(self.null) + 1) - 1e-9))
        return float(np.sort(self.null)[rank - 1]) if rank <= len(self.null) else np.inf

    def witness(self, points: Array) -> Array:
        r"""Return the witness function at points, shape (k,), from those of shape (k, D).

        .. math:: f(t) = \frac{1}{n} \sum_i K_z(x_i, t) - \frac{1}{m} \sum_j K_z(y_j, t)

        over the test samples, (12): positive where x is denser, negative where y is. Sparse
        logistic regression has the linear function -z't.

        Raises
        ------
        ProblemError
            When the points have another number of variables.
        """
        points = as_matrix("points", points)
        if points.shape[1] != len(self.z):
            raise ProblemError(
                f"points has {points.shape[1]} columns; expected all {len(self.z)} variables",
                "points",
            )
        return self.chosen.witness(self.x_test, self.y_test, points)

    def index_of(self, variable: int | str) -> int:
        """Return the index of a variable that is given by its name or its index.

        Raises
        ------
        ParamError
            When there is no such variable.
        """
        if isinstance(variable, str):
            if variable not in self.names:
                raise ParamError(f"no variable is called {variable!r}")
            return self.names.index(variable)
        if not 0 <= int(variable) < len(self.z):
            raise ParamError(f"variable {variable} is not one of 0 to {len(self.z) - 1}")
        return int(variable)

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        return {
            "reject": self.reject,
            "p_value": self.p_value,
            "alpha": self.alpha,
            "statistic": self.statistic,
            "threshold": self.threshold if np.isfinite(self.threshold) else None,
            "permutations": len(self.null),
            "selection": self.selection,
            "kernel": self.kernel,
            "selected": self.selected.tolist(),
            "names": self.selected_names,
            "weights": self.z[self.selected].tolist(),
            "d": self.d,
            "lam": self.lam,
            "candidates": [
                {"d": each.d, "lam": each.lam, "p_value": each.p_value} for each in self.candidates
            ],
            "train_sizes": list(self.train_sizes),
            "test_sizes": list(self.test_sizes),
            "solve": None if self.result is None else self._solve(),
            "seed": self.seed,
            "notes": list(self.notes),
        }

    def _solve(self) -> dict[str, Any]:
        assert self.result is not None
        verdict = self.result.verdict
        return {
            "status": self.result.status.value,
            "backend": self.result.backend,
            "objective": self.result.objective,
            "bound": self.result.bound,
            "verdict": None if verdict is None else verdict.value,
        }

    def facts(self) -> dict[str, str]:
        """Return what a person reads first, by name."""
        shown = ", ".join(self.selected_names[:_SHOWN])
        more = len(self.selected) - _SHOWN
        facts = {
            "decision": "the samples differ" if self.reject else "no difference was found",
            "p-value": f"{self.p_value:.4g} ({len(self.null)} permutations, alpha {self.alpha:g})",
            "statistic": f"{self.statistic:.6g} (threshold {self.threshold:.6g})",
            "selection": f"{self.selection}, kernel {self.kernel}"
            + ("" if self.lam is None else f", lam {self.lam:g}"),
            "variables": f"{len(self.selected)} of {len(self.z)}: {shown}"
            + (f", and {more} more" if more > 0 else ""),
            "observations": f"{self.train_sizes[0]} + {self.train_sizes[1]} to select, "
            f"{self.test_sizes[0]} + {self.test_sizes[1]} to test",
        }
        if self.result is not None:
            solve = self._solve()
            facts["solve"] = f"{solve['backend']}: {solve['status']}, {solve['verdict']}"
        if self.notes:
            facts["notes"] = "; ".join(self.notes)
        return facts

    def __str__(self) -> str:
        return "\n".join(f"{name:<13} {text}" for name, text in self.facts().items())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
            for name, text in self.facts().items()
        )
        return f"<table><caption>Two-sample test</caption>{rows}</table>{self.sketch()}"

    def sketch(self) -> str:
        """Return the permutations and the statistic, and the weights that were chosen, as SVG."""
        marks = {"statistic": self.statistic, "threshold": self.threshold}
        drawn = histogram(self.null, marks, "permutations")
        if self.selection == "none":
            return drawn
        shown = self.selected[:_SHOWN]
        return drawn + bars({self.names[s]: float(self.z[s]) for s in shown})

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...

        def plot_witness(self, ax: Any = None, variables: Any = None) -> Any: ...

"""Stability selection: what is chosen from half of the observations, again and again."""

from __future__ import annotations

import bisect
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sparseopt.backend import Backend, Progress, check_listener
from sparseopt.cards import Card, NamedValues
from sparseopt.errors import ParamError
from sparseopt.problems.base import Array, Problem
from sparseopt.selection.refitting import refit
from sparseopt.selection.runs import Runs
from sparseopt.selection.samples import lam_growth, penalised, take_rows
from sparseopt.selection.solving import solve_paths, ties
from sparseopt.sketch import bars
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import pandas as pd

Bound = Literal["unimodal", "general"]

DRAWN = 10
"""Bars of a small picture."""


@borrows
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StabilityResult(Card):
    """What is chosen again and again.

    Attributes
    ----------
    lam : float
        The frequencies are taken over [lam, inf).
    frequency : array of shape (p,)
        Each coefficient's largest selection frequency there; 1 where there is no penalty.
    support : int array
        The penalised coefficients with a frequency of at least `threshold`, the most frequent
        first.
    threshold : float
    mean_chosen : float
        q, the mean number of penalised coefficients that a subsample chooses in that range.
    bound : float
        On the expected number of falsely chosen ones; see :func:`error_bound`.
    runs : Runs
        Where each coefficient is chosen by each subsample.
    problem : Problem
    """

    by: str = "stability"
    lam: float
    frequency: Array
    support: Array
    threshold: float
    mean_chosen: float
    bound: float
    runs: Runs
    problem: Any
    notes: tuple[str, ...] = ()

    @property
    def subsamples(self) -> int:
        """Number of subsamples."""
        return len(self.runs.first)

    @property
    def nonzeros(self) -> int:
        """Number of chosen coefficients."""
        return len(self.support)

    def frequency_at(self, lam: float) -> Array:
        """Return the selection frequencies at lam, shape (p,); at a knot the limit from above.

        Raises
        ------
        ParamError
            When lam lies below the end of a path.
        """
        if lam < self.runs.end:
            raise ParamError(f"lam={lam} lies below the end of the paths, {self.runs.end:g}")
        return np.where(penalised(self.problem), self.runs.frequency(lam), 1.0)

    def refit(self) -> Array:
        """Return the coefficients fitted on the support without a penalty, shape (p,)."""
        return refit(self.problem, self.support)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each coefficient: name, frequency, chosen (needs pandas)."""
        import pandas as pd

        chosen = np.isin(np.arange(len(self.frequency)), self.support)
        return pd.DataFrame(
            {
                "name": self.problem.coefficient_names,
                "frequency": self.frequency,
                "chosen": chosen,
            }
        )

    def facts(self) -> Mapping[str, Any]:
        """Return what a person reads first, by name."""
        names = [self.problem.coefficient_names[j] for j in self.support]
        return {
            "by": self.by,
            "lam": self.lam,
            "chosen": self.nonzeros,
            "false choices": f"at most {self.bound:.3g} expected",
            "frequency": NamedValues(names, self.frequency[self.support]),
            "subsamples": self.subsamples,
            "notes": "; ".join(self.notes) or None,
        }

    def sketch(self) -> str:
        """Return the largest frequencies as bars, and the threshold as a line, an SVG element."""
        counted = np.flatnonzero(penalised(self.problem))
        order = counted[np.argsort(-self.frequency[counted], kind="stable")][:DRAWN]
        names = self.problem.coefficient_names
        chosen = {names[j]: float(self.frequency[j]) for j in order if self.frequency[j] > 0.0}
        return bars(chosen, self.threshold)

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        names = self.problem.coefficient_names
        return {
            "by": self.by,
            "lam": self.lam,
            "nonzeros": self.nonzeros,
            "frequencies": {names[j]: float(self.frequency[j]) for j in self.support},
            "threshold": self.threshold,
            "mean_chosen": self.mean_chosen,
            "bound": self.bound,
            "subsamples": self.subsamples,
            "notes": list(self.notes),
            "instance": self.problem.fingerprint(),
        }

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...


def error_bound(
    q: float, p: int, threshold: float, pairs: int = 50, kind: Bound = "unimodal"
) -> float:
    r"""Bound the expected number of choices of coefficients that are rarely chosen.

    With the threshold :math:`\pi`, the mean number q that a subsample chooses of p, and B
    complementary pairs,

    .. math:: \frac{q^2}{(2 \pi - 1)\, p}

    in general, and, where the number of times that a coefficient is chosen by both halves has a
    unimodal distribution, :math:`C q^2 / p` with

    .. math:: C = \frac{1}{2 (2 \pi - 1 - \frac{1}{2B})} \;\text{ for } \pi \le \tfrac34, \qquad
              C = \frac{4 (1 - \pi + \frac{1}{2B})}{1 + \frac1B} \;\text{ above,}

    if :math:`q / p \le 1 / \sqrt 3` and, with :math:`\theta = q / p`,
    :math:`\pi > \frac12 + \min(\theta^2, \frac{1}{2B} + \frac34 \theta^2)`; the general one else,
    and where that is smaller.

    Coefficients are counted whose probability to be chosen by a subsample is at most q / p. Under
    the exchangeability of Meinshausen and Buhlmann these include all that are truly zero, and the
    general bound is theirs.

    Parameters
    ----------
    q : float
    p : int
    threshold : float
        Above 1/2, at most 1.
    pairs : int, default 50
        B, for the unimodal bound.
    kind : {"unimodal", "general"}

    Raises
    ------
    ParamError

    References
    ----------
    Meinshausen, Buhlmann (2010): Stability selection, theorem 1; Shah, Samworth (2013): Variable
    selection with error control, theorems 1 and 2.

    Examples
    --------
    >>> round(error_bound(10.0, 1000, 0.75, kind="general"), 12)
    0.2
    """
    if kind not in ("unimodal", "general"):
        raise ParamError(f"bound is {kind!r}; expected 'unimodal' or 'general'")
    if not 0.5 < threshold <= 1.0:
        raise ParamError(f"threshold is {threshold!r}; expected a share above 1/2, at most 1")
    share, half = q / p, 0.5 / pairs
    general = q * share / (2.0 * threshold - 1.0)
    if kind == "general" or share > 3.0**-0.5:
        return general
    if threshold > 0.75:
        return min(general, q * share * 4.0 * (1.0 - threshold + half) / (1.0 + 2.0 * half))
    least = 0.5 + max(min(share**2, half + 0.75 * share**2), 0.5 * half)
    if threshold <= least:
        return general
    return min(general, q * share / (2.0 * (2.0 * threshold - 1.0 - half)))


def _allowed(false_choices: float, p: int, threshold: float, pairs: int, kind: Bound) -> int:
    """Return how many choices all subsamples may make together for that bound."""
    samples = 2 * pairs

    def bound(total: int) -> float:
        return error_bound(total / samples, p, threshold, pairs, kind)

    return bisect.bisect_right(range(samples * p + 1), false_choices, key=bound) - 1


def stability_selection(
    problem: Problem,
    *,
    threshold: float = 0.75,
    false_choices: float = 1.0,
    lam_min: float | None = None,
    pairs: int = 50,
    bound: Bound = "unimodal",
    seed: int = 0,
    backend: str | Backend = "auto",
    options: Mapping[str, Any] | None = None,
    n_jobs: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> StabilityResult:
    r"""Choose the coefficients that most halves of the observations choose.

    The observations are split `pairs` times at random into two halves (complementary pairs, an odd
    one is left out), and the path of each half is followed. A coefficient is chosen when the share
    of the halves where it is nonzero reaches `threshold` at some lam in the range. The shares are
    known for every lam, since the paths are.

    Parameters
    ----------
    problem : Problem
        DantzigSelector, CompressedSensing, LADLasso, QuantileLasso or L1SVM (halves keep the shares
        of the classes).
    threshold : float, default 0.75
    false_choices : float, default 1.0
        Without `lam_min` the range reaches down to where the bound on the expected number of false
        choices has this value, or to where the first path has more than twice as many nonzeros as a
        half may choose on average.
    lam_min : float, optional
        The lower end of the range, on the scale of `problem`; `bound` of the result says what that
        means for the false choices.
    pairs : int, default 50
    bound : {"unimodal", "general"}, default "unimodal"
        See :func:`error_bound`.
    seed : int, default 0
    backend, options
        As for :func:`sparseopt.solve`.
    n_jobs : int, default 1
        How many halves at a time, in joblib's workers; -1 for all processors.
    on_progress : callable, optional

    Returns
    -------
    StabilityResult

    Raises
    ------
    ParamError, SparseOptError

    Notes
    -----
    Where lam is on the scale of a sum, a half is solved at half the lam; see
    :func:`cross_validate`.

    References
    ----------
    Meinshausen, Buhlmann (2010); Shah, Samworth (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import DantzigSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 5))
    >>> y = X[:, 0] - 2.0 * X[:, 3] + 0.5 * rng.standard_normal(60)
    >>> stability_selection(DantzigSelector(X, y), pairs=10).support.tolist()
    [0, 3]
    """
    check_listener(on_progress)
    if not all(hasattr(problem, name) for name in ("X", "y", "weights")):
        raise ParamError(
            f"stability selection splits the observations of X and y; a {problem.kind} has none: "
            "expected a Dantzig selector, LAD-lasso, quantile lasso, compressed sensing or L1 SVM"
        )
    if not isinstance(pairs, Integral) or pairs < 1:
        raise ParamError(f"pairs must be an integer >= 1, got {pairs!r}")
    if not 0.0 < false_choices < math.inf:
        raise ParamError(f"false_choices must be a number > 0, got {false_choices!r}")
    if getattr(problem, "sample_weights", None) is not None:
        raise ParamError("halves cannot split an observation of a weight: leave out sample_weights")
    counted = penalised(problem)
    p = int(counted.sum())
    if p == 0:
        raise ParamError("all coefficients are unpenalised: there is nothing to choose")
    allowed = _allowed(false_choices, p, threshold, pairs, bound)
    free = len(counted) - p
    factors: list[float] = []
    begin = time.perf_counter()

    def tasks() -> Iterator[tuple[Problem, str, dict[str, Any]]]:
        for k, rows in enumerate(_halves(problem, pairs, seed)):
            if on_progress is not None:
                text = f"subsample {k + 1} of {2 * pairs}"
                on_progress(Progress(time.perf_counter() - begin, text, k / (2 * pairs)))
            factor = lam_growth(problem, rows)
            factors.append(factor)
            most = free + 2 * math.ceil(allowed / (2 * pairs)) + 1
            question = {"max_nonzeros": most} if lam_min is None else {"lam_min": lam_min * factor}
            yield take_rows(problem, rows), f"subsample {k}", question

    paths = list(solve_paths(tasks(), backend, options, n_jobs))
    runs = Runs.of_paths(paths, factors)
    lam = _lower_end(runs, counted, allowed) if lam_min is None else max(lam_min, runs.end)
    frequency = np.where(counted, runs.largest_frequency(lam), 1.0)
    order = np.argsort(-frequency, kind="stable")
    q = runs.mean_chosen(lam, counted)
    early = lam_min is not None and lam > lam_min
    return StabilityResult(
        lam=lam,
        frequency=frequency,
        support=order[counted[order] & (frequency[order] >= threshold)],
        threshold=threshold,
        mean_chosen=q,
        bound=error_bound(q, p, threshold, pairs, bound),
        runs=runs,
        problem=problem,
        notes=(
            *ties(problem),
            *([f"a path ends at {lam:g}, which ends the range"] if early else []),
        ),
    )


def _halves(problem: Any, pairs: int, seed: int) -> Iterator[Array]:
    """Yield both halves of each split; for classes, of each class."""
    y = np.asarray(problem.y)
    groups = [np.arange(len(y))]
    if problem.kind == "l1-svm":
        groups = [np.flatnonzero(y == label) for label in (-1.0, 1.0)]
    if min(len(group) for group in groups) < 2:
        raise ParamError("stability selection needs two observations at least, two of each class")
    rng = np.random.default_rng(seed)
    for _ in range(pairs):
        dealt = [rng.permutation(group) for group in groups]
        for part in (0, 1):
            halves = [rows[part * (len(rows) // 2) :][: len(rows) // 2] for rows in dealt]
            yield np.sort(np.concatenate(halves))


def _lower_end(runs: Runs, counted: Array, allowed: int) -> float:
    """Return the smallest lam above which all paths together make at most `allowed` choices."""
    first = np.sort(runs.first[:, counted], axis=None)[::-1]
    return max(runs.end, float(first[allowed])) if allowed < len(first) else runs.end

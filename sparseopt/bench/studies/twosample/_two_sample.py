"""The tests that the studies of two-sample tests compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparseopt.problems.base import Array
from sparseopt.two_sample import two_sample_test

CASES = ("mean-shift", "covariance-shift", "laplace", "mixture")
"""Cases (I) to (IV) of Wang, Dey and Xie."""
SELECTED = ("strs", "quadratic", "gaussian", "sparse-logistic")
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in SELECTED},
    "strs positive": ("strs", {"signs": "positive"}),
}
"""Selections by name: what :func:`two_sample_test` calls them, and its other arguments."""
SECONDS = {"strs": 1.0, "quadratic": None, "gaussian": None, "sparse-logistic": None}
"""Time limits of a selection in a study of hundreds; then the incumbent is taken, unproven.
Annealing ends by itself, so that its figures do not depend on the machine."""

Test = Callable[[Array, Array, int, int], bool]
"""Called with both samples of 2 n observations, n, and the seed; whether it rejects."""


def options(selection: str) -> dict[str, int] | None:
    """Return options of the annealing backend: fewer moves than by default, hundreds of times.

    Parameters
    ----------
    selection : str
        Of two_sample_test.

    Returns
    -------
    dict or None
    """
    return {"restarts": 2, "iterations": 10} if selection in ("quadratic", "gaussian") else None


def selected(way: str, d: int, **settings: Any) -> Test:
    """Return a test on selected variables: n observations select, n are tested.

    Parameters
    ----------
    way : str
        A key of WAYS.
    d : int
        Number of variables.
    settings : arguments of two_sample_test

    Returns
    -------
    callable
        (x, y, n, seed) to whether the test rejects.
    """
    selection, own = WAYS[way]

    def run(x: Array, y: Array, n: int, seed: int) -> bool:
        return two_sample_test(
            x,
            y,
            selection,
            d=d,
            n_permutations=199,
            seed=seed,
            check=False,
            options=options(selection),
            time_limit=SECONDS[selection],
            **own,
            **settings,
        ).reject

    return run


def full(kernel: str, both: bool = False) -> Test:
    """Return a test on all variables: of the second half of the data, or of all of them.

    Parameters
    ----------
    kernel : str
    both : bool, default False
        Whether all observations are tested, else those from n on.

    Returns
    -------
    callable
        (x, y, n, seed) to whether the test rejects.
    """

    def run(x: Array, y: Array, n: int, seed: int) -> bool:
        begin = 0 if both else n
        return two_sample_test(
            x[begin:], y[begin:], "none", kernel=kernel, n_permutations=199, seed=seed
        ).reject

    return run

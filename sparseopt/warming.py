"""Compiling on purpose, so that nobody waits for it later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sparseopt import generators
from sparseopt.api import solve
from sparseopt.backend import check_listener
from sparseopt.compiling import Mode, override
from sparseopt.errors import ParamError
from sparseopt.families import families
from sparseopt.problems import LADLasso, Problem
from sparseopt.result import Limit


def warm_up(
    kinds: Sequence[str] | str = (), *, on_progress: Callable[[str, float], object] | None = None
) -> None:
    """Compile, or load, the functions that solve and check problems of some kinds.

    A small random problem of each kind is solved with the backend that ``auto`` chooses. What has
    been compiled before, by whatever process of this user, is only loaded. Ctrl-C ends it; what is
    compiled by then is kept.

    Parameters
    ----------
    kinds : sequence of str, or str, optional
        Kinds of problems or names of families. Default: all.
    on_progress : callable, optional
        Called with the kind whose turn it is, and the fraction that is done.

    Raises
    ------
    ParamError
        When there is no such kind.
    KeyboardInterrupt
        At Ctrl-C.

    Examples
    --------
    >>> import sparseopt
    >>> sparseopt.warm_up("dantzig-selector")
    """
    check_listener(on_progress)
    samples = _samples([kinds] if isinstance(kinds, str) else kinds)
    with override(Mode.NOW):
        for number, (kind, (name, settings)) in enumerate(samples.items()):
            if on_progress is not None:
                on_progress(kind, number / len(samples))
            _solve(generators.generate(name, seed=0, **settings))
            if kind in _MORE:
                _solve(_MORE[kind]())


def _solve(problem: Problem) -> None:
    # A solve takes Ctrl-C for its own end, and here it is meant for all of them.
    if solve(problem).limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt


def _ising() -> Problem:
    return generators.generate("ising-lattice", seed=0, n=60, rows=3, columns=3, sweeps=20)


def _isometry() -> Problem:
    return generators.generate("restricted-isometry", seed=0, m=5, n=6, k=3)


def _ill_conditioned() -> Problem:
    X = np.vander(1.0 + 1e-3 * np.arange(8.0), 4)
    return LADLasso(X, np.cos(np.arange(8.0)))


_MORE: Mapping[str, Callable[[], Problem]] = {
    "l0-graphical-model": _ising,
    "dantzig-selector": _ill_conditioned,
    "lad-lasso": _ill_conditioned,
    "misdp": _isometry,
}
"""Problems that take functions which a kind's small instance does without."""


def _samples(kinds: Sequence[str]) -> dict[str, tuple[str, dict[str, object]]]:
    """Return the generator and its settings for each kind."""
    found: dict[str, tuple[str, dict[str, object]]] = {}
    known = []
    for family in families().values():
        known += [family.name, *family.small]
        for kind, (name, settings) in family.small.items():
            if not kinds or kind in kinds or family.name in kinds:
                found[kind] = name, dict(settings)
    unknown = sorted(set(kinds) - set(known))
    if unknown:
        raise ParamError(
            f"there is no kind of problem {unknown[0]!r}; kinds and families: "
            f"{', '.join(sorted(set(known)))}"
        )
    return found

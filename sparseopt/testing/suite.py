"""Which cases a backend must pass: by its families and features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache

import numpy as np

from sparseopt.backend import Backend
from sparseopt.errors import ParamError
from sparseopt.testing.behaviour import behaviour_cases
from sparseopt.testing.budget import budget_samples
from sparseopt.testing.cases import ConformanceCase, ConformanceOutcome, select
from sparseopt.testing.misdp import misdp_samples
from sparseopt.testing.parametric import parametric_samples
from sparseopt.testing.samples import FamilySamples, answer_case
from sparseopt.testing.strs import strs_samples
from sparseopt.testing.twosample import twosample_samples

__all__ = ["conformance_cases", "run_conformance"]

_SAMPLES: Mapping[str, Callable[[np.random.Generator], FamilySamples]] = {
    "parametric": parametric_samples,
    "budget": budget_samples,
    "strs": strs_samples,
    "misdp": misdp_samples,
    "twosample": twosample_samples,
}
"""The samples of each family."""


def conformance_cases(
    backend: Backend,
    *,
    exclude: Sequence[str] = (),
    rng: int = 0,
    families: Mapping[str, FamilySamples] | None = None,
) -> list[ConformanceCase]:
    """Return the cases that the backend's families and features call for; nothing is solved yet.

    Parameters
    ----------
    backend : Backend
    exclude : sequence of str
        Patterns (fnmatch) of names of checks to leave out; each must match one. Checks are called
        ``family/sample/check``, or ``family/behaviour``.
    rng : int, default 0
        Seed of the random problems.
    families : mapping, optional
        Samples by the family's name: of further families, or more of those that the suite has.

    Raises
    ------
    ParamError
        When the backend takes no sample of a family that it declares, or none at all; when a
        pattern of `exclude` matches nothing.
    """
    given = families or {}
    known = sorted({*_SAMPLES, *given})
    cases: list[ConformanceCase] = []
    for family in known:
        if family not in backend.families and family not in given:
            continue
        samples = given.get(family, FamilySamples(()))
        if family in _SAMPLES:
            # Everyone gets problems of their own: a backend may spoil them, which is a case.
            samples = deepcopy(_samples(family, rng)).and_also(samples)
        cases += _family_cases(family, backend, samples)
    missing = sorted(
        family
        for family in {*backend.families, *given}
        if not any(case.name.startswith(f"{family}/") for case in cases)
    )
    if missing or not cases:
        raise ParamError(
            f"backend {backend.name} declares the families "
            f"{', '.join(sorted(backend.families)) or '(none)'}, and takes no sample of "
            f"{', '.join(missing) or 'any'}; there are samples of {', '.join(known)}: give your "
            "own as families={name: FamilySamples(...)}"
        )
    return select(cases, exclude)


def run_conformance(
    backend: Backend,
    *,
    exclude: Sequence[str] = (),
    rng: int = 0,
    families: Mapping[str, FamilySamples] | None = None,
) -> list[ConformanceOutcome]:
    """Run the cases of :func:`conformance_cases` and return the outcome of every check."""
    cases = conformance_cases(backend, exclude=exclude, rng=rng, families=families)
    return [outcome for case in cases for outcome in case.run()]


@lru_cache(maxsize=32)
def _samples(family: str, seed: int) -> FamilySamples:
    return _SAMPLES[family](np.random.default_rng(seed))


def _family_cases(family: str, backend: Backend, given: FamilySamples) -> Iterator[ConformanceCase]:
    for word, more in given.apart.items():
        yield from _family_cases(f"{family}-{word}", backend, more)
    suiting = given.suiting(backend)
    for sample in suiting.samples:
        yield answer_case(family, backend, sample)
    if suiting.samples:
        yield from behaviour_cases(family, backend, suiting)

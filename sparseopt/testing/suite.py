"""Which cases a backend must pass: by its families and features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

import numpy as np

from sparseopt.backend import Backend
from sparseopt.errors import ParamError
from sparseopt.families import families as known_families
from sparseopt.installed import resolve
from sparseopt.testing.behaviour import behaviour_cases
from sparseopt.testing.cases import ConformanceCase, ConformanceOutcome, select
from sparseopt.testing.samples import FamilySamples, answer_case


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
    own = {name: one.samples for name, one in known_families().items() if one.samples is not None}
    known = sorted({*own, *given})
    cases: list[ConformanceCase] = []
    for family in known:
        if family not in backend.families and family not in given:
            continue
        samples = given.get(family, FamilySamples(()))
        if family in own:
            # Every backend gets its own copies: one that changes them fails a check.
            samples = deepcopy(_samples(own[family], rng)).and_also(samples)
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
    """Run the cases of :func:`conformance_cases` and return the outcome of every check.

    Parameters
    ----------
    backend : Backend
    exclude, rng, families
        As for :func:`conformance_cases`.

    Returns
    -------
    list of ConformanceOutcome
    """
    cases = conformance_cases(backend, exclude=exclude, rng=rng, families=families)
    return [outcome for case in cases for outcome in case.run()]


@lru_cache(maxsize=32)
def _samples(reference: Any, seed: int) -> FamilySamples:
    samples: FamilySamples = resolve(reference)(np.random.default_rng(seed))
    return samples


def _family_cases(family: str, backend: Backend, given: FamilySamples) -> Iterator[ConformanceCase]:
    for word, more in given.apart.items():
        yield from _family_cases(f"{family}-{word}", backend, more)
    suiting = given.suiting(backend)
    for sample in suiting.samples:
        yield answer_case(family, backend, sample)
    if suiting.samples:
        yield from behaviour_cases(family, backend, suiting)

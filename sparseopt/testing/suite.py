"""Which cases a backend must pass: by its features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sparseopt.backend import Backend, Feature
from sparseopt.testing.behaviour import FamilySamples, behaviour_cases
from sparseopt.testing.budget import budget_cases
from sparseopt.testing.cases import ConformanceCase, ConformanceOutcome, select
from sparseopt.testing.kernel_selection import kernel_selection_samples
from sparseopt.testing.misdp import misdp_samples
from sparseopt.testing.parametric import parametric_cases
from sparseopt.testing.samples import Answer, answer_cases
from sparseopt.testing.strs import strs_path_samples, strs_samples

__all__ = ["conformance_cases", "run_conformance"]

_SAMPLES: Mapping[str, Callable[[np.random.Generator], FamilySamples]] = {
    "strs": strs_samples,
    "misdp": misdp_samples,
    "twosample": kernel_selection_samples,
}
"""Families whose cases are about single answers; paths have cases of their own."""


def conformance_cases(
    backend: Backend,
    *,
    exclude: Sequence[str] = (),
    rng: int = 0,
    families: Mapping[str, FamilySamples] | None = None,
) -> list[ConformanceCase]:
    """Return the cases that the backend's features call for; nothing is solved yet.

    Parameters
    ----------
    backend : Backend
    exclude : sequence of str
        Patterns (fnmatch) of names of cases to leave out; each must match one.
    rng : int, default 0
        Seed of the random problems.
    families : mapping, optional
        Samples of further families, by the family's name.

    Raises
    ------
    ParamError
        When a pattern of `exclude` matches nothing.
    """
    cases: list[ConformanceCase] = []
    if "parametric" in backend.families:
        cases += parametric_cases(backend, np.random.default_rng(rng))
    if "budget" in backend.families:
        cases += budget_cases(backend, np.random.default_rng(rng))
    if "strs" in backend.families and Feature.PATH in backend.features:
        sizes = strs_path_samples(np.random.default_rng(rng))
        cases += _family_cases("strs-path", backend, sizes)
    for family, build in _SAMPLES.items():
        if family in backend.families:
            cases += _family_cases(family, backend, build(np.random.default_rng(rng)))
    for family, given in (families or {}).items():
        cases += _family_cases(family, backend, given)
    return select(cases, exclude)


def run_conformance(
    backend: Backend,
    *,
    exclude: Sequence[str] = (),
    rng: int = 0,
    families: Mapping[str, FamilySamples] | None = None,
) -> list[ConformanceOutcome]:
    """Run the cases of :func:`conformance_cases` and return their outcomes."""
    cases = conformance_cases(backend, exclude=exclude, rng=rng, families=families)
    return [case.run() for case in cases]


def _family_cases(family: str, backend: Backend, given: FamilySamples) -> Iterator[ConformanceCase]:
    samples = tuple(sample for sample in given.samples if backend.supports(sample.problem)[0])
    for sample in samples:
        yield from answer_cases(f"{family}/{sample.name}", Answer(backend, sample))
    if samples:
        large = given.large
        if large is not None and not backend.supports(large)[0]:
            large = None
        yield from behaviour_cases(family, backend, replace(given, samples=samples, large=large))

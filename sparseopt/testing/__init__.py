"""The conformance suite that every backend must pass; third parties import it.

In a test file of your own backend::

    import pytest
    from sparseopt.testing import conformance_cases


    @pytest.mark.parametrize("case", conformance_cases(MyBackend()), ids=lambda case: case.name)
    def test_conformance(case):
        case.check()

Or, for a table, ``run_conformance(MyBackend())``. After MathOptInterface's ``Test.runtests``.
"""

from sparseopt.testing.cases import ConformanceCase, ConformanceOutcome, NotMet
from sparseopt.testing.samples import AnswerCheck, CheckedAnswer, FamilySamples, Sample
from sparseopt.testing.suite import conformance_cases, run_conformance

__all__ = [
    "AnswerCheck",
    "CheckedAnswer",
    "ConformanceCase",
    "ConformanceOutcome",
    "FamilySamples",
    "NotMet",
    "Sample",
    "conformance_cases",
    "run_conformance",
]

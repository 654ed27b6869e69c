"""Variable selection for kernel two-sample tests, and the statistics behind it."""

from sparseopt.problems.twosample.statistics.two_samples import TwoSample

__all__ = ["TwoSample"]

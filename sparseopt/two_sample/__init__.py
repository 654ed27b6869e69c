"""Two-sample tests on selected variables: Algorithm 1 of Wang, Dey and Xie, from raw samples.

Variables and weights are chosen on one part of the data, and a permutation test on the other part
says whether the two samples differ in them.

Examples
--------
>>> import numpy as np
>>> from sparseopt.two_sample import two_sample_test
>>> x, y = np.random.default_rng(0).standard_normal((2, 100, 10))
>>> y[:, 3] += 1.0
>>> test = two_sample_test(x, y, d=1)
>>> test.reject, test.selected.tolist(), test.p_value
(True, [3], 0.001)
"""

from sparseopt.two_sample.procedure import two_sample_test
from sparseopt.two_sample.proportions import (
    false_discovery_proportion,
    non_discovery_proportion,
)
from sparseopt.two_sample.reading import read_sample
from sparseopt.two_sample.result import TwoSampleTest

__all__ = [
    "TwoSampleTest",
    "false_discovery_proportion",
    "non_discovery_proportion",
    "read_sample",
    "two_sample_test",
]

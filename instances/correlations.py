"""The sparse principal components among the instances: correlation matrices, and their headers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparseopt.problems import STRS, STRSPath
from sparseopt.problems.base import Array

__all__ = ["PITPROPS", "PITPROPS_FACTS", "WINE", "correlations", "pitprops", "rounded"]

PITPROPS_FACTS = {
    "license": "Facts published with the paper cited, without a licence of its own",
    "citation": "J. N. R. Jeffers (1967): Two case studies in the application of principal "
    "component analysis. Applied Statistics 16, 225-236",
}
WINE = {
    "license": "CC-BY-4.0",
    "citation": "S. Aeberhard, M. Forina (1992): Wine. UCI Machine Learning Repository, "
    "doi:10.24432/C5PC7J",
}

PITPROPS = """
topdiam
length   954
moist    364  297
testsg   342  284  882
ovensg  -129 -118 -148  220
ringtop  313  291  153  381  364
ringbut  496  503  -29  174  296  813
bowmax   424  419  -54  -59    4   90  372
bowdist  592  648  125  137  -39  211  465  482
whorls   545  569  -81  -14   37  274  679  557  526
clear     84   76  162   97  -91  -36 -113   61   85 -319
knots    -19  -36  220  169 -145   24 -232 -357 -127 -368   29
diaknot  134  144  126   15 -208 -329 -424 -202  -76 -291    7  184
"""
"""The correlations of 13 measures of 180 pit props, times 1000, below the diagonal of ones."""


def pitprops() -> STRSPath:
    """Return the correlations of Jeffers' pit props."""
    lines = PITPROPS.split("\n")[1:-1]
    S = np.eye(len(lines))
    for i, line in enumerate(lines):
        S[i, :i] = S[:i, i] = [int(word) / 1000.0 for word in line.split()[1:]]
    return STRSPath(S)


def correlations(X: Array, d_max: int) -> STRSPath:
    """Return the correlations of the columns that vary, with sums that are exactly rounded."""
    columns = []
    for column in X.T[np.ptp(X, axis=0) > 0.0]:
        centred = column - math.fsum(column) / len(column)
        columns.append(centred / math.sqrt(math.fsum(centred * centred)))
    S = np.eye(len(columns))
    for i, left in enumerate(columns):
        S[i, :i] = S[:i, i] = [math.fsum(left * right) for right in columns[:i]]
    return STRSPath(S, d_max=d_max)


def rounded(problem: Any) -> STRS:
    """Round the entries to 12 places, which leaves out what depends on the BLAS library."""
    assert isinstance(problem, STRS)
    # Adding zero turns -0 into 0.
    return STRS(A=np.round(problem.A, 12) + 0.0, a=np.round(problem.linear, 12) + 0.0, d=problem.d)

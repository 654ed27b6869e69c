"""Paths on data as people have them (:mod:`raw_data`): verified, whatever the units."""

import pytest
import raw_data
from thorough import first


@pytest.mark.parametrize("kind", ["units", "mixed", "large", "dummies", "rounded"])
@pytest.mark.parametrize("model", ["dantzig-selector", "lad-lasso", "quantile-lasso", "l1-svm"])
@pytest.mark.parametrize("seed", first(3, range(40)))
def test_units_of_columns_do_not_matter(model, kind, seed):
    problem, _ = raw_data.case(model, kind, seed)
    outcome, why = raw_data.outcome(problem)
    assert outcome == "verified", why

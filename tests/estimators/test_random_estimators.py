"""Random estimators have the same optimum whichever way their data are given."""

import warnings

import pytest
from random_estimators import draw, faults
from thorough import first


@pytest.mark.parametrize("seed", first(1, range(0, 400, 20)))
def test_random_fits_do_not_depend_on_how_the_data_come(seed):
    with warnings.catch_warnings():
        # Columns that are constant or rounded are what scikit-learn warns of.
        warnings.simplefilter("ignore")
        for at in range(seed, seed + 20):
            assert not list(faults(at)), (at, draw(at).estimator)

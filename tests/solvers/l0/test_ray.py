"""Blocks of nodes on Ray's workers, through joblib."""

import importlib.util
import logging

import numpy as np
import pytest

import sparseopt
from sparseopt.generators import graph_sample

if importlib.util.find_spec("ray") is None:
    pytest.skip("Ray is not installed: pip install 'sparseopt[ray]'", allow_module_level=True)


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.util.joblib import register_ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
        object_store_memory=80 * 2**20,
    )
    register_ray()
    yield ray
    ray.shutdown()


def test_ray_gives_the_same(cluster):
    model = graph_sample("band", n=40, d=600, d0=6).model
    here = sparseopt.solve(model, check=False).path
    there = sparseopt.solve(model, check=False, options={"jobs": 2, "joblib": "ray"}).path
    np.testing.assert_array_equal(there.objective, here.objective)
    np.testing.assert_array_equal(there.supports, here.supports)

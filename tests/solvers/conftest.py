"""The outside solvers whose adapters keep the same promises."""

import pytest

from sparseopt.registry import get_backend


@pytest.fixture(params=["scip", "gurobi", "copt", "xpress"])
def solver(request):
    """The name of each solver; one that is not available is skipped with the reason."""
    availability = get_backend(request.param).availability()
    if not availability.available:
        pytest.skip(availability.reason)
    return request.param

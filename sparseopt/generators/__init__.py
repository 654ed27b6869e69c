r"""Synthetic instances by name, size and seed.

Every design is a plain function, and has a name under which ``sparseopt generate NAME`` and
:func:`generate` find it. All random numbers come from one ``numpy.random.Generator(PCG64(seed))``
and are drawn in the order that each docstring gives; sums are taken in a fixed order, without
BLAS, save in the covariance matrices of some designs. So a name, a size and a seed
always give the same problem (of a covariance: to rounding), as long as NumPy keeps the streams of
its generators.

lam is on the scale that each problem states; for regression :func:`stopping_value` gives the values
that are usual for a design.

References
----------
Pang, Zhao, Vanderbei, Liu: Homotopy parametric simplex method for sparse learning, sections 4.1,
4.3 and 4.4. Candes, Tao (2007): The Dantzig selector, Annals of Statistics 35. Cai, Liu (2011): A
direct estimation approach to sparse linear discriminant analysis, JASA 106.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparseopt.backend import Option
from sparseopt.errors import ParamError
from sparseopt.families import families
from sparseopt.generators.classification import l1_svm, lpd, two_classes
from sparseopt.generators.components import expression_modules, spiked_covariance
from sparseopt.generators.draws import valid_seed
from sparseopt.generators.graphs import (
    GraphSample,
    band_graph,
    block_graph,
    graph_sample,
    ising_lattice,
    ising_lattice_sample,
    scale_free_graph,
    sensor_field,
    sensor_field_sample,
)
from sparseopt.generators.linear_programs import parametric_lp, piecewise_linear
from sparseopt.generators.misdp import (
    cardinality_least_squares,
    cardinality_portfolio,
    clustering,
    k_partitioning,
    max_cut,
    network_design,
    optimal_design,
    restricted_isometry,
    sensor_placement,
    sparse_component,
    sparse_directions,
    strs_misdp,
    truss_topology,
)
from sparseopt.generators.misdp_graphs import line_switching, minimum_bisection, stable_set
from sparseopt.generators.networks import (
    clime,
    differential_network_44,
    gaussian_chain,
    networks_44,
)
from sparseopt.generators.random_misdp import random_misdp
from sparseopt.generators.regression import (
    compressed_sensing,
    dantzig_41,
    dantzig_43,
    lad_41,
    lad_43,
    quantile_43,
    regression_41,
    regression_43,
    stopping_value,
)
from sparseopt.generators.subsets import sparse_logistic_regression, sparse_regression
from sparseopt.generators.subspaces import (
    bent_curve,
    corrupted_entries,
    haystack,
    index_model,
    outlier_columns,
    skewed_directions,
    two_directions,
)
from sparseopt.generators.two_samples import (
    TwoSampleDraw,
    covariance_shift,
    gaussian_laplace,
    gaussian_mixture,
    kernel_selection,
    mean_shift,
    two_samples,
)
from sparseopt.installed import resolve
from sparseopt.problems import Problem

__all__ = [
    "GraphSample",
    "TwoSampleDraw",
    "band_graph",
    "bent_curve",
    "block_graph",
    "cardinality_least_squares",
    "cardinality_portfolio",
    "clime",
    "clustering",
    "compressed_sensing",
    "corrupted_entries",
    "covariance_shift",
    "dantzig_41",
    "dantzig_43",
    "describe",
    "differential_network_44",
    "expression_modules",
    "gaussian_chain",
    "gaussian_laplace",
    "gaussian_mixture",
    "generate",
    "graph_sample",
    "haystack",
    "index_model",
    "ising_lattice",
    "ising_lattice_sample",
    "k_partitioning",
    "kernel_selection",
    "l1_svm",
    "lad_41",
    "lad_43",
    "line_switching",
    "lpd",
    "max_cut",
    "mean_shift",
    "minimum_bisection",
    "names",
    "network_design",
    "networks_44",
    "optimal_design",
    "outlier_columns",
    "parametric_lp",
    "piecewise_linear",
    "provenance",
    "quantile_43",
    "random_misdp",
    "regression_41",
    "regression_43",
    "restricted_isometry",
    "scale_free_graph",
    "sensor_field",
    "sensor_field_sample",
    "sensor_placement",
    "settings",
    "skewed_directions",
    "sparse_component",
    "sparse_directions",
    "sparse_logistic_regression",
    "sparse_regression",
    "spiked_covariance",
    "stable_set",
    "stopping_value",
    "strs_misdp",
    "truss_topology",
    "two_classes",
    "two_directions",
    "two_samples",
]


def names() -> list[str]:
    """Return the names of all generators."""
    return list(_designs())


def describe(name: str) -> str:
    """Return one sentence about a generator.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    str

    Raises
    ------
    ParamError
        When there is none of that name.
    """
    return (inspect.getdoc(_design(name)) or "").partition("\n")[0]


def settings(name: str) -> dict[str, Any]:
    """Return the settings of a generator with their defaults (the seed is not one of them).

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    dict

    Raises
    ------
    ParamError
        When there is no generator of that name.

    Examples
    --------
    >>> settings("dantzig-4.1")["d"]
    250
    """
    parameters = inspect.signature(_design(name)).parameters
    return {key: p.default for key, p in parameters.items() if key != "seed"}


def generate(name: str, *, seed: int = 0, **chosen: Any) -> Problem:
    """Return the problem of a name, a seed and settings.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    seed : int, default 0
    **chosen
        Some of :func:`settings`. A string, as the command line gives it, is converted to the type
        of the default.

    Raises
    ------
    ParamError
        When the name or a setting is unknown, or a value has the wrong type or range.

    Examples
    --------
    >>> generate("dantzig-4.3", seed=1, n=20, d=50)
    DantzigSelector(n=20, d=50)
    """
    return _design(name)(seed=valid_seed(seed), **_converted(name, chosen))


def provenance(name: str, *, seed: int = 0, **chosen: Any) -> dict[str, Any]:
    """Return what an instance file should say of its origin, ready for JSON.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    seed : int, default 0
    **chosen
        Settings that differ from their defaults.

    Returns
    -------
    dict
        ``name``, ``seed``, ``settings`` (all of them); for regression designs ``lam``: the
        recommended smallest values of lam, ``noise`` and ``paper`` (see :func:`stopping_value`;
        the paper has none for quantiles); for ``differential-network-4.4`` ``max_nonzeros``: the
        nonzeros of D1, where the paper stops.

    Raises
    ------
    ParamError
        As :func:`generate`.
    """
    full = {**settings(name), **_converted(name, chosen)}
    record: dict[str, Any] = {"name": name, "seed": valid_seed(seed), "settings": full}
    if name in _PAPER_FACTOR:
        kept = {key: full[key] for key in ("n", "d", "unit", "sigma", "scale") if key in full}
        if name.startswith("lad"):
            kept.pop("sigma")
        record["lam"] = {
            "noise": stopping_value(**kept),
            "paper": stopping_value(**kept, factor=_PAPER_FACTOR[name]),
        }
    elif name == "quantile-4.3":
        # The subgradient of the loss has the variance tau (1 - tau), whatever sigma is.
        spread = math.sqrt(full["tau"] * (1.0 - full["tau"]))
        kept = {key: full[key] for key in ("n", "d", "unit")}
        record["lam"] = {"noise": stopping_value(**kept, sigma=spread)}
    elif name == "differential-network-4.4":
        D1 = networks_44(seed=seed, **full)[2]
        record["max_nonzeros"] = int(np.count_nonzero(D1))
    return record


def _designs() -> dict[str, Any]:
    """Return the generators of all families by name."""
    return {name: make for one in families().values() for name, make in one.generators.items()}


def _design(name: str) -> Callable[..., Problem]:
    designs = _designs()
    if name not in designs:
        raise ParamError(f"no generator is called {name!r}; there are: {', '.join(designs)}")
    design: Callable[..., Problem] = resolve(designs[name])
    return design


def _converted(name: str, chosen: dict[str, Any]) -> dict[str, Any]:
    defaults = settings(name)
    known = ", ".join(f"{key}={value}" for key, value in defaults.items())
    unknown = sorted(set(chosen) - set(defaults))
    if unknown:
        raise ParamError(f"generator {name} has no setting {unknown[0]!r}; it has: {known}")
    try:
        return {
            key: Option(type(defaults[key]), defaults[key], "").convert(key, value)
            for key, value in chosen.items()
        }
    except ParamError as error:
        raise ParamError(f"generator {name}: {error}; its settings are: {known}") from error


_PAPER_FACTOR = {"dantzig-4.1": 1.0, "dantzig-4.3": 2.0, "lad-4.1": 1.0, "lad-4.3": 2.0}
"""The `factor` of the paper's stopping rules."""

"""What ties the layers of a family of problems together: :class:`Family`.

A family is data: a name, words, and references. A reference is "module:object", which the layer
that needs it imports, so this file knows no layer: the checker resolves only the verifier, files
only problem classes and path formats, the command line only pictures, and so on.

Ours and those of third parties are found in the same way, by the entry-point group
``sparseopt.families`` (``name = module:FAMILY``); :func:`register` adds one in a running process.
Ours are listed at the end of this file once more, since the metadata of a development checkout
may be older than its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sparseopt.errors import ParamError, SparseOptError
from sparseopt.installed import entry_points, resolve

ENTRY_POINT_GROUP = "sparseopt.families"

Reference = Any
"""An object, or "module:object" to import at the first use."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family of problems, as every layer reads it.

    Attributes
    ----------
    name : str
        The `family` of its problem classes, and a word in `Backend.families`.
    problems : mapping of str to reference
        The problem class of each kind. Its `parameter` is what an answer may be a function of.
    verifier : reference, optional
        ``verify(problem, result, findings)``: writes what the certificate proves and what is
        false. Without one only objective and residuals are checked: `unproven`.
    paths : mapping of str to reference
        How each kind of path is written: :class:`~sparseopt.io.results.PathFormat`.
    samples : reference, optional
        ``samples(rng)``: problems with known answers for the conformance suite, a
        :class:`~sparseopt.testing.FamilySamples`.
    small : mapping of str to (str, mapping)
        For each kind a generator and its settings: an instance that is solved in milliseconds.
    generators : mapping of str to reference
        Functions that make problems, by the name that ``sparseopt generate`` knows.
    select : reference, optional
        ``select(problem, by, result=..., **options)``: the rules that choose the parameter.
    pictures : mapping of str to reference
        ``draw(path, ax=None, **style)`` for each kind of path.
    """

    name: str
    problems: Mapping[str, Reference]
    verifier: Reference = None
    paths: Mapping[str, Reference] = field(default_factory=dict)
    samples: Reference = None
    small: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    generators: Mapping[str, Reference] = field(default_factory=dict)
    select: Reference = None
    pictures: Mapping[str, Reference] = field(default_factory=dict)

    def with_changes(self, **changes: Any) -> Family:
        """Return a copy with some fields replaced."""
        return replace(self, **changes)


_REGISTERED: dict[str, Family] = {}
_LOADED: dict[str, Family] = {}
_BROKEN: dict[str, str] = {}


def register(family: Family) -> None:
    """Add a family to this process, or replace one.

    Parameters
    ----------
    family : Family

    Raises
    ------
    ParamError
        When it is no Family, or a reference in it is a string of another form.
    """
    if not isinstance(family, Family):
        raise ParamError(f"a family must be a Family, got {type(family).__name__}")
    tables = (family.problems, family.paths, family.generators, family.pictures)
    named = [reference for table in tables for reference in table.values()]
    for reference in (*named, family.verifier, family.samples, family.select):
        if isinstance(reference, str) and ":" not in reference:
            raise ParamError(
                f"family {family.name}: a reference is {reference!r}; expected an object or a "
                "string 'module:object'"
            )
    _REGISTERED[family.name] = family


def families() -> Mapping[str, Family]:
    """Return all families by name: ours, those of installed packages, and registered ones.

    A package whose entry point cannot be loaded takes no other with it: it is left out, and
    :func:`broken_families` says why.
    """
    found: dict[str, Family] = {}
    for name, value in {**_OWN, **entry_points(ENTRY_POINT_GROUP), **_OWN}.items():
        try:
            found[name] = _load(name, value)
        except SparseOptError as error:
            _BROKEN[name] = str(error)
    return {**found, **_REGISTERED}


def broken_families() -> Mapping[str, str]:
    """Return why families of installed packages could not be loaded, by name."""
    known = families()
    return {name: why for name, why in _BROKEN.items() if name not in known}


def family_of(name: str) -> Family | None:
    """Return the family of a name, or None where nobody brings it; loads no other.

    Parameters
    ----------
    name : str
        The `family` of a problem class.

    Returns
    -------
    Family or None
    """
    if name in _REGISTERED:
        return _REGISTERED[name]
    value = _OWN.get(name) or entry_points(ENTRY_POINT_GROUP).get(name)
    return None if value is None else _load(name, value)


def _load(name: str, value: str) -> Family:
    if value in _LOADED:
        return _LOADED[value]
    try:
        found = resolve(value)
    except Exception as error:
        raise SparseOptError(
            f"the family {name!r} comes from {value!r}, which cannot be imported: {error}"
        ) from error
    if not isinstance(found, Family) or found.name != name:
        raise SparseOptError(f"{value!r} is no Family of the name {name!r}")
    _LOADED[value] = found
    return found


_REGRESSION = "sparseopt.generators.regression"
_CLASSES = "sparseopt.generators.classification"
_NETWORKS = "sparseopt.generators.networks"
_GRAPHS = "sparseopt.generators.graphs"
_SAMPLES = "sparseopt.generators.two_samples"
_COMPONENTS = "sparseopt.generators.components"
_SUBSETS = "sparseopt.generators.subsets"
_MISDP = "sparseopt.generators.misdp"
_MISDP_GRAPHS = "sparseopt.generators.misdp_graphs"
_SUBSPACES = "sparseopt.generators.subspaces"
_PATHS = "sparseopt.io.results.paths"

PARAMETRIC = Family(
    name="parametric",
    problems={
        "dantzig-selector": "sparseopt.problems.parametric.regression:DantzigSelector",
        "lad-lasso": "sparseopt.problems.parametric.regression:LADLasso",
        "quantile-lasso": "sparseopt.problems.parametric.regression:QuantileLasso",
        "compressed-sensing": "sparseopt.problems.parametric.regression:CompressedSensing",
        "lpd": "sparseopt.problems.parametric.classification:LPD",
        "l1-svm": "sparseopt.problems.parametric.classification:L1SVM",
        "clime": "sparseopt.problems.parametric.networks:CLIME",
        "differential-network": "sparseopt.problems.parametric.networks:DifferentialNetwork",
        "matrix-dantzig": "sparseopt.problems.parametric.matrix_dantzig:MatrixDantzig",
        "parametric-lp": "sparseopt.problems.parametric.problem:ParametricLP",
        "piecewise-linear-program": (
            "sparseopt.problems.parametric.problem:PiecewiseLinearProgram"
        ),
    },
    verifier="sparseopt.checking.parametric.verifier:verify",
    paths={
        "parametric": f"{_PATHS}:PARAMETRIC",
        "grid": f"{_PATHS}:GRID",
        "columnwise": f"{_PATHS}:COLUMNWISE",
        "quantiles": f"{_PATHS}:QUANTILES",
    },
    samples="sparseopt.testing.parametric:parametric_samples",
    small={
        "dantzig-selector": ("dantzig-4.1", {"n": 20, "d": 30, "s": 3}),
        "lad-lasso": ("lad-4.1", {"n": 20, "d": 30, "s": 3}),
        "quantile-lasso": ("quantile-4.3", {"n": 20, "d": 30, "density": 0.1}),
        "compressed-sensing": ("compressed-sensing", {"n": 15, "d": 30, "s": 3}),
        "lpd": ("lpd", {"n": 20, "d": 15, "s": 3}),
        "l1-svm": ("l1-svm", {"n": 20, "d": 15, "s": 3}),
        "clime": ("clime", {"n": 30, "d": 6}),
        "differential-network": ("differential-network-4.4", {"n": 30, "d": 5, "sparsity": 0.2}),
        "parametric-lp": ("parametric-lp", {"m": 6, "n": 8}),
        "piecewise-linear-program": ("piecewise-linear", {}),
    },
    generators={
        "dantzig-4.1": f"{_REGRESSION}:dantzig_41",
        "dantzig-4.3": f"{_REGRESSION}:dantzig_43",
        "lad-4.1": f"{_REGRESSION}:lad_41",
        "lad-4.3": f"{_REGRESSION}:lad_43",
        "quantile-4.3": f"{_REGRESSION}:quantile_43",
        "compressed-sensing": f"{_REGRESSION}:compressed_sensing",
        "parametric-lp": "sparseopt.generators.linear_programs:parametric_lp",
        "piecewise-linear": "sparseopt.generators.linear_programs:piecewise_linear",
        "lpd": f"{_CLASSES}:lpd",
        "l1-svm": f"{_CLASSES}:l1_svm",
        "clime": f"{_NETWORKS}:clime",
        "differential-network-4.4": f"{_NETWORKS}:differential_network_44",
    },
    select="sparseopt.selection.rules:select_parametric",
    pictures={
        "parametric": "sparseopt.pictures.paths:plot_path",
        "grid": "sparseopt.pictures.paths:plot_path",
        "l1-bound": "sparseopt.pictures.paths:plot_l1_bound",
        "columnwise": "sparseopt.pictures.paths:plot_columns",
        "quantiles": "sparseopt.pictures.paths:plot_levels",
    },
)

BUDGET = Family(
    name="budget",
    problems={
        "l0-graphical-model": "sparseopt.problems.budget.neighbourhoods:L0GraphicalModel",
        "budget-tables": "sparseopt.problems.budget.tables:BudgetTables",
    },
    verifier="sparseopt.checking.budget.verifier:verify",
    paths={"budget": f"{_PATHS}:BUDGET", "graph": f"{_PATHS}:GRAPH"},
    samples="sparseopt.testing.budget:budget_samples",
    small={"l0-graphical-model": ("band-graph", {"n": 30, "d": 20, "d0": 6})},
    generators={
        "scale-free-graph": f"{_GRAPHS}:scale_free_graph",
        "block-graph": f"{_GRAPHS}:block_graph",
        "band-graph": f"{_GRAPHS}:band_graph",
        "sensor-field": f"{_GRAPHS}:sensor_field",
        "ising-lattice": f"{_GRAPHS}:ising_lattice",
    },
    select="sparseopt.selection.graphs.rules:select_graph",
    pictures={
        "budget": "sparseopt.pictures.paths:plot_integers",
        "graph": "sparseopt.pictures.paths:plot_integers",
    },
)

STRS = Family(
    name="strs",
    problems={
        "strs": "sparseopt.problems.strs.problem:STRS",
        "strs-path": "sparseopt.problems.strs.problem:STRSPath",
    },
    verifier="sparseopt.checking.strs.verifier:verify",
    paths={"supports": f"{_PATHS}:SUPPORTS"},
    samples="sparseopt.testing.strs:strs_samples",
    small={"strs": ("mean-shift", {"n": 60, "D": 8, "d": 3})},
    generators={
        "mean-shift": f"{_SAMPLES}:mean_shift",
        "covariance-shift": f"{_SAMPLES}:covariance_shift",
        "gaussian-laplace": f"{_SAMPLES}:gaussian_laplace",
        "gaussian-mixture": f"{_SAMPLES}:gaussian_mixture",
    },
    pictures={"supports": "sparseopt.pictures.paths:plot_integers"},
)

COMPONENT = Family(
    name="component",
    problems={"sparse-component": "sparseopt.problems.component.problem:SparseComponent"},
    verifier="sparseopt.checking.component.verifier:verify",
    samples="sparseopt.testing.component:component_samples",
    small={"sparse-component": ("spiked-covariance", {"n": 20, "D": 12, "d": 3})},
    generators={
        "spiked-covariance": f"{_COMPONENTS}:spiked_covariance",
        "expression-modules": f"{_COMPONENTS}:expression_modules",
    },
)

SUBSET = Family(
    name="subset",
    problems={
        "sparse-regression": "sparseopt.problems.subset.problem:SparseRegression",
        "sparse-logistic-regression": (
            "sparseopt.problems.subset.logistic:SparseLogisticRegression"
        ),
    },
    verifier="sparseopt.checking.subset.verifier:verify",
    samples="sparseopt.testing.subset:subset_samples",
    small={
        "sparse-regression": ("sparse-regression", {"n": 30, "p": 12, "k": 3}),
        "sparse-logistic-regression": ("sparse-logistic-regression", {"n": 30, "p": 12, "k": 3}),
    },
    generators={
        "sparse-regression": f"{_SUBSETS}:sparse_regression",
        "sparse-logistic-regression": f"{_SUBSETS}:sparse_logistic_regression",
    },
)

TWOSAMPLE = Family(
    name="twosample",
    problems={"kernel-selection": "sparseopt.problems.twosample.kernel_selection:KernelSelection"},
    verifier="sparseopt.checking.twosample.verifier:verify",
    samples="sparseopt.testing.twosample:twosample_samples",
    small={"kernel-selection": ("kernel-selection", {"n": 30, "D": 4, "d": 2})},
    generators={"kernel-selection": f"{_SAMPLES}:kernel_selection"},
)

MISDP = Family(
    name="misdp",
    problems={"misdp": "sparseopt.problems.misdp.problem:MISDP"},
    verifier="sparseopt.checking.misdp.verifier:verify",
    samples="sparseopt.testing.misdp:misdp_samples",
    small={"misdp": ("strs-misdp", {"D": 4, "d": 2})},
    generators={
        "strs-misdp": f"{_MISDP}:strs_misdp",
        "cardinality-least-squares": f"{_MISDP}:cardinality_least_squares",
        "k-partitioning": f"{_MISDP}:k_partitioning",
        "truss-topology": f"{_MISDP}:truss_topology",
        "restricted-isometry": f"{_MISDP}:restricted_isometry",
        "sparse-directions": f"{_MISDP}:sparse_directions",
        "max-cut": f"{_MISDP}:max_cut",
        "clustering": f"{_MISDP}:clustering",
        "optimal-design": f"{_MISDP}:optimal_design",
        "sensor-placement": f"{_MISDP}:sensor_placement",
        "network-design": f"{_MISDP}:network_design",
        "sparse-component": f"{_MISDP}:sparse_component",
        "cardinality-portfolio": f"{_MISDP}:cardinality_portfolio",
        "minimum-bisection": f"{_MISDP_GRAPHS}:minimum_bisection",
        "stable-set": f"{_MISDP_GRAPHS}:stable_set",
        "line-switching": f"{_MISDP_GRAPHS}:line_switching",
        "random-misdp": "sparseopt.generators.random_misdp:random_misdp",
    },
)

SUBSPACE = Family(
    name="subspace",
    problems={
        "robust-subspace": "sparseopt.problems.subspace.robust:RobustSubspace",
        "l1-subspace": "sparseopt.problems.subspace.entrywise:L1Subspace",
        "moment-subspace": "sparseopt.problems.subspace.distributions:MomentSubspace",
        "mmd-subspace": "sparseopt.problems.subspace.distributions:MMDSubspace",
        "sufficient-reduction": "sparseopt.problems.subspace.sufficient:SufficientReduction",
    },
    verifier="sparseopt.checking.subspace.verifier:verify",
    samples="sparseopt.testing.subspace:subspace_samples",
    small={
        "robust-subspace": ("outlier-columns", {"N": 60, "n": 12, "k": 2}),
        "l1-subspace": ("corrupted-entries", {"N": 40, "n": 6, "k": 2}),
        "moment-subspace": ("skewed-directions", {"N": 60, "n": 4, "k": 1}),
        "mmd-subspace": ("bent-curve", {"N": 60}),
        "sufficient-reduction": ("index-model", {"N": 60, "n": 4}),
    },
    generators={
        "outlier-columns": f"{_SUBSPACES}:outlier_columns",
        "corrupted-entries": f"{_SUBSPACES}:corrupted_entries",
        "haystack": f"{_SUBSPACES}:haystack",
        "bent-curve": f"{_SUBSPACES}:bent_curve",
        "two-directions": f"{_SUBSPACES}:two_directions",
        "skewed-directions": f"{_SUBSPACES}:skewed_directions",
        "index-model": f"{_SUBSPACES}:index_model",
    },
)

PRIVATE = Family(
    name="private",
    problems={"embedding-fit": "sparseopt.problems.private.embedding_fit:EmbeddingFit"},
    verifier="sparseopt.checking.private.verifier:verify",
    samples="sparseopt.testing.private:private_samples",
    small={"embedding-fit": ("embedding-fit", {"atoms": 30, "features": 8})},
    generators={"embedding-fit": "sparseopt.generators.embeddings:embedding_fit"},
)

_OWN = {
    family.name: f"sparseopt.families:{constant}"
    for constant, family in tuple(globals().items())
    if isinstance(family, Family)
}

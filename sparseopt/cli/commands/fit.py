"""``sparseopt fit``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import click

from sparseopt.cli.reading.raw_table import read_raw
from sparseopt.cli.reading.settings import settings_option
from sparseopt.cli.showing.exits import ExitCode
from sparseopt.cli.showing.fitted import draw, facts_of, print_fitted, shown_of
from sparseopt.cli.showing.outputs import check_target, print_json, stdout_kept_clean
from sparseopt.cli.showing.progress import ProgressLine
from sparseopt.errors import BackendUnavailable, ParamError

_FILE = click.Path(path_type=Path)
_RULES = ("cv", "1se", "ebic", "bic", "aic", "theory", "least")


@dataclass(frozen=True)
class _Model:
    """An estimator by name; what its target holds, None without one; what there is of it."""

    estimator: str
    target: Literal["numbers", "classes"] | None = None
    result: bool = True


_MODELS = {
    "dantzig": _Model("DantzigSelector", "numbers"),
    "lad": _Model("LADLasso", "numbers"),
    "quantile": _Model("QuantileLasso", "numbers"),
    "basis-pursuit": _Model("BasisPursuit", "numbers"),
    "best-subset": _Model("BestSubset", "numbers"),
    "sparse-regression": _Model("SparseRegression", "numbers"),
    "svm": _Model("L1SVC", "classes"),
    "sparse-logistic": _Model("SparseLogisticRegression", "classes"),
    "lda": _Model("SparseLDA", "classes"),
    "differential-network": _Model("DifferentialNetwork", "classes"),
    "clime": _Model("CLIME"),
    "gaussian-graph": _Model("GaussianGraphL0"),
    "ising-graph": _Model("IsingGraphL0"),
    "neighbourhoods": _Model("NeighbourhoodGraph", result=False),
    "sparse-pca": _Model("SparsePCA", result=False),
    "robust-subspace": _Model("RobustSubspace"),
    "sufficient-subspace": _Model("SufficientSubspace", "numbers"),
}


@click.command(short_help="Fit a sparse model to a table.")
@click.argument("model", type=click.Choice(list(_MODELS)), metavar="MODEL")
@click.argument("table", type=_FILE)
@click.option("--target", metavar="NAME", help="The column that is explained, or the classes.")
@click.option("--weights", metavar="NAME", help="The column of the observations' weights.")
@click.option("--drop", multiple=True, metavar="NAMES", help="Columns to leave out.")
@click.option("--indicators", multiple=True, metavar="NAMES", help="Text columns to make 0/1.")
@click.option("--skip-missing", is_flag=True, help="Leave rows with missing values out.")
@click.option(
    "--by", "rule", type=click.Choice(_RULES), help="Rule that chooses [the model's own]."
)
@click.option("--lam", type=float, metavar="X", help="This lam, instead of a rule.")
@click.option("--quantile", type=float, metavar="TAU", help="Level of quantile [0.5].")
@click.option("--folds", "cv", type=int, metavar="N", help="Folds of the cross-validation [5].")
@click.option("--no-intercept", is_flag=True, help="Fit no intercept.")
@click.option("--no-standardize", is_flag=True, help="Penalise coefficients as they are.")
@click.option("--positive", is_flag=True, default=None, help="No negative coefficients.")
@click.option("--refit", is_flag=True, default=None, help="Fit the chosen ones anew, unpenalised.")
@settings_option("Another parameter of the estimator, such as n_components; may be repeated.")
@click.option("--backend", metavar="NAME", default="auto", show_default=True, help="Who solves it.")
@click.option("--time-limit", type=float, metavar="S", help="Seconds for the solve.")
@click.option("-o", "output", type=_FILE, metavar="FILE.json", help="Save the result.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--plot", type=_FILE, metavar="FILE.png", help="Draw it; .html: a slider over lam.")
def fit(
    model: str,
    table: Path,
    target: str | None,
    weights: str | None,
    drop: tuple[str, ...],
    indicators: tuple[str, ...],
    skip_missing: bool,
    no_intercept: bool,
    no_standardize: bool,
    settings: dict[str, str],
    output: Path | None,
    as_json: bool,
    plot: Path | None,
    **given: Any,
) -> ExitCode:
    """Fit MODEL to TABLE, a .csv, .tsv, .txt or .parquet file with the names of its columns.

    Regressions: dantzig, lad, quantile, basis-pursuit, best-subset, sparse-regression,
    sufficient-subspace. Classifiers: svm, lda, sparse-logistic. Differences of two classes:
    differential-network. Without a target: clime, gaussian-graph, ising-graph, neighbourhoods,
    sparse-pca, robust-subspace.

    All columns but the target and the weights are candidates. Answers are verified, and
    coefficients are those of the columns as they are in the table. NAMES are separated by commas.
    """
    chosen = _MODELS[model]
    if (target is None) != (chosen.target is None):
        wanted = f"needs --target NAME, a column of {chosen.target}"
        raise ParamError(f"the model {model} {wanted if chosen.target else 'has no target'}")
    if output is not None:
        if not chosen.result:
            raise ParamError(f"-o: {model} has no such file; --json prints all of it")
        check_target("-o", output, table)
    if plot is not None:
        from sparseopt.pictures import check_picture

        check_target("--plot", plot, table)
        check_picture(plot)
    given |= {"fit_intercept": False if no_intercept else None}
    given |= {"standardize": False if no_standardize else None}
    estimator = _estimator(model, given, settings)
    with (
        ProgressLine(f"reading {table}", enabled=not as_json) as progress,
        stdout_kept_clean(as_json),
    ):
        data = read_raw(
            table,
            target,
            classes=chosen.target == "classes",
            drop=_names(drop),
            indicators=_names(indicators),
            skip_missing=skip_missing,
            weights=weights,
        )
        progress.text = "solving"
        try:
            weighted = {} if data.weights is None else {"sample_weight": data.weights}
            fitted = estimator.fit(data.X, data.y, **weighted)
        except ValueError as error:
            raise ParamError(str(error)) from error
    facts = {**facts_of(fitted, target), "rows": len(data.X), "columns": data.X.shape[1]}
    if data.left_out:
        facts["rows left out"] = data.left_out
    if as_json:
        print_json({**facts, **shown_of(fitted)})
    else:
        print_fitted(facts, shown_of(fitted))
    if output is not None:
        fitted.result_.save(output)
    if plot is not None:
        of = table.stem if target is None else f"{target} of {table.stem}"
        draw(fitted, plot, title=f"{chosen.estimator}: {of}")
    return ExitCode.ANSWER


def _names(given: tuple[str, ...]) -> list[str]:
    return [name.strip() for each in given for name in each.split(",")]


def _estimator(model: str, given: dict[str, Any], settings: dict[str, str]) -> Any:
    """Return the estimator with the options that were given; they must be parameters of it."""
    try:
        from sparseopt import estimators
    except ImportError as error:
        raise BackendUnavailable(
            f"fit needs scikit-learn and pandas: pip install 'sparseopt[estimators,plot]' ({error})"
        ) from error
    kind = getattr(estimators, _MODELS[model].estimator)
    known = kind().get_params()
    wanted = {name: value for name, value in given.items() if value is not None}
    wanted |= {name: _value(text) for name, text in settings.items()}
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise ParamError(
            f"{unknown[0]} is no parameter of the model {model}; it has: {', '.join(sorted(known))}"
        )
    _require_use(kind, wanted)
    return kind(**wanted)


def _require_use(kind: Any, wanted: dict[str, Any]) -> None:
    """Refuse rules and folds beside what is to be chosen, and folds beside other rules."""
    spelt = {"rule": "--by", "cv": "--folds"}
    for fixed, name in product(("lam", "size"), spelt):
        if fixed in wanted and name in wanted:
            raise ParamError(f"{spelt[name]} is to choose {fixed}, which is given: leave one out")
    rule = wanted.get("rule", getattr(kind, "_default_rule", "cv"))
    if "cv" in wanted and rule not in ("cv", "1se"):
        raise ParamError(f"--folds is for --by cv | 1se, not for {rule}")


def _value(text: str) -> Any:
    """Return a number, a truth value or a list as JSON has them, else the text."""
    import json

    try:
        return json.loads(text)
    except ValueError:
        return text

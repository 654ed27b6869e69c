"""``sparseopt fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sparseopt.cli.exits import ExitCode
from sparseopt.cli.outputs import check_target, print_json, stdout_kept_clean
from sparseopt.cli.progress import ProgressLine
from sparseopt.cli.raw_table import read_raw
from sparseopt.errors import BackendUnavailable, ParamError

_FILE = click.Path(path_type=Path)
_MODELS = {
    "dantzig": "DantzigSelector",
    "lad": "LADLasso",
    "quantile": "QuantileLasso",
    "basis-pursuit": "BasisPursuit",
    "svm": "L1SVC",
}
_RULES = ("cv", "1se", "ebic", "bic", "aic", "theory", "least")


@click.command(short_help="Fit a sparse model to a table.")
@click.argument("model", type=click.Choice(list(_MODELS)))
@click.argument("table", type=_FILE)
@click.option("--target", required=True, metavar="NAME", help="The column that is explained.")
@click.option("--drop", multiple=True, metavar="NAMES", help="Columns to leave out.")
@click.option("--indicators", multiple=True, metavar="NAMES", help="Text columns to make 0/1.")
@click.option("--skip-missing", is_flag=True, help="Leave rows with missing values out.")
@click.option("--by", type=click.Choice(_RULES), help="Rule that chooses lam [the model's own].")
@click.option("--lam", type=float, metavar="X", help="This lam, instead of a rule.")
@click.option("--quantile", type=float, metavar="TAU", help="Level of quantile [0.5].")
@click.option("--folds", type=int, metavar="N", help="Folds of the cross-validation [5].")
@click.option("--no-intercept", is_flag=True, help="Fit no intercept.")
@click.option("--no-standardize", is_flag=True, help="Penalise coefficients as they are.")
@click.option("--positive", is_flag=True, help="No negative coefficients.")
@click.option("--refit", is_flag=True, help="Fit the chosen coefficients anew, unpenalised.")
@click.option("--backend", metavar="NAME", default="auto", show_default=True, help="Who solves it.")
@click.option("--time-limit", type=float, metavar="S", help="Seconds for the path.")
@click.option("-o", "output", type=_FILE, metavar="FILE.json", help="Save the path.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--plot", type=_FILE, metavar="FILE.png", help="Draw the path; .html: a slider.")
def fit(
    model: str,
    table: Path,
    target: str,
    drop: tuple[str, ...],
    indicators: tuple[str, ...],
    skip_missing: bool,
    quantile: float | None,
    no_intercept: bool,
    no_standardize: bool,
    output: Path | None,
    as_json: bool,
    plot: Path | None,
    **given: Any,
) -> ExitCode:
    """Fit MODEL to TABLE, a .csv, .tsv, .txt or .parquet file with the names of its columns.

    All columns but the target are candidates. The path over lam is exact and verified, and the
    coefficients are those of the columns as they are in the table. NAMES are separated by commas.
    """
    if quantile is not None and model != "quantile":
        raise ParamError(f"--quantile is for the model quantile, not for {model}")
    for option, file in (("-o", output), ("--plot", plot)):
        if file is not None:
            check_target(option, file, table)
    if plot is not None:
        from sparseopt.pictures import check_picture

        check_picture(plot)
    settings = {"rule": given.pop("by"), "cv": given.pop("folds"), **given}
    settings |= {"fit_intercept": not no_intercept, "standardize": not no_standardize}
    if quantile is not None:
        settings["quantile"] = quantile
    with (
        ProgressLine(f"reading {table}", enabled=not as_json) as progress,
        stdout_kept_clean(as_json),
    ):
        X, y = read_raw(
            table,
            target,
            classes=model == "svm",
            drop=_names(drop),
            indicators=_names(indicators),
            skip_missing=skip_missing,
        )
        progress.text = "solving"
        fitted = _fit(model, settings, X, y)
    facts = _facts(fitted, y, target)
    if as_json:
        print_json({**facts, "coefficients": fitted.coefficients_.nonzero()})
    else:
        _print(facts, fitted.coefficients_.nonzero())
    if output is not None:
        fitted.result_.save(output)
    if plot is not None:
        from sparseopt.pictures import save_picture

        save_picture(fitted.result_, plot, title=f"{_MODELS[model]}: {target} of {table.stem}")
    return ExitCode.ANSWER


def _names(given: tuple[str, ...]) -> list[str]:
    return [name.strip() for each in given for name in each.split(",")]


def _fit(model: str, settings: dict[str, Any], X: Any, y: Any) -> Any:
    try:
        from sparseopt import estimators
    except ImportError as error:
        raise BackendUnavailable(
            f"fit needs scikit-learn and pandas: pip install 'sparseopt[estimators,plot]' ({error})"
        ) from error
    chosen = getattr(estimators, _MODELS[model])(**settings)
    try:
        return chosen.fit(X, y)
    except ValueError as error:
        raise ParamError(str(error)) from error


def _facts(fitted: Any, y: Any, target: str) -> dict[str, Any]:
    """Return what a person asks for first, ready for JSON."""
    classes = getattr(fitted, "classes_", None)
    rule = "given" if fitted.lam is not None else fitted.rule or fitted._default_rule
    return {
        "model": type(fitted).__name__,
        "target": target,
        **({} if classes is None else {"positive class": str(classes[-1])}),
        "rows": len(y),
        "columns": fitted.n_features_in_,
        "rule": rule,
        "lam": fitted.lam_,
        "nonzeros": len(fitted.coefficients_.nonzero()),
        "verdict": fitted.verdict_,
        "gap": fitted.gap_,
        "backend": fitted.result_.backend,
    }


def _print(facts: dict[str, Any], coefficients: dict[str, float]) -> None:
    from sparseopt.cli.tables import print_facts, print_table

    print_facts(
        (name, f"{value:.8g}" if isinstance(value, float) else value)
        for name, value in facts.items()
    )
    print_table(
        ["coefficient", "value"], [[name, f"{value:.8g}"] for name, value in coefficients.items()]
    )

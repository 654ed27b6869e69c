"""``sparseopt select``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparseopt.cli.reading.settings import InstanceFile, refuse_unused
from sparseopt.cli.showing.exits import ExitCode
from sparseopt.cli.showing.outputs import check_target, headline, print_json, stdout_kept_clean
from sparseopt.cli.showing.progress import ProgressLine
from sparseopt.errors import ParamError

if TYPE_CHECKING:
    from sparseopt.selection import (
        GraphSelection,
        GraphStabilityResult,
        Selection,
        StabilityResult,
    )

    Chosen = Selection | StabilityResult | GraphSelection | GraphStabilityResult

_FILE = click.Path(path_type=Path)
_RULES = ("cv", "aic", "bic", "ebic", "theory", "stability")
_TAKES = {
    "folds": ("cv",),
    "rule": ("cv",),
    "loss": ("cv",),
    "seed": ("cv", "stability", "theory"),
    "gamma": ("ebic",),
    "max_df": ("aic", "bic", "ebic"),
    "sigma": ("aic", "bic", "ebic", "theory"),
    "n": ("aic", "bic", "ebic", "theory"),
    "alpha": ("theory",),
    "threshold": ("stability",),
    "false_choices": ("stability",),
    "pairs": ("stability",),
    "lam_min": ("cv", "aic", "bic", "ebic", "stability"),
}


@click.command(short_help="Choose lam by a rule.")
@click.argument("instance", type=InstanceFile())
@click.option(
    "--by", type=click.Choice(_RULES), default="ebic", show_default=True, help="The rule."
)
@click.option("--folds", type=int, metavar="N", help="Folds of the cross-validation [10].")
@click.option("--rule", type=click.Choice(["min", "1se"]), help="Of cross-validation [min].")
@click.option("--loss", metavar="NAME", help="Loss of the cross-validation [the model's own].")
@click.option("--seed", type=int, metavar="N", help="Seed of folds, halves, simulations [0].")
@click.option("--gamma", type=float, metavar="X", help="Of EBIC, 0 to 1.")
@click.option("--max-df", type=int, metavar="N", help="Most coefficients of a model (criteria).")
@click.option("--sigma", type=float, metavar="X", help="Standard deviation of normal errors.")
@click.option("-n", "n", type=int, metavar="N", help="Observations behind S (CLIME).")
@click.option("--alpha", type=float, metavar="X", help="Level of the theoretical lam [0.1].")
@click.option("--threshold", type=float, metavar="X", help="Share of the halves [0.75].")
@click.option("--false-choices", type=float, metavar="X", help="Their expected number [1].")
@click.option("--pairs", type=int, metavar="N", help="Pairs of halves [50].")
@click.option("--lam-min", type=float, metavar="X", help="Compare lam from here up.")
@click.option("--backend", metavar="NAME", default="auto", show_default=True, help="Who solves it.")
@click.option("--refit", is_flag=True, help="Fit the chosen coefficients anew, unpenalised.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--plot", type=_FILE, metavar="FILE.png", help="Draw what was compared.")
def select(
    instance: Path,
    by: str,
    backend: str,
    refit: bool,
    as_json: bool,
    plot: Path | None,
    **given: Any,
) -> ExitCode:
    """Choose lam for INSTANCE (of a graph: the budget), comparing all of them.

    The rules: cross-validation, AIC, BIC, EBIC, the theoretical lam, stability selection.
    """
    refuse_unused(_TAKES, "--by", by)
    asked = {key: value for key, value in given.items() if value is not None}
    if plot is not None:
        from sparseopt.pictures import check_picture

        check_target("--plot", plot, instance)
        check_picture(plot)
        if by == "theory":
            raise ParamError("--plot draws what was compared; --by theory compares nothing")
    with (
        ProgressLine(f"reading {instance}", enabled=not as_json) as progress,
        stdout_kept_clean(as_json),
    ):
        chosen = _choose(instance, by, backend, asked, progress)
        fitted = _refit(chosen) if refit else None
    if as_json:
        print_json({**chosen.summary(), **({} if fitted is None else {"refit": fitted})})
    else:
        _print(chosen, fitted)
    if plot is not None:
        from sparseopt.pictures import save_picture

        save_picture(chosen, plot, title=headline(instance, chosen.problem))
    return ExitCode.ANSWER


def _choose(
    instance: Path, by: str, backend: str, asked: dict[str, Any], progress: ProgressLine
) -> Chosen:
    import sparseopt
    from sparseopt.selection import select as choose

    problem = sparseopt.load(instance)
    progress.text = "solving"
    listener: dict[str, Any] = {}
    if by in ("cv", "stability"):
        listener["on_progress"] = progress.report
    chosen: Chosen = choose(problem, by, backend=backend, **asked, **listener)
    return chosen


def _refit(chosen: Chosen) -> dict[str, float]:
    """Return the refitted coefficients by name.

    Raises
    ------
    ParamError
        For graphs, whose coefficients carry no penalty.
    """
    from sparseopt.selection import Selection, StabilityResult

    if not isinstance(chosen, Selection | StabilityResult):
        raise ParamError("--refit is for lam; the coefficients of a graph carry no penalty")
    names, values = chosen.problem.coefficient_names, chosen.refit()
    return {names[j]: float(values[j]) for j in chosen.support}


def _print(chosen: Chosen, fitted: dict[str, float] | None) -> None:
    from sparseopt.cli.showing.tables import print_facts, print_table

    summary = chosen.summary()
    coefficients = summary.pop("coefficients", None)
    frequencies = summary.pop("frequencies", None)
    print_facts(_facts(summary))
    values = (frequencies if coefficients is None else coefficients) or {}
    columns = ["coefficient", "frequency" if coefficients is None else "value"]
    rows = [[name, f"{value:.8g}"] for name, value in values.items()]
    if fitted is not None:
        columns.append("refit")
        rows = [[*row, f"{fitted[row[0]]:.8g}"] for row in rows]
    if rows:
        print_table(columns, rows)


def _facts(summary: dict[str, Any]) -> Iterable[tuple[str, object]]:
    """Yield what a person asks for first."""
    low, high = summary.pop("interval", (None, None))
    for name, value in summary.items():
        if name in ("instance", "notes"):
            continue
        shown = f"{value:.10g}" if isinstance(value, float) else value
        yield name.replace("_", " "), shown
        if name == "lam" and low != high:
            ends = [end if isinstance(end, str) else f"{end:.10g}" for end in (low, high)]
            yield "as good", f"from {ends[0]} to {ends[1]}"
    for note in summary["notes"]:
        yield "note", note

"""``sparseopt two-sample``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparseopt.cli.reading.settings import refuse_unused, settings_option
from sparseopt.cli.showing.exits import ExitCode
from sparseopt.cli.showing.outputs import check_target, print_json, stdout_kept_clean
from sparseopt.cli.showing.progress import ProgressLine
from sparseopt.errors import ParamError

if TYPE_CHECKING:
    from sparseopt.two_sample import TwoSampleTest

_FILE = click.Path(path_type=Path)
_SELECTIONS = ("strs", "quadratic", "gaussian", "sparse-logistic", "none")
_KERNELS = ("linear", "quadratic", "gaussian")
_SOLVED = ("strs", "quadratic", "gaussian")
_SPLIT = (*_SOLVED, "sparse-logistic")
_TAKES = {
    "d": _SPLIT,
    "split": _SPLIT,
    "lam": _SOLVED,
    "time_limit": _SOLVED,
    "backend": _SOLVED,
    "settings": _SOLVED,
    "signs": ("strs", "quadratic"),
    "bandwidth": (*_SOLVED, "none"),
    "c": ("quadratic", "none"),
    "kernel": ("none",),
}


@click.command("two-sample", short_help="Test whether two samples differ, and in what.")
@click.argument("x", type=_FILE)
@click.argument("y", type=_FILE)
@click.option(
    "--selection",
    type=click.Choice(_SELECTIONS),
    default="strs",
    show_default=True,
    help="How the variables are chosen.",
)
@click.option("-d", "d", metavar="N", help="At most N variables; with commas, the best of several.")
@click.option("--lam", metavar="X", help="Weight of the variance: a number, several, auto or cv.")
@click.option(
    "--signs",
    type=click.Choice(("any", "positive")),
    default="any",
    show_default=True,
    help="Which weights the test keeps, of strs and quadratic.",
)
@click.option("--kernel", type=click.Choice(_KERNELS), help="Of --selection none [gaussian].")
@click.option(
    "--bandwidth",
    metavar="X",
    help="Of the kernel, squared: a number, one for each variable, or median [median].",
)
@click.option("--c", "c", type=float, metavar="X", help="Constant of the quadratic kernel.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of the test.")
@click.option("--permutations", type=int, default=999, show_default=True)
@click.option("--split", type=float, metavar="X", help="Share to select by [0.5].")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--time-limit", type=float, default=60.0, show_default=True, help="Of a selection.")
@click.option("--backend", metavar="NAME", default="auto", show_default=True, help="Who selects.")
@settings_option("An option of the backend; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--plot", type=_FILE, metavar="FILE.png", help="Draw permutations and witness.")
def two_sample(
    x: Path,
    y: Path,
    selection: str,
    d: str | None,
    lam: str | None,
    bandwidth: str | None,
    permutations: int,
    settings: dict[str, str],
    as_json: bool,
    plot: Path | None,
    **given: Any,
) -> ExitCode:
    """Test whether the samples in the files X and Y have one distribution.

    Files are tables (.csv, .tsv, .txt) or arrays (.npy), one observation a row. One part of each
    sample chooses the variables that differ most, a permutation test on the rest decides.
    """
    refuse_unused(_TAKES, "--selection", selection)
    if plot is not None:
        from sparseopt.pictures import check_picture

        check_target("--plot", plot, x, y)
        check_picture(plot)
    with ProgressLine(f"reading {x}", enabled=not as_json) as progress, stdout_kept_clean(as_json):
        from sparseopt.two_sample import two_sample_test
        from sparseopt.two_sample.reading import read_sample
        from sparseopt.two_sample.samples import require_same_names

        first, names = read_sample(x)
        second, others = read_sample(y)
        if names is not None and others is not None:
            require_same_names(names, others, str(x), str(y))
        progress.text = "selecting"
        test = two_sample_test(
            first,
            second,
            selection,
            d=_numbers("-d", d, int),
            lam="auto" if lam is None else _numbers("--lam", lam, float, ("auto", "cv")),
            bandwidth=_numbers("--bandwidth", bandwidth or "median", float, ("median",)),
            n_permutations=permutations,
            names=names or others,
            options=settings or None,
            on_progress=progress.report,
            **given,
        )
    if as_json:
        print_json(test.summary())
    else:
        _print(test)
    if plot is not None:
        from sparseopt.pictures import save_picture

        save_picture(test, plot, title=f"{x.name} and {y.name}")
    return ExitCode.ANSWER


def _numbers(
    option: str, text: str | None, kind: type[int] | type[float], words: tuple[str, ...] = ()
) -> Any:
    """Parse one number, several with commas, or one of the words."""
    if text is None or text in words:
        return text
    try:
        values = [kind(part) for part in text.split(",")]
    except ValueError:
        what = "integers" if kind is int else "numbers"
        expected = " or ".join((f"{what} separated by commas", *words))
        raise ParamError(f"{option} is {text!r}; expected {expected}") from None
    return values if len(values) > 1 else values[0]


def _print(test: TwoSampleTest) -> None:
    from sparseopt.cli.showing.tables import print_facts, print_table

    print_facts(test.facts().items())
    if test.candidates:
        compared = ((each.d, f"{each.lam:.6g}", f"{each.p_value:.4g}") for each in test.candidates)
        print_table(("d", "lam", "p-value on the held-out half"), compared)
    if len(test.selected) < len(test.z):
        weights = test.z[test.selected]
        rows = zip(test.selected_names, (f"{weight:.6g}" for weight in weights), strict=True)
        print_table(("variable", "weight"), rows)

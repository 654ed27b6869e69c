"""``sparseopt solve``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparseopt.cli.reading.settings import InstanceFile, b_bar_option, given, settings_option
from sparseopt.cli.showing.exits import ExitCode, explain, say
from sparseopt.cli.showing.outputs import check_target, headline, print_json, stdout_kept_clean
from sparseopt.cli.showing.progress import ProgressLine
from sparseopt.errors import ParamError
from sparseopt.families import family_of

if TYPE_CHECKING:
    from sparseopt import Problem, Result, SolveParams

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("instance", type=InstanceFile())
@click.option("--backend", metavar="NAME", default="auto", show_default=True, help="Who solves it.")
@click.option(
    "--lam",
    metavar="X",
    multiple=True,
    help="Solve for one value of lam; repeated, or with commas, for several.",
)
@click.option("--lam-min", type=float, metavar="X", help="Solve the path down to this lam.")
@click.option("--max-knots", type=int, metavar="N", help="End the path after N knots.")
@click.option(
    "--max-nonzeros", type=int, metavar="N", help="End the path before more than N coefficients."
)
@click.option("--size", type=int, metavar="D", help="Largest number of nonzeros of a point.")
@click.option(
    "--sizes", metavar="A:B", help="The path over these numbers of nonzeros; or with commas, 1,2,5."
)
@click.option("--budget", type=int, metavar="K", help="Total cardinality (budget problems).")
@click.option("--time-limit", type=float, metavar="S", help="Seconds of wall time.")
@click.option("--rel-gap", type=float, metavar="X", help="Gap that counts as optimal [1e-6].")
@click.option("--abs-gap", type=float, metavar="X", help="The same, absolute [0].")
@click.option("--node-limit", type=int, metavar="N", help="Nodes of a search tree.")
@click.option("--iteration-limit", type=int, metavar="N", help="Iterations or pivots.")
@click.option("--threads", type=int, metavar="N", help="Threads of BLAS and the backend.")
@click.option("--seed", type=int, metavar="N", help="Seed of every random choice [0].")
@click.option(
    "--start", type=_FILE, metavar="FILE.json", help="A result whose point the search begins with."
)
@settings_option("An option of the backend; may be repeated.")
@b_bar_option
@click.option("-o", "--output", type=_FILE, metavar="FILE.json", help="Save the result.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--plot", type=_FILE, metavar="FILE.png", help="Draw the path; .html: a slider.")
@click.option(
    "--plot-x",
    type=click.Choice(["auto", "lam", "log", "l1norm"]),
    default="auto",
    show_default=True,
    help="The horizontal axis of the picture.",
)
@click.option("--no-check", is_flag=True, help="Do not verify the answer.")
@click.option("--verbose", is_flag=True, help="Let the backend print its log.")
def solve(
    instance: Path,
    backend: str,
    lam: tuple[str, ...],
    sizes: str | None,
    start: Path | None,
    settings: dict[str, str],
    b_bar: str | None,
    output: Path | None,
    as_json: bool,
    plot: Path | None,
    plot_x: str,
    no_check: bool,
    verbose: bool,
    **question: Any,
) -> ExitCode:
    """Solve INSTANCE and check the answer.

    Without --lam and --lam-min a parametric problem is solved for its whole path.
    """
    import sparseopt
    from sparseopt.io import load_result

    if plot is None and given("plot_x"):
        raise ParamError("--plot-x is for --plot FILE: give it, or leave --plot-x out")
    params = sparseopt.SolveParams(**_asked(question, lam, sizes), verbose=verbose)
    _check_targets(instance, output, plot)

    trouble: list[BaseException] = []
    show = not as_json and not verbose
    with (
        ProgressLine(f"reading {instance}", enabled=show) as progress,
        stdout_kept_clean(as_json),
    ):
        problem = sparseopt.load(instance, b_bar=b_bar)
        warm_start = None if start is None else load_result(start)
        style = {} if plot is None else _style(problem, params, plot_x, plot)
        progress.text = "solving"
        result = sparseopt.solve(
            problem,
            backend=backend,
            params=params,
            options=settings,
            warm_start=warm_start,
            on_progress=progress.report,
            check=False,
        )
        if not no_check:
            progress.text = "checking (Ctrl-C prints the answer unchecked)"
            with _kept(trouble):
                result = _judge(problem, result)
    # From here on there is an answer: nothing that fails may stand in its way.
    with _kept(trouble):
        _print(result, problem, as_json)
    if output is not None:
        with _kept(trouble):
            _save(result, output)
    if plot is not None:
        with _kept(trouble):
            _draw(result, plot, title=headline(instance, problem), **style)
    return _exit_code(result, trouble)


def _asked(question: Mapping[str, Any], lam: tuple[str, ...], sizes: str | None) -> dict[str, Any]:
    """Return the parameters that the command line gave."""
    asked = {key: value for key, value in question.items() if value is not None}
    if lam:
        asked["lam"] = _values(lam)
    if sizes is not None:
        if "size" in asked:
            raise ParamError("--size asks for one number of nonzeros and --sizes for several")
        asked["size"] = _sizes(sizes)
    return asked


def _values(texts: tuple[str, ...]) -> float | list[float]:
    """Parse --lam: one value is a question about a point, several are a grid."""
    values = []
    for item in ",".join(texts).split(","):
        try:
            values.append(float(item))
        except ValueError:
            raise ParamError(
                f"--lam is {', '.join(texts)!r}; expected numbers separated by commas"
            ) from None
    return values[0] if len(values) == 1 else values


def _sizes(text: str) -> list[int]:
    """Parse --sizes: the ends of a range, or numbers with commas."""
    try:
        if ":" in text:
            first, last = map(int, text.split(":"))
            return list(range(first, last + 1))
        return [int(item) for item in text.split(",")]
    except ValueError:
        raise ParamError(f"--sizes is {text!r}; expected 1:10, or numbers with commas") from None


def _check_targets(instance: Path, output: Path | None, plot: Path | None) -> None:
    """Refuse what could not be written afterwards, before any time is spent."""
    if output is not None:
        check_target("-o", output, instance, plot)
        if output.suffix.lower() != ".json":
            raise ParamError(f"-o {output}: a result is a JSON file; give a name ending in .json")
    if plot is not None:
        from sparseopt.pictures import check_picture

        check_target("--plot", plot, instance)
        check_picture(plot)


@contextlib.contextmanager
def _kept(trouble: list[BaseException]) -> Iterator[None]:
    """Put off an error until everything else is done."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        trouble.append(error)


def _judge(problem: Problem, result: Result) -> Result:
    from sparseopt.api import with_verdict

    return with_verdict(problem, result)


def _print(result: Result, problem: Problem, as_json: bool) -> None:
    if as_json:
        print_json(result.summary())
        return
    from sparseopt.cli.showing.tables import print_result

    print_result(result, problem)


def _save(result: Result, output: Path) -> None:
    from sparseopt import Limit

    if result.limit is Limit.INTERRUPTED and not result.status.has_answer and output.exists():
        say("warning", f"there is no answer to save: {output} was left as it was")
        return
    result.save(output)


def _style(problem: Problem, params: SolveParams, x: str, plot: Path) -> dict[str, Any]:
    """Return how the answer is drawn; refuse, before any work is done, what has no picture."""
    if problem.family == "subspace":
        return {}
    point = isinstance(problem.asked(params), int | float)
    if x != "auto" and point:
        raise ParamError(f"--plot-x is {x}, but a single {problem.parameter} is no path")
    if point and plot.suffix.lower() == ".html":
        raise ParamError(f"--plot {plot.name}: a page shows a path; draw one answer as a picture")
    if point and hasattr(problem, "coefficient_names"):
        return {}
    family = family_of(problem.family)
    if point or family is None or not family.pictures:
        raise ParamError(
            "--plot draws a path, or coefficients by name, and this question about a "
            f"{problem.kind} has neither"
        )
    if problem.parameter == "lam":
        return {"x": x}
    if x != "auto":
        raise ParamError(f"--plot-x is {x}, but this path is drawn against the {problem.parameter}")
    return {}


def _draw(result: Result, plot: Path, *, title: str, **style: Any) -> None:
    problem = result.problem
    drawn = hasattr(problem, "coefficient_names") or getattr(problem, "family", "") == "subspace"
    if not (drawn and result.x is not None) and (result.path is None or not len(result.path)):
        say("warning", f"there is nothing to draw: {plot} was not written")
        return
    from sparseopt.pictures import save_picture

    save_picture(result, plot, title=title, **style)


def _exit_code(result: Result, trouble: list[BaseException]) -> ExitCode:
    from sparseopt import Limit, Verdict

    codes = [_told(error) for error in trouble]
    if result.limit is Limit.INTERRUPTED:
        codes.append(ExitCode.INTERRUPTED)
    if not result.status.has_answer or result.verdict is Verdict.REFUTED:
        codes.append(ExitCode.NO_ANSWER)
    # The person's Ctrl-C explains everything else, and a failure outweighs a partial success.
    for code in (ExitCode.INTERRUPTED, ExitCode.BROKEN_PIPE, *codes):
        if code in codes:
            return code
    return ExitCode.ANSWER


def _told(error: BaseException) -> ExitCode:
    return ExitCode.BROKEN_PIPE if isinstance(error, BrokenPipeError) else explain(error)

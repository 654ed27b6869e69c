"""A benchmark suite: what is solved, by whom, and how; see docs/benchmarking.md for the file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from sparseopt import datasets
from sparseopt.bench.displays.fields import Table
from sparseopt.bench.displays.figures import Figure, ScalingFigure, read_figure, read_scaling
from sparseopt.bench.displays.tables import TableSpec, read_table
from sparseopt.errors import ParamError
from sparseopt.params import SolveParams

T = TypeVar("T")
UNSET = "unset"
"""A parameter's value that takes away what a wider table has set."""

_INSTANCE_KEYS = "generator, file, settings, seeds, params, point, backends, tags, metrics, name"
_BACKEND_KEYS = "name, label, class, options, params, optional, point, repeats"
_SUITE_KEYS = (
    "name, title, description, time_limit, grace, memory, threads, seeds, repeats, warm_up, "
    "warm_up_limit, check_limit, params, path"
)


@dataclass(frozen=True)
class SolveLimits:
    """What one solve may take.

    Attributes
    ----------
    time : float
        Seconds, passed to the backend.
    grace : float
        Seconds beyond that after which its process is killed.
    memory : int
        Bytes of resident memory.
    threads : int
    warm_up : float
        Seconds for imports, reading and compilation.
    check : float
        Seconds for the checker.
    """

    time: float = 60.0
    grace: float = 10.0
    memory: int = 4 * 10**9
    threads: int = 1
    warm_up: float = 300.0
    check: float = 600.0


@dataclass(frozen=True)
class InstanceEntry:
    """Instances that are made alike: one file, or a generator with sizes and seeds.

    A list among the `settings` stands for each of its values, several lists for all combinations;
    each element of `settings` is a table of its own. Backends that answer one value of the
    parameter are asked `point` instead of `params`.
    """

    generator: str | None = None
    file: Path | None = None
    settings: tuple[Mapping[str, Any], ...] = ({},)
    seeds: tuple[int, ...] = (0,)
    params: Mapping[str, Any] = field(default_factory=dict)
    point: Mapping[str, Any] = field(default_factory=dict)
    backends: tuple[str, ...] = ()
    tags: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class BackendEntry:
    """A backend with its options; the same backend may be listed twice under two labels.

    `reference` names a class ("module:Class") that is not registered; `repeats` is used instead of
    the suite's.
    """

    name: str
    label: str = ""
    reference: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    optional: bool = False
    point: bool = False
    repeats: int | None = None


@dataclass(frozen=True)
class Setting:
    """A variant in which everything is solved."""

    name: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """A whole suite; :func:`read_suite` makes one from a file.

    Attributes
    ----------
    name, title, description : str
    instances, backends, settings : tuples
    seeds : tuple of int
        Seeds of the solvers (those of instances are theirs).
    repeats : int
    limits : SolveLimits
    warm_up : bool
        Whether compiled code is run once before the clock starts.
    params : mapping
        Parameters of every solve.
    python_path : tuple of Path
        Folders from which ``class = "module:Class"`` is imported.
    tables, figures, scaling : tuples
        What the report shows besides the standard parts.
    """

    name: str
    instances: tuple[InstanceEntry, ...]
    backends: tuple[BackendEntry, ...]
    title: str = ""
    description: str = ""
    settings: tuple[Setting, ...] = (Setting(),)
    seeds: tuple[int, ...] = (0,)
    repeats: int = 1
    limits: SolveLimits = field(default_factory=SolveLimits)
    warm_up: bool = True
    params: Mapping[str, Any] = field(default_factory=dict)
    python_path: tuple[Path, ...] = ()
    tables: tuple[TableSpec, ...] = ()
    figures: tuple[Figure, ...] = ()
    scaling: tuple[ScalingFigure, ...] = ()


def read_suite(path: str | PathLike[str]) -> Suite:
    """Read and validate a suite file.

    Parameters
    ----------
    path : path
        A TOML file. Relative paths in it are relative to the folder it is in.

    Raises
    ------
    ParamError
        When the file cannot be read, is no TOML, or a key is unknown or has a wrong value; the
        message names the file, the key and what was expected.
    """
    source = Path(path)
    try:
        document = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParamError(f"{source}: {error.strerror or error}; expected a suite file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParamError(f"{source} is no TOML: {error}") from error
    return suite_from(document, str(source), source.resolve().parent)


def suite_from(document: Mapping[str, Any], file: str, folder: Path) -> Suite:
    """Return the suite of a parsed document.

    Parameters
    ----------
    document : mapping
        As tomllib returns it.
    file : str
        Its name, for messages.
    folder : path
        Where relative paths start.

    Returns
    -------
    Suite

    Raises
    ------
    ParamError
        As :func:`read_suite`.
    """
    top = Table(document, file, "the file")
    head = Table(top.take("suite", {}), file, "[suite]")

    def entries(name: str, read: Callable[[Table], T]) -> tuple[T, ...]:
        rows = enumerate(top.rows(name), 1)
        return tuple(read(Table(row, file, f"[[{name}]] {k}")) for k, row in rows)

    instances = entries("instances", lambda table: _instance(table, folder))
    backends = entries("backends", _backend)
    _check_names(instances, backends, file)
    suite = Suite(
        name=head.text("name", Path(file).stem),
        title=head.text("title"),
        description=head.text("description"),
        instances=instances,
        backends=backends,
        settings=entries("settings", _setting) or (Setting(),),
        seeds=head.seeds("seeds"),
        repeats=head.count("repeats", 1),
        limits=SolveLimits(
            time=head.number("time_limit", SolveLimits.time),
            grace=head.number("grace", SolveLimits.grace),
            memory=head.memory("memory", "4 GB"),
            threads=head.count("threads", SolveLimits.threads),
            warm_up=head.number("warm_up_limit", SolveLimits.warm_up),
            check=head.number("check_limit", SolveLimits.check),
        ),
        warm_up=head.flag("warm_up", True),
        params=_params(head),
        python_path=tuple((folder / p).resolve() for p in head.texts("path")),
        tables=entries("tables", read_table),
        figures=entries("figures", read_figure),
        scaling=entries("scaling", read_scaling),
    )
    head.end(_SUITE_KEYS)
    top.end("suite, instances, backends, settings, tables, figures, scaling")
    return suite


def _check_names(
    instances: Sequence[InstanceEntry], backends: Sequence[BackendEntry], file: str
) -> None:
    """Refuse a file without instances or backends, and labels that are twice or nowhere."""
    for kind, found in (("instances", instances), ("backends", backends)):
        if not found:
            raise ParamError(f"{file}: there are no {kind}; expected at least one [[{kind}]]")
    labels = [entry.label for entry in backends]
    for k, label in enumerate(labels):
        if label in labels[:k]:
            raise ParamError(
                f"{file}: [[backends]] {k + 1}, key 'label' is {label!r} a second time; expected "
                "a label of its own for each backend"
            )
    for k, entry in enumerate(instances, 1):
        for name in entry.backends:
            if name not in labels:
                raise ParamError(
                    f"{file}: [[instances]] {k}, key 'backends' has {name!r}; expected labels of "
                    f"[[backends]]: {', '.join(labels)}"
                )


def _file(folder: Path, name: str) -> Path:
    """Return a file that a suite names, or the shipped instance of that name."""
    path = folder / name
    shipped = datasets.instances()
    return (shipped[name] if name in shipped and not path.exists() else path).resolve()


def _instance(table: Table, folder: Path) -> InstanceEntry:
    from sparseopt.bench.solving.instances import design_settings
    from sparseopt.bench.solving.metrics import METRICS

    generator, file = table.text("generator"), table.text("file")
    if bool(generator) == bool(file):
        table.refuse(None, generator or "without a source", "either generator = or file =")
    given = table.take("settings", {})
    settings = tuple(given) if isinstance(given, list) else (given,)
    if generator:
        try:
            known = design_settings(generator)
        except ParamError as error:
            raise ParamError(f"{table.file}: {table.where}, key 'generator': {error}") from error
        for one in settings:
            if not isinstance(one, Mapping):
                table.refuse("settings", one, "a table, or a list of tables")
            for key in one:
                if key not in known:
                    table.refuse(f"settings.{key}", one[key], f"one of: {', '.join(known)}")
    elif settings != ({},):
        table.refuse("settings", given, "none: a file has no settings")
    metrics = table.texts("metrics")
    for name in metrics:
        if name not in METRICS:
            table.refuse("metrics", name, f"some of: {', '.join(METRICS)}")
    entry = InstanceEntry(
        generator=generator or None,
        file=_file(folder, file) if file else None,
        settings=settings,
        seeds=table.seeds("seeds"),
        params=_params(table),
        point=_params(table, "point"),
        backends=table.texts("backends"),
        tags=table.table("tags"),
        metrics=metrics,
        name=table.text("name"),
    )
    table.end(_INSTANCE_KEYS)
    return entry


def _backend(table: Table) -> BackendEntry:
    name = table.text("name", required=True)
    reference = table.text("class")
    if reference and not all(reference.partition(":")):
        table.refuse("class", reference, "module:Class")
    entry = BackendEntry(
        name=name,
        label=table.text("label", name),
        reference=reference,
        options=table.table("options"),
        params=_params(table),
        optional=table.flag("optional", False),
        point=table.flag("point", False),
        repeats=table.count("repeats", 1) if table.has("repeats") else None,
    )
    table.end(_BACKEND_KEYS)
    return entry


def _setting(table: Table) -> Setting:
    entry = Setting(table.text("name", required=True), _params(table), table.table("options"))
    table.end("name, params, options")
    return entry


def _params(table: Table, name: str = "params") -> dict[str, Any]:
    """Return parameters; words stand for values of the instance, and are checked later."""
    given = table.table(name)
    for key, value in given.items():
        if key not in SolveParams.names():
            names = ", ".join(SolveParams.names())
            raise ParamError(f"{table.file}: {table.where}.{name} has no {key!r}; it has: {names}")
        if key in ("time_limit", "threads"):
            table.refuse(f"{name}.{key}", value, f"{key} in [suite], where it is the same for all")
        if not isinstance(value, str):
            try:
                SolveParams(**{key: value})
            except ParamError as error:
                raise ParamError(f"{table.file}: {table.where}.{name}: {error}") from error
    return given


def suite_files() -> dict[str, Path]:
    """Return the names of the shipped suites and where they are.

    They are ``instances/suites/*.toml`` in a clone, and installed with the package.
    """
    folder = Path(str(resources.files("sparseopt.bench"))) / "suites"
    if not folder.is_dir():
        raise ParamError(
            f"{folder} must be a symbolic link to instances/suites, but is none: archives (ZIP) "
            "and Git on Windows leave a text file there. Clone the repository with: "
            "git clone -c core.symlinks=true URL"
        )
    return {path.stem: path.resolve() for path in sorted(folder.glob("*.toml"))}


def find_suite(name: str) -> Path:
    """Return the file of a suite: a path that ends in .toml, or the name of a shipped one.

    Parameters
    ----------
    name : str

    Returns
    -------
    path

    Raises
    ------
    ParamError
        When there is none.
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise ParamError(f"{path} is not there; expected a suite file")
        return path
    known = suite_files()
    if name not in known:
        raise ParamError(
            f"no suite is called {name!r}; there are: {', '.join(known)} (a file of your own ends "
            "in .toml)"
        )
    return known[name]

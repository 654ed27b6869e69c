"""Studies: protocols that a suite of instances and backends cannot express.

A study lists its units of work and does one of them; the runner gives each a process of its own,
``python -m sparseopt.bench.definitions.study``, and the run is resumed, watched and reported like
a suite's.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import pkgutil
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from sparseopt.bench.displays.figures import Figure
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.bench.solving.process import announce, begin, failure, leave, peak_memory
from sparseopt.errors import ParamError

_ROOT = Path(__file__).resolve().parents[3]

Settings = Mapping[str, Any]
Row = Mapping[str, Any]
"""One measurement: names and numbers, texts or None. A text "complaint" makes the unit wrong."""


@dataclass(frozen=True)
class Study:
    """A protocol; see docs/benchmarking.md for how to write one.

    Attributes
    ----------
    title, description : str
        Of the report.
    settings : mapping
        What ``--set`` may change, with the defaults. A tuple is given with commas.
    units : callable
        (settings) to the parameters of each unit of work, flat and ready for JSON: what is done
        depends on them alone.
    do : callable
        (parameters of a unit, folder) to its rows. Files that it leaves in the folder are kept.
    tables, figures : tuples
        Of the report; a row has the parameters of its unit as columns, too.
    limit : float, default 3600.0
        Seconds for a unit, after which its process is killed.
    memory : int, default 4e9
        Bytes of resident memory.
    python_path : tuple of str
        Folders of a clone from which `do` imports.
    """

    title: str
    description: str
    settings: Settings
    units: Callable[[Settings], Iterable[Settings]]
    do: Callable[[Settings, Path], Iterable[Row]]
    tables: tuple[TableSpec, ...]
    figures: tuple[Figure, ...] = ()
    limit: float = 3600.0
    memory: int = 4 * 10**9
    python_path: tuple[str, ...] = ()
    name: str = ""

    def with_settings(self, texts: Mapping[str, str]) -> Study:
        """Return the study with other settings, given as texts.

        Raises
        ------
        ParamError
            When a name is unknown, or a text is not of the default's type.
        """
        for key in texts:
            if key not in self.settings:
                raise ParamError(
                    f"study {self.name} has no setting {key!r}; it has: {', '.join(self.settings)}"
                )
        chosen = {key: _converted(key, text, self.settings[key]) for key, text in texts.items()}
        return replace(self, settings={**self.settings, **chosen})

    def work(self, time_limit: float | None = None) -> list[Unit]:
        """Return the units of work, in order."""
        limits = {
            "time": time_limit or self.limit,
            "memory": self.memory,
            "threads": 1,
            "warm_up": 300.0,
        }
        for folder in self.python_path:
            if not (_ROOT / folder).is_dir():
                raise ParamError(f"study {self.name} needs {folder} of a clone of the repository")
        return [Unit(self.name, dict(params), limits) for params in self.units(self.settings)]


@dataclass(frozen=True)
class Unit:
    """One piece of work of a study; everything in it is ready for JSON."""

    study: str
    params: dict[str, Any]
    limits: dict[str, Any] = field(compare=False)

    @property
    def key(self) -> str:
        """Hash of the study's name and the parameters."""
        text = json.dumps([self.study, self.params], sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def label(self) -> str:
        """What a table calls it, where a suite has the backend."""
        return self.study

    @property
    def name(self) -> str:
        """The parameters, for a reader."""
        return " ".join(f"{key}={value}" for key, value in self.params.items())

    def to_dict(self) -> dict[str, Any]:
        """Return the unit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the unit of :meth:`to_dict`."""
        return cls(**values)


def studies() -> list[str]:
    """Return the names of the studies that come with the package."""
    return sorted(_modules())


def _modules() -> dict[str, str]:
    """Return the module of each study by its name; the rooms below the package have them, too."""
    from sparseopt.bench import studies as package

    found = {}
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        name = info.name.rpartition(".")[2]
        if not info.ispkg and not name.startswith("_"):
            found[name.replace("_", "-")] = info.name
    return found


def find_study(name: str) -> Study:
    """Return a study by its name.

    Parameters
    ----------
    name : str

    Returns
    -------
    Study

    Raises
    ------
    ParamError
        When there is none.
    """
    modules = _modules()
    if name not in modules:
        raise ParamError(f"no study is called {name!r}; there are: {', '.join(sorted(modules))}")
    found: Study = importlib.import_module(modules[name]).STUDY
    return replace(found, name=name)


def _converted(key: str, text: str, default: Any) -> Any:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, tuple):
            kind = type(default[0])
            return tuple(kind(part.strip()) for part in text.split(",") if part.strip())
        return type(default)(text)
    except (KeyError, ValueError):
        expected = "values with commas between" if isinstance(default, tuple) else "a value"
        raise ParamError(f"--set {key}={text}: expected {expected} like {default!r}") from None


# ---- what several studies need


def blocks(trials: int, size: int) -> Iterable[tuple[int, int]]:
    """Yield (first, end) of blocks of trials; a larger number of trials keeps the first ones.

    Parameters
    ----------
    trials : int
    size : int
        Trials of a block.

    Returns
    -------
    iterable of (int, int)
    """
    for first in range(0, trials, size):
        yield first, min(first + size, trials)


def median_time(
    run: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the median seconds of a call, after a first one that compiles and is not counted.

    Parameters
    ----------
    run : callable
    repeats : int
        Calls that are counted.
    clock : callable
        Returns seconds. Default: wall-clock time.

    Returns
    -------
    float
        Seconds.
    """
    run()
    times = []
    for _ in range(repeats):
        begun = clock()
        run()
        times.append(clock() - begun)
    return statistics.median(times)


def chosen_of(names: Sequence[str], known: Iterable[str], what: str) -> tuple[str, ...]:
    """Return the names that were asked for; ("all",) means all that are known.

    Parameters
    ----------
    names : sequence of str
    known : iterable of str
    what : str
        What they are names of, for the message.

    Returns
    -------
    tuple of str
        In the order of `known`.

    Raises
    ------
    ParamError
        When one is not known.
    """
    there = tuple(known)
    for name in names:
        if name not in (*there, "all"):
            raise ParamError(f"there is no {what} {name!r}; there are: {', '.join(there)}")
    return tuple(name for name in there if name in names or "all" in names)


# ---- the process of one unit


def main() -> None:
    """Do the unit that the folder's ``spec.json`` names; leave rows and times beside it."""
    folder = Path(sys.argv[1])
    spec = begin(folder)
    kept = folder / "kept"
    kept.mkdir(exist_ok=True)
    try:
        study = find_study(spec["study"])
        announce("solve")
        begun = time.perf_counter()
        for place in study.python_path:
            sys.path.insert(0, str(_ROOT / place))
        rows = [{k: _plain(v) for k, v in row.items()} for row in study.do(spec["params"], kept)]
        measures = {
            "ended": "returned",
            "rows": rows,
            "time": time.perf_counter() - begun,
            "peak_memory": peak_memory(),
        }
    except Exception as error:
        measures = failure(error)
    leave(folder / "measures.json", measures)


def _plain(value: Any) -> Any:
    """Return a number as one of Python's, None for what JSON does not have."""
    number = value.item() if hasattr(value, "item") else value
    return None if isinstance(number, float) and not math.isfinite(number) else number


if __name__ == "__main__":
    main()

"""The single solves of a suite, each under a key that its content determines."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

from sparseopt.bench.definitions.suite import UNSET, BackendEntry, InstanceEntry, Setting, Suite
from sparseopt.bench.solving.instances import design_settings
from sparseopt.errors import ParamError


@dataclass(frozen=True)
class Job:
    """One solve. Everything in it is ready for JSON.

    Attributes
    ----------
    key : str
        Hash of what follows, the names and paths left out: the same solve has the same key in
        every run of a suite, on every machine.
    instance : dict
        generator, settings, seed, or file and sha256; name, tags, metrics, and `words` to look up.
    instance_key : str
    backend, label, reference : str
    options, params : dict
        Words among the params are not yet replaced.
    setting : str
    seed, repeat : int
    limits : dict
    """

    key: str
    instance: dict[str, Any]
    instance_key: str
    backend: str
    label: str
    reference: str
    options: dict[str, Any]
    params: dict[str, Any]
    setting: str
    seed: int
    repeat: int
    limits: dict[str, Any]
    warm_up: bool = True
    python_path: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The instance's name."""
        return str(self.instance["name"])

    def to_dict(self) -> dict[str, Any]:
        """Return the job for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the job of :meth:`to_dict`."""
        return cls(**values)


@dataclass(frozen=True)
class JobSelection:
    """Part of a suite: what to run of it.

    Attributes
    ----------
    instances, backends : tuples of str
        Patterns of instance names, and labels; empty for all.
    max_seeds : int, optional
        The first so many seeds of each instance.
    time_limit : float, optional
        Instead of the suite's.
    """

    instances: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    max_seeds: int | None = None
    time_limit: float | None = None


def expand(suite: Suite, selection: JobSelection | None = None) -> list[Job]:
    """Return all solves of a suite, in the order of the file.

    Parameters
    ----------
    suite : Suite
    selection : JobSelection, optional
        All by default.

    Returns
    -------
    list of Job

    Raises
    ------
    ParamError
        When a file is not there, or the selection leaves nothing.
    """
    chosen = selection or JobSelection()
    labels = {entry.label for entry in suite.backends}
    for label in chosen.backends:
        if label not in labels:
            raise ParamError(
                f"suite {suite.name} has no backend {label!r}; it has: {', '.join(sorted(labels))}"
            )
    limits = asdict(suite.limits)
    if chosen.time_limit is not None:
        limits["time"] = chosen.time_limit
    jobs: dict[str, Job] = {}
    for entry in suite.instances:
        defaults = {} if entry.generator is None else design_settings(entry.generator)
        for instance in _instances(entry, chosen.max_seeds):
            patterns = chosen.instances
            if patterns and not any(fnmatchcase(instance["name"], p) for p in patterns):
                continue
            origin = _origin(instance, defaults)
            for backend in suite.backends:
                if entry.backends and backend.label not in entry.backends:
                    continue
                if chosen.backends and backend.label not in chosen.backends:
                    continue
                for job in _jobs(suite, entry, instance, origin, backend, limits):
                    jobs.setdefault(job.key, job)
    if not jobs:
        raise ParamError(f"nothing of suite {suite.name} is selected; see: bench run --dry-run")
    return list(jobs.values())


def _instances(entry: InstanceEntry, max_seeds: int | None) -> Iterable[dict[str, Any]]:
    common = {"tags": dict(entry.tags), "metrics": list(entry.metrics)}
    if entry.file is not None:
        yield {
            "generator": None,
            "settings": {},
            "seed": 0,
            "file": str(entry.file),
            "sha256": file_digest(entry.file),
            "name": entry.name or entry.file.stem,
            **common,
        }
        return
    assert entry.generator is not None
    for seed in entry.seeds[:max_seeds]:
        for table in entry.settings:
            lists = {k: v if isinstance(v, list) else [v] for k, v in table.items()}
            for values in itertools.product(*lists.values()):
                settings = dict(zip(lists, values, strict=True))
                parts = [f"{key}={value}" for key, value in settings.items()]
                yield {
                    "generator": entry.generator,
                    "settings": settings,
                    "seed": seed,
                    "name": " ".join([entry.name or entry.generator, *parts, f"#{seed}"]),
                    **common,
                }


def _jobs(
    suite: Suite,
    entry: InstanceEntry,
    instance: dict[str, Any],
    origin: Mapping[str, Any],
    backend: BackendEntry,
    limits: Mapping[str, Any],
) -> Iterable[Job]:
    for setting, seed, repeat in itertools.product(
        suite.settings, suite.seeds, range(backend.repeats or suite.repeats)
    ):
        params = _merged(suite, entry, backend, setting)
        options = {**backend.options, **setting.options}
        spec = {**instance, "words": _words(params)}
        content = {
            "instance": origin,
            "metrics": instance["metrics"],
            "backend": backend.reference or backend.name,
            "label": backend.label,
            "options": options,
            "params": params,
            "setting": setting.name,
            "seed": seed,
            "repeat": repeat,
            "limits": {k: limits[k] for k in ("time", "grace", "memory", "threads")},
        }
        yield Job(
            key=_digest(content)[:24],
            instance=spec,
            instance_key=_digest({**origin, "words": spec["words"]})[:24],
            backend=backend.name,
            label=backend.label,
            reference=backend.reference,
            options=options,
            params=params,
            setting=setting.name,
            seed=seed,
            repeat=repeat,
            limits=dict(limits),
            warm_up=suite.warm_up,
            python_path=[str(path) for path in suite.python_path],
        )


def _merged(
    suite: Suite, entry: InstanceEntry, backend: BackendEntry, setting: Setting
) -> dict[str, Any]:
    question = entry.point if backend.point else entry.params
    merged = {**suite.params, **question, **backend.params, **setting.params}
    return {key: value for key, value in merged.items() if value != UNSET}


def _words(params: Mapping[str, Any]) -> list[str]:
    return sorted({value for value in params.values() if isinstance(value, str)})


def _origin(instance: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return what makes an instance what it is: defaults filled in, a file by its content."""
    if instance["generator"] is None:
        return {"sha256": instance["sha256"]}
    full = {**defaults, **instance["settings"]}
    return {
        "generator": instance["generator"],
        "settings": {key: float(v) if isinstance(v, int) else v for key, v in full.items()},
        "seed": instance["seed"],
    }


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file.

    Parameters
    ----------
    path : path

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    ParamError
        When it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ParamError(
            f"instance file {path}: {error.strerror or error}; expected a file beside the suite "
            "(the shipped instances are in a clone of the repository, not in the wheel)"
        ) from error

"""Paths of many columns in blocks: by several workers, in pieces on disk, opened when needed.

A store is a folder. ``store.json`` says which question about which problem is answered; each
piece, ``columns-FIRST-LAST.npz``, has the exact paths of a block of columns with their certificate.
A piece is there as a whole or not at all, so that a run that was killed goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.api import solve
from sparseopt.backend import check_listener
from sparseopt.checking.parametric.segments.columns import check_columns
from sparseopt.checking.report import CheckReport, Findings
from sparseopt.errors import BackendError, ParamError, ProblemError
from sparseopt.installed import Deferred
from sparseopt.io.fields import Fields
from sparseopt.io.files import file_name, naming, open_read, replacing
from sparseopt.io.header import checked_version
from sparseopt.io.pieces import packed, read_piece
from sparseopt.io.strict_json import dumps, loads_object
from sparseopt.params import SolveParams
from sparseopt.paths.columns import ColumnwisePath, StackedPaths
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import problem_class
from sparseopt.problems.parametric.columnwise import ColumnwiseProblem
from sparseopt.result import Result, Status, Verdict
from sparseopt.workers import surviving

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

FORMAT, VERSION = "sparseopt-path-store", 1
_FILE = "store.json"
_LARGEST = 2**28
_QUESTION = ("lam_min", "max_knots", "max_nonzeros", "rel_gap", "seed")
_SMALLEST, _BLOCKS = 64, 20
"""Columns of a block at least, and blocks of a large problem: each reads the matrix a few times."""
_MOST_COLUMNS = 10**7
_OPEN = 4
"""Pieces that a store keeps in memory."""


def solve_in_blocks(
    problem: ColumnwiseProblem,
    folder: str | PathLike[str],
    *,
    n_jobs: int = 1,
    joblib: str = "",
    block: int | None = None,
    check: bool = True,
    on_progress: Callable[[int, int], object] | None = None,
    **question: Any,
) -> PathStore:
    """Follow the paths of all columns in blocks, and keep them in a folder.

    Parameters
    ----------
    problem : ColumnwiseProblem
        Such as :class:`~sparseopt.problems.CLIME`, all its columns or some (`only`).
    folder : path
        New, empty, or that of the same question: only what is missing is then done.
    n_jobs : int, default 1
        Blocks at a time, as joblib counts; -1 is one for each processor. Workers need no access to
        the folder. One that is killed costs what it was doing: its block with Dask, which gives it
        to another; with joblib's own processes, which then all end, the blocks of all of them,
        which new ones do again.
    joblib : str, default ""
        "loky", "threading", "dask", "ray", ...; default: as configured by ``parallel_config``.
    block : int, optional
        Columns of a block. Default: a twentieth of all, at least 64.
    check : bool, default True
        Let the worker check each block that it has solved. :meth:`PathStore.check` does it again.
    on_progress : callable, optional
        Called with the columns done and their number after each block.
    **question
        `lam_min`, `max_knots`, `max_nonzeros`, `rel_gap`, `seed` of
        :class:`~sparseopt.params.SolveParams`.

    Returns
    -------
    PathStore

    Raises
    ------
    ParamError
        For another question, and for a folder that holds something else.
    ProblemError
        When the folder cannot be written.
    BackendError
        When a block has no paths, or workers are lost again and again.

    Examples
    --------
    >>> import tempfile
    >>> from sparseopt.generators.networks import clime
    >>> from sparseopt.path_store import solve_in_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = solve_in_blocks(clime(d=70), folder, max_nonzeros=3)
    ...     print(store.blocks, store.columns[69].knots[0], store.check(clime(d=70)).verdict.value)
    [(0, 64), (64, 70)] 1.0 verified
    """
    check_listener(on_progress)
    if not isinstance(problem, ColumnwiseProblem):
        raise ParamError(f"a {problem.kind} does not fall apart into columns, as CLIME does")
    unknown = sorted(set(question) - set(_QUESTION))
    if unknown:
        raise ParamError(f"{unknown[0]!r} is no question to blocks; {', '.join(_QUESTION)} are")
    params = SolveParams(**question, threads=1)
    if block is not None and block < 1:
        raise ParamError(f"block is {block}; expected at least one column")
    store = _begun(problem, Path(file_name(folder)), params, block)
    done = sum(last - first for first, last in store.present)
    left = [k for k in range(len(store.blocks)) if not store.file(k).exists()]
    for k, content in _in_blocks(_follow, (params, check), store, problem, left, n_jobs, joblib):
        with replacing(store.file(k)) as stream:
            stream.write(content)
        done += store.blocks[k][1] - store.blocks[k][0]
        if on_progress is not None:
            on_progress(done, problem.columns)
    return store


def _in_blocks(
    function: Callable[..., Any],
    more: tuple[Any, ...],
    store: PathStore,
    problem: ColumnwiseProblem,
    left: Iterable[int],
    n_jobs: int,
    joblib: str,
) -> Iterator[tuple[int, Any]]:
    """Yield k and ``function(part, store, k, *more)``, part being the problem of block k."""
    values, arrays = problem.payload()
    names = tuple(arrays)
    key = str(store.header["instance"])
    head = function, more, store, key, problem.kind, values, names
    _PROBLEMS.clear()
    _PROBLEMS[key] = problem
    try:
        # arrays stand alone: joblib's backends bring large ones to a worker once
        yield from surviving(_of_part, lambda k: (head, k, *arrays.values()), left, n_jobs, joblib)
    finally:
        _PROBLEMS.clear()


_PROBLEMS: dict[str, ColumnwiseProblem] = {}
"""The problem that a worker holds, by its fingerprint: to build it for each block would cost."""


def _of_part(head: tuple[Any, ...], k: int, *arrays: Any) -> Any:
    """Build the problem, once in each worker, and call the function for a block."""
    function, more, store, key, kind, values, names = head
    problem = _PROBLEMS.get(key)
    if problem is None:
        _PROBLEMS.clear()
        made = problem_class(kind).from_payload(values, dict(zip(names, arrays, strict=True)))
        assert isinstance(made, ColumnwiseProblem)
        _PROBLEMS[key] = problem = made
    return function(problem.part(range(*store.blocks[k])), store, k, *more)


def _follow(
    part: ColumnwiseProblem, store: PathStore, k: int, params: SolveParams, check: bool
) -> bytes:
    """Follow the columns of a block, and return the piece's content."""
    result = solve(part, backend="homotopy", params=params, check=False)
    path = result.path
    if not isinstance(path, ColumnwisePath) or not isinstance(path.columns, StackedPaths):
        raise BackendError(
            f"columns {store.blocks[k]} have no paths: {result.status.value} ({result.raw_status})"
        )
    if check:
        begin = time.perf_counter()
        report = check_columns(part, result)
        result = result.with_changes(
            verdict=report.verdict,
            check_messages=report.messages,
            check_time=time.perf_counter() - begin,
        )
    return packed(result, store.piece(k))


def _judge(part: ColumnwiseProblem, store: PathStore, k: int) -> CheckReport:
    """Check the piece of a block."""
    try:
        with np.errstate(all="ignore"):
            result = store.result(k)
    except ProblemError as error:
        return CheckReport(Verdict.REFUTED, messages=(str(error),))
    report = check_columns(part, result)
    if result.status is not Status.OPTIMAL and report.verdict is Verdict.VERIFIED:
        message = f"proven, but the paths end early: {result.status.value} ({result.limit})"
        report = replace(report, verdict=Verdict.UNPROVEN, messages=(message, *report.messages))
    return report


def _begun(
    problem: ColumnwiseProblem, folder: Path, params: SolveParams, block: int | None
) -> PathStore:
    """Open the store of a question, or begin it."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": problem.kind,
        "instance": problem.fingerprint(),
        "columns": problem.columns,
        "block": block or max(_SMALLEST, problem.columns // _BLOCKS),
        "names": list(problem.column(0).coefficient_names),
        "params": replace(params, threads=None).to_dict(),
    }
    if (folder / _FILE).is_file():
        store = PathStore(folder)
        asked = "columns", "instance", "kind", "params"
        other = next((name for name in asked if store.header[name] != header[name]), None)
        if other is not None or block not in (None, store.header["block"]):
            held = other or "block"
            raise ParamError(
                f"{folder} holds another question: its {held} is {store.header[held]!r:.80}, "
                f"asked is {header[held]!r:.80}; give another folder"
            )
        return store
    if folder.exists() and any(folder.iterdir()):
        raise ParamError(f"{folder} is not empty and holds no paths; give another folder")
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / _FILE) as stream:
        stream.write(dumps(header).encode("utf-8"))
    return PathStore(folder)


class PathStore:
    """The exact paths of all columns of a problem, in a folder.

    Parameters
    ----------
    folder : path

    Attributes
    ----------
    folder : path
    header : dict
        What ``store.json`` says: kind and fingerprint of the problem, columns, block, params.
    blocks : list of (int, int)
        First column and the one after the last of each.
    columns : sequence of ParametricPath
        One for each column; a piece is read when one of its columns is asked for.

    Raises
    ------
    ProblemError
        When the folder holds no store, or one of a newer version.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        folder = Path(file_name(folder))
        self.__setstate__((folder, _read_header(folder / _FILE)))

    def __getstate__(self) -> tuple[Path, dict[str, Any]]:
        # a worker on another machine may not see the folder
        return self.folder, self.header

    def __setstate__(self, state: tuple[Path, dict[str, Any]]) -> None:
        self.folder, self.header = state
        count, step = self.header["columns"], self.header["block"]
        self.blocks = [(first, min(first + step, count)) for first in range(0, count, step)]
        self.columns: Sequence[ParametricPath] = _LazyColumns(self)
        self._read = lru_cache(maxsize=_OPEN)(self._read_block)

    def __repr__(self) -> str:
        done = sum(last - first for first, last in self.present)
        return f"PathStore({str(self.folder)!r}, {done} of {self.header['columns']} columns)"

    def file(self, k: int) -> Path:
        """Return the file of block `k`."""
        first, last = self.blocks[k]
        return self.folder / f"columns-{first:07d}-{last:07d}.npz"

    def piece(self, k: int) -> dict[str, Any]:
        """Return what the file of block `k` says about whose it is."""
        first, last = self.blocks[k]
        asked = {name: self.header[name] for name in ("instance", "params")}
        return {"first": first, "last": last, **asked}

    @property
    def present(self) -> list[tuple[int, int]]:
        """The blocks that are done."""
        return [block for k, block in enumerate(self.blocks) if self.file(k).exists()]

    @property
    def params(self) -> SolveParams:
        """What was asked."""
        return SolveParams(**self.header["params"])

    def result(self, k: int) -> Result:
        """Return the result of block `k`, of the problem's ``part(range(*store.blocks[k]))``.

        Raises
        ------
        ProblemError
            When its piece is missing, damaged, or of something else.
        """
        return self._read(k)

    def _read_block(self, k: int) -> Result:
        first, last = self.blocks[k]
        return read_piece(self.file(k), self.piece(k), last - first, self.header["names"])

    @cached_property
    def path(self) -> ColumnwisePath:
        """The path of the whole; its columns are read when they are asked for."""
        ends = [(float(path.low[-1]), path.stopped_by) for path in self.columns]
        return ColumnwisePath(columns=self.columns, stopped_by=max(ends)[1])

    def matrix_at(self, lam: float) -> sp.csc_array:
        """Return the solution at lam as a sparse matrix with these columns.

        Raises
        ------
        ParamError
            When a column's path ends above lam.
        """
        index, value, counts = [], [], [0]
        for path in self.columns:
            entries = path.at(lam)
            at = np.flatnonzero(entries)
            index.append(at)
            value.append(entries[at])
            counts.append(len(at))
        shape = (len(self.header["names"]), len(self.columns))
        data = np.concatenate(value), np.concatenate(index), np.cumsum(counts)
        return sp.csc_array(data, shape=shape)

    def check(
        self,
        problem: ColumnwiseProblem,
        *,
        n_jobs: int = 1,
        joblib: str = "",
        on_progress: Callable[[int, int], object] | None = None,
    ) -> CheckReport:
        """Verify every piece by arithmetic alone, block by block.

        Parameters
        ----------
        problem : ColumnwiseProblem
            The one that the paths are of.
        n_jobs, joblib
            As for :func:`solve_in_blocks`; the workers read the folder.
        on_progress : callable, optional
            Called with the blocks that are proven and their number after each.

        Returns
        -------
        CheckReport
            `verified` when all columns are there and proven.
        """
        check_listener(on_progress)
        findings = Findings()
        own = problem.kind, problem.fingerprint()
        if (self.header["kind"], self.header["instance"]) != own:
            findings.refute("the paths are those of another problem")
            return findings.report()
        if self.header["columns"] != problem.columns:
            findings.refute(
                f"the store says that there are {self.header['columns']} columns, the problem has "
                f"{problem.columns}"
            )
            return findings.report()
        there = [k for k in range(len(self.blocks)) if self.file(k).exists()]
        missing = self.header["columns"] - sum(last - first for first, last in self.present)
        if missing:
            findings.doubt(f"{missing} of {self.header['columns']} columns are missing")
        proofs = []
        for k, report in _in_blocks(_judge, (), self, problem, there, n_jobs, joblib):
            first, last = self.blocks[k]
            for name, value in report.residuals.items():
                findings.measure(name, value)
            text = f"columns {first} to {last - 1}: {'; '.join(report.messages)}"
            if report.verdict is Verdict.REFUTED:
                findings.refute(text)
            elif report.verdict is Verdict.UNPROVEN:
                findings.doubt(text)
            else:
                proofs.append(text)
            if on_progress is not None:
                on_progress(len(proofs), len(self.blocks))
        if proofs:
            findings.prove(f"{len(proofs)} of {len(self.blocks)} blocks, such as {min(proofs)}")
        return findings.report()


@dataclass(frozen=True, eq=False)
class _LazyColumns(Sequence[ParametricPath]):
    """The columns of a store, read when they are asked for."""

    store: PathStore

    def __len__(self) -> int:
        return int(self.store.header["columns"])

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        k = i // self.store.header["block"]
        path = self.store.result(k).path
        assert isinstance(path, ColumnwisePath)
        return path.columns[i - self.store.blocks[k][0]]


def _read_header(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ProblemError(f"{path.parent} holds no path store: there is no {path.name}")
    with open_read(path) as stream:
        header = loads_object(stream.read(_LARGEST), str(path))
    with naming(path):
        if header.get("format") != FORMAT:
            raise ProblemError(f"its format is {header.get('format')!r:.60}; expected {FORMAT!r}")
        checked_version(header, VERSION)
        fields = Fields(header, "", _no_entries)
        for name in ("format", "version"):
            fields.raw(name)
        columns, block = fields.count("columns"), fields.count("block")
        if not 1 <= columns <= _MOST_COLUMNS or block < 1:
            raise ProblemError("it has no columns, or too many", "columns")
        params = dict(fields.mapping("params"))
        try:
            SolveParams(**params)
        except (TypeError, ParamError) as error:
            raise ProblemError(f"params: {error}", "params") from error
        read = {
            "kind": fields.text("kind"),
            "instance": fields.text("instance"),
            "columns": columns,
            "block": block,
            "names": fields.texts("names"),
            "params": params,
        }
        fields.end()
    return read


def _no_entries(name: str) -> Any:
    raise ProblemError(f"the array {name} is in another file")

"""A privacy budget that several releases of the same data share."""

from __future__ import annotations

import copy
import json
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sparseopt.errors import ParamError
from sparseopt.io.strict_json import loads_object
from sparseopt.locks import lock_file
from sparseopt.private.audit import audit
from sparseopt.private.features import as_real
from sparseopt.private.gaussian import discreteness, with_discreteness
from sparseopt.private.statement import INTEGER_BITS, Statement

_FORMAT = "sparseopt-private-ledger"


class Ledger:
    r"""Adds up releases, and refuses one that would exceed (epsilon, delta).

    Gaussian releases compose exactly: several of :math:`\eta_i` (sensitivity over noise) are like
    one of :math:`\eta = (\sum_i \eta_i^2)^{1/2}` (Dong, Roth, Su 2022, corollary 3.3); what the
    discrete noise adds is part of the sum (:mod:`sparseopt.private.gaussian`). All releases must be
    for the same neighbours, and their statements are audited.

    A budget is one thing. Threads may share a ledger; a copy, such as that of
    :func:`sklearn.base.clone`, is the same ledger. With a file, processes share it, and what was
    spent outlives a crash: a release is entered, and on disk, before its data are summed, so that
    a crash may waste budget but never hides a release. Without a file no other process can use it.

    Parameters
    ----------
    epsilon, delta : float
        The budget of all releases together.
    path : path-like, optional
        A file of JSON lines, made where it is missing; its budget must be this one.

    Raises
    ------
    ParamError
        When the budget is out of range, or the file is no ledger of this budget.

    Examples
    --------
    >>> ledger = Ledger(epsilon=1.0, delta=1e-5)
    >>> ledger.spent
    0.0
    """

    def __init__(
        self, epsilon: float, delta: float, path: str | os.PathLike[str] | None = None
    ) -> None:
        self.epsilon, self.delta = as_real("epsilon", epsilon), as_real("delta", delta)
        if not (0.0 < self.epsilon <= 50.0 and 0.0 < self.delta < 1.0):
            raise ParamError(
                f"the budget is ({epsilon}, {delta}); expected 0 < epsilon <= 50, 0 < delta < 1"
            )
        self.path = None if path is None else Path(path).absolute()
        self._entered: list[Statement] = []
        self._read_before: dict[bytes, Statement] = {}
        self._mutex, self._process = threading.Lock(), os.getpid()
        with self._held():
            pass

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The releases so far, as copies: what is changed in them spends nothing back."""
        with self._held():
            return tuple(copy.deepcopy(self._entered))

    @property
    def spent(self) -> float:
        """Delta of all releases so far at the budget's epsilon."""
        return self._spent(self.statements)

    def add(self, statement: Statement) -> None:
        """Enter a release.

        Parameters
        ----------
        statement : Statement

        Raises
        ------
        ParamError
            When the budget does not allow it, the statement does not hold, or it is for other
            neighbours than those before; nothing is entered then.
        """
        statement = copy.deepcopy(statement)
        report = audit(statement)
        if not report.holds:
            raise ParamError(f"a statement that does not hold: {'; '.join(report.messages)}")
        with self._held() as file:
            words = {one.data["neighbours"] for one in [*self._entered, statement]}
            if len(words) > 1:
                raise ParamError(
                    f"the ledger has releases for {self._entered[0].data['neighbours']!r}, not for "
                    f"{statement.data['neighbours']!r}: their losses do not add up; take another "
                    "ledger, and add the budgets of both"
                )
            total = self._spent((*self._entered, statement))
            if not total <= self.delta:
                raise ParamError(
                    f"the release would bring delta to {total:.3g} at epsilon {self.epsilon:g}; "
                    f"the budget is {self.delta:g}, and {len(self._entered)} releases have spent "
                    f"{self._spent(tuple(self._entered)):.3g} of it"
                )
            if file is not None:
                _append(file, dict(statement.data))
            self._entered.append(statement)

    def _spent(self, statements: tuple[Statement, ...]) -> float:
        if not statements:
            return 0.0
        eta = math.sqrt(math.fsum(statement.eta**2 for statement in statements))
        data = [statement.data for statement in statements]
        pairs = [discreteness(eta, math.sqrt(d["variance"]), d["dimension"]) for d in data]
        tau, beta = map(math.fsum, zip(*pairs, strict=True))
        return with_discreteness(eta, self.epsilon, tau, beta)

    # ---- one budget, whoever holds it

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            raise TypeError(
                "a ledger without a file cannot go to another process, where it would be a second "
                "budget; give it a path"
            )
        return type(self), (self.epsilon, self.delta, self.path)

    @contextmanager
    def _held(self) -> Iterator[int | None]:
        """Hold the ledger against other threads and processes, with what its file says by now."""
        if self.path is None and os.getpid() != self._process:
            raise ParamError("a ledger without a file is one process's; give it a path")
        if self.path is None:
            with self._mutex:
                yield None
            return
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
            try:
                lock_file(file)  # of this opening: threads wait for each other, too
                if not os.path.samestat(os.fstat(file), self.path.stat()):
                    raise ParamError(f"{self.path} was replaced by another file; try again")
                self._read(file)
                yield file
            finally:
                os.close(file)
        except OSError as error:
            raise ParamError(f"the ledger {self.path} cannot be used: {error}") from error

    def _read(self, file: int) -> None:
        """Read what was entered; a line that a crash left unfinished is of no release."""
        text = b""
        while chunk := os.read(file, 1 << 20):
            text += chunk
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            os.ftruncate(file, len(whole))
        head = {"format": _FORMAT, "version": 1, "epsilon": self.epsilon, "delta": self.delta}
        if not whole:
            _append(file, head)
            whole = json.dumps(head).encode() + b"\n"
        stated, *lines = whole.splitlines()
        try:
            _refuse_other(loads_object(stated, "the first line"), head)
            if len(lines) < len(self._entered):
                raise ValueError("releases that were entered are missing")
            for line in set(lines) - set(self._read_before):
                self._read_before[line] = Statement(loads_object(line, "a line", bits=INTEGER_BITS))
                if not audit(self._read_before[line]).holds:
                    raise ValueError(f"the statement in line {lines.index(line) + 2} does not hold")
        except (ValueError, TypeError, RecursionError) as error:  # ParamError is a ValueError
            raise ParamError(f"{self.path} is no ledger of this budget: {error}") from error
        self._entered = [self._read_before[line] for line in lines]


def _refuse_other(found: dict[str, Any], head: dict[str, Any]) -> None:
    """Raise a ValueError that says how the head of a file is not that of a ledger."""
    if found == head:
        return
    budgets = "epsilon", "delta"
    alike = found.keys() == head.keys() and all(
        isinstance(found[name], float) if name in budgets else found[name] == head[name]
        for name in head
    )
    if not alike:
        raise ValueError("its first line is not that of a ledger")
    its, this = (" and ".join(f"{name} {one[name]!r}" for name in budgets) for one in (found, head))
    raise ValueError(f"its budget is {its}, and this one is {this}")


def _append(file: int, entry: dict[str, Any]) -> None:
    """Write a line to the end of the file, and to the disk."""
    line = json.dumps(entry).encode() + b"\n"
    os.lseek(file, 0, os.SEEK_END)
    while line:
        line = line[os.write(file, line) :]
    os.fsync(file)

"""MOSEK for the relaxations, where it is licensed: an interior-point method for conic programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control

from ...adapters.mosek_ import environment, licence_error
from .conic import NodeProgram
from .relaxation import Raw


class MosekRelaxation:
    """Solves programs as affine conic constraints; their multipliers are what is wanted.

    Raises
    ------
    LicenseError
        When there is no licence.
    """

    name = "mosek"

    def __init__(self, control: Control, tolerance: float) -> None:
        with control.uncounted():
            self._environment = environment()
        self._control = control
        self._tolerance = tolerance

    def solve(self, program: NodeProgram, cutoff: float, loose: float = 0.0) -> Raw:
        """Solve, within the time that is left."""
        import mosek

        control = self._control
        try:
            with self._environment.Task() as task:
                fill(task, program)
                configure(task, self._tolerance, control)
                # Called at every iteration: there Python sees Ctrl-C.
                task.set_Progress(lambda _: int(control.interrupted))
                task.optimize()
                return read(task)
        except mosek.Error as error:
            refused = licence_error(error)
            if refused is not None:
                raise refused from error
            return Raw(None, None, str(error))


def fill(task: Any, program: NodeProgram) -> None:
    """Put b - C x in K into an empty task, as one affine conic constraint for each cone.

    Needs no licence.

    Parameters
    ----------
    task : mosek.Task
    program : NodeProgram
    """
    import mosek

    k, count = len(program.q), len(program.b)
    task.appendvars(k)
    task.putobjsense(mosek.objsense.minimize)
    task.putcslice(0, k, program.q)
    task.putcfix(program.constant)
    free = np.zeros(k)
    task.putvarboundslice(0, k, [mosek.boundkey.fr] * k, free, free)
    task.appendafes(count)
    entries = sp.coo_array(program.matrix)
    rows, columns = entries.coords
    task.putafefentrylist(rows.tolist(), columns.tolist(), (-entries.data).tolist())
    task.putafeglist(list(range(count)), program.b.tolist())
    begin = 0
    for length, domain in _cones(task, program):
        task.appendacc(domain, list(range(begin, begin + length)), None)
        begin += length


def _cones(task: Any, program: NodeProgram) -> list[tuple[int, int]]:
    """Return (length, domain) of each cone; matrices are packed by MOSEK as they are by us."""
    cones = []
    if program.zero:
        cones.append((program.zero, task.appendrzerodomain(program.zero)))
    if program.nonnegative:
        cones.append((program.nonnegative, task.appendrplusdomain(program.nonnegative)))
    cones += [(order, task.appendquadraticconedomain(order)) for order in program.orders]
    for size in program.sizes:
        length = size * (size + 1) // 2
        cones.append((length, task.appendsvecpsdconedomain(length)))
    return cones


def configure(task: Any, tolerance: float, control: Control) -> None:
    """Set tolerances, threads and the time that is left.

    Parameters
    ----------
    task : mosek.Task
    tolerance : float
        Relative, of feasibility and gap.
    control : Control
    """
    import mosek

    d, k = mosek.dparam, mosek.iparam
    for name in (
        d.intpnt_co_tol_pfeas,
        d.intpnt_co_tol_dfeas,
        d.intpnt_co_tol_rel_gap,
        d.intpnt_co_tol_infeas,
    ):
        task.putdouparam(name, tolerance)
    if control.remaining is not None:
        task.putdouparam(d.optimizer_max_time, max(control.remaining, 1e-3))
    task.putintparam(k.num_threads, control.params.threads or 1)


def read(task: Any) -> Raw:
    """Return what the interior-point method found.

    Parameters
    ----------
    task : mosek.Task
        After its optimisation.

    Returns
    -------
    Raw
    """
    import mosek

    kind = mosek.soltype.itr
    if not task.solutiondef(kind):
        return Raw(None, None, "no solution")
    status = str(task.getsolsta(kind)).rpartition(".")[2]
    x, dual = np.array(task.getxx(kind)), np.array(task.getaccdotys(kind))
    if not (np.isfinite(x).all() and np.isfinite(dual).all()):
        return Raw(None, None, status)
    if status == "prim_infeas_cer":
        return Raw(None, dual, status, ray=True)
    if status == "dual_infeas_cer":
        return Raw(None, None, status, direction=x)
    return Raw(x, dual, status)

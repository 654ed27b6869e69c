"""The class of all adapters: which models a solver takes, and who translates them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.errors import LicenseError, ParamError
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.result import Result

from ..common.outcome import Answer, Request
from ..common.program import Program
from .formulations import FORMULATIONS, Formulation


class Adapter(Backend):
    """An outside solver of mathematical programs.

    A subclass states what its solver takes and writes :meth:`_run`: translate a
    :class:`~sparseopt.solvers.common.program.Program`, call, translate the answer back. How a
    problem becomes such a program is the same for all of them.

    Attributes
    ----------
    semidefinite : bool
        Whether it takes semidefinite blocks (where nothing is an integer).
    convex_objectives : bool
        Whether its global search is better where the objective is convex and a row is not.
    indicators : bool
        Whether it takes rows that hold where a binary variable is 1.
    reach : float
        Values of variables without a bound from which on an optimum is not believed: where the
        solver may have put a bound of its own.
    vendor : str
        Where there are licences.
    """

    semidefinite: ClassVar[bool] = False
    convex_objectives: ClassVar[bool] = True
    indicators: ClassVar[bool] = False
    reach: ClassVar[float] = np.inf
    vendor: ClassVar[str] = ""
    factorises = True
    families: ClassVar[frozenset[str]] = frozenset(
        {"parametric", "budget", "misdp", "strs", "subset"}
    )
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.EXACT,
            Feature.SINGLE,
            Feature.GRID,
            Feature.WARM_START,
            Feature.DUAL_BOUND,
        }
    )
    limits: ClassVar[frozenset[str]] = frozenset({"node_limit", "iteration_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "max_entries": Option(
            float, 5e7, "Largest number of matrix entries to form and to hand over.", low=1.0
        ),
        "tolerance": Option(float, 1e-9, "Feasibility tolerance, in the data's scale.", low=1e-9),
        "settings": Option(
            str, "", "The solver's own parameters, as NAME=VALUE separated by commas."
        ),
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take what there is a formulation for, and the solver has room for."""
        ok, reason = super().supports(problem)
        formulation = self._formulation(problem)
        if not ok or formulation is None:
            return False, reason or f"{self.name} does not take {problem.kind} problems"
        reason = formulation.refusal(problem, self)
        return not reason, reason

    def unsuited(self, problem: Problem, params: SolveParams) -> str:
        """Pass over sizes at which its tree search is hopeless, or over the usual licences."""
        formulation = self._formulation(problem)
        if formulation is None or formulation.chosen_up_to is None:
            return ""
        dimension, most = formulation.chosen_up_to
        size = problem.size[dimension]
        if size <= most:
            return ""
        return (
            f"{self.name} is chosen up to {dimension} = {most}, and this {problem.kind} "
            f"has {size}: ask for it by name to try"
        )

    def _formulation(self, problem: Problem) -> Formulation | None:
        return next((f for f in FORMULATIONS if isinstance(problem, f.problem)), None)

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        with control.uncounted():
            self._load()
        formulation = self._formulation(problem)
        assert formulation is not None
        return formulation.solve(problem, self, options, control)

    def ask(
        self,
        program: Program,
        control: Control,
        options: Mapping[str, Any],
        *,
        rel_gap: float,
        abs_gap: float = 0.0,
        start: Array | None = None,
        spent: int = 0,
    ) -> Answer:
        """Hand a program to the solver.

        Parameters
        ----------
        program : Program
        control : Control
        options : mapping
            Of this backend.
        rel_gap, abs_gap : float
            Gaps of a tree search, in the program's units.
        start : array, optional
        spent : int
            Iterations that other calls of the same solve have used up.
        """
        params = control.params
        allowed = params.iteration_limit
        request = Request(
            rel_gap=rel_gap,
            abs_gap=abs_gap,
            node_limit=params.node_limit,
            iteration_limit=None if allowed is None else max(0, allowed - spent),
            threads=params.threads,
            seed=params.seed % 2**31,
            verbose=params.verbose,
            tolerance=options["tolerance"],
            start=start,
            settings=named_values(options["settings"]),
        )
        return self._run(program, request, control)

    def refused(
        self, program: Program, said: object, what: str = "too large for this licence"
    ) -> LicenseError:
        """Return the error for a program that the licence does not allow.

        Parameters
        ----------
        program : Program
        said : object
            The solver's own words.
        what : str
        """
        rows = len(program.row_low) + len(program.quadratic_rows)
        return LicenseError(
            f"{self.name}: {what}: {len(program.cost)} variables and {rows} constraints; it says: "
            f"{said}. Take a smaller instance, another backend, or a licence from {self.vendor}"
        )

    @abstractmethod
    def _load(self) -> None:
        """Import the solver's package and get its licence; not counted as solving.

        Raises
        ------
        LicenseError
        """

    @abstractmethod
    def _run(self, program: Program, request: Request, control: Control) -> Answer:
        """Translate, call, translate back.

        Raises
        ------
        LicenseError
            When the program is too large for the licence, or there is none.
        """


def named_values(text: str) -> dict[str, str]:
    """Read NAME=VALUE,NAME=VALUE.

    Parameters
    ----------
    text : str

    Returns
    -------
    dict of str to str

    Raises
    ------
    ParamError
    """
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise ParamError(f"option settings has the part {part!r}; expected NAME=VALUE")
        found[name.strip()] = value.strip()
    return found

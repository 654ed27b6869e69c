"""Programs in units far from one, solved in their own: powers of two, so nothing is rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.installed import Deferred
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import (
    SemidefiniteBlock,
    pack_symmetric,
    triangle,
    unpack_symmetric,
)
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.proofs.misdp_standard_form import curvature_unit
from sparseopt.result import Certificate, Result

from ...common.warm_start import warm_point
from ..settings import QUADRATIC_POWER, SMALL_POWER, USUAL_POWER

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")


_ROUNDS = 20
"""Of the balancing of lines, each of which halves what their logarithms are off by."""

Solve = Callable[[MISDP, SolveParams, Mapping[str, Any], Control, "Units"], Result]


@dataclass(frozen=True, eq=False)
class Units:
    r"""What costs and constraints are counted in: powers of two.

    Costs are divided by :math:`\gamma`, each row and cone by a number of its own, and each matrix
    :math:`M` becomes :math:`D^{-1} M D^{-1} / t` with a diagonal D. A multiplier of a constraint in
    unit t is that of the divided one times :math:`\gamma / t`; entry (i, j) of a matrix has the
    unit :math:`t D_{ii} D_{jj}`. Continuous variables whose bounds are both small are counted in
    units of their own, too; multipliers do not change with those.

    Attributes
    ----------
    costs : float
        gamma.
    rows, cones : arrays of shapes (m,) and (K,)
    blocks : tuple of B arrays of shape (s, s)
        The units of the entries.
    columns : array of shape (n,)
        The units of the variables.
    """

    costs: float
    rows: Array
    cones: Array
    blocks: tuple[Array, ...]
    columns: Array

    @classmethod
    def of(cls, problem: MISDP) -> Units:
        """Return units that bring the largest cost, and the largest entries, between 1 and 2.

        What a relaxation's solver leaves of its gap and of its residuals is not relative to data
        far from one. Costs that are not small stay as they are, and so do constraints whose
        coefficients or constants are near one, and rows and cones beside indicators, a quadratic
        objective, or matrices of rank one, whose proofs have rows of their own.

        Parameters
        ----------
        problem : MISDP
        """
        columns = _column_units(problem)
        problem = _counted(problem, columns)
        ranked = any(block.rank_one for block in problem.blocks)
        rows, cones = np.ones(problem.A.shape[0]), np.ones(len(problem.cones))
        if not ranked and not problem.indicators and problem.Q is None:
            rows = _units(_largest_in_rows(problem.A), _sides(problem))
            cones = _units(*_largest((cone.F.data, cone.g) for cone in problem.cones))
        blocks = [_of_block(block) for block in problem.blocks]
        return cls(_cost_unit(problem), rows, cones, tuple(blocks), columns)

    @property
    def plain(self) -> bool:
        """Whether constraints and variables are in the units of the user."""
        parts = self.rows, self.cones, self.columns, *self.blocks
        return all(bool((part == 1.0).all()) for part in parts)

    def up(self, x: Array) -> Array:
        """Return a point (n,) in the units of the user."""
        return x * self.columns

    def solved(
        self,
        solve: Solve,
        problem: MISDP,
        params: SolveParams,
        options: Mapping[str, Any],
        control: Control,
    ) -> Result:
        """Solve a program in these units; return the result in the user's.

        Parameters
        ----------
        solve : callable
            Solves the program that is left; its last argument are these units.
        problem : MISDP
            In the units of the user.
        params : SolveParams
        options : mapping
        control : Control

        Returns
        -------
        Result
        """
        if self.plain and self.costs == 1.0:
            return solve(problem, params, options, control, self)
        control.unit, start = self.costs, control.warm_start
        control.params = asked = replace(params, abs_gap=params.abs_gap / self.costs)
        x = warm_point(start, len(problem.c), unknown=True)
        if x is not None:
            control.warm_start = x / self.columns
        try:
            result = solve(self._divided(problem), asked, options, control, self)
        finally:
            control.unit, control.params, control.warm_start = 1.0, params, start
        return self._as_given(result, problem)

    def _divided(self, problem: MISDP) -> MISDP:
        """Return the program in these units."""
        problem = _counted(problem, self.columns)
        changes: dict[str, Any] = {
            "c": problem.c / self.costs,
            "offset": problem.offset / self.costs,
            "Q": None if problem.Q is None else problem.Q / self.costs,
        }
        if not self.plain:
            changes |= {
                "A": sp.csr_array(sp.diags_array(1.0 / self.rows) @ problem.A),
                "row_lower": problem.row_lower / self.rows,
                "row_upper": problem.row_upper / self.rows,
                "cones": tuple(
                    replace(cone, F=cone.F / t, g=cone.g / t)
                    for cone, t in zip(problem.cones, self.cones.tolist(), strict=True)
                ),
                "blocks": tuple(
                    _block_in_units(block, units)
                    for block, units in zip(problem.blocks, self.blocks, strict=True)
                ),
            }
        return problem.with_changes(**changes)

    def _as_given(self, result: Result, problem: MISDP) -> Result:
        """Return a result of the program in these units in those of the user."""
        certificate = result.certificate
        return result.with_changes(
            x=None if result.x is None else self.up(result.x),
            objective=_times(result.objective, self.costs),
            bound=_times(result.bound, self.costs),
            trace=tuple(
                (s, _times(o, self.costs), _times(b, self.costs)) for s, o, b in result.trace
            ),
            certificate=None if certificate is None else self._certificate(certificate, problem),
        )

    def _certificate(self, certificate: Certificate, problem: MISDP) -> Certificate:
        """Return multipliers, and the matrices of a curve, in the units of the user."""
        factors: dict[str, Any] = dict.fromkeys(("pool_objective", "pool_bound"), self.costs)
        factors |= dict.fromkeys(("x", "ray", "bend", "pool_x"), self.columns)
        if certificate.kind.endswith("leaves"):
            of_constraints = {"rows": self.rows}
            of_constraints["cones"] = np.repeat(self.cones, [c.dimension for c in problem.cones])
            packed = [pack_symmetric(units) for units in self.blocks]
            of_constraints["psd"] = np.concatenate([np.zeros(0), *packed])
            if "quadratic_factor" in certificate.arrays:
                root = self._root_of_curvature(problem)
                factors["quadratic_factor"] = root / self.columns[:, None]
                factors["quadratic_shift"] = root
                factors["quadratic_costs"] = self.costs / self.columns
                # The cone of t is the last one of the standard form.
                count = certificate.arrays["quadratic_shift"].shape[0]
                own = np.concatenate([[root**2, 1.0], np.full(count, root)])
                of_constraints["cones"] = np.append(of_constraints["cones"], own)
            for name, units in of_constraints.items():
                # A standard form may have more rows, in the units of the user.
                factor = self.costs if (units == 1.0).all() else self.costs / units
                factors[name] = factors[f"interior_{name}"] = factor
        elif not self.plain:
            orders = [max(2, cone.dimension - cone.rotated) for cone in problem.cones]
            of_cones = np.repeat(self.cones, np.array(orders, dtype=np.int64) ** 2)
            factors["cross"] = np.concatenate([of_cones, *map(np.ravel, self.blocks)])
        if certificate.kind == "rank-one-leaves":
            factors |= self._of_boxes(certificate, problem)
        arrays = dict(certificate.arrays)
        for name, factor in factors.items():
            # Multipliers may be left out where they would have no columns.
            if name in arrays and arrays[name].size:
                arrays[name] = arrays[name] * factor
        return replace(certificate, arrays=arrays)

    def _root_of_curvature(self, problem: MISDP) -> float:
        r"""Return :math:`\rho = \sqrt{\gamma s' / s}`, a power of two.

        With the unit s' of Q in these units, :math:`s' L' L'' = D Q D / \gamma`, there is
        :math:`L = \rho D^{-1} L'` in the user's, :math:`h = \rho h'` and :math:`t = \rho^2 t'`.
        """
        mine = curvature_unit(self._divided(problem))
        return math.sqrt(self.costs * mine / curvature_unit(problem))

    def _of_boxes(self, certificate: Certificate, problem: MISDP) -> dict[str, Array]:
        """Return the factors of boxes of entries, and of the multipliers of what holds in them.

        The last rows are those of the entries, then twice those of their products; those before,
        of the program and of its indicators, are in the units of the user.
        """
        entries, products = [np.zeros(0)], [np.zeros(0)]
        for block, units in zip(problem.blocks, self.blocks, strict=True):
            if block.rank_one and block.size > 1:
                i, j = triangle(block.size)
                own = np.diagonal(units)
                entries.append(units[i, j])
                products.append((own[i] * own[j])[i != j])
        of_entries, of_products = np.concatenate(entries), np.concatenate(products)
        own_rows = np.concatenate([of_entries, of_products, of_products])
        count = certificate.arrays["rows"].shape[-1] if "rows" in certificate.arrays else 0
        rows = np.concatenate([np.ones(max(0, count - len(own_rows))), own_rows])
        entry = np.asarray(certificate.arrays["entry"])
        return {
            "root_lower": of_entries,
            "root_upper": of_entries,
            "value": np.where(entry < 0, 1.0, of_entries[entry]),
            "rows": self.costs / rows,
        }


def _column_units(problem: MISDP) -> Array:
    """Return the units of the variables: 1 but for continuous ones with small bounds."""
    low, high = problem.lower, problem.upper
    size = np.maximum(np.abs(low), np.abs(high))
    small = ~problem.integer & (size > 0.0) & (size < 2.0**-SMALL_POWER)
    return np.where(small, np.exp2(np.floor(np.log2(np.where(small, size, 1.0)))), 1.0)


def _counted(problem: MISDP, columns: Array) -> MISDP:
    """Return the program with variables in other units."""
    if (columns == 1.0).all():
        return problem
    D = sp.diags_array(columns)
    return problem.with_changes(
        c=problem.c * columns,
        A=sp.csr_array(problem.A @ D),
        lower=problem.lower / columns,
        upper=problem.upper / columns,
        cones=tuple(replace(cone, F=sp.csr_array(cone.F @ D)) for cone in problem.cones),
        blocks=tuple(replace(block, F=sp.csr_array(block.F @ D)) for block in problem.blocks),
        indicators=tuple(replace(row, a=sp.csr_array(row.a @ D)) for row in problem.indicators),
        Q=None if problem.Q is None else sp.csr_array(D @ problem.Q @ D),
    )


def _cost_unit(problem: MISDP) -> float:
    """Return what costs are divided by: a power of four where they are quadratic.

    It is 1 for costs that are not small.
    """
    largest = float(np.abs(problem.c).max(initial=0.0))
    if problem.Q is None:
        return float(_units(np.array(largest))) if largest < 1.0 else 1.0
    power = math.floor(math.log(largest or float(abs(problem.Q).max()), 4.0))
    return 1.0 if 2 * power >= -QUADRATIC_POWER else 4.0**power


def _largest_in_rows(F: sp.csr_array) -> Array:
    """Return the size of the largest entry of each row, 0 for none."""
    if not F.nnz:
        return np.zeros(F.shape[0])
    return np.asarray(abs(F).max(axis=1).toarray().reshape(-1))


def _sides(problem: MISDP) -> Array:
    """Return the size of the larger finite side of each row."""
    sides = np.abs([problem.row_lower, problem.row_upper])
    return np.asarray(np.where(np.isfinite(sides), sides, 0.0).max(axis=0))


def _largest(parts: Iterable[tuple[Array, Array]]) -> Array:
    """Return the sizes of the largest coefficients of parts and of their largest constants."""
    sizes = [[np.abs(data).max(initial=0.0) for data in part] for part in parts]
    return np.array(sizes).reshape(-1, 2).T


def _of_block(block: SemidefiniteBlock) -> Array:
    """Return the units (s, s) of a matrix's entries: by line where lines are far apart."""
    largest = np.maximum(_largest_in_rows(block.F), np.abs(block.F0))
    lines = _lines(unpack_symmetric(largest, block.size))
    products = lines * lines[:, None]
    if (lines == 1.0).all():
        products = products * _units(*_largest([(block.F.data, block.F0)]))
    return np.asarray(products)


def _lines(sizes: Array) -> Array:
    """Return powers of two for lines that bring the largest entry of each to about one.

    All are 1 where they are not far apart. An entry (i, j) is divided by those of i and j.
    """
    roots = np.ones(len(sizes))
    for _ in range(_ROUNDS):
        largest = (sizes / roots / roots[:, None]).max(axis=1)
        roots *= np.sqrt(np.where(largest > 0.0, largest, 1.0))
    powers = np.rint(np.log2(roots))
    used = powers[sizes.max(axis=1) > 0.0]
    if not len(used) or used.max() - used.min() < USUAL_POWER / 2:
        return np.ones(len(sizes))
    return np.asarray(np.exp2(powers))


def _block_in_units(block: SemidefiniteBlock, units: Array) -> SemidefiniteBlock:
    """Return a matrix with its entries divided by their units (s, s)."""
    factors = 1.0 / pack_symmetric(units)
    F = sp.csr_array(sp.diags_array(factors) @ block.F)
    return replace(block, F=F, F0=factors * block.F0)


def _units(*sizes: Array) -> Array:
    """Return the powers of two below what is nearest to 1 of some sizes, all far off on one side.

    Elsewhere it is 1: coefficients near 1 with a constant of 1e12, say. Zeros have no size.
    """
    powers = np.array([np.floor(np.log2(np.where(size > 0.0, size, np.nan))) for size in sizes])
    low, high = np.fmin.reduce(powers), np.fmax.reduce(powers)
    far = np.where(high <= -USUAL_POWER, high, np.where(low >= USUAL_POWER, low, 0.0))
    return np.asarray(np.exp2(far))


def _times(value: float | None, unit: float) -> float | None:
    return None if value is None else value * unit

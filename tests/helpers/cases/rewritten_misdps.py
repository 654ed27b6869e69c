"""The same mixed-integer semidefinite program, written in another way, has the same optimum.

    python tests/helpers rewritten_misdps --count 300 --exact

draws small programs (``small_misdps``), rewrites each one in thirteen ways, and prints where status
or optimum differ or are not verified; with ``--exact``, not proven by the exact program either.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
import small_misdps
from random_families import proven_exactly

import sparseopt
from sparseopt.problems import MISDP, SemidefiniteBlock
from sparseopt.problems.misdp.cones import pack_symmetric, unpack_symmetric

Array = np.ndarray
Rng = np.random.Generator
TOLERANCE = 1e-5
"""Of optima, relative to 1 or to their size: points may miss their constraints by 1e-7."""


def _block(block: SemidefiniteBlock, change: Callable[[Array], Array]) -> SemidefiniteBlock:
    """Return the block with each of its symmetric matrices changed."""
    columns = [*block.F.toarray().T, block.F0]
    packed = [pack_symmetric(change(unpack_symmetric(column, block.size))) for column in columns]
    return SemidefiniteBlock(np.array(packed[:-1]).T, packed[-1])


def lines(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Count the lines of each matrix in units of their own, 8 orders apart."""
    blocks = []
    for block in problem.blocks:
        units = 10.0 ** rng.uniform(-4.0, 4.0, block.size)
        products = np.outer(units, units)
        blocks.append(_block(block, lambda M, D=products: M * D))
    return problem.with_changes(blocks=tuple(blocks)), 1.0


def variables(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Count continuous variables with bounds in larger units, so that they are small numbers."""
    bounded = ~problem.integer & np.isfinite(problem.lower) & np.isfinite(problem.upper)
    units = np.where(bounded, 10.0 ** rng.uniform(0.0, 10.0, len(problem.c)), 1.0)
    D = sp.diags_array(units)
    return problem.with_changes(
        c=problem.c * units,
        A=sp.csr_array(problem.A @ D),
        lower=problem.lower / units,
        upper=problem.upper / units,
        cones=tuple(replace(k, F=sp.csr_array(k.F @ D)) for k in problem.cones),
        blocks=tuple(replace(k, F=sp.csr_array(k.F @ D)) for k in problem.blocks),
        indicators=tuple(replace(k, a=sp.csr_array(k.a @ D)) for k in problem.indicators),
        Q=None if problem.Q is None else sp.csr_array(D @ problem.Q @ D),
    ), 1.0


def parts(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Count each row, each cone and each matrix in a unit of its own, 12 orders apart."""
    a, b, c = (
        10.0 ** rng.uniform(-6.0, 6.0, count)
        for count in (problem.A.shape[0], len(problem.cones), len(problem.blocks))
    )
    return problem.with_changes(
        A=sp.csr_array(sp.diags_array(a) @ problem.A),
        row_lower=problem.row_lower * a,
        row_upper=problem.row_upper * a,
        cones=tuple(
            replace(k, F=k.F * t, g=k.g * t) for k, t in zip(problem.cones, b, strict=True)
        ),
        blocks=tuple(
            replace(k, F=k.F * t, F0=k.F0 * t) for k, t in zip(problem.blocks, c, strict=True)
        ),
    ), 1.0


def costs(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Count the costs in another unit."""
    unit = float(10.0 ** rng.uniform(-8.0, 8.0))
    return problem.with_changes(c=problem.c * unit, offset=problem.offset * unit), unit


def sense(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Maximise the negated objective."""
    other = "max" if problem.sense == "min" else "min"
    return problem.with_changes(c=-problem.c, offset=-problem.offset, sense=other), -1.0


def origin(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Count integers from another one."""
    step = np.where(problem.integer, np.rint(10.0 ** rng.uniform(0.0, 2.0, len(problem.c))), 0.0)
    return problem.with_changes(
        lower=problem.lower + step,
        upper=problem.upper + step,
        row_lower=problem.row_lower + problem.A @ step,
        row_upper=problem.row_upper + problem.A @ step,
        offset=problem.offset - float(problem.c @ step),
        cones=tuple(replace(k, g=k.g - k.F @ step) for k in problem.cones),
        blocks=tuple(replace(k, F0=k.F0 - k.F @ step) for k in problem.blocks),
    ), 1.0


def signs(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Negate some variables."""
    s = np.where(rng.random(len(problem.c)) < 0.5, -1.0, 1.0)
    D = sp.diags_array(s)
    return problem.with_changes(
        c=problem.c * s,
        A=sp.csr_array(problem.A @ D),
        lower=np.where(s > 0.0, problem.lower, -problem.upper),
        upper=np.where(s > 0.0, problem.upper, -problem.lower),
        cones=tuple(replace(k, F=sp.csr_array(k.F @ D)) for k in problem.cones),
        blocks=tuple(replace(k, F=sp.csr_array(k.F @ D)) for k in problem.blocks),
    ), 1.0


def turned(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Turn each matrix: Q M Q' with an orthogonal Q."""
    blocks = []
    for block in problem.blocks:
        Q = np.linalg.qr(rng.normal(size=(block.size, block.size)))[0]
        blocks.append(_block(block, lambda M, Q=Q: Q @ M @ Q.T))
    return problem.with_changes(blocks=tuple(blocks)), 1.0


def arrows(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Write cones as matrices: ((u_0, w'), (w, u_0 I)), or ((2 u_0, w'), (w, u_1 I))."""
    blocks = list(problem.blocks)
    for cone in problem.cones:
        packed = []
        for u in (*cone.F.toarray().T, cone.g):
            head, corner, w = (2.0 * u[0], u[1], u[2:]) if cone.rotated else (u[0], u[0], u[1:])
            M = np.eye(max(1 + len(w), 1 + cone.rotated)) * corner
            M[0, 0] = head
            M[0, 1 : 1 + len(w)] = M[1 : 1 + len(w), 0] = w
            packed.append(pack_symmetric(M))
        blocks.append(SemidefiniteBlock(np.array(packed[:-1]).T, packed[-1]))
    return problem.with_changes(cones=(), blocks=tuple(blocks)), 1.0


def scalars(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Write rows as matrices of one entry."""
    blocks, A = list(problem.blocks), problem.A.toarray()
    for row, low, high in zip(A, problem.row_lower, problem.row_upper, strict=True):
        for sign, end in ((1.0, low), (-1.0, high)):
            if np.isfinite(end):
                blocks.append(SemidefiniteBlock(sign * row[None], [-sign * end]))
    rows: dict[str, Any] = {"A": None, "row_lower": None, "row_upper": None}
    return problem.with_changes(**rows, blocks=tuple(blocks)), 1.0


def twice(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """State rows and matrices twice."""
    return problem.with_changes(
        A=sp.csr_array(sp.vstack([problem.A, problem.A])),
        row_lower=np.tile(problem.row_lower, 2),
        row_upper=np.tile(problem.row_upper, 2),
        blocks=problem.blocks * 2,
    ), 1.0


def order(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Change the places of variables, and of the lines of matrices."""
    places = rng.permutation(len(problem.c))
    blocks = []
    for block in problem.blocks:
        some = np.ix_(*[rng.permutation(block.size)] * 2)
        blocks.append(_block(block, lambda M, some=some: M[some]))
    return problem.with_changes(
        c=problem.c[places],
        A=sp.csr_array(problem.A[:, places]),
        lower=problem.lower[places],
        upper=problem.upper[places],
        integer=problem.integer[places],
        cones=tuple(replace(k, F=sp.csr_array(k.F[:, places])) for k in problem.cones),
        blocks=tuple(replace(k, F=sp.csr_array(k.F[:, places])) for k in blocks),
    ), 1.0


def together(problem: MISDP, rng: Rng) -> tuple[MISDP, float]:
    """Put all matrices on the diagonal of one."""
    size = sum(block.size for block in problem.blocks)
    packed = []
    for k in range(len(problem.c) + 1):
        M, begin = np.zeros((size, size)), 0
        for block in problem.blocks:
            here = slice(begin, begin + block.size)
            column = block.F0 if k == len(problem.c) else block.F[:, [k]].toarray().ravel()
            M[here, here] = unpack_symmetric(column, block.size)
            begin += block.size
        packed.append(pack_symmetric(M))
    whole = SemidefiniteBlock(np.array(packed[:-1]).T, packed[-1])
    return problem.with_changes(blocks=(whole,)), 1.0


WAYS: dict[str, Callable[[MISDP, Rng], tuple[MISDP, float]]] = {
    way.__name__: way
    for way in (
        lines, variables, parts, costs, sense, origin, signs, turned, arrows, scalars, twice,
        order, together,
    )
}  # fmt: skip
"""Each returns the program in another form, and what its objective is to be divided by."""


def complaint(way: str, seed: int, folder: Path | None = None) -> str:
    """Return what is wrong with a program written in another way; nothing for a right answer.

    With a folder for its files it must be proven by the exact program, too.
    """
    given = small_misdps.draw(seed)
    expected = sparseopt.solve(given, time_limit=20.0)
    other, unit = WAYS[way](given, np.random.default_rng(seed))
    found = sparseopt.solve(other, time_limit=20.0)
    if found.status is not expected.status:
        return f"{found.status} instead of {expected.status}"
    if expected.objective is not None:
        off = abs(found.objective / unit - expected.objective)
        if off > TOLERANCE * max(1.0, abs(expected.objective)):
            return f"{found.objective / unit!r} instead of {expected.objective!r}"
    if found.verdict is not sparseopt.Verdict.VERIFIED:
        return f"{found.verdict}: {'; '.join(found.check_messages)}"
    exactly = "proven" if folder is None else proven_exactly(other, found, folder)
    return "" if exactly == "proven" else f"exactly {exactly}"


def main() -> None:
    """Print what is wrong, and count the rest."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--exact", action="store_true")
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(asked.first, asked.first + asked.count):
        for way in WAYS:
            with TemporaryDirectory() as folder:
                wrong = complaint(way, seed, Path(folder) if asked.exact else None)
            counts[way] += not wrong
            if wrong:
                print(f"{way} {seed}: {wrong}", flush=True)
    print(", ".join(f"{way}: {count} of {asked.count}" for way, count in counts.items()))


if __name__ == "__main__":
    main()

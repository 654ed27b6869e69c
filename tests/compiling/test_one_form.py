"""Whatever the layout and type of the arrays, the engines compile one form of each function."""

import sys
from collections.abc import Callable

import numpy as np
import pytest

import sparseopt
from sparseopt.compiling import Kernel, Mode, override
from sparseopt.problems import DantzigSelector, LADLasso
from sparseopt.problems.base import Array


def forms() -> set[tuple[str, str]]:
    """Return what is compiled or loaded in this process: functions and what tells forms apart."""
    kernels = {
        value
        for name, module in list(sys.modules.items())
        if name.startswith("sparseopt.")
        for value in vars(module).values()
        if isinstance(value, Kernel)
    }
    by_numba = {k: k.dispatcher.overloads for k in kernels if "dispatcher" in vars(k)}
    return {(k.__qualname__, str(sig)) for k in by_numba for sig in by_numba[k]} | {
        (k.__qualname__, str(function)) for k in kernels for function in k._linked.values()
    }


def read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array


def every_other(array: Array) -> Array:
    return np.repeat(array, 2, axis=0)[::2]


LAYOUTS: list[Callable[[Array], Array]] = [
    np.asfortranarray,
    lambda a: read_only(a.copy()),
    every_other,
    lambda a: a.astype(np.float32),
    lambda a: np.round(a).astype(np.int64),
    lambda a: a.astype(">f8"),
]


def lad(X: Array, y: Array) -> object:
    return LADLasso(X, y)


def dantzig(X: Array, y: Array) -> object:
    return DantzigSelector(X, y)


def graph(X: Array, y: Array) -> object:
    return sparseopt.problems.L0GraphicalModel(X, ~np.eye(X.shape[1], dtype=bool))


def strs(X: Array, y: Array) -> object:
    return sparseopt.problems.STRS(X.T @ X, X.T @ y, 2)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("make", [lad, dantzig, graph, strs])
def test_one_form_for_all_layouts(make: Callable[[Array, Array], object]) -> None:
    rng = np.random.default_rng(0)
    X, y = 3.0 * rng.standard_normal((12, 5)), 3.0 * rng.standard_normal(12)
    with override(Mode.NOW):
        sparseopt.solve(make(X, y))
        before = forms()
        assert before
        for layout in LAYOUTS:
            sparseopt.solve(make(layout(X), layout(y)))
            assert forms() == before

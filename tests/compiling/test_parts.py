"""What LLVM optimizes together: a function by itself, the smallest in their callers."""

from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from sparseopt.compiling import parts  # noqa: E402

OPTIONS = {"pipeline_class": parts.KernelCompiler, "no_cfunc_wrapper": True}
INSIDE = {**OPTIONS, "no_cpython_wrapper": True}


@numba.njit(**INSIDE)
def tiny(x: float) -> float:
    return 2.0 * x


@numba.njit(**INSIDE)
def large(a: np.ndarray, i: int) -> None:
    for j in range(a.shape[0] - 1):
        if a[j] > a[i]:
            a[j], a[j + 1] = a[j + 1] / (i + 1), a[j] - a[i]
        elif a[j + 1] < a[j]:
            a[j] += a[i] * a[j + 1]
        else:
            a[i] = a[j] * a[j + 1] - a[i]
        a[j] /= 3.0 + abs(a[j] - i) + abs(a[i] * j) + abs(a[j + 1])
    for j in range(a.shape[0] - 1):
        for k in range(j):
            if a[k] * a[j] < a[i]:
                a[k], a[j] = 0.5 * a[j], 0.25 * a[k] - a[j + 1]
            elif a[k] > a[j + 1] or a[k] + a[i] > 1.0:
                a[k] = 1.0 / (1.0 + a[k] ** 2 + a[j] ** 2)


@numba.njit(**INSIDE)
def middle(a: np.ndarray) -> float:
    for i in range(a.shape[0]):
        a[i] = tiny(a[i])
        large(a, i)
    return tiny(a[0])


@numba.njit(**OPTIONS)
def entry(a: np.ndarray) -> float:
    large(a, 0)
    return middle(a) + a.sum()


def test_a_function_is_optimized_by_itself_and_the_smallest_in_their_callers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modules: list[tuple[set[str], str]] = []
    optimize = parts._Library._optimize_final_module

    def watched(library: Any) -> None:
        before = {f.name for f in library._final_module.functions if not f.is_declaration}
        optimize(library)
        modules.append((before, str(library._final_module)))

    monkeypatch.setattr(parts._Library, "_optimize_final_module", watched)
    numbers = np.linspace(-1.0, 2.0, 7)
    plain = numbers.copy()
    compiled = entry(numbers)

    def with_a(name: str) -> list[str]:
        return [code for names, code in modules if any(name in each for each in names)]

    assert len(with_a("large")) == 1
    calls = [line for line in with_a("middle")[0].splitlines() if " call " in line]
    assert any("large" in line for line in calls)
    assert not any("tiny" in line for line in calls)
    assert compiled == pytest.approx(_plainly(plain), rel=1e-14)


def _plainly(a: np.ndarray) -> float:
    """Return what the functions above do, in plain Python."""
    large.py_func(a, 0)
    for i in range(len(a)):
        a[i] = tiny.py_func(a[i])
        large.py_func(a, i)
    return float(tiny.py_func(a[0]) + a.sum())

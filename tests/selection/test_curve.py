"""Piecewise quadratic functions: exact minima, largest solutions, common breakpoints."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparseopt.errors import ParamError
from sparseopt.selection.curve import Curve, aligned


def curve(low: list[float], coefficients: list[list[float]], top: float = np.inf) -> Curve:
    return Curve(np.array(low), top, np.array(coefficients))


def random_curve(seed: int) -> Curve:
    rng = np.random.default_rng(seed)
    pieces = int(rng.integers(1, 7))
    low = np.append(np.sort(rng.uniform(0.1, 3.0, pieces - 1))[::-1], 0.0)
    coefficients = rng.normal(size=(pieces, 3)) * rng.integers(0, 2, size=(pieces, 3))
    return Curve(low, 4.0, coefficients)


def dense(f: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Many points, both one-sided values at the breakpoints among them."""
    lam, value = [], []
    for low, high, (a0, a1, a2) in zip(f.low, f.high, f.coefficients, strict=True):
        step = np.linspace(0.0, high - low, 301)
        lam.append(low + step)
        value.append(a0 + a1 * step + a2 * step**2)
    return np.concatenate(lam), np.concatenate(value)


@pytest.mark.thorough
@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6))
def test_the_minimum_is_a_value_and_no_point_is_below(seed: int) -> None:
    f = random_curve(seed)
    best = f.minimum()
    lam, value = dense(f)
    assert best.value <= value.min() + 1e-12
    # Attained, on one side of a jump at least.
    near = np.abs(lam - best.lam).min() <= 4.0 / 300
    assert near
    sides = [
        a0 + (best.lam - low) * (a1 + (best.lam - low) * a2)
        for low, high, (a0, a1, a2) in zip(f.low, f.high, f.coefficients, strict=True)
        if low <= best.lam <= high
    ]
    assert min(abs(side - best.value) for side in sides) <= 1e-12


@pytest.mark.thorough
@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_the_largest_lam_within_a_limit(seed: int, share: float) -> None:
    f = random_curve(seed)
    lam, value = dense(f)
    limit = f.minimum().value + share * (value.max() - value.min())
    found = f.largest_within(limit)
    piece = int(np.flatnonzero((f.low <= found) & (found <= f.high))[0])
    assert any(
        a0 + (found - low) * (a1 + (found - low) * a2) <= limit + 1e-9
        for low, high, (a0, a1, a2) in zip(f.low, f.high, f.coefficients, strict=True)
        if low <= found <= high
    )
    # Ends of pieces that were summed up may round to the other side of a breakpoint.
    above = lam > (f.high[piece] if f.flat[piece] else found) + 1e-12
    assert not (value[above] < limit - 1e-9).any()


def test_a_flat_minimum_is_an_interval_and_its_middle() -> None:
    f = curve([3.0, 2.0, 1.0, 0.0], [[5, 0, 0], [1, 0, 0], [1, 0, 0], [2, 0, 0]])
    best = f.minimum()
    assert (best.low, best.high, best.lam, best.value) == (1.0, 3.0, 2.0, 1.0)


def test_of_equal_minima_the_one_with_the_largest_lam_counts() -> None:
    f = curve([3.0, 2.0, 1.0, 0.0], [[5, 0, 0], [1, 0, 0], [2, 0, 0], [1, 0, 0]])
    assert f.minimum().lam == 2.5


def test_the_null_model_is_chosen_above_the_jump_at_its_end() -> None:
    best = curve([3.0, 0.0], [[1, 0, 0], [1, 1, 0]]).minimum()
    assert (best.lam, best.low, best.high) == (3.0 * 1.05, 3.0, np.inf)


def test_a_vertex_inside_a_piece_is_found() -> None:
    # (lam - 1.25)^2 on [1, 2]
    best = curve([2.0, 1.0, 0.0], [[9, 0, 0], [0.0625, -0.5, 1], [9, 0, 0]]).minimum()
    assert best.lam == 1.25
    assert best.value == 0.0


def test_common_breakpoints_change_no_value() -> None:
    f, g = random_curve(1), random_curve(2)
    lam = np.random.default_rng(0).uniform(0.0, 4.0, 500)
    for before, after in zip((f, g), aligned([f, g], 0.0, 4.0, also=1.7), strict=True):
        np.testing.assert_allclose(after(lam), before(lam), atol=1e-12)
        assert 1.7 in after.low


def test_a_rescaled_curve_has_the_same_values_at_rescaled_places() -> None:
    f = random_curve(3)
    lam = np.linspace(0.0, 4.0, 50)
    np.testing.assert_allclose(f.rescaled(4.0)(lam / 4.0), f(lam), atol=1e-12)


def test_outside_of_its_range_there_is_no_value() -> None:
    with pytest.raises(ParamError, match="outside the range that was compared"):
        curve([1.0, 0.5], [[1, 0, 0], [1, 0, 0]])(0.25)

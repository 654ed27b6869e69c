"""What common bounds say about charges of several segments at once."""

from types import SimpleNamespace

import numpy as np

from sparseopt.checking.parametric.multipliers.path import PathMultipliers, _Point
from sparseopt.checking.parametric.multipliers.reach import Span, common_bounds
from sparseopt.problems import Pieces, PiecewiseLinearProgram


def test_a_variable_fixed_at_zero_does_not_hide_what_the_others_may_cost():
    """abs(a) + abs(b + 10 a + 10 c) <= 5 with c = 0 leaves b = -50 at a = 5."""
    phi = Pieces(
        ptr=np.array([0, 1, 2, 4]),
        kink=np.zeros(4),
        kink_rate=np.zeros(4),
        slope=np.array([0.0, 0.0, -1.0, 1.0, -np.inf, 0.0, np.inf]),
        slope_rate=np.zeros(7),
    )
    psi = Pieces.uniform([np.zeros(1)], [-np.ones(1), np.ones(1)])
    program = PiecewiseLinearProgram(A=np.array([[1.0, 10.0, 10.0]]), phi=phi, psi=psi)
    span = Span((1.0, 2.0), (1.0, 1.5), (5.0, 5.0), (1e-9, 1e-9), 5.0)
    bounds = common_bounds(program, program.functions, [span])
    assert (bounds >= [50.0, 5.0, 0.0, 0.0]).all()
    assert bounds[0] < 60.0


def test_an_end_whose_charges_are_no_number_stays_open():
    span = Span((1.0, 2.0), (1.0,), (5.0,), (1e-9,), 5.0)
    ends = SimpleNamespace(span=lambda at, k: span)
    points = {0: [_Point(1.0, np.zeros(1), np.array([excess, 0.0])) for excess in (np.inf, 0.0)]}
    dear, checker = {0: [0, 1]}, SimpleNamespace(_exactly=lambda lam, nu, excess: excess)
    with np.errstate(invalid="ignore"):
        PathMultipliers._drop_covered(checker, ends, [0], dear, points, np.array([0.0, np.inf]))
    assert dear == {0: [0]}

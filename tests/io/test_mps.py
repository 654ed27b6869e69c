"""MPS: exact round trips, both layouts, the conventions for lam, and errors that name the line."""

from __future__ import annotations

import gzip
import textwrap
from pathlib import Path

import highspy
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from io_examples import PROBLEMS, parametric_lp, three_kinks
from scipy.optimize import linprog

from sparseopt import ProblemError, solve
from sparseopt.io import load_problem, read_header, save_problem
from sparseopt.problems import (
    STRS,
    DantzigSelector,
    LADLasso,
    ParametricLP,
    ParametricProblem,
    Pieces,
    PiecewiseLinearProgram,
)

BOUNDED = """\
    * sparseopt-mps {"version": 1}
    NAME a name of three words
    OBJSENSE MAX
    ROWS
     N profit
     L r1
     G r2
     E r3
     E r4
     E r5
    * a comment
    COLUMNS
     x profit 1.5 r1 2
     x r3 1 r4 1
     y r2 -1 r3 -1.1
     y r5 1
     z profit 1 r1 1
     w r1 -1 profit .5
    RHS
     RHS profit 3 r1 4
     RHS r2 0.1 r4 1.5
     RHS r3 2
     SLOPE r1 1 profit 2
    RANGES
     R r1 2.5 r2 0.3
     R r4 0.5 r5 -2
    BOUNDS
     UP BND x 4.2
     LO BND x 1.7
     FR BND y
     UP BND z -1
     MI BND z
     FX BND w 1e0
    ENDATA
"""


def write(path: Path, text: str) -> Path:
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


LPS = [name for name in PROBLEMS if name.startswith("lp-")]


@pytest.mark.parametrize("ending", [".mps", ".mps.gz"])
@pytest.mark.parametrize("name", LPS)
def test_a_parametric_lp_comes_back_to_the_last_bit(name: str, ending: str, tmp_path: Path) -> None:
    problem = PROBLEMS[name]()
    save_problem(problem, tmp_path / f"a{ending}")
    again = load_problem(tmp_path / f"a{ending}")
    assert isinstance(again, ParametricLP)
    assert again.fingerprint() == problem.fingerprint()


# all that a linear program may have
sizes = st.floats(2.0**-300, 2.0**300)
finite = sizes | sizes.map(lambda size: -size) | st.sampled_from([0.0, -0.0])
# of right-hand sides, which are infinite from 1e20 on
sides = finite.filter(lambda size: abs(size) < 1e20)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_numbers_come_back(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    m, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    dense = data.draw(arrays(np.float64, (m, n), elements=finite))
    problem = ParametricLP(
        A=sp.csr_array(dense) if data.draw(st.booleans()) else dense,
        b=data.draw(arrays(np.float64, m, elements=sides)),
        b_bar=data.draw(arrays(np.float64, m, elements=sides)),
        c=data.draw(arrays(np.float64, n, elements=finite)),
        c_bar=data.draw(arrays(np.float64, n, elements=finite)),
        form=data.draw(st.sampled_from(["inequality", "equality"])),
    )
    path = tmp_path_factory.getbasetemp() / "any.mps"
    save_problem(problem, path)
    assert load_problem(path).fingerprint() == problem.fingerprint()


@pytest.mark.parametrize("ending", [".mps", ".mps.gz"])
def test_the_same_problem_gives_the_same_bytes(ending: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_problem(parametric_lp(), tmp_path / f"{name}{ending}", license="CC0-1.0")
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def optimum(problem: ParametricProblem, lam: float) -> float:
    """Minimise the canonical objective of a program of intervals and linear costs by scipy."""
    program = problem.canonical()
    A = program.A.as_array()
    low, high = program.psi.domain(lam)
    above, below = np.isfinite(high), np.isfinite(low)
    slopes = program.phi.slopes_at(lam)
    cost = np.array(
        [
            next(s for s in slopes[begin:end] if np.isfinite(s))
            for begin, end in zip(
                program.phi.slope_ptr[:-1], program.phi.slope_ptr[1:], strict=True
            )
        ]
    )
    # Every function is zero at its first kink.
    base = program.phi.kinks_at(lam)[program.phi.ptr[:-1]]
    found = linprog(
        cost,
        A_ub=sp.vstack([sp.csr_array(A)[above], -sp.csr_array(A)[below]]),
        b_ub=np.concatenate([high[above], -low[below]]),
        bounds=np.column_stack(program.phi.domain(lam)),
        method="highs",
    )
    assert found.status == 0, found.message
    o = program.offset
    return float(found.fun - cost @ base + o[0] + lam * o[1] + lam**2 * o[2])


def test_bounds_ranges_and_senses_mean_what_highs_reads(tmp_path: Path) -> None:
    # HiGHS knows no second RHS set: the same file without it is the problem at lam = 0.
    path = write(tmp_path / "a.mps", BOUNDED)
    single = write(tmp_path / "single.mps", BOUNDED.replace("     SLOPE r1 1 profit 2\n", ""))
    problem = load_problem(path)
    assert isinstance(problem, PiecewiseLinearProgram)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(single)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    # The file maximises and the program minimises: the sign is turned.
    assert optimum(problem, 0.0) == pytest.approx(-highs.getInfo().objective_function_value)


def test_the_intervals_of_bounds_and_ranges(tmp_path: Path) -> None:
    problem = load_problem(write(tmp_path / "a.mps", BOUNDED))
    assert isinstance(problem, PiecewiseLinearProgram)
    low, high = problem.phi.domain(5.0)
    assert low.tolist() == [1.7, -np.inf, -np.inf, 1.0]
    assert high.tolist() == [4.2, np.inf, -1.0, 1.0]
    low, high = problem.psi.domain(10.0)
    assert low.tolist() == [11.5, 0.1, 2.0, 1.5, -2.0]
    assert high.tolist() == [14.0, 0.4, 2.0, 2.0, 0.0]
    assert problem.coefficient_names == ["x", "y", "z", "w"]
    x = np.array([2.0, 0.5, -3.0, 1.0])
    # -(1.5 x + z + 0.5 w - 3 - 2 lam)
    assert problem.objective(x, lam=10.0) == pytest.approx(-(3.0 - 3.0 + 0.5 - 3.0 - 20.0))


def test_a_program_from_mps_is_written_as_it_was(tmp_path: Path) -> None:
    problem = load_problem(write(tmp_path / "a.mps", BOUNDED))
    save_problem(problem, tmp_path / "b.mps")
    assert load_problem(tmp_path / "b.mps").fingerprint() == problem.fingerprint()
    assert " RNG " in (tmp_path / "b.mps").read_text()


def test_a_minimised_file_is_not_negated(tmp_path: Path) -> None:
    problem = load_problem(write(tmp_path / "a.mps", BOUNDED.replace("    OBJSENSE MAX\n", "")))
    x = np.array([2.0, 0.5, -3.0, 1.0])
    assert problem.objective(x, lam=0.0) == pytest.approx(3.0 - 3.0 + 0.5 - 3.0)
    assert "note" not in read_header(tmp_path / "a.mps")


PURE = """\
    * sparseopt-mps {"version": 1}
    NAME pure
    OBJSENSE
        MAX
    ROWS
     N cost
     N slope
     L r1
     L r2
    COLUMNS
     x1 cost 1 r1 1
     x1 r2 1
     x2 cost 2 r1 1
     x2 slope -1
    RHS
     first r1 1
     second r1 1 r2 0.5
    ENDATA
"""


def test_the_conventions_for_lam(tmp_path: Path) -> None:
    problem = load_problem(write(tmp_path / "a.mps", PURE))
    assert isinstance(problem, ParametricLP)
    assert problem.form == "inequality"
    assert problem.A.toarray().tolist() == [[1.0, 1.0], [1.0, 0.0]]
    assert problem.c.tolist() == [1.0, 2.0]
    assert problem.c_bar.tolist() == [0.0, -1.0]
    assert problem.b.tolist() == [1.0, 0.0]
    assert problem.b_bar.tolist() == [1.0, 0.5]
    assert problem.names == ["x1", "x2"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("MAX", "MIN"),
        (" L r2", " G r2"),
        (" L r2", " E r2"),
        ("first r1 1", "first r1 1 cost 1"),
        ("ENDATA", "RANGES\n R r1 1\nENDATA"),
        ("ENDATA", "BOUNDS\n UP B x1 1\nENDATA"),
        ("ENDATA", "BOUNDS\n FR B x1\nENDATA"),
    ],
)
def test_what_is_no_parametric_lp_is_a_piecewise_program(
    old: str, new: str, tmp_path: Path
) -> None:
    text = textwrap.dedent(PURE)
    assert old in text
    path = tmp_path / "a.mps"
    path.write_text(text.replace(old, new))
    assert isinstance(load_problem(path), PiecewiseLinearProgram)
    assert read_header(path)["kind"] == "piecewise-linear-program"


def test_header_of_an_mps_file(tmp_path: Path) -> None:
    header = read_header(write(tmp_path / "a.mps", BOUNDED))
    assert header["name"] == "a name of three words"
    assert header["size"] == {"m": 5, "n": 4, "nonzeros": 8}
    assert "minimises the negative" in header["note"]
    facts = {"name": "two  words", "license": "MIT", "generator": {"seed": 3}}
    save_problem(PROBLEMS["dantzig"](), tmp_path / "b.mps", **facts)
    header = read_header(tmp_path / "b.mps")
    assert {key: header[key] for key in facts} == facts
    assert header["source"] == "dantzig-selector"
    assert header["kind"] == "parametric-lp"


FIXED = """\
NAME          FIXED
ROWS
 N  COST
 L  MY ROW
 G  R2
COLUMNS
    COL 1     COST               1.0   MY ROW             1.0
    COL 1     R2              -1.5D0
    COL2      COST               2.0   MY ROW             1.0
RHS
              MY ROW             4.0   R2                 1.0
RANGES
    RNG       MY ROW             2.5
BOUNDS
 UP BND       COL 1              4.0
 MI BND       COL2
ENDATA
"""


def test_fixed_columns_with_blanks_in_names(tmp_path: Path) -> None:
    (tmp_path / "a.mps").write_text(FIXED)
    problem = load_problem(tmp_path / "a.mps")
    assert isinstance(problem, PiecewiseLinearProgram)
    assert problem.coefficient_names == ["COL 1", "COL2"]
    assert problem.A.as_array().toarray().tolist() == [[1.0, 1.0], [-1.5, 0.0]]
    assert [end.tolist() for end in problem.psi.domain(0.0)] == [[1.5, 1.0], [4.0, np.inf]]
    assert [end.tolist() for end in problem.phi.domain(0.0)] == [[0.0, -np.inf], [4.0, np.inf]]
    free = FIXED.replace("COL 1", "COL_1").replace("MY ROW", "MY_ROW")
    (tmp_path / "b.mps").write_text(free.replace("      ", " ").replace("\n", "\r\n"))
    same = load_problem(tmp_path / "b.mps")
    assert isinstance(same, PiecewiseLinearProgram)
    assert same.coefficient_names == ["COL_1", "COL2"]
    assert same.A.as_array().toarray().tolist() == problem.A.as_array().toarray().tolist()


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (
            "              -1.5D0",
            "       -1.234567e-05",
            "line 8 .*'-1.234567e-05' does not fit.*columns 23 to 24 must be",
        ),
        (
            "              -1.5D0",
            "              1000000000000",
            "line 8 .*columns 37 to 39 must be",
        ),
        ("R2              -1.5D0", "R2       x      -1.5D0", "line 8 .*columns 23 to 24 must be"),
        (
            "COL2      COST",
            "COL2stray COST",
            "line 9 .*'COL2stray' does not fit.*columns 13 to 14 must be",
        ),
        (
            "    COL2      COST",
            "   XCOL2      COST",
            "line 9 .*'XCOL2' does not fit.* column 4 must be",
        ),
    ],
)
def test_what_does_not_fit_its_fixed_field_is_refused(
    old: str, new: str, what: str, tmp_path: Path
) -> None:
    assert old in FIXED
    (tmp_path / "a.mps").write_text(FIXED.replace(old, new))
    with pytest.raises(ProblemError, match=what):
        load_problem(tmp_path / "a.mps")


def test_a_second_set_of_right_hand_sides_must_be_declared(tmp_path: Path) -> None:
    ours = write(tmp_path / "ours.mps", PURE)
    lines = ours.read_text().splitlines()
    theirs = write(tmp_path / "theirs.mps", "\n".join(lines[1:]))
    what = r"line 16 .*a second RHS set 'second' after 'first'.*--b-bar second .*b_bar='second'"
    for reader in (load_problem, read_header):
        with pytest.raises(ProblemError, match=what):
            reader(theirs)
        with pytest.raises(ProblemError, match="a third RHS set 'second': 'first' is b and 'sec'"):
            reader(theirs, b_bar="sec")
    problem = load_problem(theirs, b_bar="second")
    assert problem.fingerprint() == load_problem(ours).fingerprint()
    assert read_header(theirs, b_bar="second")["kind"] == "parametric-lp"
    swapped = load_problem(theirs, b_bar="first")
    assert isinstance(swapped, ParametricLP)
    assert (swapped.b.tolist(), swapped.b_bar.tolist()) == ([1.0, 0.5], [1.0, 0.0])
    one = write(tmp_path / "one.mps", "\n".join(lines[1:]).replace("second", "first", 1))
    with pytest.raises(ProblemError, match="is there twice"):
        load_problem(one)
    save_problem(problem, tmp_path / "a.npz")
    with pytest.raises(ProblemError, match="b_bar names an RHS set of an MPS file"):
        load_problem(tmp_path / "a.npz", b_bar="second")


def test_a_set_that_is_not_there_is_named(tmp_path: Path) -> None:
    single = PURE.replace("     second r1 1 r2 0.5\n", "")
    path = write(tmp_path / "a.mps", single)
    with pytest.raises(ProblemError, match="no RHS set is named 'slope'; there is 'first'"):
        load_problem(path, b_bar="slope")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("a.qps", "no problem with a quadratic objective"),
        ("a.QPS.gz", "no problem with a quadratic objective"),
        ("a.mps.bz2", "unpack it .bunzip2., or pack it by gzip"),
        ("a.cbf.xz", "unpack it .unxz."),
    ],
)
def test_endings_that_people_try(name: str, what: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("anything")
    for reader in (load_problem, read_header):
        with pytest.raises(ProblemError, match=what):
            reader(tmp_path / name)


def test_what_cannot_be_loaded_has_no_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mps", PURE.replace('"version": 1', '"version": 1, "names": [1]'))
    for reader in (load_problem, read_header):
        with pytest.raises(ProblemError, match="the header's entry names must be a text for each"):
            reader(path)


def test_names_that_mps_cannot_hold_are_kept(tmp_path: Path) -> None:
    for names in (["a b", "c", "d"], ["*", "$", "'MARKER'"], ["x", "x", "x"], ["x0", "x1", "x2"]):
        problem = parametric_lp(names=names)
        save_problem(problem, tmp_path / "a.mps")
        assert load_problem(tmp_path / "a.mps").fingerprint() == problem.fingerprint()


@pytest.mark.parametrize("lam", [0.0, 0.4, 2.0])
@pytest.mark.parametrize("name", ["dantzig", "dantzig-weights", "lad-intercept", "plp-sparse"])
def test_other_models_keep_their_optima(name: str, lam: float, tmp_path: Path) -> None:
    problem = PROBLEMS[name]()
    assert isinstance(problem, ParametricProblem)
    save_problem(problem, tmp_path / "a.mps")
    again = load_problem(tmp_path / "a.mps")
    assert isinstance(again, ParametricProblem)
    # A model without constants becomes a ParametricLP, which maximises the negative.
    with_offset = isinstance(problem, PiecewiseLinearProgram)
    assert isinstance(again, PiecewiseLinearProgram if with_offset else ParametricLP)
    assert optimum(again, lam) == pytest.approx(_epigraph(problem, lam), rel=1e-9, abs=1e-9)


def _epigraph(problem: ParametricProblem, lam: float) -> float:
    from test_linear_program import epigraph_optimum

    return epigraph_optimum(problem.canonical(), lam)


def test_pieces_are_named_after_the_coefficients(tmp_path: Path) -> None:
    for problem, name in (
        (LADLasso(X=np.ones((2, 1)), y=[0, 1], fit_intercept=True), "intercept+"),
        (DantzigSelector(X=np.ones((2, 1)), y=[0, 1], names=["age"]), "age-"),
    ):
        save_problem(problem, tmp_path / "a.mps")
        again = load_problem(tmp_path / "a.mps")
        assert isinstance(again, ParametricLP)
        assert name in again.coefficient_names


def test_a_bound_beyond_1e20_is_infinite(tmp_path: Path) -> None:
    text = BOUNDED.replace("UP BND x 4.2", "UP BND x 1e30").replace("FX BND w 1e0", "LO BND w -inf")
    problem = load_problem(write(tmp_path / "a.mps", text))
    assert isinstance(problem, PiecewiseLinearProgram)
    low, high = problem.phi.domain(0.0)
    assert (high[0], low[3]) == (np.inf, -np.inf)


def test_a_finite_number_that_would_be_read_as_infinite_is_not_written(tmp_path: Path) -> None:
    program = PiecewiseLinearProgram(
        A=np.eye(1),
        phi=Pieces.uniform([-1e25, 1e25], [-np.inf, 1.0, np.inf], n=1),
        psi=Pieces.uniform([0.0], [-np.inf, 0.0], n=1),
    )
    pure = ParametricLP(
        A=np.eye(1), b=[1.0], b_bar=[-1e20], c=[1.0], c_bar=[0.0], form="inequality"
    )
    for problem, what in (
        (program, "right-hand side -1e"),
        (pure, "slope of a right-hand side -1e"),
    ):
        with pytest.raises(ProblemError, match=rf"a.mps: the {what}.* read as infinite.*npz"):
            save_problem(problem, tmp_path / "a.mps")
    assert list(tmp_path.iterdir()) == []


ONE_ROW = """\
    NAME t
    ROWS
     N obj
     L row
    COLUMNS
     x obj -1 row 1
    RHS
     rhs row 5
    RANGES
     r row 7
    ENDATA
"""


def one_row(sense: str, side: str, width: str | None) -> str:
    text = ONE_ROW.replace(" L row", f" {sense} row").replace("rhs row 5", f"rhs row {side}")
    old, new = ("r row 7", f"r row {width}") if width else ("    RANGES\n     r row 7\n", "")
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize("large", ["1e20", "1e30", "inf"])
@pytest.mark.parametrize(
    ("sense", "side", "width"),
    [
        ("L", "{}", None),
        ("G", "-{}", None),
        ("L", "5", "-{}"),
        ("G", "5", "{}"),
        ("E", "5", "{}"),
        ("E", "5", "-{}"),
    ],
)
def test_infinite_right_hand_sides_and_ranges_mean_what_highs_reads(
    sense: str, side: str, width: str | None, large: str, tmp_path: Path
) -> None:
    text = one_row(sense, side.format(large), width and width.format(large))
    path = write(tmp_path / "a.mps", text)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    problem = load_problem(path)
    assert isinstance(problem, PiecewiseLinearProgram)
    low, high = problem.psi.domain(3.0)
    assert (low.tolist(), high.tolist()) == (highs.getLp().row_lower_, highs.getLp().row_upper_)
    save_problem(problem, tmp_path / "b.mps")
    assert load_problem(tmp_path / "b.mps").fingerprint() == problem.fingerprint()


def test_a_row_without_limits_leaves_a_program_unbounded(tmp_path: Path) -> None:
    for text in (one_row("L", "1e30", None), one_row("G", "1", "1e30")):
        for sense in ("", "OBJSENSE MAX\n    "):
            text = text.replace("ROWS", f"{sense}ROWS").replace(
                "obj -1", "obj 1" if sense else "obj -1"
            )
            result = solve(load_problem(write(tmp_path / "a.mps", text)), lam=1.0)
            assert (result.status, result.verdict) == ("unbounded", "verified")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("row 5", "row -1e20", "line 9 .*: no point satisfies row <= -inf: .* mend the number"),
        ("row 5", "obj 1e20", "line 9 .*: the constant of the objective obj is infinite"),
        ("rhs row 5", "rhs row 5\n s row 1e30", "line 10 .*: the slope b_bar of the row row is"),
        ("rhs row 5", "rhs row 1e30", "row has the range 7.0 from the right-hand side inf;"),
        (" L row", " G row", None),
        (" L row", " E row", None),
    ],
)
def test_infinite_numbers_that_mean_nothing_are_refused(
    old: str, new: str, message: str | None, tmp_path: Path
) -> None:
    text = '* sparseopt-mps {"version": 1}\n' + textwrap.dedent(ONE_ROW)
    if message is None:
        text, message = text.replace("row 5", "row 1e30"), r"no point satisfies row >?= inf"
    assert old in text
    (tmp_path / "a.mps").write_text(text.replace(old, new))
    with pytest.raises(ProblemError, match=message):
        load_problem(tmp_path / "a.mps")


@pytest.mark.parametrize("sense", ["MIN", "MAX"])
@pytest.mark.parametrize("bounds", ["", "LO BND x -0", "FX BND x -0", "UP BND x -0\n LO BND x -3"])
@pytest.mark.parametrize(("row", "width"), [("L", "2"), ("G", "2"), ("E", "2"), ("E", "-2")])
def test_a_negative_zero_at_an_end_of_an_interval_is_zero(
    row: str, width: str, bounds: str, sense: str, tmp_path: Path
) -> None:
    text = textwrap.dedent(one_row(row, "-0", width))
    text = text.replace("ROWS", f"OBJSENSE {sense}\nROWS")
    text = text.replace("ENDATA", f"BOUNDS\n {bounds}\nENDATA") if bounds else text
    (tmp_path / "a.mps").write_text(text)
    problem = load_problem(tmp_path / "a.mps")
    save_problem(problem, tmp_path / "b.mps")
    assert load_problem(tmp_path / "b.mps").fingerprint() == problem.fingerprint()


def test_other_families_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"parametric linear programs, and strs is none"):
        save_problem(STRS(A=np.eye(2), a=np.zeros(2), d=1), tmp_path / "a.mps")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (" E r3", " X r3", r"line 8 'X r3': expected N, L, G or E"),
        (" E r3", " E r2", r"line 8 'E r2': the row r2 is there twice"),
        (" E r3", " N r3\n N r4", "line 9 'N r4': a third N row"),
        (" E r3", " E", "line 8 'E': expected N, L, G or E and the name"),
        ("x r3 1", "x nowhere 1", "'nowhere' is not in the section ROWS"),
        ("x r3 1 r4 1", "x r1 1", r"line 14 'x r1 1': the entry \(x, r1\) is there twice"),
        ("y r5 1", "x r5 1", "column x was there before"),
        ("x r3 1", "x r3 one", "expected a finite number instead of 'one'"),
        ("x r3 1", "x r3 nan", "instead of 'nan'"),
        ("x r3 1", "x r3 1_0", "instead of '1_0'"),
        ("x r3 1 r4 1", "x r3 1e999", "too large"),
        ("x r3 1 r4 1", "x r3", "one or two pairs"),
        ("y r5 1", "M 'MARKER' 'INTORG'", "integer variables are marked here"),
        ("RHS r2 0.1", "RHS r1 0.1", r"\(RHS, r1\) is there twice"),
        ("SLOPE r1 1 profit 2", "SLOPE r1 1\n THIRD r1 1", "a third RHS set 'THIRD'"),
        ("R r1 2.5", "R profit 2.5", "N row and can have no range"),
        ("R r4 0.5", "R2 r4 0.5", "a second set 'R2' in RANGES"),
        ("UP BND x 4.2", "BV BND x", "integer or semicontinuous: this is not a parametric LP"),
        ("UP BND x 4.2", "LI BND x 4", "not a parametric LP"),
        ("UP BND x 4.2", "XX BND x 4", "expected UP, LO, FX, FR, MI or PL"),
        ("UP BND x 4.2", "UP BND nobody 4", "'nobody' is not in the section COLUMNS"),
        ("UP BND x 4.2", "UP BND x", "instead of 'x'|not in the section COLUMNS"),
        ("UP BND x 4.2", "UP BND x 1", r"bounds \[1.7, 1.0\] of x leave no value"),
        ("MI BND z", "", "z has the upper bound -1.0 and no lower one; readers of MPS disagree"),
        ("LO BND x 1.7", "UP BND x 1.7", r"\(upper bound of x\) is there twice"),
        ("ENDATA", "", "ends without ENDATA"),
        ("ENDATA", "ENDATA\nRHS", "nothing after ENDATA"),
        ("BOUNDS", "QUADOBJ", "the section 'QUADOBJ' has no place"),
        ("BOUNDS", "RANGES", "the section RANGES is there twice"),
        ("ROWS\n", "RHS\n r 1\nROWS\n", "expected the section COLUMNS before"),
        ("OBJSENSE MAX", "OBJSENSE UP", "expected MAX or MIN"),
        ("OBJSENSE MAX", " data", "the name of a section first"),
        (" N profit", "", "no N row|'profit' is not in"),
        ("NAME", '* sparseopt-mps {"version": 2}\nNAME', "newer sparseopt: version 2"),
        ("NAME", "* sparseopt-mps {\nNAME", "header of sparseopt is not JSON"),
        ("NAME", '* sparseopt-mps {"version": 1, "names": [1]}\nNAME', "entry names must be"),
    ],
)
def test_errors_name_the_line_and_what_was_expected(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    text = textwrap.dedent(BOUNDED)
    assert old in text
    (tmp_path / "a.mps").write_text(text.replace(old, new, 1))
    with pytest.raises(ProblemError, match=message) as caught:
        load_problem(tmp_path / "a.mps")
    assert "a.mps" in str(caught.value)


def test_a_damaged_gz(tmp_path: Path) -> None:
    save_problem(three_kinks(), tmp_path / "a.mps.gz")
    whole = (tmp_path / "a.mps.gz").read_bytes()
    for content in (whole[:-9], b"no gzip", whole[:30] + b"\xff" * 9 + whole[39:]):
        (tmp_path / "a.mps.gz").write_bytes(content)
        with pytest.raises(ProblemError, match="damaged or truncated"):
            load_problem(tmp_path / "a.mps.gz")
    (tmp_path / "a.mps.gz").write_bytes(gzip.compress(b"\xff\xfe"))
    with pytest.raises(ProblemError, match="not UTF-8"):
        load_problem(tmp_path / "a.mps.gz")

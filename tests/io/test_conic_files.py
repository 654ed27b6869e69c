"""CBF and SDPA: exact round trips, what files by others mean, and errors that name the line."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from conditional_misdps import draw_conditional
from conic_examples import random_misdp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from io_examples import misdp
from test_hostile import damage
from thorough import first

from sparseopt import ProblemError
from sparseopt.io import load_problem, read_header, save_problem
from sparseopt.io.solu import read_solu
from sparseopt.problems import MISDP, STRS, SemidefiniteBlock

ENDINGS = [".cbf", ".cbf.gz", ".dat-s", ".dat-s.gz"]


def same(a: object, b: object) -> bool:
    assert isinstance(a, MISDP) and isinstance(b, MISDP)
    return a.fingerprint() == b.fingerprint()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("seed", range(25))
def test_what_was_written_comes_back_to_the_last_bit(
    seed: int, ending: str, tmp_path: Path
) -> None:
    problem = random_misdp(seed, cones="cbf" in ending)
    save_problem(problem, tmp_path / f"a{ending}")
    assert same(load_problem(tmp_path / f"a{ending}"), problem)
    again = (tmp_path / f"a{ending}").read_bytes()
    save_problem(problem, tmp_path / f"a{ending}")
    assert (tmp_path / f"a{ending}").read_bytes() == again


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("ending", [".cbf", ".dat-s"])
@pytest.mark.parametrize("seed", first(3, range(12)))
def test_without_the_comment_the_problem_means_the_same(
    seed: int, ending: str, tmp_path: Path
) -> None:
    """Other readers, and ours without the comment, see an equal feasible set and objective."""
    problem = random_misdp(seed, cones="cbf" in ending)
    save_problem(problem, tmp_path / f"a{ending}")
    text = (tmp_path / f"a{ending}").read_text(encoding="utf-8")
    bare = "\n".join(line for line in text.splitlines() if "sparseopt-" not in line)
    (tmp_path / f"b{ending}").write_text(bare, encoding="utf-8")
    other = load_problem(tmp_path / f"b{ending}")
    assert isinstance(other, MISDP)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        x = np.rint(2.0 * rng.normal(size=len(problem.c)))
        sign = 1.0 if other.sense == problem.sense else -1.0
        offset = 0.0 if "cbf" in ending else problem.offset
        np.testing.assert_allclose(
            sign * other.objective(x), problem.objective(x) - offset, atol=1e-12
        )
        ours, theirs = (max(p.residuals(x).values()) > 1e-12 for p in (problem, other))
        assert ours == theirs
    # What came out of a file by others is written and read without a change.
    save_problem(other, tmp_path / f"c{ending}")
    assert same(load_problem(tmp_path / f"c{ending}"), other)


def test_sdpa_holds_cones_as_arrow_matrices(tmp_path: Path) -> None:
    problem = misdp()
    save_problem(problem, tmp_path / "a.dat-s")
    other = load_problem(tmp_path / "a.dat-s")
    assert isinstance(problem, MISDP) and isinstance(other, MISDP)
    assert not other.cones and len(other.blocks) == len(problem.blocks) + 2
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(500):
        x = rng.normal(size=len(problem.c)) + 0.5
        for cone, block in zip(problem.cones, other.blocks[-2:], strict=True):
            belongs = cone.violation(cone.value(x)) == 0.0
            assert belongs == bool(np.linalg.eigvalsh(block.matrix(x))[0] >= 0.0)
            inside += belongs
    assert 50 < inside < 950


def test_facts_are_kept(tmp_path: Path) -> None:
    for ending in ENDINGS:
        save_problem(misdp(), tmp_path / f"a{ending}", name="tiny", license="CC0-1.0")
        header = read_header(tmp_path / f"a{ending}")
        assert header["name"] == "tiny" and header["license"] == "CC0-1.0"
        assert header["kind"] == "misdp" and header["sense"] == "max"
        assert header["size"]["integers"] == 3


def test_other_kinds_are_refused(tmp_path: Path) -> None:
    for ending, word in ((".cbf", "CBF"), (".dat-s", "SDPA")):
        with pytest.raises(ProblemError, match=f"{word} holds mixed-integer semidefinite programs"):
            save_problem(STRS(A=np.eye(2), d=1), tmp_path / f"a{ending}")
    with pytest.raises(ProblemError, match=r"known are .npz, .mps, .mps.gz, .cbf"):
        load_problem(tmp_path / "a.lp")


CBF = """\
# a comment
VER
1

OBJSENSE
MAX

PSDVAR
1
2

VAR
3 2
L+ 2
F 1

INT
1
2

PSDCON
1
2

CON
6 4
L= 1
L+ 1
L- 1
QR 3

OBJFCOORD
2
0 0 0 1.5
0 1 0 -2

OBJACOORD
1
1 0.5

OBJBCOORD
7.5

FCOORD
2
0 0 1 1 1
3 0 0 0 1e0

ACOORD
4
1 0 2.0
2 0 2.0
4 1 -1
5 2 3

BCOORD
3
0 -1.25
1 3
2 -4

HCOORD
2
0 0 1 0 -1
0 2 1 1 .5

DCOORD
1
0 0 0 2
"""


def test_what_a_cbf_file_means(tmp_path: Path) -> None:
    (tmp_path / "a.cbf").write_text(CBF, encoding="utf-8")
    problem = load_problem(tmp_path / "a.cbf")
    assert isinstance(problem, MISDP)
    x = np.array([0.75, 2.0, -1.0, 3.0, 4.0, 5.0])
    assert problem.sense == "max"
    assert problem.objective(x) == 7.5 + 0.5 * 2.0 + 1.5 * 3.0 + 2.0 * -2.0 * 4.0
    assert problem.integer.tolist() == [False, False, True, False, False, False]
    # X_11 = 1.25, and -3 <= 2 x_0 <= 4 from two rows: bounds, as are those of L+.
    assert problem.A.shape[0] == 0
    assert problem.lower.tolist() == [0.0, 0.0, -np.inf, -np.inf, -np.inf, 1.25]
    assert problem.upper.tolist() == [2.0, np.inf, np.inf, np.inf, np.inf, 1.25]
    assert problem.cones[0].rotated
    assert problem.cones[0].value(x).tolist() == [3.0, -2.0, -3.0]
    assert problem.blocks[0].matrix(x).tolist() == [[3.0, 4.0], [4.0, 5.0]]
    assert problem.blocks[1].matrix(x).tolist() == [[2.0, -0.75], [-0.75, -0.5]]


def test_vectorised_matrices_of_version_4(tmp_path: Path) -> None:
    text = "VER\n4\nOBJSENSE\nMIN\nVAR\n3 1\nSVECPSD 3\n"
    (tmp_path / "a.cbf").write_text(text, encoding="utf-8")
    problem = load_problem(tmp_path / "a.cbf")
    assert isinstance(problem, MISDP)
    M = problem.blocks[0].matrix(np.array([1.0, np.sqrt(2.0) * 3.0, 2.0]))
    np.testing.assert_allclose(M, [[1.0, 3.0], [3.0, 2.0]])


SDPA = """\
"a title
* and a comment
2 = number of variables
3 = number of blocks
{2, -3, 1}
(1.0, -2.5)
0 1 1 1 -1
1 1 1 2 3.5 * a remark
2 1 2 2 1e1
* a comment between
1 2 1 1 1
0 2 1 1 -4
1 2 2 2 -1
0 2 2 2 -5
1 2 3 3 1.5
2 2 3 3 1
2 3 1 1 1
*INTEGERS*
*2
*RANK1
* 1
"""


def long_named() -> MISDP:
    problem = random_misdp(3, cones=False)
    n = len(problem.c)
    return problem.with_changes(names=[f"größe {k} 😀 " + 'a "b"\\ ' * 60 for k in range(n)])


@pytest.mark.parametrize("ending", [".cbf", ".dat-s"])
def test_no_line_is_longer_than_other_readers_take(ending: str, tmp_path: Path) -> None:
    problem = long_named()
    save_problem(problem, tmp_path / f"a{ending}", citation="x" * 5000)
    lines = (tmp_path / f"a{ending}").read_bytes().splitlines()
    assert max(map(len, lines)) <= 500
    if ending == ".cbf":
        assert lines[0] == b"VER"
    assert same(load_problem(tmp_path / f"a{ending}"), problem)
    assert read_header(tmp_path / f"a{ending}")["citation"] == "x" * 5000


@pytest.mark.parametrize(
    ("ending", "mark"), [(".cbf", "# sparseopt-cbf "), (".dat-s", "* sparseopt-sdpa ")]
)
def test_the_comment_of_version_0_1_is_read(ending: str, mark: str, tmp_path: Path) -> None:
    problem = long_named()
    save_problem(problem, tmp_path / f"a{ending}")
    lines = (tmp_path / f"a{ending}").read_text().splitlines()
    parts = [line.removeprefix(mark) for line in lines if line.startswith(mark)]
    assert len(parts) > 1
    header = json.dumps(json.loads("".join(parts)), ensure_ascii=False)
    others = [line for line in lines if not line.startswith(mark)]
    (tmp_path / f"b{ending}").write_text("\n".join([mark + header, *others]), encoding="utf-8")
    assert same(load_problem(tmp_path / f"b{ending}"), problem)


@pytest.mark.parametrize(
    ("line", "new", "message"),
    [
        (18, "*INTEGR", r"line 18, '\*INTEGR': expected \*INTEGER"),
        (18, "* integers:", "comes back"),
        (18, "*intger*", r"expected \*INTEGER"),
        (18, "*INT", r"line 19, '\*2': expected \*INTEGER or \*RANK1 before the first index"),
        (20, "*RNK1", r"line 20, '\*RNK1': expected \*RANK1"),
        (20, "*RANK", r"expected \*RANK1"),
        (19, "*2.5", r"expected \* and a variable from 1 to 2"),
        (19, "*-2", r"expected \* and a variable from 1 to 2"),
        (20, "*INDICATOR", "the variable of an indicator is an entry -k of its row"),
        (15, "-3 2 3 3 1.5", r"expected matrix \(0 to 2\)"),
        (15, "-0 2 3 3 1.5", "one variable from -1 to -2 for an indicator's row"),
        (15, "-1 1 1 1 1.5", r"expected matrix \(0 to 2\)"),
        (2, "* Integer", "comes back"),
        (2, "*INTEGER", "comes back"),
    ],
)
def test_a_misspelt_keyword_is_no_comment(
    line: int, new: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.dat-s").write_text(SDPA, encoding="utf-8")
    (tmp_path / "b.dat-s").write_text(replaced(SDPA, line, new), encoding="utf-8")
    if message == "comes back":
        assert same(load_problem(tmp_path / "b.dat-s"), load_problem(tmp_path / "a.dat-s"))
        return
    with pytest.raises(ProblemError, match=message):
        load_problem(tmp_path / "b.dat-s")


def large_block(size: int, entries: int, ending: str) -> str:
    """Return a file as SDPLIB's maxG55: one large matrix with entries on its diagonal."""
    if ending == ".dat-s":
        lines = ["1", "1", str(size), "1", *(f"1 1 {i} {i} 1" for i in range(1, entries + 1))]
        return "\n".join(lines)
    entry = [f"0 0 {i} {i} 1" for i in range(entries)]
    head = ["VER", "2", "OBJSENSE", "MIN", "VAR", "1 1", "F 1", "PSDCON", "1", str(size)]
    return "\n".join([*head, "HCOORD", str(entries), *entry])


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("ending", [".cbf", ".dat-s"])
def test_a_matrix_may_be_as_large_as_the_file_is_long(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    path.write_text(large_block(3000, 3000, ending))
    problem = load_problem(path)
    assert isinstance(problem, MISDP)
    assert [block.size for block in problem.blocks] == [3000]
    path.write_text(large_block(3000, 30, ending))
    with pytest.raises(ProblemError, match=r"matrices of at most \d+ rows altogether in a file of"):
        load_problem(path)
    path.write_text(large_block(12_000, 12_000, ending))
    with pytest.raises(ProblemError, match="matrices of at most 67108864 entries altogether"):
        load_problem(path)


def test_what_an_sdpa_file_means(tmp_path: Path) -> None:
    (tmp_path / "a.dat-s").write_text(SDPA, encoding="utf-8")
    problem = load_problem(tmp_path / "a.dat-s")
    assert isinstance(problem, MISDP)
    assert problem.sense == "min" and problem.c.tolist() == [1.0, -2.5]
    assert problem.lower.tolist() == [-4.0, -np.inf] and problem.upper.tolist() == [5.0, np.inf]
    assert problem.A.toarray().tolist() == [[1.5, 1.0]] and problem.row_lower.tolist() == [0.0]
    x = np.array([2.0, 3.0])
    assert problem.blocks[0].matrix(x).tolist() == [[1.0, 7.0], [7.0, 30.0]]
    assert problem.blocks[1].matrix(x).tolist() == [[3.0]]
    assert problem.integer.tolist() == [False, True]
    assert [block.rank_one for block in problem.blocks] == [True, False]


def replaced(text: str, line: int, new: str) -> str:
    lines = text.splitlines()
    lines[line - 1] = new
    return "\n".join(lines) + "\n"


def number_of(text: str, line: str, after: str = "") -> int:
    lines = text.splitlines()
    begin = lines.index(after) if after else 0
    return lines.index(line, begin) + 1


@pytest.mark.parametrize(
    ("after", "line", "new", "message"),
    [
        ("VER", "1", "5", "expected a version up to 4"),
        ("VER", "1", "one", "expected the version, an integer from 1 to 4"),
        ("", "VER", "VAR", "expected the section VER first"),
        ("", "MAX", "MAXIMISE", "expected MIN or MAX"),
        ("VAR", "3 2", "4 2", "domains of 4 variables altogether; they have 3"),
        ("VAR", "3 2", "4000000000 2", "4000000000 is absurd"),
        ("VAR", "L+ 2", "EXP 3", "one of the domains F, .* a MISDP cannot hold EXP"),
        ("VAR", "L+ 2", "L+ two", "expected domain 1 of 2: its name and its length"),
        ("CON", "QR 3", "SVECPSD 3x", "its name and its length"),
        ("CON", "QR 3", "@0:POW 3", "a MISDP cannot hold @0:POW"),
        ("PSDVAR", "2", "-2", "expected the size of matrix 1 of 1"),
        ("PSDVAR", "2", "90000", "matrices of at most"),
        ("INT", "2", "3", "expected entry 1 of 1: a variable from 0 to 2"),
        ("OBJBCOORD", "7.5", "nan", "'nan' is no finite number"),
        ("OBJBCOORD", "7.5", "1e999", "'1e999' is no finite number"),
        ("OBJACOORD", "1 0.5", "1 0,5", "expected entry 1 of 1 of OBJACOORD"),
        ("OBJACOORD", "1 0.5", "3 0.5", "a variable from 0 to 2"),
        ("OBJFCOORD", "0 1 0 -2", "0 2 0 -2", "a row of the matrix from 0 to 1"),
        ("OBJFCOORD", "0 1 0 -2", "0 0 0 -2", "has the entry of line 34 again"),
        ("OBJFCOORD", "2", "3", "expected entry 3 of 3 of OBJFCOORD"),
        ("ACOORD", "4", "4000", "at most as many entries as lines are left"),
        ("ACOORD", "4 1 -1", "6 1 -1", "a row from 0 to 5"),
        ("FCOORD", "3 0 0 0 1e0", "3 1 0 0 1e0", "a matrix variable from 0 to 0"),
        ("HCOORD", "0 2 1 1 .5", "0 2 1 1", "expected entry 2 of 2 of HCOORD: matrix inequality"),
        ("DCOORD", "0 0 0 2", "0 0 -1 2", "expected entry 1 of 1 of DCOORD"),
        ("", "DCOORD", "VAR", "the section VAR only once"),
        ("", "DCOORD", "CHANGE", "one instance in a file"),
        ("", "DCOORD", "POWCONES", "no power cones"),
        ("", "DCOORD", "DUAL", "the name of a section, one of VER, OBJSENSE"),
    ],
)
def test_a_malformed_cbf_file_names_its_line(
    after: str, line: str, new: str, message: str, tmp_path: Path
) -> None:
    number = number_of(CBF, line, after)
    (tmp_path / "a.cbf").write_text(replaced(CBF, number, new), encoding="utf-8")
    with pytest.raises(ProblemError, match=message) as caught:
        load_problem(tmp_path / "a.cbf")
    found = str(caught.value)
    assert found.startswith(f"{tmp_path / 'a.cbf'}: line ")
    # The line itself, or the first one that cannot be what was announced in it.
    assert number <= int(found.split(": line ")[1].split(",")[0].split(":")[0]) <= number + 4


@pytest.mark.parametrize(
    ("line", "new", "message"),
    [
        (3, "two", "expected the number of variables, an integer >= 1"),
        (3, "99999999999", "at most 2000000 variables"),
        (4, "0", "expected the number of blocks, an integer >= 1"),
        (5, "{2, -3, 0}", "0 is none"),
        (5, "{2, -3, x}", "expected the sizes of the 3 blocks"),
        (5, "{2, -3, 99999}", "matrices of at most 22 rows altogether"),
        (6, "(1.0, -2.5, 3)", "expected the 2 costs of the objective; here are 3"),
        (6, "(1.0, inf)", "'inf' is no finite number"),
        (7, "0 1 1 -1", "expected matrix \\(0 to 2\\), block \\(1 to 3\\)"),
        (7, "0 1 1 1 -1 2", "expected matrix"),
        (7, "3 1 1 1 -1", "expected matrix"),
        (7, "0 4 1 1 -1", "expected matrix"),
        (7, "0 1 1 3 -1", "a row and a column from 1 to 2 in block 1"),
        (7, "0 1 0 1 -1", "a row and a column from 1 to 2 in block 1"),
        (7, "0 1 1 1 --1", "'--1' is no finite number"),
        (11, "1 2 1 2 1", "block 2 has linear rows, on the diagonal"),
        (8, "0 1 1 1 3.5", "line 8 has the entry of line 7 again"),
        (19, "*3", "expected \\* and a variable from 1 to 2"),
        (19, "2", "expected \\* and a variable from 1 to 2"),
        (21, "*2", "a block of a matrix; block 2 has linear rows"),
    ],
)
def test_a_malformed_sdpa_file_names_its_line(
    line: int, new: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.dat-s").write_text(replaced(SDPA, line, new), encoding="utf-8")
    with pytest.raises(ProblemError, match=message) as caught:
        load_problem(tmp_path / "a.dat-s")
    number = int(str(caught.value).split(": line ")[1].split(",")[0].split(" ")[0])
    assert line <= number <= line + 1


@pytest.mark.parametrize(("name", "text"), [("a.cbf", CBF), ("a.dat-s", SDPA)])
def test_a_truncated_file_is_refused_or_shorter(name: str, text: str, tmp_path: Path) -> None:
    """Cut anywhere: an error, or what the whole sections before the cut say."""
    lines = text.splitlines()
    refused = 0
    for k in range(len(lines)):
        (tmp_path / name).write_text("\n".join(lines[:k]) + "\n", encoding="utf-8")
        try:
            problem = load_problem(tmp_path / name)
        except ProblemError as error:
            refused += 1
            assert str(tmp_path) in str(error)
        else:
            assert isinstance(problem, MISDP)
    assert refused >= 5


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("ending", ENDINGS)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(change=damage(), seed=st.integers(0, 5))
def test_damage_never_gets_further_than_a_problem_error(
    ending: str, change: object, seed: int, tmp_path: Path
) -> None:
    path = tmp_path / f"a{ending}"
    save_problem(random_misdp(seed, cones=True), path)
    path.write_bytes(change(path.read_bytes()))  # type: ignore[operator]
    try:
        assert isinstance(load_problem(path), MISDP)
    except ProblemError as error:
        assert str(path) in str(error)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("ending", [".cbf.gz", ".dat-s.gz"])
@pytest.mark.parametrize("line", [b"\n", b"0 1\n", b"* x\n"])
def test_a_bomb_is_refused_within_bounded_memory(ending: str, line: bytes, tmp_path: Path) -> None:
    with gzip.open(tmp_path / f"a{ending}", "wb", compresslevel=1) as stream:
        for _ in range(80):
            stream.write(line * (2**20 // len(line)))
    tracemalloc.start()
    try:
        with pytest.raises(ProblemError, match="looks like a bomb"):
            load_problem(tmp_path / f"a{ending}")
        assert tracemalloc.get_traced_memory()[1] < 300 * 2**20
    finally:
        tracemalloc.stop()


def test_a_packed_file_that_is_damaged(tmp_path: Path) -> None:
    for ending in (".cbf.gz", ".dat-s.gz"):
        (tmp_path / f"a{ending}").write_bytes(b"no gzip")
        with pytest.raises(ProblemError, match="is damaged or truncated"):
            load_problem(tmp_path / f"a{ending}")
        (tmp_path / f"b{ending}").write_bytes(gzip.compress(b"\xff\xfe"))
        with pytest.raises(ProblemError, match="is not UTF-8 text"):
            load_problem(tmp_path / f"b{ending}")


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ('{"rows": "GGGGGGGGG"}', "says that there are 9 rows"),
        ('{"rows": 5}', "rows = 5; expected text"),
        ('{"rows": "RE"}', "names a range, but its two rows differ|says that there are 4 rows"),
        ('{"names": ["a"]}', "names has 1 entries"),
        ('{"block_names": ["a"]}', "must name each of 2 blocks"),
        ("{", "the comment of sparseopt"),
    ],
)
def test_a_comment_that_lies_is_refused(comment: str, message: str, tmp_path: Path) -> None:
    for name, text, mark in (
        ("a.cbf", CBF, "# sparseopt-cbf"),
        ("a.dat-s", SDPA, "* sparseopt-sdpa"),
    ):
        (tmp_path / name).write_text(f"{mark} {comment}\n{text}", encoding="utf-8")
        with pytest.raises(ProblemError, match=message):
            load_problem(tmp_path / name)


FILES = {
    "example_small.dat-s": (3, 3, 0),
    "example_small_cbf.cbf": (3, 3, 0),
    "example_CLS.dat-s.gz": (33, 32, 0),
    "example_TT.dat-s.gz": (37, 36, 0),
    "example_cbf_primal.cbf": (9, 0, 0),
    "example_cbf_dual.cbf": (5, 2, 0),
    "example_inf.dat-s": (2, 2, 0),
    "example_rank1_primal.cbf": (51, 9, 6),
}
"""The files of SCIP-SDP's distribution: variables, integers, blocks of rank one."""


@pytest.mark.thorough
def test_the_files_of_others_are_read(tmp_path: Path) -> None:
    folder = os.environ.get("SPARSEOPT_EXTRA_DATA")
    if not folder:
        pytest.skip("SPARSEOPT_EXTRA_DATA is not set: the folder with misdp/*.cbf and *.dat-s")
    known = {value.name for value in read_solu(Path(folder) / "misdp" / "reference.solu")}
    assert known == {name.partition(".")[0] for name in FILES}
    problems = {}
    for name, counts in FILES.items():
        problem = load_problem(Path(folder) / "misdp" / name)
        assert isinstance(problem, MISDP)
        ranked = sum(block.rank_one for block in problem.blocks)
        assert (len(problem.c), int(problem.integer.sum()), ranked) == counts, name
        for ending in (".cbf", ".dat-s"):
            save_problem(problem, tmp_path / f"a{ending}")
            assert same(load_problem(tmp_path / f"a{ending}"), problem), (name, ending)
        problems[name] = problem
    # One instance in both formats.
    assert same(problems["example_small.dat-s"], problems["example_small_cbf.cbf"])


def test_another_reader_finds_what_was_written(tmp_path: Path) -> None:
    """MOSEK reads CBF without a licence, but not SCIP-SDP's rank one."""
    mosek = pytest.importorskip("mosek", reason="MOSEK is not installed: nobody else reads CBF")
    problem = misdp()
    assert isinstance(problem, MISDP)
    blocks = [SemidefiniteBlock(block.F, block.F0, block.size) for block in problem.blocks]
    problem = problem.with_changes(blocks=blocks)
    save_problem(problem, tmp_path / "a.cbf")
    with mosek.Env() as env, env.Task() as task:
        task.readdata(str(tmp_path / "a.cbf"))
        integers = [
            task.getvartype(j) is mosek.variabletype.type_int for j in range(task.getnumvar())
        ]
        sense = task.getobjsense()
        sizes = [task.getdimbarvarj(k) for k in range(task.getnumbarvar())]
        assert sense is mosek.objsense.maximize and task.getcfix() == problem.offset
        assert [task.getcj(j) for j in range(task.getnumvar())][:3] == problem.c[:3].tolist()
    assert sizes == [3] and sum(integers) == 3


INDICATORS = """3 = variables
2 = blocks
2 -2
1 -3 0.5
1 1 1 1 1
1 1 2 2 1
2 1 1 2 1
0 1 1 1 -1
0 1 2 2 -5
2 2 1 1 1
0 2 1 1 1.5
-3 2 1 1 1
1 2 2 2 -1
0 2 2 2 -8
*INTEGER
*3
"""
"""SCIP-SDP 4.4.0 reads it so: x_2 = 1 implies x_1 >= 1.5, x_2 is binary, -x_0 >= -8; the optimum
that it states is -24.45."""


def test_indicators_of_scip_sdp(tmp_path: Path) -> None:
    (tmp_path / "a.dat-s").write_text(INDICATORS, encoding="utf-8")
    problem = load_problem(tmp_path / "a.dat-s")
    (row,) = problem.indicators
    assert (row.binary, row.lower, row.upper) == (2, 1.5, np.inf)
    np.testing.assert_array_equal(row.a.toarray(), [[0.0, 1.0, 0.0]])
    assert problem.integer.tolist() == [False, False, True]
    np.testing.assert_array_equal(problem.lower, [-np.inf, -np.inf, 0.0])
    np.testing.assert_array_equal(problem.upper, [8.0, np.inf, 1.0])
    assert problem.A.shape[0] == 0
    twice = INDICATORS.replace("-3 2 1 1 1", "-3 2 1 1 1\n-1 2 1 1 1")
    (tmp_path / "b.dat-s").write_text(twice, encoding="utf-8")
    with pytest.raises(ProblemError, match="one variable from -1 to -3 for an indicator's row"):
        load_problem(tmp_path / "b.dat-s")


@pytest.mark.parametrize("ending", ["npz", "dat-s"])
@pytest.mark.parametrize("seed", range(8))
def test_indicators_come_back(seed: int, ending: str, tmp_path: Path) -> None:
    problem = draw_conditional(seed)
    if ending == "dat-s":
        if problem.Q is not None:
            with pytest.raises(ProblemError, match="holds linear objectives"):
                save_problem(problem, tmp_path / "a.dat-s")
        problem = problem.with_changes(Q=None)
    save_problem(problem, tmp_path / f"a.{ending}")
    again = load_problem(tmp_path / f"a.{ending}")
    assert again.fingerprint() == problem.fingerprint()
    with pytest.raises(ProblemError, match=r"as \.npz"):
        save_problem(problem, tmp_path / "a.cbf")

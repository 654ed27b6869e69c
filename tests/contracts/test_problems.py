"""Every kind of problem: bad content is refused by name, equal content has one fingerprint."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import sparseopt
from sparseopt import ParamError, ProblemError
from sparseopt.problems import (
    CLIME,
    L1SVM,
    LPD,
    STRS,
    BudgetTables,
    Candidates,
    CompressedSensing,
    DantzigSelector,
    DifferentialNetwork,
    L0GraphicalModel,
    LADLasso,
    MatrixDantzig,
    ParametricLP,
    Pieces,
    PiecewiseLinearProgram,
    Problem,
    QuantileLasso,
    SecondOrderCone,
    SparseLogisticRegression,
    SparseRegression,
)

ONE, EYE, SIGNS = np.ones(2), np.eye(2), np.array([-1.0, 1.0])
GOOD = {
    DantzigSelector: {"X": np.eye(2), "y": ONE, "weights": ONE, "row_weights": ONE, "scale": "n"},
    LADLasso: {"X": np.eye(2), "y": ONE, "weights": ONE, "fit_intercept": True},
    QuantileLasso: {"X": EYE, "y": ONE, "tau": 0.3, "weights": ONE, "fit_intercept": True},
    CompressedSensing: {"X": EYE, "y": ONE, "weights": ONE, "row_weights": ONE},
    LPD: {"S": EYE, "delta": ONE, "weights": ONE, "row_weights": ONE},
    L1SVM: {"X": EYE, "y": np.array([1.0, -1.0]), "weights": ONE, "fit_intercept": True},
    CLIME: {"S": EYE, "weights": ONE, "row_weights": ONE},
    DifferentialNetwork: {"S_X": EYE, "S_Y": EYE, "weights": EYE, "row_weights": EYE},
    MatrixDantzig: {"X": EYE, "Z": EYE, "Y": EYE, "weights": EYE, "row_weights": EYE},
    ParametricLP: {"A": np.eye(2), "b": ONE, "b_bar": ONE, "c": ONE, "c_bar": ONE},
    STRS: {"A": np.eye(2), "a": ONE, "d": 1},
    BudgetTables: {"values": np.array([2.0, 1.0, 0.0]), "ptr": np.array([0, 2, 3]), "budget": 1},
    PiecewiseLinearProgram: {
        "A": np.eye(2),
        "phi": Pieces.absolute(ONE),
        "psi": Pieces.check_loss(ONE),
        "offset": np.array([1.0, 2.0, 3.0]),
    },
}
ARRAYS = [
    (kind, name)
    for kind, fields in GOOD.items()
    for name, value in fields.items()
    if isinstance(value, np.ndarray) and name != "ptr"
]


def _last(array, value):
    out = np.array(array)
    out[(-1,) * out.ndim] = value
    return out


NOT_ARRAYS = {
    "nan": lambda a: _last(a, np.nan),
    "inf": lambda a: _last(a, np.inf),
    "-inf": lambda a: _last(a, -np.inf),
    "longer": lambda a: np.concatenate([a, a]),
    "one dimension more": lambda a: a[None],
    "a number": lambda a: 1.0,
    "empty": lambda a: a[:0],
    "an empty list": lambda a: [],
    "complex": lambda a: a + 1j,
    "strings": lambda a: a.astype(str),
    "text": lambda a: "abc",
    "objects": lambda a: np.full(a.shape, None),
    "ragged": lambda a: [[1.0], [1.0, 2.0]],
    "a dictionary": lambda a: {"a": 1.0},
    "dates": lambda a: a.astype("datetime64[s]"),
}


@pytest.mark.parametrize(("kind", "name"), ARRAYS, ids=lambda v: getattr(v, "__name__", v))
def test_arrays_that_are_none_are_refused_by_name(kind, name):
    for wrong, made in NOT_ARRAYS.items():
        fields = {**GOOD[kind], name: made(GOOD[kind][name])}
        try:
            kind(**fields)
        except ProblemError as error:
            field, message = error.field, str(error)
        else:
            pytest.fail(f"{wrong} is taken for an array")
        # Wrong sizes of the first array can show as the second one not fitting.
        assert field is not None and message.startswith(field), wrong
        if wrong not in ("longer", "empty"):
            assert field.split("[")[0] == name, wrong


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (DantzigSelector, {"scale": "d"}),
        (DantzigSelector, {"weights": -ONE}),
        (DantzigSelector, {"row_weights": -ONE}),
        (LADLasso, {"fit_intercept": 1}),
        (LADLasso, {"weights": -ONE}),
        (QuantileLasso, {"tau": 1.0}),
        (QuantileLasso, {"fit_intercept": 1}),
        (CompressedSensing, {"row_weights": -ONE}),
        (LPD, {"weights": -ONE}),
        (L1SVM, {"y": ONE}),
        (L1SVM, {"fit_intercept": None}),
        (CLIME, {"row_weights": -ONE}),
        (DifferentialNetwork, {"sign": "y"}),
        (DifferentialNetwork, {"weights": -EYE}),
        (MatrixDantzig, {"row_weights": -EYE}),
        (ParametricLP, {"form": "standard"}),
        (STRS, {"d": 3}),
        (BudgetTables, {"budget": 5}),
        (PiecewiseLinearProgram, {"phi": Pieces.absolute(np.ones(3))}),
        (PiecewiseLinearProgram, {"phi": Pieces.absolute(-ONE)}),
        (PiecewiseLinearProgram, {"names": ["a"]}),
    ],
)
def test_values_out_of_range_are_refused_by_name(kind, change):
    with pytest.raises(ProblemError) as caught:
        kind(**{**GOOD[kind], **change})
    assert caught.value.field == next(iter(change))


@pytest.mark.parametrize(
    ("kind", "name"),
    [(STRS, "A"), (LPD, "S"), (MatrixDantzig, "Z"), (MatrixDantzig, "X")],
)
def test_sparse_data_is_refused_where_it_is_not_taken(kind, name):
    with pytest.raises(ProblemError, match="toarray"):
        kind(**{**GOOD[kind], name: sp.csr_array(np.eye(2))})


@pytest.mark.parametrize("data", [[1.0, np.nan], [1.0, np.inf], [1.0 + 1j, 1.0]])
def test_sparse_entries_are_checked_like_dense_ones(data):
    A = sp.csr_array((np.array(data), ([0, 1], [0, 1])), shape=(2, 2))
    with pytest.raises(ProblemError, match="A"):
        ParametricLP(**{**GOOD[ParametricLP], "A": A})


@pytest.mark.parametrize("kind", GOOD, ids=lambda kind: kind.kind)
class TestFingerprints:
    def test_equal_content_has_one(self, kind):
        again = kind(
            **{
                name: value.copy() if isinstance(value, np.ndarray) else value
                for name, value in GOOD[kind].items()
            }
        )
        assert again.fingerprint() == kind(**GOOD[kind]).fingerprint()

    def test_files_and_copies_have_it_too(self, kind):
        problem = kind(**GOOD[kind])
        values, arrays = problem.payload()
        assert kind.from_payload(values, arrays).fingerprint() == problem.fingerprint()

    def test_any_change_changes_it(self, kind):
        problem = kind(**GOOD[kind])
        values, arrays = problem.payload()
        seen = {problem.fingerprint()}
        changed = 0
        for name, array in arrays.items():
            if array.dtype.kind != "f" or array.size == 0:
                continue
            # Every function of a piecewise-linear program needs its kinks and slopes in order.
            nudged = array * (1.0 + 1e-15) + 1e-15
            if kind is STRS and name == "A":
                nudged = (nudged + nudged.T) / 2.0
            if kind is L1SVM and name == "y":
                nudged = -array
            seen.add(kind.from_payload(values, {**arrays, name: nudged}).fingerprint())
            changed += 1
        assert changed > 0
        assert len(seen) == 1 + changed

    def test_content_is_read_only(self, kind):
        _, arrays = kind(**GOOD[kind]).payload()
        for name, array in arrays.items():
            if isinstance(array, np.ndarray) and not name.startswith(("phi", "psi")):
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 0

    def test_unknown_entries_are_named(self, kind):
        values, arrays = kind(**GOOD[kind]).payload()
        with pytest.raises(ProblemError, match="surprise"):
            kind.from_payload({**values, "surprise": 1}, arrays)

    def test_missing_entries_are_named(self, kind):
        values, arrays = kind(**GOOD[kind]).payload()
        first = "A" if "A" in arrays else next(iter(arrays))
        with pytest.raises(ProblemError, match=first):
            kind.from_payload(values, {k: v for k, v in arrays.items() if k != first})


def test_scalars_change_the_fingerprint():
    seen = {
        STRS(A=np.eye(2), d=1).fingerprint(),
        STRS(A=np.eye(2), d=2).fingerprint(),
        DantzigSelector(X=np.eye(2), y=ONE).fingerprint(),
        DantzigSelector(X=np.eye(2), y=ONE, scale="n").fingerprint(),
        LADLasso(X=np.eye(2), y=ONE).fingerprint(),
        LADLasso(X=np.eye(2), y=ONE, fit_intercept=True).fingerprint(),
    }
    assert len(seen) == 6


@pytest.mark.thorough
@given(st.integers(0, 1000))
def test_the_layout_in_memory_does_not_count(seed):
    X = np.random.default_rng(seed).normal(size=(4, 3))
    y = X[:, 0]
    plain = DantzigSelector(X=X, y=y).fingerprint()
    assert DantzigSelector(X=np.asfortranarray(X), y=y).fingerprint() == plain
    assert DantzigSelector(X=X.astype(">f8"), y=y).fingerprint() == plain
    assert DantzigSelector(X=X.tolist(), y=y.tolist()).fingerprint() == plain
    assert DantzigSelector(X=np.repeat(X, 2, axis=0)[::2], y=y).fingerprint() == plain


def test_integers_and_booleans_are_the_numbers_they_mean():
    whole = DantzigSelector(X=np.eye(2), y=[1.0, 0.0]).fingerprint()
    assert DantzigSelector(X=np.eye(2, dtype=int), y=[True, False]).fingerprint() == whole


def test_sparse_matrices_count_by_their_entries():
    rest = {key: value for key, value in GOOD[ParametricLP].items() if key != "A"}
    rows, columns = np.array([1, 0, 1]), np.array([1, 0, 1])
    doubled = sp.coo_array((np.array([0.5, 1.0, 0.5]), (rows, columns)), shape=(2, 2))
    plain = ParametricLP(A=sp.csr_array(np.eye(2)), **rest).fingerprint()
    assert ParametricLP(A=doubled, **rest).fingerprint() == plain
    assert ParametricLP(A=doubled.tocsc(), **rest).fingerprint() == plain
    unsorted = sp.csr_array(
        (np.array([2.0, 1.0, 1.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    ordered = sp.csr_array(np.array([[1.0, 2.0], [0.0, 1.0]]))
    assert (
        ParametricLP(A=unsorted, **rest).fingerprint()
        == ParametricLP(A=ordered, **rest).fingerprint()
    )


def test_the_data_that_was_given_stays_writeable():
    X, y = np.eye(2), np.ones(2)
    DantzigSelector(X=X, y=y)
    X[0, 0] = y[0] = 5.0


def test_a_problem_shows_its_size():
    problem = DantzigSelector(X=np.ones((3, 2)), y=np.ones(3))
    assert repr(problem) == "DantzigSelector(n=3, d=2)"
    assert "dantzig-selector" in problem._repr_html_()
    assert isinstance(problem, Problem)


def _frozen(array):
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


@pytest.mark.parametrize(("kind", "name"), ARRAYS, ids=lambda v: getattr(v, "__name__", v))
def test_what_the_caller_does_with_its_arrays_later_changes_no_problem(kind, name):
    fields = dict(GOOD[kind])
    fields[name] = given = np.array(fields[name])
    problem = kind(**fields)
    before = problem.fingerprint()
    given *= 2.0
    given.T[...] = np.nan
    assert problem.fingerprint() == before
    assert given.flags.writeable
    held = getattr(problem, name)
    if isinstance(held, np.ndarray):
        assert _frozen(held)


def test_other_views_of_an_array_change_no_problem():
    base = np.ones((4, 2))
    view = base[::2]
    view.flags.writeable = False
    problem = DantzigSelector(X=view, y=ONE)
    base[...] = 7.0
    assert (problem.X == 1.0).all()


class Wrapped:
    """An array-like whose conversion is the array itself, such as a data frame's."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


def test_array_likes_are_copied_too():
    inside = np.eye(2)
    problem = DantzigSelector(X=Wrapped(inside), y=ONE)
    inside *= 2.0
    np.testing.assert_array_equal(problem.X, np.eye(2))
    assert inside.flags.writeable


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices_of_the_caller_are_copied_and_shared_afterwards(form):
    given = sp.eye_array(2).asformat(form)
    problem = ParametricLP(A=given, b=ONE, b_bar=ONE, c=ONE, c_bar=ONE)
    before = problem.fingerprint()
    given.data *= 2.0
    assert problem.fingerprint() == before
    with pytest.raises(ValueError, match="read-only"):
        problem.A.data[0] = 3.0
    assert np.shares_memory(problem.with_changes(b=2 * ONE).A.data, problem.A.data)


def test_pieces_of_the_caller_are_copied():
    phi = Pieces.absolute(ONE)
    problem = PiecewiseLinearProgram(A=np.eye(2), phi=phi, psi=Pieces.check_loss(ONE))
    before = problem.fingerprint()
    phi.slope[:] *= 5.0
    assert problem.fingerprint() == before


def test_read_only_arrays_and_mapped_files_are_shared(tmp_path):
    X = np.eye(2)
    X.flags.writeable = False
    first = DantzigSelector(X=X, y=ONE)
    second = first.with_changes(y=2 * ONE)
    assert np.shares_memory(first.X, X)
    assert np.shares_memory(second.X, X)
    np.save(tmp_path / "X.npy", np.eye(2))
    for mode in ("r", "r+"):
        mapped = np.load(tmp_path / "X.npy", mmap_mode=mode)
        problem = DantzigSelector(X=mapped, y=ONE)
        assert np.shares_memory(problem.X, mapped)
        assert not problem.X.flags.writeable
        assert mapped.flags.writeable is (mode == "r+")


def test_a_read_only_view_of_what_can_be_written_is_copied():
    base = np.eye(4)
    view = base[:2, :2]
    view.flags.writeable = False
    problem = DantzigSelector(X=view, y=ONE)
    base[0, 0] = 7.0
    assert problem.X[0, 0] == 1.0
    assert not np.shares_memory(problem.X, base)


def test_one_copy_is_made_and_no_more():
    X = np.ones((1000, 500))
    y = np.ones(1000)
    DantzigSelector(X=np.eye(2), y=ONE)
    tracemalloc.start()
    try:
        problem = DantzigSelector(X=X, y=y)
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert X.nbytes <= held < 1.1 * X.nbytes
    assert most < 1.5 * X.nbytes
    assert problem.X.flags.c_contiguous


@pytest.mark.parametrize(("kind", "name"), ARRAYS, ids=lambda v: getattr(v, "__name__", v))
def test_masked_entries_are_refused_by_name_and_count(kind, name):
    fields = dict(GOOD[kind])
    plain = kind(**fields).fingerprint()
    fields[name] = np.ma.array(fields[name])
    assert kind(**fields).fingerprint() == plain
    fields[name] = _last(fields[name], 0.0).view(np.ma.MaskedArray)
    fields[name][(-1,) * fields[name].ndim] = np.ma.masked
    with pytest.raises(
        ProblemError, match=rf"^{name}.* has 1 masked entr.* of {fields[name].size}"
    ):
        kind(**fields)


def test_masked_rows_and_graphs_are_refused():
    row = np.ma.array([1.0, 2.0], mask=[True, False])
    with pytest.raises(ProblemError, match="X has 1 masked"):
        DantzigSelector(X=[row, row.data], y=ONE)
    X = np.ma.array(np.random.default_rng(0).standard_normal((5, 3)))
    assert L0GraphicalModel(X, Candidates.window(3, 1)).X.shape == (5, 3)
    X[1, 1] = np.ma.masked
    with pytest.raises(ProblemError, match="X has 1 masked entries of 15"):
        L0GraphicalModel(X, Candidates.window(3, 1))
    with pytest.raises(ProblemError, match="F has 1 masked"):
        SecondOrderCone(np.ma.array(np.eye(2), mask=[[True, False], [False, False]]))


@pytest.mark.parametrize("dtype", [float, np.float32, np.int8])
def test_graphs_keep_their_own_data(dtype):
    X = np.arange(15).reshape(5, 3).astype(dtype)
    problem = L0GraphicalModel(X, Candidates.window(3, 1))
    before = problem.fingerprint()
    X += 1
    assert problem.fingerprint() == before
    assert problem.X.dtype == dtype


def test_text_in_a_frame_is_named_by_its_column():
    table = pd.DataFrame({"age": [50.0, 60.0], "city": ["Rome", "Oslo"]})
    with pytest.raises(ProblemError, match=r"^X\[0, 1\] is 'Rome', in the column 'city'; expected"):
        LADLasso(table, [1.0, 2.0])
    with pytest.raises(ProblemError, match=r"^y\[1\] is 'x'; expected real numbers"):
        LADLasso(np.eye(2), np.array([1.0, "x"], dtype=object))


@pytest.mark.parametrize("types", ["nullable", "arrow"])
def test_columns_that_may_miss_numbers_are_numbers(types):
    backend = {"nullable": "numpy_nullable", "arrow": "pyarrow"}[types]
    if types == "arrow":
        pytest.importorskip("pyarrow")
    table = pd.DataFrame({"age": [50.5, 60.0], "flag": [True, False], "n": [1, 2]})
    table = table.convert_dtypes(dtype_backend=backend)
    problem = LADLasso(table, [1.0, 2.0])
    assert list(problem.names) == ["age", "flag", "n"]
    assert problem.X.tolist() == [[50.5, 1.0, 1.0], [60.0, 0.0, 2.0]]
    table.loc[1, "n"] = pd.NA
    with pytest.raises(ProblemError, match=r"X\[1, 2\] is nan; expected finite"):
        LADLasso(table, [1.0, 2.0])


def test_tables_of_arrow_name_their_columns():
    arrow = pytest.importorskip("pyarrow")
    problem = LADLasso(arrow.table({"age": [1.0, 2.0], "bmi": [2.0, 1.0]}), [1.0, 2.0])
    assert list(problem.names) == ["age", "bmi"]


def test_verbs_say_what_they_take():
    problem = LADLasso(np.eye(2), [1.0, 2.0])
    result = sparseopt.solve(problem, lam=1.0)
    for swapped in ((result, problem), (problem, None)):
        with pytest.raises(ParamError, match="check takes a Problem and a Result, got"):
            sparseopt.check(*swapped)
    with pytest.raises(ParamError, match="backends takes a Problem, got DataFrame"):
        sparseopt.backends(pd.DataFrame())


@pytest.mark.parametrize(
    "make",
    [
        lambda names: DantzigSelector(EYE, ONE, names=names),
        lambda names: L0GraphicalModel(EYE, Candidates.window(2, 1), names=names),
        lambda names: STRS(EYE, ONE, 1, names=names),
    ],
)
def test_names_that_no_file_can_hold_are_refused(make):
    with pytest.raises(ProblemError, match=r"names\[1\] is .* with a lone surrogate"):
        make(["a", "\udce9"])
    assert make(["a", "\u00e9"]).names == ["a", "\u00e9"]


@pytest.mark.parametrize("kind", [SparseRegression, SparseLogisticRegression])
def test_an_infinite_bound_is_none(kind):
    free = kind(EYE, SIGNS, ridge=1.0, bound=np.inf)
    assert free.bound is None
    assert free.limit == np.inf
    assert free.fingerprint() == kind(EYE, SIGNS, ridge=1.0).fingerprint()
    with pytest.raises(ProblemError, match="neither a ridge nor a bound"):
        kind(EYE, SIGNS, bound=np.inf)
    for bound in (np.nan, 0.0, -np.inf):
        with pytest.raises(ProblemError, match=f"bound is {bound}; expected .* inf or None for no"):
            kind(EYE, SIGNS, ridge=1.0, bound=bound)

"""What is printed of an answer: short, and with the names of a data frame."""

from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import sparseopt
from sparseopt import datasets, problems, two_sample
from sparseopt.cards import NamedValues
from sparseopt.problems import (
    CLIME,
    L1SVM,
    LPD,
    CompressedSensing,
    DantzigSelector,
    DifferentialNetwork,
    LADLasso,
    MISDPBuilder,
    QuantileLasso,
)
from sparseopt.sketch import _COLOURS, bars, curves, histogram, scatter

FRAME = load_diabetes(as_frame=True, scaled=False)
DATA, TARGET = FRAME.data.iloc[:100], FRAME.target[:100]
HIGH = np.where(TARGET > 140, 1.0, -1.0)
GRAPH = sparseopt.problems.L0GraphicalModel(
    DATA.to_numpy() - DATA.to_numpy().mean(axis=0), ~np.eye(10, dtype=bool)
)


@pytest.mark.parametrize(
    "problem",
    [
        DantzigSelector(DATA, TARGET),
        CompressedSensing(DATA, TARGET),
        LADLasso(DATA, TARGET),
        QuantileLasso(DATA, TARGET, 0.3),
        L1SVM(DATA, HIGH, fit_intercept=False),
        LPD.from_samples(DATA[HIGH > 0], DATA[HIGH < 0]),
    ],
    ids=lambda problem: problem.kind,
)
def test_names_of_a_frame_are_kept(problem):
    assert problem.coefficient_names == list(DATA.columns)


def test_names_of_networks_are_kept():
    for problem in (CLIME.from_data(DATA), DifferentialNetwork.from_samples(DATA[:50], DATA[50:])):
        assert problem.names == list(DATA.columns)
    assert LADLasso(DATA, TARGET, names=list("abcdefghij")).coefficient_names[0] == "a"


def test_what_is_printed_is_short():
    scaled = LADLasso(DATA / DATA.std(), TARGET, fit_intercept=True)
    result = sparseopt.solve(scaled)
    graph = sparseopt.solve(GRAPH)
    answers = [
        result,
        result.path,
        sparseopt.solve(scaled, lam=[100.0, 10.0]).path,
        *(result.select(by) for by in ("cv", "bic", "theory")),
        sparseopt.select(scaled, "stability", pairs=5),
        graph,
        graph.path,
        *(graph.select(by) for by in ("ebic", "cv")),
    ]
    for answer in answers:
        name = type(answer).__name__
        assert len(repr(answer)) < 160 and "\n" not in repr(answer), name
        assert len(str(answer)) < 1500 and str(answer).count("\n") < 16, name
        assert answer._repr_html_().startswith("<table><caption>"), name
        assert len(answer._repr_html_()) < 40_000, name
    assert "<details>" in result._repr_html_() and "<svg" in result._repr_html_()
    assert "<svg" in sparseopt.solve(scaled, lam=10.0)._repr_html_()


@pytest.mark.parametrize("side", ["path", "x"])
def test_pictures_on_cards_are_svg_with_the_names_of_the_largest(side):
    data = DATA.rename(columns={"bmi": "<b&mi>"})
    problem = LADLasso(data / data.std(), TARGET - TARGET.median())
    result = sparseopt.solve(problem, lam=None if side == "path" else 5.0)
    picture = ElementTree.fromstring(result.sketch())
    titles = {each.text for each in picture.iter() if each.tag.endswith("title")}
    assert any("<b&mi>" in title for title in titles)
    for each in picture.iter("polyline"):
        points = np.array([p.split(",") for p in each.get("points").split()], dtype=float)
        assert (points >= 0.0).all() and (points <= [360.0, 150.0]).all()
    for each in picture.iter("rect"):
        assert 0.0 <= float(each.get("x")) <= 360.0 and float(each.get("width")) >= 0.0


def test_every_answer_has_a_picture_of_its_own():
    points = DATA.to_numpy() / DATA.to_numpy().std(axis=0)
    half = TARGET > 140
    test = two_sample.two_sample_test(DATA[half], DATA[~half], "strs", d=2, n_permutations=19)
    lad = LADLasso(DATA / DATA.std(), TARGET, fit_intercept=True)
    solve = sparseopt.solve
    answers = {
        "polyline": [solve(CLIME.from_data(DATA / DATA.std())).path],
        "rect": [
            test,
            sparseopt.select(lad, "stability", pairs=3),
            sparseopt.select(GRAPH, "stability", pairs=2),
            solve(problems.KernelSelection(DATA[half], DATA[~half], d=2)),
            solve(sparseopt.load(datasets.instances()["misdp-truss"])),
            solve(sparseopt.load(datasets.instances()["noisy-embedding"])),
        ],
        "circle": [
            *map(datasets.load, ("diabetes", "wine", "digits")),
            solve(problems.RobustSubspace(points, 2)),
            solve(problems.L1Subspace(points[:, :4], 1)),
            solve(problems.MomentSubspace(points[:, :3], 1, (0, 1, 1))),
            solve(problems.SufficientReduction(points[:60, :3], TARGET[:60], 1, "regression")),
            solve(problems.SufficientReduction(points[:60, :3], HIGH[:60], 2, "classification")),
        ],
    }
    for shape, shown in answers.items():
        for answer in shown:
            assert answer.sketch() in answer._repr_html_()
            picture = ElementTree.fromstring(f"<div>{answer.sketch()}</div>")
            drawn = list(picture.iter())
            assert sum(each.tag == shape for each in drawn) > 1, answer
            for each in drawn:
                places = [float(each.get(name, 0.0)) for name in ("x", "x1", "cx", "width")]
                assert min(places) >= 0.0 and max(places) <= 360.0
                # Letters are 5.5 wide.
                assert each.tag != "text" or len(each.text) <= 60


def test_the_card_of_a_misdp_has_its_integers_first():
    model = MISDPBuilder()
    y = model.variables(9, lower=np.arange(20.0, 11.0, -1.0), upper=30.0, name="y")
    z = model.variable(lower=1.0, upper=3.0, integer=True, name="z")
    model.semidefinite((y[:1], [np.eye(2)]))
    model.objective((y, np.ones(9)), (z, 1.0))
    picture = sparseopt.solve(model.build()).sketch()
    assert ">z<" in picture and ">y[6]<" in picture and ">y[7]<" not in picture


def test_a_pair_of_long_names_is_shortened_to_both():
    text = bars({"alcalinity_of_ash, proanthocyanins": 1.0, "mean smoothness error": 2.0})
    assert ">alcalin, proanth<" in text and ">mean smoothness…<" in text
    assert "<title>alcalinity_of_ash, proanthocyanins: 1</title>" in text


def test_a_histogram_marks_what_is_finite():
    values = np.arange(10.0)
    drawn = histogram(values, {"statistic": 20.0, "threshold": np.inf}, "permutations")
    assert drawn.count("<line") == 1 and "statistic: 20" in drawn
    lines = ElementTree.fromstring(drawn).findall("line")
    assert float(lines[0].get("x1")) == 348.0
    assert histogram([], {}, "") == histogram([1.0, 1.0], {"a": 1.0}, "") == ""
    assert scatter([1.0, 1.0], [2.0, 2.0], [0, 1], "") == ""


def test_there_is_no_picture_of_nothing():
    assert bars({}) == bars({"a": 0.0}) == bars({"a": np.nan}) == ""
    assert curves([1.0], {"a": [2.0]}, "lam") == curves([], {}, "lam") == ""
    assert "lam 100 to 1, by its log" in curves([100.0, 1.0, 0.0], {"a": [0.0, 1.0, 2.0]}, "lam")
    assert "polyline" in curves([2.0, 1.0, 0.0], {"a": [0.0, 0.0, 0.0]}, "lam")


def test_coefficients_are_a_table_by_name():
    result = sparseopt.solve(LADLasso(DATA, TARGET), lam=300.0)
    table = result.coefficients
    assert list(table) == list(DATA.columns)
    assert [table[name] for name in DATA.columns] == result.x.tolist()
    assert len(repr(table).splitlines()) == np.count_nonzero(result.x)
    assert table.to_frame().shape == (10, 2)
    chosen = sparseopt.select(LADLasso(DATA, TARGET), "bic")
    assert set(chosen.coefficients.nonzero()) == set(DATA.columns[chosen.support])
    with pytest.raises(sparseopt.SparseOptError, match="no names"):
        _ = sparseopt.solve(GRAPH, budget=3).with_changes(x=np.ones(3)).coefficients


def test_nothing_but_zeros():
    assert repr(NamedValues(["a"], [0.0])) == "all of them are zero"
    assert NamedValues(["a"], [0.0]).short() == "none"


def test_colours_of_cards_can_be_told_from_light_and_dark_pages():
    def luminance(colour):
        values = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
        linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    for colour in _COLOURS:
        for page in ("#ffffff", "#14181e"):
            low, high = sorted([luminance(colour), luminance(page)])
            assert (high + 0.05) / (low + 0.05) >= 3.4, (colour, page)

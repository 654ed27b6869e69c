"""Names of the columns of a regression model."""

from typing import Any

import numpy as np
import pytest

from sparseopt.errors import ProblemError
from sparseopt.problems import DantzigSelector, LADLasso


def test_coefficients_are_named_after_the_columns() -> None:
    X, y = np.eye(2), np.ones(2)
    assert DantzigSelector(X, y).coefficient_names == ["x0", "x1"]
    assert DantzigSelector(X, y, names=["age", "bmi"]).coefficient_names == ["age", "bmi"]
    lad = LADLasso(X, y, fit_intercept=True, names=np.array(["age", "bmi"]))
    assert lad.coefficient_names == ["age", "bmi", "intercept"]


@pytest.mark.parametrize("model", [DantzigSelector, LADLasso])
def test_names_belong_to_the_content(model: Any) -> None:
    named = model(np.eye(2), np.ones(2), names=["age", "bmi"])
    values, arrays = named.payload()
    assert model.from_payload(values, arrays).fingerprint() == named.fingerprint()
    assert named.fingerprint() != model(np.eye(2), np.ones(2)).fingerprint()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["age"], "names has 1 entries; expected 2"),
        ("ab", "names is 'ab'; expected a list of 2 strings"),
        ([1, 2], "expected a list of 2 strings"),
        (7, "names is 7; expected a list of 2 strings"),
    ],
)
@pytest.mark.parametrize("model", [DantzigSelector, LADLasso])
def test_wrong_names_are_refused(model: Any, names: Any, expected: str) -> None:
    with pytest.raises(ProblemError, match="names") as error:
        model(np.eye(2), np.ones(2), names=names)
    assert expected in str(error.value)

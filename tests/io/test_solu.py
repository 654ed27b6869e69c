"""Files of best known values."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparseopt import ProblemError
from sparseopt.io.solu import KnownValue, read_solu, write_solu

KNOWN = [
    KnownValue("opt", "diabetes-dantzig", 1 / 3, 0.1 + 0.2),
    KnownValue("opt", "diabetes-dantzig", 100.0, -0.0),
    KnownValue("best", "misdp-7", None, 98.25),
    KnownValue("bound", "misdp-7", None, -1e-300),
    KnownValue("inf", "clime-3", 0.0),
    KnownValue("unbd", "lp-9"),
    KnownValue("unkn", "größe"),
]


def test_everything_comes_back(tmp_path: Path) -> None:
    write_solu(KNOWN, tmp_path / "a.solu")
    assert read_solu(tmp_path / "a.solu") == KNOWN
    first = (tmp_path / "a.solu").read_text(encoding="utf-8").splitlines()[0]
    assert first == "=opt= diabetes-dantzig@0.3333333333333333 0.30000000000000004"


def test_comments_blanks_and_columns(tmp_path: Path) -> None:
    (tmp_path / "a.solu").write_text("# known\n\n=opt=   a@1    2.5\r\n\t=unkn= b\n")
    assert read_solu(tmp_path / "a.solu") == [
        KnownValue("opt", "a", 1.0, 2.5),
        KnownValue("unkn", "b"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("=opt= a", "=opt= needs a value"),
        ("=inf= a 1", "=inf= takes no value"),
        ("=sol= a 1", "=sol= is unknown; expected one of =opt=, =best="),
        ("opt a 1", "expected one of =opt="),
        ("=opt= a 1 2", "expected one of =opt="),
        ("=opt= a@x 1", "'x' is no number"),
        ("=opt= a@ 1", "'' is no number"),
        ("=opt= a one", "'one' is no number"),
        ("=opt= a nan", "value is nan"),
        ("=opt= a@inf 1", "lam is inf"),
        ("=opt= @1 1", "no name of an instance"),
        ("=opt= ok@1.0 1", "=opt= ok@1.0 is there twice"),
    ],
)
def test_errors_name_the_line(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.solu").write_text(f"=opt= ok@1 1\n{line}\n")
    with pytest.raises(ProblemError, match=rf"a\.solu, line 2.*{message}"):
        read_solu(tmp_path / "a.solu")


def test_names_that_would_not_come_back_are_refused() -> None:
    for name in ("a b", "a@b", "", "#a", "a=b"):
        with pytest.raises(ProblemError, match="no name of an instance"):
            KnownValue("unkn", name)

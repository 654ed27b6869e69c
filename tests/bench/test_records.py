"""The file of records: appended, mended, and for one writer."""

import json
from pathlib import Path

import pytest

from sparseopt.bench.records.files import RecordFile, read_records
from sparseopt.errors import ParamError


def test_a_torn_last_line_is_left_out_and_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with RecordFile(path) as file:
        file.append({"type": "solve", "key": "a"})
        file.append({"type": "environment", "id": "e"})
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type":"solve","key":"b","outc')
    assert [r["key"] for r in read_records(path)[0]] == ["a"]
    assert list(read_records(path)[1]) == ["e"]
    with RecordFile(path) as file:
        file.append({"type": "solve", "key": "c"})
    assert path.read_bytes().startswith(whole)
    assert [r["key"] for r in read_records(path)[0]] == ["a", "c"]


def test_the_last_record_of_a_key_counts(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with RecordFile(path) as file:
        file.append({"type": "solve", "key": "a", "outcome": "crash"})
        file.append({"type": "solve", "key": "a", "outcome": "ok"})
    (record,) = read_records(path)[0]
    assert record["outcome"] == "ok"


def test_two_writers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with RecordFile(path), pytest.raises(ParamError, match="another run is writing to it"):
        RecordFile(path)
    RecordFile(path).close()


@pytest.mark.parametrize("damage", [b"\xff\xfe\n", b"{}x\n", b"[1]\n"])
def test_damage_inside_is_named_by_its_line(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "r.jsonl"
    good = json.dumps({"type": "solve", "key": "a"}).encode() + b"\n"
    path.write_bytes(good + damage + good)
    with pytest.raises(ParamError, match="line 2 is damaged"):
        read_records(path)
    with pytest.raises(ParamError, match="expected the records of a benchmark run"):
        read_records(tmp_path / "none.jsonl")

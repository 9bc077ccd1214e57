"""Files that survive a kill."""

import errno
import os

import pytest

from novelapi import jsonl
from novelapi.errors import DataError, NovelApiError


def test_a_torn_last_line_is_repaired_on_open(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id": 1}\n{"id": 2}\n{"id": 3, "te')
    assert [row["id"] for row in jsonl.scan(path)] == [1, 2]
    with jsonl.Appender(path) as appender:
        appender.append({"id": 3})
    assert [row["id"] for row in jsonl.scan(path)] == [1, 2, 3]


def test_a_file_of_one_torn_line_becomes_empty(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id": 1' * 20000)
    jsonl.Appender(path).close()
    assert path.read_bytes() == b""


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id": 1}\n{"id": \n{"id": 3}\n')
    with pytest.raises(DataError, match="line 2"):
        list(jsonl.scan(path))


def test_seal_sorts_and_keeps_the_first_of_equal_keys(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id": 2, "v": 1}\n{"id": 1}\n{"id": 2, "v": 2}\n')
    assert jsonl.seal(path, key=lambda row: row["id"]) == 2
    assert list(jsonl.scan(path)) == [{"id": 1}, {"id": 2, "v": 1}]


def test_lone_surrogates_are_written_as_escapes(tmp_path):
    path = tmp_path / "rows.jsonl"
    jsonl.write(path, [{"text": "\ud800é"}])
    assert list(jsonl.scan(path)) == [{"text": "\ud800é"}]


@pytest.mark.parametrize(("content", "match"), [(b"\xff\n", "UTF-8"), (b"[1]\n", "object"), (b"{\n", "line 1")])
def test_a_users_file_is_refused_by_line(tmp_path, content, match):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=match):
        jsonl.read(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="nothing"):
        jsonl.read(tmp_path / "nothing.jsonl")


def test_a_full_disk_leaves_the_old_file_and_no_rest(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    jsonl.write(path, [{"id": 1}])

    def full(fd):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NovelApiError, match="No space left"):
        jsonl.write(path, [{"id": 2}])
    with jsonl.Appender(path) as appender, pytest.raises(NovelApiError, match="No space left"):
        appender.append({"id": 2})
    assert list(jsonl.scan(path)) == [{"id": 1}]
    assert [item.name for item in tmp_path.iterdir()] == ["rows.jsonl"]

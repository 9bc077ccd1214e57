"""A folder of documentation as a corpus."""

from __future__ import annotations

import pytest

from novelapi.errors import DataError
from novelapi.retrieval.documents import read_documents


def test_files_become_passages_in_order_and_unchanged(tmp_path):
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "b.md").write_text("# B\n\n```python\nx  =  1\n\n\ny\n```\n")
    (tmp_path / "a.rst").write_text("A\n=\n\nText.\n")
    (tmp_path / ".hidden.md").write_text("no")
    (tmp_path / "code.py").write_text("no")
    passages = read_documents(tmp_path)
    assert [passage.id for passage in passages] == ["a.rst#1", "guide/b.md#1"]
    assert passages[1].text == "# B\n\n```python\nx  =  1\n\n\ny\n```"


@pytest.mark.parametrize(
    ("files", "words"),
    [({}, "holds no documentation"), ({"a.md": b"\xff\xfe"}, "not UTF-8")],
)
def test_unusable_folders(tmp_path, files, words):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=words):
        read_documents(tmp_path)


def test_a_missing_folder(tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        read_documents(tmp_path / "nowhere")

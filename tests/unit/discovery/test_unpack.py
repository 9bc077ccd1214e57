"""Source archives: files are written, and nothing lands outside; on every Python from 3.11.0 on."""

from __future__ import annotations

import io
import tarfile

import pytest

from novelapi.discovery.fetch import unpack
from novelapi.errors import NovelApiError


@pytest.fixture
def archive(tmp_path):
    """Writes a tar archive of files and links."""

    def write(files=(), links=()):
        path = tmp_path / "package-1.0.tar.gz"
        with tarfile.open(path, "w:gz") as bundle:
            for name in files:
                item = tarfile.TarInfo(name)
                item.size = 4
                bundle.addfile(item, io.BytesIO(b"text"))
            for name, to in links:
                item = tarfile.TarInfo(name)
                item.type, item.linkname = tarfile.SYMTYPE, to
                bundle.addfile(item)
        return path

    return write


def written(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def test_files_are_written_and_links_are_not(archive, tmp_path):
    unpack(archive(["p-1.0/a.py", "p-1.0/deep/er/b.py"], [("p-1.0/link", "/etc/passwd")]), tmp_path / "tree")
    assert written(tmp_path / "tree") == ["p-1.0/a.py", "p-1.0/deep/er/b.py"]


def test_an_absolute_name_stays_inside(archive, tmp_path):
    unpack(archive(["/etc/strange"]), tmp_path / "tree")
    assert written(tmp_path / "tree") == ["etc/strange"]


@pytest.mark.parametrize("name", ["../outside", "p/../../outside"])
def test_a_name_that_leads_outside_is_refused(archive, tmp_path, name):
    with pytest.raises(NovelApiError, match="leads outside"):
        unpack(archive([name]), tmp_path / "tree")
    assert not (tmp_path / "outside").exists()


def test_no_file_is_written_through_a_link(archive, tmp_path):
    unpack(archive(["p/file"], [("p", str(tmp_path / "elsewhere"))]), tmp_path / "tree")
    assert written(tmp_path / "tree") == ["p/file"]
    assert not (tmp_path / "elsewhere").exists()

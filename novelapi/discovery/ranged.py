"""Reads the sources out of a large wheel without downloading it: the zip directory first, then merged spans."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from novelapi.discovery.index import IndexFile
from novelapi.errors import NovelApiError

if TYPE_CHECKING:
    import requests

_TAIL = 4 << 20
"""Bytes read from the end first: enough for the zip directory of every wheel seen."""
_GAP = 256 << 10
"""Spans closer than this are read as one (fewer requests for few more bytes)."""
_HEADER_SLACK = 1 << 10
"""Room for a member's local header, whose extra fields may be longer than those in the directory."""
_TIMEOUT = (10, 120)
_KEPT = (".py", ".pyi", ".typed")


def fetch_sources(session: requests.Session, file: IndexFile, target: Path) -> None:
    """Write a zip with the sources and metadata of a wheel; of all other members the names alone.

    Raises:
        NovelApiError: a member does not have the digest that the wheel's RECORD names, or the server ignores ranges.
        requests.RequestException: the transfer failed.
    """
    assert file.size is not None
    remote = _RemoteFile(session, file.url, file.size)
    with zipfile.ZipFile(remote) as source:
        members = [item for item in source.infolist() if not item.is_dir()]
        wanted = [item for item in members if _is_wanted(item.filename)]
        remote.prefetch((item.header_offset, item.header_offset + _length(item)) for item in wanted)
        contents = {item.filename: source.read(item) for item in wanted}
    _check_record(file.filename, contents)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as sink:
        for item in sorted(members, key=lambda item: item.filename):
            sink.writestr(zipfile.ZipInfo(item.filename), contents.get(item.filename, b""), zipfile.ZIP_DEFLATED)


def _is_wanted(name: str) -> bool:
    return name.endswith(_KEPT) or ".dist-info/" in name


def _length(item: zipfile.ZipInfo) -> int:
    return item.compress_size + len(item.filename.encode()) + len(item.extra) + _HEADER_SLACK


def _check_record(wheel: str, contents: dict[str, bytes]) -> None:
    record = next((data for name, data in contents.items() if name.endswith(".dist-info/RECORD")), None)
    if record is None:
        raise NovelApiError(f"{wheel} has no RECORD: it cannot be checked and is left alone")
    for row in csv.reader(io.StringIO(record.decode())):
        name, _, announced = row[0], *row[1].partition("=")[::2]
        if name in contents and announced:
            digest = base64.urlsafe_b64encode(hashlib.sha256(contents[name]).digest()).rstrip(b"=").decode()
            if digest != announced:
                raise NovelApiError(f"{name} in {wheel} does not have its announced digest (hash mismatch): run again")


class _RemoteFile(io.RawIOBase):
    """A file on a server that answers ranged requests; spans that were fetched are kept in memory."""

    def __init__(self, session: requests.Session, url: str, size: int) -> None:
        self._session, self._url, self._size = session, url, size
        self._position = 0
        self._spans: list[tuple[int, bytes]] = []
        self._load(max(0, size - _TAIL), size)

    def prefetch(self, spans: Iterable[tuple[int, int]]) -> None:
        """Fetch byte ranges, near ones together."""
        merged: list[list[int]] = []
        for start, end in sorted(spans):
            if merged and start - merged[-1][1] < _GAP:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        for start, end in merged:
            self._load(start, min(end, self._size))

    def _load(self, start: int, end: int) -> None:
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        with self._session.get(self._url, headers=headers, timeout=_TIMEOUT, stream=True) as response:
            response.raise_for_status()
            if response.status_code != 206:
                raise NovelApiError(
                    "the package index does not answer ranged reads: use one that does for large wheels"
                )
            self._spans.append((start, response.content))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        start = self._position
        end = self._size if size is None or size < 0 else min(self._size, start + size)
        for begin, data in self._spans:
            if begin <= start and end <= begin + len(data):
                self._position = end
                return data[start - begin : end - begin]
        self._load(start, end)
        return self.read(size)

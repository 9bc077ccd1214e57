"""A package index on loopback with two releases of a small library: everything real but its size.

Its simple API (PEP 691 with the upload times of PEP 700) is what discovery, uv and pip read.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAME = "tinyshapes"

INIT = '''"""Shapes of small lists."""

from tinyshapes.lists import {names}

__all__ = [{quoted}]
'''

CHUNK = '''
def chunk(items, size{parameter}):
    """Cut a list into pieces of equal length.

    Parameters
    ----------
    items : list of int
        The values to cut.
    size : int
        Length of each piece; the last one may be shorter.
{documented}
    Returns
    -------
    list of list of int
        The pieces in order.

    Examples
    --------
    >>> from tinyshapes import chunk
    >>> chunk([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4], [5]]
{example}    """
    pieces = [items[start:start + size] for start in range(0, len(items), size)]
{body}    return pieces

'''

OLD = CHUNK.format(parameter="", documented="", example="", body="")

NEW = (
    CHUNK.format(
        parameter=", fill=None",
        documented="""    fill : int, optional
        Value that makes the last piece as long as the others.
""",
        example="""    >>> chunk([1, 2, 3], 2, fill=0)
    [[1, 2], [3, 0]]
""",
        body="""    if fill is not None and pieces:
        pieces[-1] = pieces[-1] + [fill] * (size - len(pieces[-1]))
""",
    )
    + '''
def interleave(first, second):
    """Join two lists by taking their values in turn, until one of them has ended.

    Parameters
    ----------
    first : list of int
        The list that the result begins with.
    second : list of int
        The other list.

    Returns
    -------
    list of int
        The values in turn.

    Examples
    --------
    >>> from tinyshapes import interleave
    >>> interleave([1, 2, 3], [7, 8, 9])
    [1, 7, 2, 8, 3, 9]
    """
    return [value for pair in zip(first, second) for value in pair]


def windows(items, width, step=1):
    """List all runs of neighbouring values.

    Parameters
    ----------
    items : list of int
        The values.
    width : int
        Number of values in each run.
    step : int, optional
        Distance between the beginnings of two runs.

    Returns
    -------
    list of list of int
        The runs from left to right.

    Examples
    --------
    >>> from tinyshapes import windows
    >>> windows([1, 2, 3, 4], 2)
    [[1, 2], [2, 3], [3, 4]]
    >>> windows([1, 2, 3, 4, 5], 2, step=2)
    [[1, 2], [3, 4]]
    """
    return [items[start:start + width] for start in range(0, len(items) - width + 1, step)]


def run_lengths(items):
    """Count how often each value is repeated in place.

    Parameters
    ----------
    items : list of int
        The values.

    Returns
    -------
    list of tuple of int
        Each value with the length of its run.

    Examples
    --------
    >>> from tinyshapes import run_lengths
    >>> run_lengths([3, 3, 5, 3])
    [(3, 2), (5, 1), (3, 1)]
    """
    runs = []
    for value in items:
        if runs and runs[-1][0] == value:
            runs[-1] = (value, runs[-1][1] + 1)
        else:
            runs.append((value, 1))
    return runs
'''
)


def package(source: str) -> dict[str, str]:
    """Return the files of the library for the source of its one module."""
    names = [line[4:].partition("(")[0] for line in source.splitlines() if line.startswith("def ")]
    return {
        f"{NAME}/__init__.py": INIT.format(names=", ".join(names), quoted=", ".join(f'"{name}"' for name in names)),
        f"{NAME}/lists.py": '"""Functions on lists."""\n\n' + source,
    }


def wheel(name: str, version: str, files: Mapping[str, str], requires: Sequence[str] = (), metadata: str = "") -> bytes:
    """Return a wheel of pure Python files; `metadata` are further lines of its header."""
    info = f"{name}-{version}.dist-info"
    needed = "".join(f"Requires-Dist: {item}\n" for item in requires)
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: >=3.9\n"
    content = {
        **files,
        f"{info}/METADATA": head + needed + metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for path, text in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(text.encode())}")
    content[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in content.items():
            archive.writestr(zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0)), text)
    return buffer.getvalue()


def sdist(name: str, version: str, files: Mapping[str, str]) -> bytes:
    """Return a source archive."""
    buffer = io.BytesIO()
    root = f"{name}-{version}"
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in {**files, "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}.items():
            entry = tarfile.TarInfo(f"{root}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


@dataclass
class PackageIndex:
    """An index that runs in this process. `files` maps names to content; `uploaded` to upload times."""

    files: dict[str, bytes] = field(default_factory=dict)
    uploaded: dict[str, str] = field(default_factory=dict)
    answering: bool = True

    def add(
        self, name: str, version: str, files: Mapping[str, str], uploaded: str, requires: Sequence[str] = ()
    ) -> None:
        """Publish one release as a wheel and a source archive."""
        for filename, content in (
            (f"{name}-{version}-py3-none-any.whl", wheel(name, version, files, requires)),
            (f"{name}-{version}.tar.gz", sdist(name, version, files)),
        ):
            self.files[filename] = content
            self.uploaded[filename] = uploaded

    def page(self, name: str) -> dict | None:
        """Return the simple API's answer for one distribution."""
        found = [filename for filename in self.files if filename.partition("-")[0] == name]
        if not found:
            return None
        return {
            "meta": {"api-version": "1.1"},
            "name": name,
            "versions": sorted({filename.split("-")[1].removesuffix(".tar.gz") for filename in found}),
            "files": [
                {
                    "filename": filename,
                    "url": f"{self.url.rpartition('/simple')[0]}/files/{filename}",
                    "hashes": {"sha256": hashlib.sha256(self.files[filename]).hexdigest()},
                    "size": len(self.files[filename]),
                    "upload-time": self.uploaded[filename],
                    "requires-python": ">=3.9",
                }
                for filename in found
            ],
        }

    def start(self) -> None:
        """Serve on a free port of loopback."""
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.wfile.write(self.head())

            def do_HEAD(self) -> None:
                self.head()

            def head(self) -> bytes:
                status, kind, body = index.answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                return body

            def log_message(self, *_args) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Return status, content type and body."""
        if not self.answering:
            return 503, "text/plain", b"out of order"
        part = path.strip("/").split("/")
        if part[0] == "files" and part[-1] in self.files:
            return 200, "application/octet-stream", self.files[part[-1]]
        page = self.page(part[-1]) if part[0] == "simple" and len(part) == 2 else None
        if page is None:
            return 404, "text/plain", b"not found"
        return 200, "application/vnd.pypi.simple.v1+json", json.dumps(page).encode()

    def stop(self) -> None:
        """End the server."""
        self.server.shutdown()
        self.server.server_close()


def still() -> dict[str, str]:
    """Return the files of a library whose releases do not differ."""
    return {path.replace(NAME, "stillshapes"): text.replace(NAME, "stillshapes") for path, text in package(OLD).items()}


def tiny_index() -> PackageIndex:
    """Return an index with both releases of the library, and with one that stands still; not started."""
    index = PackageIndex()
    index.add(NAME, "1.0", package(OLD), "2024-01-10T00:00:00Z")
    index.add(NAME, "2.0", package(NEW), "2024-06-10T00:00:00Z")
    index.add("stillshapes", "1.0", still(), "2024-01-10T00:00:00Z")
    index.add("stillshapes", "1.1", still(), "2024-06-10T00:00:00Z")
    return index

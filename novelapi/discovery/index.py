"""Asks the package index which files a distribution has, and keeps the answers with the date of asking."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urljoin, urlsplit

from packaging.utils import canonicalize_name
from pydantic import Field

from novelapi import __version__, jsonl
from novelapi.errors import IndexUnavailableError, NovelApiError, UnknownNameError
from novelapi.layout import Layout
from novelapi.records.base import Record

if TYPE_CHECKING:
    import requests

PEP_691 = "application/vnd.pypi.simple.v1+json"
_TIMEOUT = (10, 120)


class IndexFile(Record):
    """One file of a distribution."""

    filename: str
    """Name of the file."""

    url: str
    """Absolute address."""

    sha256: str
    """Digest of the content."""

    uploaded: datetime
    """Time of the upload, UTC."""

    size: int | None = None
    """Length in bytes."""

    yanked: bool = False
    """Whether it was withdrawn."""

    requires_python: str | None = None
    """Versions of Python that it admits."""

    kind: Literal["wheel", "sdist", "other"] = "other"
    """Sort of file."""


class Project(Record):
    """All files of a distribution, as the index told on one day."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    """Version of this format."""

    name: str
    """Normalised name of the distribution."""

    fetched: date
    """Day of the answer, UTC."""

    files: tuple[IndexFile, ...]
    """The files, sorted by upload time and name."""


@dataclass(frozen=True, kw_only=True)
class PackageIndex:
    """The package index with its recorded answers.

    An answer of the same day is used again. An older one is used only with `offline`, never as a silent fallback.
    """

    layout: Layout
    address: str | None = None
    """Address of the simple API; null for the installers' own default."""
    offline: bool = False
    """Whether recorded answers are used whatever their age, and the index is never asked."""
    today: Callable[[], date] = lambda: datetime.now(UTC).date()
    """The clock."""

    def project(self, name: str, *, fresh: bool = False) -> Project:
        """Return the files of a distribution; `fresh` asks the index although it was asked today.

        Raises:
            UnknownNameError: the index does not know the distribution.
            IndexUnavailableError: the index did not answer, or nothing is recorded and `offline` was asked.
            NovelApiError: the index does not say when files were uploaded.
        """
        normal = canonicalize_name(name)
        path = self.layout.index_cache / f"{normal}.json"
        recorded = Project.model_validate_json(path.read_bytes()) if path.exists() else None
        if recorded and (self.offline or (not fresh and recorded.fetched >= self.today())):
            return recorded
        if self.offline:
            raise IndexUnavailableError(f"nothing is recorded about '{name}': run once without --offline")
        try:
            files = self._ask(normal)
        except _Unanswered as error:
            remedy = "check the network and the installers' index setting (UV_DEFAULT_INDEX, PIP_INDEX_URL, pip.conf)"
            if recorded:
                remedy += f", or pass --offline to use the answer of {recorded.fetched}"
            raise IndexUnavailableError(f"the package index did not answer for '{name}' ({error}): {remedy}") from error
        project = Project(name=normal, fetched=self.today(), files=tuple(files))
        jsonl.write_text(path, project.model_dump_json())
        return project

    @cached_property
    def endpoint(self) -> str:
        """Address of the simple API with a slash at its end."""
        from pypi_simple import PYPI_SIMPLE_ENDPOINT  # noqa: PLC0415 - not needed for recorded answers

        return (self.address or PYPI_SIMPLE_ENDPOINT).rstrip("/") + "/"

    @cached_property
    def session(self) -> requests.Session:
        """The connection; downloads use it too."""
        import requests  # noqa: PLC0415 - not needed for recorded answers
        from requests.adapters import HTTPAdapter  # noqa: PLC0415

        session = requests.Session()
        session.headers["User-Agent"] = f"novelapi/{__version__}"
        session.mount("https://", HTTPAdapter(max_retries=3))
        return session

    def _ask(self, name: str) -> list[IndexFile]:
        """Ask the simple API for upload times (PEP 700), else the JSON document that lies beside it."""
        simple = urljoin(self.endpoint, f"{name}/")
        body = self._get(simple, accept=PEP_691)
        files = list(_simple_files(body, simple)) if body is not None else []
        if not files:
            document = urljoin(self.endpoint, f"../pypi/{name}/json")
            body = self._get(document, accept="application/json")
            files = list(_document_files(body, document)) if body is not None else []
        if not files:
            raise NovelApiError(
                f"the package index does not say when the files of '{name}' were uploaded: "
                "name both releases with --old and --new, or use an index that does (PEP 700)"
            )
        return sorted(files, key=lambda file: (file.uploaded, file.filename))

    def _get(self, url: str, *, accept: str) -> dict[str, Any] | None:
        """Return a JSON answer; null when the server has none in that form."""
        import requests  # noqa: PLC0415

        try:
            with self.session.get(url, headers={"Accept": accept}, timeout=_TIMEOUT, stream=True) as response:
                if response.status_code == requests.codes.not_found:
                    if accept == PEP_691:
                        raise _unknown(url)
                    return None
                response.raise_for_status()
                if "json" not in response.headers.get("Content-Type", ""):
                    return None
                return json.loads(response.content)
        except (requests.RequestException, ValueError) as error:
            raise _Unanswered(_cause(error)) from error


class _Unanswered(Exception):  # noqa: N818 - an answer, not a fault of ours
    """The index gave no usable answer; the text says why."""


def _unknown(url: str) -> UnknownNameError:
    from novelapi.catalog import libraries  # noqa: PLC0415

    name = urlsplit(url).path.rstrip("/").rpartition("/")[2]
    hint = "neither the catalogue nor the package index has it; see `novelapi list libraries`"
    return UnknownNameError("library", name, libraries(), hint)


def _cause(error: Exception) -> str:
    """Return a short cause without addresses."""
    response = getattr(error, "response", None)
    return f"HTTP {response.status_code}" if response is not None else type(error).__name__


def _simple_files(body: dict[str, Any], base: str) -> Iterator[IndexFile]:
    for file in body.get("files", []):
        if file.get("upload-time") and file.get("hashes", {}).get("sha256"):
            yield IndexFile(
                filename=file["filename"],
                url=urljoin(base, file["url"]),
                sha256=file["hashes"]["sha256"],
                uploaded=file["upload-time"],
                size=file.get("size"),
                yanked=bool(file.get("yanked", False)),
                requires_python=file.get("requires-python") or None,
                kind=_kind(file["filename"]),
            )


def _document_files(body: dict[str, Any], base: str) -> Iterator[IndexFile]:
    for release in body.get("releases", {}).values():
        for file in release:
            yield IndexFile(
                filename=file.get("filename") or unquote(file["url"].rpartition("/")[2]),
                url=urljoin(base, file["url"]),
                sha256=file["digests"]["sha256"],
                uploaded=file["upload_time_iso_8601"],
                size=file.get("size"),
                yanked=bool(file.get("yanked", False)),
                requires_python=file.get("requires_python") or None,
                kind=_kind(file["filename"]),
            )


def _kind(filename: str) -> Literal["wheel", "sdist", "other"]:
    if filename.endswith(".whl"):
        return "wheel"
    return "sdist" if filename.endswith((".tar.gz", ".zip", ".tar.bz2", ".tgz")) else "other"

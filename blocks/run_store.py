"""Where runs are kept: a folder, or any address that fsspec understands."""

from __future__ import annotations

import asyncio
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec
from prefect.filesystems import WritableFileSystem
from pydantic import Field, SecretStr

from novelapi.errors import NovelApiError


class RunStore(WritableFileSystem):
    """A store for run folders and task results; credentials stay in the block."""

    _block_type_name = "Run store"
    _block_type_slug = "run-store"
    _description = "A folder or an fsspec address (s3://, gs://, abfs://) that run folders are copied to and from."

    url: str = Field(description="Folder or fsspec address, such as s3://bucket/novelapi.")
    options: dict[str, Any] = Field(default={}, description="Options of the file system; no secrets.")
    key: SecretStr = Field(default=SecretStr(""), description="Access key, where the file system takes `key`.")
    secret: SecretStr = Field(default=SecretStr(""), description="Secret, where the file system takes `secret`.")

    async def read_path(self, path: str) -> bytes:
        """Return the content of a file of the store."""
        return await asyncio.to_thread(self._files().cat_file, self._at(path))

    async def write_path(self, path: str, content: bytes) -> None:
        """Write a file of the store, with its folders."""
        await asyncio.to_thread(self._write, path, content)

    def push(self, home: Path, folder: Path) -> int:
        """Copy the files of a folder below `home` to the store under the same relative names; return their number.

        Raises:
            NovelApiError: the store cannot be written.
        """
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        for path in files:
            self._write(path.relative_to(home).as_posix(), path.read_bytes())
        return len(files)

    def pull(self, home: Path, folder: str) -> int:
        """Copy the files of a relative folder from the store below `home`; return their number.

        Raises:
            NovelApiError: the store cannot be read.
        """
        files, root = self._files(), self._at("")
        try:
            found = sorted(files.find(self._at(folder)))
            for name in found:
                target = home / PurePosixPath(name).relative_to(PurePosixPath(files._strip_protocol(root)))  # noqa: SLF001 - the only way to a relative name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(files.cat_file(name))
        except OSError as error:
            raise NovelApiError(
                f"cannot read {self.url}: {error}; check address and credentials of the block"
            ) from error
        return len(found)

    def _write(self, path: str, content: bytes) -> None:
        files, target = self._files(), self._at(path)
        try:
            files.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
            files.pipe_file(target, content)
        except OSError as error:
            raise NovelApiError(
                f"cannot write {self.url}: {error}; check address and credentials of the block"
            ) from error

    def _files(self) -> fsspec.AbstractFileSystem:
        secrets = {"key": self.key.get_secret_value(), "secret": self.secret.get_secret_value()}
        given = {name: value for name, value in secrets.items() if value}
        return fsspec.core.url_to_fs(self.url, **self.options, **given)[0]

    def _at(self, path: str) -> str:
        """Return the address of a relative path.

        Raises:
            NovelApiError: the path leaves the store.
        """
        if ".." in PurePosixPath(path).parts or path.startswith("/"):
            raise NovelApiError(f"'{path}' leaves the store: use a relative path")
        return f"{self.url.rstrip('/')}/{path}".rstrip("/")

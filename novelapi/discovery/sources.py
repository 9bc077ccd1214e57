"""The Python files of a release, wherever they lie: in wheels, or in a folder."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

_COMPILED = re.compile(r"\.(cpython-[^.]*|abi3|cp\d+-[^.]*|pypy[^.]*)?\.?(so|pyd)$")
_NOT_PACKAGES = {"tests", "test", "docs", "doc", "examples", "benchmarks", "scripts", "tools"}


@dataclass(frozen=True)
class ModuleFile:
    """One file that defines a module."""

    module: str
    """Dotted name."""
    path: str
    """Path inside its archive."""
    is_package: bool
    """Whether it is an `__init__` file."""
    kind: Literal["source", "stub", "compiled"]
    """What it holds."""
    archive: int = 0
    """Position of its archive."""


class Archive(Protocol):
    """Something that holds files under posix paths."""

    def names(self) -> Iterable[str]:
        """Return the paths of all files."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of one."""
        ...


class ZipArchive:
    """A wheel."""

    def __init__(self, path: Path) -> None:
        """Open the wheel."""
        self._zip = zipfile.ZipFile(path)
        self._purelib = re.compile(r"^[^/]+\.data/(purelib|platlib)/")
        self._names = {self._purelib.sub("", name): name for name in self._zip.namelist() if not name.endswith("/")}

    def names(self) -> Iterable[str]:
        """Return the paths as they are installed."""
        return self._names

    def read(self, name: str) -> bytes:
        """Return the content of one file."""
        return self._zip.read(self._names[name])


class FolderArchive:
    """An unpacked source archive or a checkout; a `src` folder is looked through."""

    def __init__(self, root: Path) -> None:
        """Remember the folder below which packages lie."""
        self._root = root / "src" if _has_packages(root / "src") else root

    def names(self) -> Iterable[str]:
        """Return the paths below the folder, sorted."""
        hidden = (".", "__pycache__", "build", "node_modules")
        for path in sorted(self._root.rglob("*")):
            relative = path.relative_to(self._root)
            if path.is_file() and not any(part.startswith(hidden) for part in relative.parts):
                yield relative.as_posix()

    def read(self, name: str) -> bytes:
        """Return the content of one file."""
        return (self._root / name).read_bytes()


def _has_packages(folder: Path) -> bool:
    return any(folder.glob("*/__init__.py")) or any(folder.glob("*.py"))


class Sources:
    """The modules of one or more archives that fill the same top-level packages."""

    def __init__(self, archives: Sequence[Archive], imports: Sequence[str] = ()) -> None:
        """Index the archives.

        Args:
            archives: the library's own archive first.
            imports: the top-level packages to read; empty for all that the first archive has.
        """
        self._archives = archives
        found = [file for position, archive in enumerate(archives) for file in _module_files(archive, position)]
        self.roots = tuple(imports) or _top_level(file for file in found if file.archive == 0)
        roots = set(self.roots)
        mine = [file for file in found if file.module.partition(".")[0] in roots]
        self.modules: Mapping[str, ModuleFile] = _index(mine, "source")
        """Source modules by dotted name."""
        self.stubs: Mapping[str, ModuleFile] = _index(mine, "stub")
        """Stub modules by dotted name."""
        self.compiled: frozenset[str] = frozenset(file.module for file in mine if file.kind == "compiled")
        """Extension modules."""
        self._packages = {name.rpartition(".")[0] for name in [*self.modules, *self.stubs, *self.compiled]}

    def read(self, file: ModuleFile) -> bytes:
        """Return the content of a module's file."""
        return self._archives[file.archive].read(file.path)

    def is_module(self, name: str) -> bool:
        """Return whether there is a module or a package of that name."""
        return name in self.modules or name in self.stubs or name in self.compiled or name in self._packages


def _index(files: Iterable[ModuleFile], kind: str) -> dict[str, ModuleFile]:
    """Index by module; a package wins over a module of the same name, an earlier archive over a later one."""
    index: dict[str, ModuleFile] = {}
    for file in files:
        if file.kind == kind and (file.module not in index or (file.is_package and not index[file.module].is_package)):
            index[file.module] = file
    return dict(sorted(index.items()))


def _module_files(archive: Archive, position: int) -> Iterator[ModuleFile]:
    for name in archive.names():
        path = PurePosixPath(name)
        if path.suffix == ".py":
            kind: Literal["source", "stub", "compiled"] = "source"
            stem = path.stem
        elif path.suffix == ".pyi":
            kind, stem = "stub", path.stem
        elif match := _COMPILED.search(path.name):
            kind, stem = "compiled", path.name[: match.start()]
        else:
            continue
        parts = [*path.parts[:-1], *([] if stem == "__init__" else [stem])]
        if parts and parts[0].endswith("-stubs"):
            parts[0] = parts[0].removesuffix("-stubs")
        if parts and all(part.isidentifier() for part in parts):
            yield ModuleFile(".".join(parts), name, stem == "__init__", kind, position)


def _top_level(files: Iterable[ModuleFile]) -> tuple[str, ...]:
    """Return the top-level packages and modules that an archive offers."""
    names = {file.module.partition(".")[0] for file in files if file.kind != "stub"}
    return tuple(sorted(name for name in names if name not in _NOT_PACKAGES and name != "setup"))

"""A small library: classes, a subclass, generics, a hub, names that mean two things, an API without anything."""

from __future__ import annotations

import textwrap

from novelapi.discovery.apis import ApiTable
from novelapi.discovery.sources import FolderArchive, Sources
from novelapi.discovery.surface.extract import Extractor
from novelapi.graph.library import library_nodes

FILES = {
    "minilib/__init__.py": '''
        """Small."""
        from minilib._core import *
        from minilib._core import __all__
    ''',
    "minilib/_core.py": '''
        from typing import Annotated, Any, Callable, Iterator, Literal, Optional, Self, Union

        __all__ = ["Table", "Sorted", "Column", "Row", "load", "save", "split", "rows", "pick", "index", "bare", "name",
                   "title", "told", "Failure", "maybe", "apply", "merge"]


        class Failure(Exception):
            """It failed."""


        class Column:
            """A column."""


        class Row:
            """A row."""


        class Table:
            """A table.

            >>> table = load("x")
            """

            def __init__(self, data: Any = None):
                self.data = list(data or [])
                self.column = Column()

            @property
            def first(self) -> Row:
                """The first row."""
                return Row()

            def copy(self) -> Self:
                """Return another one."""
                return Table(self.data)

            def sort(self) -> None:
                """Sort in place."""
                self.data.sort()

            def __repr__(self):
                return f"Table({self.data})"


        class Sorted(Table):
            """A table in order."""


        def load(path: str) -> Table:
            """Read a table."""
            return Table([3, 1, 2])


        def save(table: Table, path: str = "x") -> None:
            """Write a table.

            >>> import minilib
            >>> t = minilib.load("x")
            >>> t.sort()
            >>> minilib.save(t, path="y")
            """


        def split(table: "Table", at: int) -> tuple[Table, Row]:
            """Split.

            >>> import minilib
            >>> left, right = minilib.split(minilib.load("x"), 1)
            >>> minilib.pick(right)
            """
            return Table(), Row()


        def rows(table: Annotated[Optional[Table], 1]) -> Iterator[Row]:
            """All rows."""
            return iter([Row()])


        def index(table: Table) -> dict[str, Row]:
            """Rows by name."""
            return {"a": Row()}


        def pick(row: Union[Row, str, None]) -> type[Row]:
            """Pick.

            >>> import minilib
            >>> minilib.pick(minilib.index(minilib.load("x"))["a"])
            """
            return Row


        def apply(how: Callable[[Table], Row], mode: Literal["Row"]) -> Failure:
            """Apply."""
            return Failure()


        def maybe(table: Sorted) -> "Sorted | None":
            """Maybe."""


        def merge(column: Column) -> str:
            """Merge.

            >>> import minilib
            >>> minilib.merge(minilib.load("x").column)
            >>> minilib.pick(undefined)
            """
            return "m"


        def bare(a, b):
            return a


        def name() -> str:
            """A name."""
            return "n"


        def title(text: str) -> str:
            """A title."""
            return text


        def told(thing):
            """Told in words.

            Parameters
            ----------
            thing : Row or None
                What it is about.

            Returns
            -------
            Column
                What comes out.
            """
            return Column()
    ''',
}


def write(folder, files=FILES):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip())
    return folder


def surface_of(folder, files=FILES):
    write(folder, files)
    return Extractor(Sources([FolderArchive(folder)])).extract("minilib", "1.0", {})


def read(folder, files=FILES, novel=("minilib.split",)):
    surface = surface_of(folder, files)
    table = ApiTable(surface)
    return surface, table, library_nodes(surface, table, novel)

"""Sections of a pack, found by name or by what they are for."""

from __future__ import annotations

from novelapi.errors import UnknownNameError
from novelapi.packing.write import purpose
from novelapi.records.pack import Pack, PackSection
from novelapi.retrieval.lexical import LexicalIndex
from novelapi.retrieval.passages import Passage


class PackIndex:
    """BM25 over names and texts of a pack's sections."""

    def __init__(self, pack: Pack) -> None:
        """Index the sections."""
        self._sections = {section.api: section for section in pack.sections}
        passages = [
            Passage(id=item.api, api=item.api, library=pack.library, text=f"{item.api}\n{item.text}")
            for item in pack.sections
        ]
        self._index = LexicalIndex()
        self._index.build(passages, None, pack.digest)

    def search(self, query: str, limit: int) -> list[PackSection]:
        """Return the sections that share a term with the query, best first."""
        hits = self._index.search_terms(query, max(0, limit))
        return [self._sections[hit.passage] for hit in hits]

    def read(self, api: str) -> PackSection:
        """Return the section of an API, by its path or by the end of it where only one ends so.

        Raises:
            UnknownNameError: the pack has none; near names are suggested.
        """
        found = [name for name in self._sections if name == api] or [
            name for name in self._sections if name.endswith(f".{api}")
        ]
        if len(found) != 1:
            raise UnknownNameError("API", api, found or self._sections, hint="find its name with search_api")
        return self._sections[found[0]]

    @staticmethod
    def summary(section: PackSection) -> str:
        """Return what an API is for, in one line; empty where the pack does not say."""
        return purpose(section)

"""What the copy baseline remembers: the public surface of the old release."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

from novelapi.adapters.copying.words import words
from novelapi.fingerprint import digest
from novelapi.ports import RememberedApi


class Memory:
    """The old surface: which names are known, and which of them is nearest to a text."""

    def __init__(self, entries: Iterable[RememberedApi] = ()) -> None:
        """Remember entries; their order does not matter."""
        self.entries = tuple(sorted(entries, key=lambda entry: (entry.path, entry.signature, entry.doc)))
        self.digest = digest([[entry.path, entry.signature, entry.doc] for entry in self.entries])
        self._by_path = {entry.path: entry for entry in self.entries}
        self._index: dict[str, list[tuple[int, float]]] | None = None

    def get(self, path: str) -> RememberedApi | None:
        """Return the entry with this path, or null."""
        return self._by_path.get(path)

    def nearest(self, text: str, packages: frozenset[str], limit: int = 3) -> list[RememberedApi]:
        """Return the entries of some top-level packages that share the rarest words with a text, best first."""
        if self._index is None:
            self._index = _invert(self.entries)
        scores: Counter[int] = Counter()
        for word in set(words(text)):
            for position, weight in self._index.get(word, ()):
                scores[position] += weight  # type: ignore[assignment]  # a counter of real numbers
        # Of equally near ones the shortest path is what people write.
        ranked = sorted(scores, key=lambda place: (-scores[place], self.entries[place].path.count("."), place))
        wanted = (self.entries[position] for position in ranked)
        inside = (entry for entry in wanted if not packages or entry.path.split(".", 1)[0] in packages)
        return [entry for entry, _ in zip(inside, range(limit), strict=False)]


def _invert(entries: tuple[RememberedApi, ...]) -> dict[str, list[tuple[int, float]]]:
    """Map each word to the entries that hold it, with the word's rarity over the entry's length."""
    texts = [set(words(entry.path.rsplit(".", 1)[-1])) | set(words(entry.doc)) for entry in entries]
    holders: dict[str, list[int]] = defaultdict(list)
    for position, text in enumerate(texts):
        for word in text:
            holders[word].append(position)
    return {
        word: [
            (position, math.log(1 + len(entries) / len(found)) / math.sqrt(len(texts[position]))) for position in found
        ]
        for word, found in holders.items()
    }

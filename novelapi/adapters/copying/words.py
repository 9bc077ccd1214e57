"""Words of texts and identifiers, in a form that can be compared."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ENDINGS = ("ations", "ation", "ings", "ing", "edly", "ed", "es", "s", "e")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by each for from given if in into is it its not of on or return returns that the then"
        " this to use used using value values which whose with you your",
    )
)


def words(text: str) -> list[str]:
    """Return the words of prose or of an identifier, lower case, without endings and without function words."""
    found = [word.lower() for word in _WORD.findall(text)]
    return [_stem(word) for word in found if word not in _STOP]


def mentions(text: str, name: str) -> bool:
    """Say whether every word of an identifier occurs in a text."""
    wanted = set(words(name))
    return bool(wanted) and wanted <= set(words(text))


def likeness(first: str, second: str) -> float:
    """Return the share of the shorter text's words that the other text holds too."""
    one, two = set(words(first)), set(words(second))
    return len(one & two) / min(len(one), len(two)) if one and two else 0.0


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word

"""Masking: M_prose without the names of its own API, so that knowing the mechanism does not mean knowing the name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from novelapi.knowledge.words import SYNONYMS, is_ordinary

_NOUNS = {
    "function": ("this function", "[operation]"),
    "class": ("this class", "[object]"),
    "method": ("this method", "[operation]"),
    "classmethod": ("this class method", "[operation]"),
    "staticmethod": ("this static method", "[operation]"),
    "property": ("this attribute", "[value]"),
}


def leaves_of(paths: Iterable[str]) -> frozenset[str]:
    """Return the last segments of paths."""
    return frozenset(re.split(r"[.:]", path)[-1] for path in paths)


def mask(text: str, paths: Iterable[str], kind: str) -> str:
    """Replace every identifier token that is one of the API's names.

    Where it stands as a name (in code, with a path, before a parenthesis) it becomes "this function" and the like;
    where the same letters are an ordinary word it becomes a neutral word in brackets; where the path is that of
    something else with the same last name it becomes "its namesake".

    Args:
        text: prose.
        paths: every path of the API.
        kind: what sort of object it is.
    """
    paths = frozenset(paths)
    noun, word = _NOUNS.get(kind, _NOUNS["function"])
    own = {path.rpartition(".")[0] for path in paths}
    heads = {tail for head in own for tail in _tails(head)} | {"np", "pd", "sa", "sp", "self", "cls"}
    for leaf in sorted(leaves_of(paths), key=len, reverse=True):
        pattern = re.compile(rf"(?<!\w)@?(?P<head>(?:[A-Za-z_]\w*\.)*){re.escape(leaf)}(?!\w)(?P<call>\(\))?")

        def replace(match: re.Match[str], leaf: str = leaf) -> str:
            head = match.group("head").rstrip(".")
            if head:
                return noun if head in heads or "." not in head else "its namesake"
            before, after = match.string[: match.start()], match.string[match.end() :]
            coded = (
                before.count("`") % 2 == 1 or before.endswith(".") or after.startswith("(") or bool(match.group("call"))
            )
            return noun if coded or not is_ordinary(leaf) else SYNONYMS.get(leaf, word)

        text = pattern.sub(replace, text)
    for shown in (noun, word, "its namesake"):
        text = text.replace(f"`{shown}`", shown)
        text = re.sub(
            rf"\b(?:[Tt]he|[Aa]n?) {re.escape(shown)}(?: (?:function|method|class|attribute)\b)?", shown, text
        )
    text = re.sub(rf"{re.escape(noun)} (?:function|method|class|attribute)\b", noun, text)
    return re.sub(rf"(^|[.!?]\s+|\n\n){re.escape(noun)}", lambda m: m.group(1) + noun[0].upper() + noun[1:], text)


def _tails(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[number:]) for number in range(len(parts))] + [
        ".".join(["np", *parts[1:]]),
        ".".join(["pd", *parts[1:]]),
    ]

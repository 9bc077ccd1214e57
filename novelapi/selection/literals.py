"""Literals of Java and JavaScript that answers write as text: `10L`, `3.5f`, `new int[]{1, 2}`, `[1, 'a']`, `{a: 1}`.

What is no literal of the declared type stays the text that it is, and is then of the wrong type.
"""

from __future__ import annotations

import re
from typing import Any

from novelapi.selection.tasks import Language

_NUMBER = re.compile(r"^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?([fFdDlLn]?)$")
_SUFFIXES = {
    "java": {"float": "fF", "double": "dD", "long": "lL"},
    "javascript": {"bigint": "n"},
}
_QUOTED = re.compile(r"""^(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')$""", re.DOTALL)
_JAVA_ITEMS = re.compile(
    r"^(?:new\s+)?(?:[\w.]+(?:<[^>]*>)?\s*(?:\[\s*\])+\s*\{(?P<array>.*)\}"
    r"|(?:\w+\.)*\w*(?:List|Set)(?:<[^>]*>)?\s*\(\s*(?:(?:\w+\.)*\w*\.?(?:asList|of)\s*\((?P<wrapped>.*)\)\s*)?\)"
    r"|(?:\w+\.)*\w*\.(?:asList|of)\s*\((?P<listed>.*)\))$",
    re.DOTALL,
)
_JAVA_FILLED = re.compile(r"^new\s+[\w.]+(?:<.*?>)?\s*\(\s*\)\s*(?:\{\s*\{(?P<body>.*)\}\s*\}|\{\s*\})?$", re.DOTALL)
_CALL = re.compile(r"\b(add|put)\s*\(")
_OPEN, _CLOSE = "([{<", ")]}>"


def read_literal(text: str, declared: str, language: Language) -> Any:
    """Return the value of a literal for a declared type (`integer`, `float`, `boolean`, `list`, `dict`, `string` ...).

    Args:
        text: what the answer wrote.
        declared: the type's name as the schema has it, in lower case.
        language: whose literals count.
    """
    plain = text.strip()
    if declared in ("string", "str", "any", "char"):
        quoted = _QUOTED.match(plain)
        return _unquoted(quoted) if quoted and declared != "char" else text
    if declared == "boolean":
        return {"true": True, "false": False}.get(plain, text)
    number = _NUMBER.match(plain)
    if number and declared in ("byte", "short", "integer", "long", "float", "double", "bigint", "number"):
        return _number(number, declared, language, text)
    items = _items(plain, language)
    if items is not None and declared in ("array", "arraylist", "list", "queue", "stack", "set", "tuple"):
        return [read_any(item, language) for item in items]
    pairs = _pairs(plain, language)
    if pairs is not None and declared in ("hashmap", "hashtable", "dict", "object", "map"):
        return {key: read_any(value, language) for key, value in pairs}
    return text


def read_any(text: str, language: Language) -> Any:
    """Return the value of a literal whose type nobody declares; what is none stays a text."""
    plain = text.strip()
    quoted = _QUOTED.match(plain)
    if quoted:
        return _unquoted(quoted)
    if plain in ("true", "false"):
        return plain == "true"
    number = _NUMBER.match(plain)
    if number:
        digits = plain.rstrip("fFdDlLn")
        return float(digits) if number[1] or number[2] or number[3] in ("f", "F", "d", "D") else int(digits)
    items = _items(plain, language)
    if items is not None:
        return [read_any(item, language) for item in items]
    pairs = _pairs(plain, language)
    return plain if pairs is None else {key: read_any(value, language) for key, value in pairs}


def _unquoted(found: re.Match[str]) -> str:
    return found[1] if found[1] is not None else found[2]


def _number(found: re.Match[str], declared: str, language: Language, text: str) -> Any:
    suffix = found[3]
    allowed = _SUFFIXES.get(language, {}).get(declared, "")
    if suffix and suffix not in allowed:
        return text
    digits = found.group().rstrip("fFdDlLn") if suffix else found.group()
    whole = declared in ("byte", "short", "integer", "long", "bigint")
    if whole and (found[1] or found[2]):
        return text
    return int(digits) if whole else float(digits)


def _items(text: str, language: Language) -> list[str] | None:
    """Return the elements of a list literal, or null."""
    if language == "javascript":
        if text.startswith("[") and text.endswith("]"):
            return _split(text[1:-1])
        found = re.match(r"^new\s+(?:Array|Set)\s*\((.*)\)$", text, re.DOTALL)
        return _split(found[1]) if found else None
    found = _JAVA_ITEMS.match(text)
    if found:
        return _split(next((part for part in found.groups() if part is not None), ""))
    filled = _JAVA_FILLED.match(text)
    if filled and "Map" not in text.partition("(")[0]:
        return _arguments(filled["body"] or "", "add")
    return None


def _pairs(text: str, language: Language) -> list[tuple[str, str]] | None:
    """Return the entries of a map literal, or null."""
    if language == "javascript":
        if not (text.startswith("{") and text.endswith("}")):
            return None
        halves = [_cut(entry) for entry in _split(text[1:-1])]
        return [(str(read_any(key, language)), value) for key, value in halves] if all(k for k, _ in halves) else None
    filled = _JAVA_FILLED.match(text)
    if filled:
        entries = [_split(entry) for entry in _arguments(filled["body"] or "", "put")]
    else:
        found = re.match(r"^(?:\w+\.)*Map\.of\s*\((.*)\)$", text, re.DOTALL)
        if not found:
            return None
        parts = _split(found[1])
        entries = [parts[at : at + 2] for at in range(0, len(parts), 2)]
    if any(len(entry) != 2 for entry in entries):
        return None
    return [(str(read_any(key, language)), value) for key, value in entries]


def _arguments(body: str, method: str) -> list[str]:
    """Return what is between the parentheses of each call of a method."""
    found: list[str] = []
    for call in _CALL.finditer(body):
        if call[1] == method:
            inside = _split(body[call.end() :], until=True)
            found.append(", ".join(inside))
    return found


def _cut(entry: str) -> tuple[str, str]:
    parts = _split(entry, separator=":")
    return (parts[0], entry.partition(parts[0])[2].lstrip().removeprefix(":")) if len(parts) > 1 else ("", "")


def _split(text: str, *, separator: str = ",", until: bool = False) -> list[str]:
    """Split at the separators that are in no bracket and no quotes.

    Args:
        text: what is split.
        separator: one character.
        until: stop at the bracket that closes what was open before the text.
    """
    parts, depth, quote, last = [], 0, "", 0
    end = len(text)
    position = 0
    while position < len(text):
        character = text[position]
        if quote:
            position += character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _OPEN and not (character == "<" and separator == ":"):
            depth += 1
        elif character in _CLOSE:
            depth -= 1
            if depth < 0 and until:
                end = position
                break
        elif character == separator and not depth:
            parts.append(text[last:position].strip())
            last = position + 1
        position += 1
    rest = text[last:end].strip()
    return [*parts, rest] if rest or parts else []

"""What a task's wording asks for beside the call: options, and a little Python around the result."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Mapping, Sequence

from novelapi.adapters.copying.reading import Parameter
from novelapi.adapters.copying.words import likeness, mentions

_LITERAL = r"(?:True|False|None|-?\d+(?:\.\d*)?(?:e-?\d+)?|'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\))"
_BULLET = re.compile(r"^\s*[-*] ([^`]{0,40})`([^`]+)`[^:]*:?\s*(.*)$")
_ALIKE = 0.4
"""Share of common words from which two descriptions are taken to speak of the same thing."""

_WRAPPERS: tuple[tuple[str, str], ...] = (
    (r"\b(?:list|sequence) of (?:nested |plain )?lists\b", "[item.tolist() for item in {}]"),
    (r"\bas (?:a |an )?(?:nested|plain|python) (?:nested )?lists?\b", "{}.tolist()"),
    (r"\bas (?:a |an )?lists?\b", "list({})"),
    (r"\bas (?:a |an )?(?:plain )?tuple\b", "tuple({})"),
    (r"\bas (?:a |an )?(?:plain )?(?:string|text)\b", "str({})"),
    (r"\bas (?:a |an )?(?:plain |python )?float\b", "float({})"),
    (r"\bas (?:a |an )?(?:plain |python )?(?:int|integer)\b", "int({})"),
    (r"\bas (?:a |an )?(?:plain |python )?(?:bool|boolean)\b", "bool({})"),
    (r"\bsorted\b|\bin ascending order\b", "sorted({})"),
    (r"\bin reverse(?:d)? order\b", "{}[::-1]"),
    (r"\bthe (?:total|sum) of\b", "{}.sum()"),
    (r"\bthe (?:mean|average) of\b", "{}.mean()"),
    (r"\bthe (?:maximum|largest|greatest) of\b", "{}.max()"),
    (r"\bthe (?:minimum|smallest) of\b", "{}.min()"),
    (r"\bthe (?:length|number) of\b|\bhow many\b", "len({})"),
    (r"\bthe shape of\b", "{}.shape"),
    (r"\bthe first (?:element|item|value|entry|array|row) of\b", "{}[0]"),
    (r"\bthe last (?:element|item|value|entry|array|row) of\b", "{}[-1]"),
)
"""Phrases of English and what they mean in Python or numpy; none belongs to a task or an API."""


def wrappers(description: str, attributes: Iterable[str]) -> list[str]:
    """Return templates around the call, best guess first; a bare `{}` is always among them.

    Only sentences that say what is returned count, without what they quote of the result's own documentation:
    elsewhere the same phrases describe the operation itself.
    """
    sentences = re.findall(r"[^.\n]*\breturn\b[^\n]*", description, flags=re.IGNORECASE)
    asked = re.sub(r"\([^)]*\)|\bresult: .*", "", sentences[-1]) if sentences else ""
    found = [template for pattern, template in _WRAPPERS if re.search(pattern, asked, flags=re.IGNORECASE)]
    keys = re.findall(r"'(\w+)'", asked) if re.search(r"\bdictionary\b.*\battributes\b", asked) else []
    if keys:
        found.insert(0, "{{" + ", ".join(f"{key!r}: {{0}}.{key}" for key in keys) + "}}")
    read = [f"{{}}.{name}" for name in dict.fromkeys(attributes) if mentions(asked, name)]
    return list(dict.fromkeys([*found, *read, "{}"]))


def described(description: str) -> list[tuple[str, str]]:
    """Return what the bullets of a wording say of names and values in back quotes, in order."""
    bullets = (_BULLET.match(line) for line in description.splitlines())
    return [(found[2], found[3]) for found in bullets if found and found[3]]


def options(
    description: str, entry: Sequence[str], parameters: Sequence[Parameter], constants: Mapping[str, str]
) -> dict[str, str]:
    """Return values that the wording gives to parameters of the call, beside those of the entry point.

    Args:
        description: the wording of the task.
        entry: parameters of the entry point.
        parameters: documented parameters; none when nothing lists them.
        constants: literal keyword arguments of examples, as source text.
    """
    known = {item.name for item in parameters} or set(constants)
    plain = "\n".join(line for line in description.splitlines() if not _BULLET.match(line))
    found = {name: value for name in sorted(known - set(entry)) if (value := _said(plain, name))}
    for value, words in described(description):
        if value not in entry and _is_value(value):
            left = [item for item in parameters if item.name not in found and item.name not in entry]
            name = _parameter_for(value, words, left, constants)
            if name is not None:
                found[name] = value
    for name, value in constants.items():
        if name in known and name not in found and name not in entry and value[:1] in "'\"" and mentions(plain, value):
            found[name] = value
    return found


def _parameter_for(value: str, words: str, parameters: Sequence[Parameter], constants: Mapping[str, str]) -> str | None:
    """Return the parameter that a described value belongs to: by its description, else by an example's value."""
    alike = {item.name: likeness(words, f"{item.name} {item.text}") for item in parameters}
    best = max(alike, key=lambda name: alike[name], default=None)
    if best is not None and alike[best] >= _ALIKE:
        return best
    return next((name for name, other in constants.items() if other == value or mentions(words, name)), None)


def _said(text: str, name: str) -> str | None:
    """Find `name=value`, `name set to value`, `name value` in the wording."""
    linking = r"`?\s*(?:=|is|of|set to|equal to|as|being|to|:)?\s*`?"
    match = re.search(rf"(?<!\w)`?{re.escape(name)}{linking}({_LITERAL})(?!\w)", text)
    return match[1] if match and _is_value(match[1]) else None


def _is_value(text: str) -> bool:
    """Say whether a text is a literal, a builtin type, or a name of an imported module."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    if isinstance(node, ast.Name):
        return isinstance(getattr(builtins, node.id, None), type)
    return isinstance(node, ast.Constant | ast.UnaryOp | ast.Tuple | ast.List | ast.Dict | ast.Attribute)

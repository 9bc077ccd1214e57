"""What a task's wording asks for beside the call: options, and a little Python around the result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from novelapi.adapters.copying.reading import Parameter
from novelapi.adapters.copying.words import mentions

_LITERAL = r"(True|False|None|-?\d+(?:\.\d+)?(?:e-?\d+)?|'[^']*'|\"[^\"]*\"|[\[(][^\])]*[\])])"

_WRAPPERS: tuple[tuple[str, str], ...] = (
    (r"\b(?:list|sequence) of (?:nested |plain )?lists\b", "[item.tolist() for item in {}]"),
    (r"\bas (?:a |an )?(?:nested |plain |python )*lists?\b", "{}.tolist()"),
    (r"\bas (?:a |an )?(?:nested |plain |python )*lists?\b", "list({})"),
    (r"\bas (?:a |an )?(?:plain )?tuple\b", "tuple({})"),
    (r"\bas (?:a |an )?(?:plain )?(?:string|text)\b", "str({})"),
    (r"\bas (?:a |an )?(?:plain |python )?float\b", "float({})"),
    (r"\bas (?:a |an )?(?:plain |python )?(?:int|integer)\b", "int({})"),
    (r"\bas (?:a |an )?(?:plain |python )?(?:bool|boolean)\b", "bool({})"),
    (r"\b(?:in )?sorted\b|\bin ascending order\b", "sorted({})"),
    (r"\bthe (?:total|sum) of\b", "{}.sum()"),
    (r"\bthe (?:total|sum) of\b", "sum({})"),
    (r"\bthe (?:mean|average) of\b", "{}.mean()"),
    (r"\bthe (?:maximum|largest|greatest) of\b", "{}.max()"),
    (r"\bthe (?:minimum|smallest) of\b", "{}.min()"),
    (r"\bthe (?:length|number) of\b|\bhow many\b", "len({})"),
    (r"\bthe shape of\b", "{}.shape"),
    (r"\bthe (?:dtype|data type) of\b", "str({}.dtype)"),
    (r"\bthe (?:type|class) name of\b", "type({}).__name__"),
    (r"\bthe first (?:element|item|value|entry|result|array|row) of\b", "{}[0]"),
    (r"\bthe second (?:element|item|value|entry|result|array|row) of\b", "{}[1]"),
    (r"\bthe last (?:element|item|value|entry|result|array|row) of\b", "{}[-1]"),
)
"""Phrases of English and what they mean in Python or numpy; none belongs to a task or an API."""


def wrappers(description: str, attributes: Iterable[str], documentation: str) -> list[str]:
    """Return templates around the call, best guess first; a bare `{}` is always among them.

    A phrase that the documentation holds too describes the call itself, so it is only a second guess.
    """
    own, doubtful = [], []
    for pattern, template in _WRAPPERS:
        if re.search(pattern, description, flags=re.IGNORECASE):
            (doubtful if re.search(pattern, documentation, flags=re.IGNORECASE) else own).append(template)
    read = [f"{{}}.{name}" for name in dict.fromkeys(attributes) if mentions(description, name)]
    return list(dict.fromkeys([*read, *own, "{}", *doubtful]))


def options(description: str, parameters: Sequence[Parameter], constants: dict[str, str]) -> dict[str, str]:
    """Return keyword arguments that the wording asks for.

    Args:
        description: the wording of the task.
        parameters: documented parameters that no argument is bound to yet.
        constants: keyword arguments of examples, as source text.
    """
    found: dict[str, str] = {}
    for item in parameters:
        value = _said(description, item.name) or _quoted(description, item)
        if value is None and item.default in ("True", "False") and mentions(description, item.name):
            value = "False" if item.default == "True" else "True"
        if value is not None:
            found[item.name] = value
    known = {item.name for item in parameters}
    for name, value in constants.items():
        if name in found or (known and name not in known):
            continue
        said = _said(description, name)
        if said is not None:
            found[name] = said
        elif (value not in ("True", "False", "None") and mentions(description, value)) or mentions(description, name):
            found[name] = value
    return found


def _said(description: str, name: str) -> str | None:
    """Find `name=value`, `name set to value`, `name value` in the wording."""
    linking = r"`?\s*(?:=|is|of|set to|equal to|as|being|to|:)?\s*`?"
    match = re.search(rf"(?<!\w)`?{re.escape(name)}{linking}{_LITERAL}", description)
    return match[1] if match else None


def _quoted(description: str, item: Parameter) -> str | None:
    """Find a quoted word of the wording that the parameter's own documentation offers."""
    for word in re.findall(r"['\"]([\w-]+)['\"]", description):
        if re.search(rf"['\"`]{re.escape(word)}['\"`]", f"{item.text} {item.default or ''}"):
            return repr(word)
    return None

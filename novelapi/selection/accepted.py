"""Whether a call is right in BFCL's sense: its arguments against a schema and lists of accepted values.

The rules of the leaderboard's own checker (github.com/ShishirPatil/gorilla, ast_checker.py), by its error names: the
name must be equal; every required parameter present; none outside schema and answer; the declared type, one level into
arrays, an integer passing for a float; a value of the list, texts compared without case and the characters
`space , . / - _ * ^`; "" in the list means that the parameter may be left out. Here a value that the answer lists
literally is never of the wrong type, and Java and JavaScript values may be JSON as well as literals of the language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from novelapi.selection.literals import read_literal
from novelapi.selection.tasks import Language, Tool

WRONG_NAME = "wrong_func_name"
WRONG_COUNT = "wrong_count"
MISSING_REQUIRED = "missing_required"
MISSING_OPTIONAL = "missing_optional"
UNEXPECTED = "unexpected_param"
TYPE = "type_error:simple"
NESTED_TYPE = "type_error:nested"
VALUE_STRING = "value_error:string"
VALUE_LIST = "value_error:list/tuple"
VALUE_DICT_KEY = "value_error:dict_key"
VALUE_DICT = "value_error:dict_value"
VALUE_LIST_DICT = "value_error:list_dict_count"
VALUE_OTHER = "value_error:others"

TYPES: Mapping[str, type] = {
    "string": str, "str": str, "any": str, "char": str,
    "integer": int, "int": int, "byte": int, "short": int, "long": int, "bigint": int,
    "float": float, "double": float, "number": float,
    "boolean": bool, "bool": bool,
    "array": list, "list": list, "tuple": list, "arraylist": list, "queue": list, "stack": list, "set": list,
    "dict": dict, "object": dict, "hashmap": dict, "hashtable": dict, "map": dict,
}  # fmt: skip
"""Type of a value by the name of a declared type in lower case."""
MOST_EXACT = 1 << 1023
"""Integers from here on are no floats."""
_IGNORED = re.compile(r"[ ,./\-_*^]")


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """Why a call was refused."""

    error: str
    """One of the names above."""
    message: str
    """In one line, with the parameter."""


def standardise(text: str) -> str:
    """Return a text without what comparison ignores."""
    return _IGNORED.sub("", text).lower().replace("'", '"')


def check_arguments(
    given: Mapping[str, Any], tool: Tool, accepted: Mapping[str, Any], language: Language = "python"
) -> Mismatch | None:
    """Return the first reason for which the arguments of a call of the right tool are refused, or null."""
    for name in tool.required:
        if name not in given:
            return Mismatch(error=MISSING_REQUIRED, message=f"the required parameter '{name}' is missing")
    for name, value in given.items():
        if name not in tool.parameters or name not in accepted:
            return Mismatch(error=UNEXPECTED, message=f"the parameter '{name}' is not expected")
        found = check_value(name, value, tool.parameters[name], alternatives(accepted[name]), language)
        if found is not None:
            return found
    for name, values in accepted.items():
        if name not in given and "" not in alternatives(values):
            return Mismatch(error=MISSING_OPTIONAL, message=f"the parameter '{name}' may not be left out here")
    return None


def alternatives(values: Any) -> list[Any]:
    """Return the accepted values of a parameter; one that stands alone, or an empty list, is itself accepted."""
    return values if isinstance(values, list) and values else [values]


def check_value(
    name: str, value: Any, schema: Mapping[str, Any], accepted: list[Any], language: Language = "python"
) -> Mismatch | None:
    """Return why a value is refused, or null.

    Args:
        name: the parameter.
        value: its value.
        schema: its declaration.
        accepted: the accepted values.
        language: whose literals a text may be.
    """
    found = _check(name, value, schema, accepted)
    if found is None or language == "python" or not isinstance(value, str):
        return found
    for text in declared_types(schema):
        literal = read_literal(value, text, language)
        if literal != value:
            return _check(name, literal, schema, accepted)
    return found


def _check(name: str, value: Any, schema: Mapping[str, Any], accepted: list[Any]) -> Mismatch | None:
    declared = [TYPES.get(text, str) for text in declared_types(schema)]
    value = list(value) if isinstance(value, tuple) else value
    if type(value) is int and float in declared and int not in declared and abs(value) < MOST_EXACT:
        value = float(value)
    if any(_identical(value, item) for item in accepted):
        return None
    likely = next((type(item) for item in accepted if item != ""), None)
    if declared and type(value) not in (*declared, likely):
        words = " or ".join(declared_types(schema))
        return Mismatch(error=TYPE, message=f"'{name}' must be {words}, not {type(value).__name__}: {_short(value)}")
    if isinstance(value, list) and not _items_fit(value, schema, accepted):
        return Mismatch(error=NESTED_TYPE, message=f"an element of '{name}' has the wrong type: {_short(value)}")
    if any(accepts(value, item) for item in accepted if item != "" or value == ""):
        return None
    return Mismatch(error=_value_error(value, accepted), message=f"'{name}' is not accepted as {_short(value)}")


def declared_types(schema: Mapping[str, Any]) -> list[str]:
    """Return the declared types in lower case; empty where none is declared."""
    found = schema.get("type")
    several = found if isinstance(found, list) else [found]
    return [str(item).lower() for item in several if item and str(item).lower() != "null"]


def _items_fit(value: list[Any], schema: Mapping[str, Any], accepted: list[Any]) -> bool:
    items = schema.get("items")
    nested = [TYPES.get(text, str) for text in declared_types(items)] if isinstance(items, dict) else []
    lists = [item for item in accepted if isinstance(item, list)]
    if not nested or not lists:
        return True
    return any(all(type(item) in (*nested, *map(type, answer[:1])) for item in value) for answer in lists)


def accepts(value: Any, accepted: Any, *, listed: bool = True) -> bool:
    """Whether a value equals an accepted one; the values of an accepted object are lists of alternatives in turn.

    Args:
        value: what the answer gives.
        accepted: one alternative.
        listed: the values of objects are lists of alternatives; further inside they may also be meant as they are.
    """
    if _equal(value, accepted):
        return True
    if isinstance(accepted, dict):
        return isinstance(value, dict) and _keys(value, accepted) and all(
            (not listed and accepts(item, accepted[key], listed=False))
            or any(accepts(item, other, listed=False) for other in alternatives(accepted[key]))
            for key, item in value.items()
        )  # fmt: skip
    if isinstance(accepted, list):
        fits = isinstance(value, list) and len(value) == len(accepted)
        return fits and all(accepts(item, other, listed=listed) for item, other in zip(value, accepted, strict=True))
    return False


def _keys(value: Mapping[str, Any], accepted: Mapping[str, Any]) -> bool:
    left_out = [key for key in accepted if key not in value]
    return value.keys() <= accepted.keys() and all("" in alternatives(accepted[key]) for key in left_out)


def _equal(value: Any, other: Any) -> bool:
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, str) and isinstance(other, str):
        plain = standardise(value)
        return plain == standardise(other) if plain else value.strip() == other.strip()
    if isinstance(value, int | float) and isinstance(other, int | float):
        return value == other
    return value is None and other is None


def _identical(value: Any, other: Any) -> bool:
    """Whether two values are equal with the types of all their parts; objects never, as theirs are alternatives."""
    if type(value) is not type(other) or isinstance(value, dict):
        return False
    if isinstance(value, list):
        return len(value) == len(other) and all(map(_identical, value, other))
    return value == other and value != ""


def _value_error(value: Any, accepted: list[Any]) -> str:
    if isinstance(value, str):
        return VALUE_STRING
    if isinstance(value, dict):
        objects = [item for item in accepted if isinstance(item, dict)]
        return VALUE_DICT if any(_keys(value, item) for item in objects) else VALUE_DICT_KEY
    if isinstance(value, list):
        if value and all(isinstance(item, dict) for item in value):
            lists = [item for item in accepted if isinstance(item, list)]
            return VALUE_DICT if any(len(item) == len(value) for item in lists) else VALUE_LIST_DICT
        return VALUE_LIST
    return VALUE_OTHER


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def pick(accepted: Any, schema: Mapping[str, Any]) -> Any:
    """Return one value that a parameter accepts, with the alternatives inside objects chosen too."""
    return _chosen(_first(alternatives(accepted)), schema, listed=True)


def _first(values: list[Any]) -> Any:
    return next((item for item in values if item != ""), "")


def _chosen(value: Any, schema: Mapping[str, Any], *, listed: bool) -> Any:
    """Return an alternative with the values of its objects chosen.

    These are lists of alternatives; further inside (not `listed`) only where the schema declares something else.
    """
    if isinstance(value, list):
        items = schema.get("items")
        return [_chosen(item, items if isinstance(items, dict) else {}, listed=listed) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties")
    chosen: dict[str, Any] = {}
    for key, item in value.items():
        inner = properties.get(key) if isinstance(properties, dict) else None
        inner = inner if isinstance(inner, dict) else {}
        plain = [TYPES.get(text, str) for text in declared_types(inner)]
        if isinstance(item, list) and item and (listed or (plain and list not in plain)):
            if item[0] == "" and key not in schema.get("required", ()):
                continue
            chosen[key] = _chosen(_first(item), inner, listed=False)
        else:
            chosen[key] = _chosen(item, inner, listed=False)
    return chosen

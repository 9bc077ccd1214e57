"""Names of tools as models write them, mapped back through the row's own list.

Models see changed names: ToolBench shows `<api>_for_<tool>` in lower case, other characters replaced by `_`, words that
would be reserved prefixed with `is_`, leading digits with `get_`, of which the last 64 characters are kept; endpoints
refuse dots, so BFCL's become `_`; TaskBench shows blanks as `_`. A changed name that stands for two tools of the row is
ambiguous and matches neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from novelapi.selection.tasks import Tool

Scheme = Literal["plain", "toolbench", "spaced"]
LONGEST = 64
"""Function names of endpoints are cut to this many characters."""
RESERVED = frozenset({"from", "class", "return", "false", "true", "id", "and"})
"""Names that ToolBench prefixes with `is_`."""
_KEPT = re.compile(r"[^a-z0-9_^\u4e00-\u9fa5]")
_OUTSIDE = re.compile(r"[^a-z0-9]")


def normal(text: str) -> str:
    """Return a name without case and without everything that is neither a letter nor a digit."""
    return _OUTSIDE.sub("", text.lower())


def standard(text: str) -> str:
    """Return a name as ToolBench standardises it."""
    plain = re.sub(r"_+", "_", _KEPT.sub("_", text.lower())).strip("_")
    return f"get_{plain}" if plain[:1].isdigit() else plain


def mangled(api: str, tool: str) -> str:
    """Return the function name that ToolBench shows for an API, before it is cut."""
    name = standard(api)
    return f"{'is_' if name in RESERVED else ''}{name}_for_{standard(tool)}"


class Names:
    """Which tools a written name may stand for."""

    def __init__(self, tools: Sequence[Tool], scheme: Scheme) -> None:
        """Build the tables; earlier tables win over later ones."""
        self._exact: dict[str, list[Tool]] = {}
        self._changed: dict[str, list[Tool]] = {}
        self._normal: dict[str, list[Tool]] = {}
        for tool in tools:
            _enter(self._exact, tool, [tool.name])
            _enter(self._changed, tool, changed(tool, scheme))
            if scheme == "toolbench":
                own, api = normal(tool.owner), normal(tool.title)
                _enter(self._normal, tool, [own + api, f"{api}for{own}", api])

    def find(self, name: str, owner: str = "") -> list[Tool]:
        """Return the tools that a written name stands for: none, one, or several when it is ambiguous."""
        if owner:
            pair = normal(owner) + normal(name)
            named = [tool for tool in self._normal.get(pair, []) if normal(tool.owner) == normal(owner)]
            return named or self.find(f"{owner}.{name}")
        written = name.strip()
        for table, key in ((self._exact, written), (self._changed, written), (self._normal, normal(written))):
            if key in table:
                return table[key]
        return []


def changed(tool: Tool, scheme: Scheme) -> list[str]:
    """Return the names under which a model may have been shown a tool."""
    if scheme == "toolbench":
        whole = mangled(tool.title, tool.owner)
        return [whole, whole[-LONGEST:]]
    if scheme == "spaced":
        return [tool.name.replace(" ", "_"), tool.name.replace("_", " ")]
    whole = re.sub(r"[^A-Za-z0-9_-]", "_", tool.name)
    return [whole, whole[:LONGEST], whole[-LONGEST:]]


def _enter(table: dict[str, list[Tool]], tool: Tool, keys: Iterable[str]) -> None:
    for key in dict.fromkeys(keys):
        if key:
            table.setdefault(key, []).append(tool)


def find_defect(tools: Sequence[Tool], scheme: Scheme) -> str | None:
    """Return why a list of tools cannot be scored against, or null."""
    names = [tool.name for tool in tools]
    if not tools:
        return "no tool is listed"
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        return f"two listed tools have one name: '{repeated[0]}'"
    seen: dict[str, Tool] = {}
    for tool in tools:
        if scheme == "toolbench":
            parts = (normal(tool.owner), normal(tool.title))
            if not all(parts):
                return f"a listed name is empty in its normal form: '{tool.name}'"
            form = "".join(parts)
        else:
            form = changed(tool, scheme)[0]
        other = seen.setdefault(form, tool)
        if other is not tool:
            return f"two listed names have one normal form: '{other.name}' and '{tool.name}'"
    return None

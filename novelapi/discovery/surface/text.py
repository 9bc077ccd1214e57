"""Cuts the text of syntax nodes out of a source file, in one spelling."""

from __future__ import annotations

import ast
import re

_SPACE = re.compile(r"\s+")
_UNEVEN = re.compile(r"[\"'\n]|[(\[{]\s|\s[)\]}]|,(?! )|  ")
"""Text that may be spelt in another way and mean the same."""


class SourceText:
    """The text of one file; columns of syntax nodes count UTF-8 bytes."""

    def __init__(self, source: bytes) -> None:
        """Split the file into lines."""
        self._lines = source.splitlines(keepends=True)

    def of(self, node: ast.expr | None) -> str | None:
        """Return an expression as written, quotes and white space made uniform; null for no expression."""
        if node is None:
            return None
        if isinstance(node, ast.Constant):
            return "..." if node.value is ... else repr(node.value)
        if isinstance(node, ast.Name):
            return node.id
        text = self._cut(node)
        if _UNEVEN.search(text):
            return _SPACE.sub(" ", ast.unparse(node))
        return text

    def mentions(self, word: str, first: int, last: int) -> bool:
        """Return whether a word stands in the lines from `first` to `last`, counted from 1."""
        return any(word.encode() in line for line in self._lines[first - 1 : last])

    def _cut(self, node: ast.expr) -> str:
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        if first == last:
            return self._lines[first][node.col_offset : node.end_col_offset].decode("utf-8", "replace")
        parts = [self._lines[first][node.col_offset :], *self._lines[first + 1 : last]]
        parts.append(self._lines[last][: node.end_col_offset])
        return b"".join(parts).decode("utf-8", "replace")


def dotted(node: ast.expr) -> str | None:
    """Return `a.b.c` for a chain of attributes of a name, else null."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
        return ".".join(reversed(parts))
    return None


def callee(node: ast.expr) -> str | None:
    """Return the dotted name of what is called (`f` for `f(...)` and `f(...)(...)`), else of the expression itself."""
    while isinstance(node, ast.Call):
        node = node.func
    return dotted(node.value if isinstance(node, ast.Subscript) else node)


def clean_doc(text: str | None) -> str | None:
    """Return a docstring as `inspect.cleandoc` does; null for an empty one."""
    if not text or not text.strip():
        return None
    lines = text.expandtabs().split("\n")
    rest = [line for line in lines[1:] if line.strip()]
    margin = min((len(line) - len(line.lstrip(" ")) for line in rest), default=0)
    body = [lines[0].lstrip(), *(line[margin:] for line in lines[1:])]
    return "\n".join(body).strip("\n").rstrip() or None

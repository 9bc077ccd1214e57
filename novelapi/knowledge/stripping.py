"""Stripping: source without any documentation text; code comments and layout stay."""

from __future__ import annotations

import ast
import re
import textwrap

from novelapi.knowledge.modules import Definition, Scope

LONG = 60
"""A string of this length in a signature or decorator is documentation, not a value."""

_DOCUMENTS = {"doc", "docstring", "desc", "description", "help"}
_CALL = re.compile(r"[\w.]+\([^\n]*\)[^\n]*\n\s*\n")
_HEADING = re.compile(
    r"^\s*(Parameters|Returns|Notes|Examples|Args|Arguments|Raises)\s*(:|\n\s*-{3,})\s*$", re.MULTILINE
)


def stripped(definition: Definition, cap: int) -> str:
    """Return the source of a definition without docstrings, attribute docstrings and `Doc()` texts.

    Args:
        definition: a function, class or assignment.
        cap: greatest number of lines; bodies are shortened from the end, classes member by member.
    """
    node = definition.node
    editor = _Editor(definition.module.text)
    editor.strip(node)
    first = _first_line(node)
    last = node.end_lineno or node.lineno
    text = editor.apply(first, last)
    if text.count("\n") + 1 > cap:
        editor = _Editor(definition.module.text)
        editor.shorten(node, cap - 2)
        editor.strip(node)
        text = editor.apply(first, last)
    return _tidy(textwrap.dedent(text))


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])


def _tidy(text: str) -> str:
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", text)
    text = re.sub(r"(?<=:\n)\n+", "", text)
    return text.strip("\n")


def is_text(node: ast.AST) -> bool:
    """Say whether a statement is a bare string: a docstring, or the documentation of an attribute."""
    return isinstance(node, ast.Expr) and (
        (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))
        or isinstance(node.value, ast.JoinedStr)
    )


def _sets_doc(node: ast.AST) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return any(
        (isinstance(target, ast.Attribute) and target.attr == "__doc__")
        or (isinstance(target, ast.Name) and target.id == "__doc__")
        for target in targets
    )


class _Editor:
    """Collects replacements in a text by position and applies them from the end."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.edits: list[tuple[tuple[int, int], tuple[int, int], str]] = []

    def _column(self, line: int, offset: int) -> int:
        return len(self.lines[line - 1].encode()[:offset].decode(errors="replace"))

    def _replace(self, node: ast.stmt | ast.expr, text: str) -> None:
        end_line = node.end_lineno or node.lineno
        start = (node.lineno, self._column(node.lineno, node.col_offset))
        end = (end_line, self._column(end_line, node.end_col_offset or 0))
        if not any(known[0] <= start and end <= known[1] for known in self.edits):
            self.edits.append((start, end, text))

    def strip(self, node: ast.AST) -> None:
        """Register the removal of all documentation below a node."""
        for part in ast.walk(node):
            for field in ("body", "orelse", "finalbody"):
                body = getattr(part, field, None)
                if isinstance(body, list):
                    self._strip_body(body)
            if isinstance(part, ast.Subscript) and ast.unparse(part.value).endswith("Annotated"):
                self._strip_annotated(part)
        self._strip_long_strings(node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            self._strip_documents(node.value)

    def _strip_documents(self, value: ast.expr) -> None:
        """Blank docstrings that are handed to what makes the object of an assignment."""
        for call in ast.walk(value):
            if isinstance(call, ast.Call):
                given = [(None, item) for item in call.args] + [(item.arg, item.value) for item in call.keywords]
                for keyword, item in given:
                    if isinstance(item, ast.Constant) and _is_docstring(item.value, keyword):
                        self._replace(item, '"..."')

    def _strip_body(self, body: list[ast.stmt]) -> None:
        unwanted = [item for item in body if is_text(item) or _sets_doc(item)]
        for number, item in enumerate(unwanted):
            self._replace(item, "..." if len(unwanted) == len(body) and number == 0 else "")

    def _strip_annotated(self, node: ast.Subscript) -> None:
        if not isinstance(node.slice, ast.Tuple):
            return
        docs = [item for item in node.slice.elts if isinstance(item, ast.Call) and _leaf(item.func) in {"Doc", "doc"}]
        if not docs:
            return
        rest = [item for item in node.slice.elts if item not in docs]
        texts = [ast.unparse(item) for item in rest]
        self._replace(node, texts[0] if len(rest) == 1 else f"{ast.unparse(node.value)}[{', '.join(texts)}]")

    def _strip_long_strings(self, node: ast.AST) -> None:
        """Blank long strings in decorators and signatures: they are documentation that a decorator assembles."""
        for part in ast.walk(node):
            if not isinstance(part, Scope):
                continue
            outside: list[ast.AST] = [*part.decorator_list]
            if not isinstance(part, ast.ClassDef):
                outside.append(part.args)
            for item in outside:
                for constant in ast.walk(item):
                    if isinstance(constant, ast.Constant) and _is_long_text(constant.value):
                        self._replace(constant, '"..."')

    def shorten(self, node: ast.stmt, budget: int) -> None:
        """Register the removal of what exceeds a number of lines."""
        if isinstance(node, ast.ClassDef):
            self._shorten_class(node, budget)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._shorten_body(node.body, budget - (node.body[0].lineno - _first_line(node)))

    def _shorten_body(self, body: list[ast.stmt], budget: int) -> None:
        for number, item in enumerate(body):
            size = 0 if is_text(item) else (item.end_lineno or item.lineno) - _first_line(item) + 1
            if size > budget:
                inner = getattr(item, "body", None)
                start = number
                if isinstance(inner, list) and budget > 8:
                    self._shorten_body(inner, budget - 3)
                    start = number + 1
                self._drop(body[start:])
                return
            budget -= size

    def _drop(self, nodes: list[ast.stmt]) -> None:
        if not nodes:
            return
        count = (nodes[-1].end_lineno or nodes[-1].lineno) - _first_line(nodes[0]) + 1
        first = _first_line(nodes[0])
        end_line = nodes[-1].end_lineno or nodes[-1].lineno
        start = (first, self._column(nodes[0].lineno, nodes[0].col_offset) - (1 if first != nodes[0].lineno else 0))
        start = (first, max(0, start[1]))
        self.edits.append((start, (end_line, len(self.lines[end_line - 1])), f"...  # {count} more lines"))

    def _shorten_class(self, node: ast.ClassDef, budget: int) -> None:
        """Keep how objects are made, then attributes and other members while they fit."""
        makers = ("__init__", "__new__", "__post_init__", "__call__", "__init_subclass__", "__class_getitem__")
        sizes = {id(item): (item.end_lineno or item.lineno) - _first_line(item) + 2 for item in node.body}  # and a gap
        order = sorted(
            node.body,
            key=lambda item: (
                getattr(item, "name", "") not in makers,
                isinstance(item, Scope) and item.name.startswith("_"),
                item.lineno,
            ),
        )
        left, dropped = budget - 4, []
        for item in order:
            if is_text(item):
                continue
            if sizes[id(item)] <= left:
                left -= sizes[id(item)]
            elif getattr(item, "name", "") in makers and left > 40:
                self.shorten(item, left - 5)
                left = 0
            else:
                dropped.append(item)
        for item in dropped:
            first, last = _first_line(item), item.end_lineno or item.lineno
            self.edits.append(((first, 0), (last, len(self.lines[last - 1])), ""))
        if dropped:
            where = max(item.end_lineno or item.lineno for item in node.body)
            indent = " " * node.body[0].col_offset
            self.edits.append(((where + 1, 0), (where + 1, 0), f"{indent}...  # {len(dropped)} more members\n"))

    def apply(self, first: int, last: int) -> str:
        """Return the lines from `first` to `last` with all edits made; what became blank disappears."""
        lines = self.lines
        chunk = lines[first - 1 : last]
        tail = [edit for edit in self.edits if edit[0][0] == last + 1]
        inside = [edit for edit in self.edits if edit[0][0] <= last]
        outer = [
            edit
            for edit in inside
            if not any(
                other is not edit and other[0] <= edit[0] and edit[1] <= other[1] and (other[0], other[1]) != edit[:2]
                for other in inside
            )
        ]
        for start, end, text in sorted(outer, reverse=True):
            row, last_row = start[0] - first, end[0] - first
            before, after = chunk[row][: start[1]], chunk[last_row][end[1] :]
            merged = before + text + after
            chunk[row : last_row + 1] = [merged] if merged.strip() and merged.strip() != ";" else []
        return "\n".join([*chunk, *(edit[2].rstrip("\n") for edit in tail)])


def _is_long_text(value: object) -> bool:
    return isinstance(value, str) and len(value) >= LONG and " " in value.strip()


def _is_docstring(value: object, keyword: str | None) -> bool:
    """Say whether an argument is a docstring: by its keyword, its first line (a call) or its underlined headings."""
    if not _is_long_text(value):
        return False
    text = str(value).strip()
    return (keyword or "").strip("_") in _DOCUMENTS or bool(_CALL.match(text)) or bool(_HEADING.search(text))


def _leaf(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""

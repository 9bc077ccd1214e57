"""Snippets: the code in a docstring or a document, as statements in order."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from novelapi.knowledge.names import Use, imports_of, use_of

_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+.-]*)[^\n]*$")
_DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)\.\. (?:code-block|code|sourcecode|ipython|testcode|testsetup|doctest)::"
    r"[ \t]*(?P<language>[\w.+-]*)"
)
_PYTHON = {"", "python", "py", "python3", "pycon", "pycon+sql", "python+sql", "ipython", "ipython3", "default"}
_DOCTEST_REMARK = re.compile(r"[ \t]*#[ \t]*doctest:.*$", re.MULTILINE)

ALIASES = {"np": "numpy", "pd": "pandas", "sp": "scipy", "sa": "sqlalchemy"}
"""Short names that documents take for granted."""


Source = Literal["doctest", "docs", "tests", "synthesis"]
"""Kinds of origin."""


@dataclass(frozen=True)
class Block:
    """A piece of code in a text."""

    code: str
    """Its text, prompts and indentation removed."""
    first: int
    """Index of its first line in the text (fence or directive included)."""
    last: int
    """Index after its last line."""
    shown: bool = False
    """Whether an output stands below it (a doctest with an expected value)."""
    group: int = 0
    """Blocks of the same paragraph have the same number."""


@dataclass(frozen=True)
class Statement:
    """One statement of a script."""

    node: ast.stmt
    """Its tree; line numbers are those of its own text."""
    text: str
    """Its source."""
    shown: bool = False
    """Whether its value is displayed."""
    group: int = 0
    """Statements that stand together."""

    @cached_property
    def use(self) -> Use:
        """The names that it binds, needs and changes."""
        return use_of(self.node)

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Every variable and attribute name in it."""
        found: set[str] = set()
        for part in ast.walk(self.node):
            if isinstance(part, ast.Name):
                found.add(part.id)
            elif isinstance(part, ast.Attribute):
                found.add(part.attr)
        return frozenset(found)

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """What names stand for that imports in it bind, also below conditions and in functions."""
        return imports_of(self.node)


@dataclass(frozen=True)
class Script:
    """Statements that run one after the other in one namespace."""

    statements: tuple[Statement, ...]
    """In order."""
    origin: str
    """File or docstring."""
    source: Source
    """Kind of origin."""
    module: str = ""
    """Module whose names the author took for granted, or empty."""
    start: int = 0
    """Index of the first statement that may be a target (what stands before is the module around a test)."""

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """What imported names stand for, conventional ones included."""
        known = dict(ALIASES)
        for statement in self.statements:
            known.update(statement.imports)
        return known


def blocks(text: str) -> list[Block]:
    """Return the Python blocks of a docstring, reStructuredText or Markdown text, in order."""
    return sorted(_blocks(text.expandtabs(8).split("\n")), key=lambda block: block.first)


def _blocks(lines: list[str]) -> Iterator[Block]:
    number = 0
    while number < len(lines):
        line = lines[number]
        fence, directive = _FENCE.match(line), _DIRECTIVE.match(line)
        if line.lstrip().startswith(">>>"):
            found, number = _doctest(lines, number)
            yield found
        elif fence:
            end = _end_of_fence(lines, number, fence.group("fence"))
            body = lines[number + 1 : end]
            if fence.group("language").lower() in _PYTHON:
                yield from _body(body, number, end + 1)
            number = end + 1
        elif directive or (line.rstrip().endswith("::") and not line.lstrip().startswith("..")):
            end = _end_of_indented(lines, number)
            language = directive.group("language").lower() if directive else ""
            body = [item for item in lines[number + 1 : end] if not re.match(r"^\s*:[\w-]+:", item)]
            if language in _PYTHON:
                yield from _body(body, number if directive else number + 1, end)
            number = max(end, number + 1)
        else:
            number += 1


def _body(body: list[str], first: int, last: int) -> Iterator[Block]:
    """Return a block's code; a block with prompts is a series of doctests."""
    prompts = [index for index, line in enumerate(body) if line.lstrip().startswith(">>>")]
    if not prompts:
        yield Block(textwrap.dedent("\n".join(body)).strip("\n"), first, last, group=first)
        return
    index = prompts[0]
    while index < len(body):
        if body[index].lstrip().startswith(">>>"):
            found, index = _doctest(body, index)
            yield Block(found.code, first, last, found.shown, group=first)
        else:
            index += 1


def _doctest(lines: list[str], start: int) -> tuple[Block, int]:
    indent = len(lines[start]) - len(lines[start].lstrip())
    code = [lines[start][indent + 4 :]]
    end = start + 1
    while end < len(lines) and re.match(r"^\s*\.\.\.( |$)", lines[end]):
        code.append(lines[end].lstrip()[4:])
        end += 1
    shown = end < len(lines) and bool(lines[end].strip()) and not lines[end].lstrip().startswith(">>>")
    while shown and end < len(lines) and lines[end].strip() and not lines[end].lstrip().startswith(">>>"):
        end += 1
    return Block(_DOCTEST_REMARK.sub("", "\n".join(code)), start, end, shown), end


def _end_of_fence(lines: list[str], start: int, fence: str) -> int:
    for number in range(start + 1, len(lines)):
        if lines[number].strip().startswith(fence) and not lines[number].strip().strip(fence[0]):
            return number
    return len(lines)


def _end_of_indented(lines: list[str], start: int) -> int:
    indent = len(lines[start]) - len(lines[start].lstrip())
    number = start + 1
    while number < len(lines) and (
        not lines[number].strip() or len(lines[number]) - len(lines[number].lstrip()) > indent
    ):
        number += 1
    while number > start + 1 and not lines[number - 1].strip():
        number -= 1
    return number


def script_of(text: str, origin: str, source: Source, module: str = "") -> Script:
    """Return the code of a document as one script; blocks that do not parse are left out."""
    statements: list[Statement] = []
    group, previous = 0, -1
    for block in blocks(text):
        if block.first != previous:
            group += 1
        previous = block.last
        statements += statements_of(block.code, shown=block.shown, group=block.group or -group)
    return Script(tuple(statements), origin, source, module)


def statements_of(code: str, *, shown: bool = False, group: int = 0) -> list[Statement]:
    """Return the statements of a piece of code, none if it does not parse."""
    tree = parse_or_none(code)
    if tree is None:
        return []
    return [Statement(node, source_of(node, code), shown, group) for node in tree.body]


def parse_or_none(code: str) -> ast.Module | None:
    """Parse code that may not be Python at all: quoted text, pseudo-code, another language."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=8)
def _lines(code: str) -> list[str]:
    return code.split("\n")


def source_of(node: ast.stmt, code: str) -> str:
    """Return the source of a statement with its decorators and trailing comment, dedented."""
    lines = _lines(code)
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
    last = node.end_lineno or node.lineno
    chosen = lines[first - 1 : last]
    alone = lines[last - 1].encode()[node.end_col_offset or 0 :].decode(errors="replace").strip()
    before = lines[first - 1].encode()[: node.col_offset].decode(errors="replace").strip()
    if (alone and not alone.startswith("#")) or (before and first == node.lineno):
        return ast.get_source_segment(code, node) or ast.unparse(node)
    return textwrap.dedent("\n".join(chosen))

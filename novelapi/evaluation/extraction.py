"""From a raw answer to the code that runs.

Of the fenced blocks that compile the last one that defines the entry point is taken, else the compiling blocks joined.
A body that compiles only below the signature goes there. What does not compile is kept as it is: the compiler's
refusal is evidence.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from dataclasses import dataclass

EXTRACTION_VERSION = 2
MAX_PARSED = 1 << 20
"""Longer texts are not parsed here (the sandbox compiles them under its limits)."""

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+.-]*)[^\n`]*$", re.MULTILINE)
_OTHER = frozenset(
    [
        "bash",
        "sh",
        "shell",
        "console",
        "text",
        "txt",
        "output",
        "json",
        "yaml",
        "toml",
        "html",
        "xml",
        "diff",
        "sql",
        "javascript",
        "js",
        "c",
        "cpp",
        "java",
    ]
)
_START = re.compile(r"(?:def |async def |import |from |class |@)")
_PROSE = re.compile(r"(?:[-*]\s+|\d+[.)]\s+|>\s*)?[*_`\"'(]*[A-Z][\w'’-]*[,:;.!?*_`)]*(?:\s+[^\s=]+)*\s*$")


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """The code of an answer and how it was found."""

    code: str
    """Text to run; empty when the answer holds none."""
    how: str
    """`block`, `joined`, `body`, `whole`, `salvaged`, `broken` or `empty`."""


def extract(text: str, entry_point: str, signature: str) -> Extraction:
    """Find the code in a raw answer.

    Args:
        text: the answer, as the model gave it.
        entry_point: name of the function that must be defined; empty for a script.
        signature: the function's `def` line, for answers that are a body.
    """
    text = strip_thinking(text)
    if len(text) > MAX_PARSED:
        return Extraction(code=text, how="whole")
    blocks = fenced_blocks(text)
    if not blocks:
        return _from_plain(text, entry_point, signature)
    good = [block for block in blocks if compiles(block)]
    for block in reversed(good):
        if entry_point and defines(block, entry_point):
            return Extraction(code=block, how="block")
    for block in reversed(blocks):
        body = as_body(block, signature)
        if body is not None and not compiles(block):
            return Extraction(code=body, how="body")
    if good:
        return Extraction(code="\n\n".join(good), how="block" if len(good) == 1 else "joined")
    return Extraction(code=blocks[-1], how="broken")


def strip_thinking(text: str) -> str:
    """Remove a reasoning model's thoughts."""
    if "</think>" in text:
        return text.rsplit("</think>", 1)[1]
    return text


def fenced_blocks(text: str) -> list[str]:
    """Return the contents of fenced code blocks that may be Python; an unclosed last block runs to the end."""
    blocks: list[str] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence.group(1).startswith(opened.group(1)) and not fence.group(2):
            _take(blocks, opened, text[opened.end() + 1 : fence.start()])
            opened = None
    if opened is not None:
        _take(blocks, opened, text[opened.end() + 1 :])
    return blocks


def _take(blocks: list[str], fence: re.Match[str], content: str) -> None:
    if fence.group(2).lower() not in _OTHER and content.strip():
        blocks.append(textwrap.dedent(content) if not compiles(content) else content)


def _from_plain(text: str, entry_point: str, signature: str) -> Extraction:
    """An answer without fences: code, a body, or prose with code in it."""
    if not text.strip():
        return Extraction(code="", how="empty")
    if compiles(text):
        return Extraction(code=text, how="whole")
    dedented = textwrap.dedent(text)
    if compiles(dedented) and (not entry_point or defines(dedented, entry_point)):
        return Extraction(code=dedented, how="whole")
    body = as_body(text, signature)
    if body is not None:
        return Extraction(code=body, how="body")
    salvaged = _salvage(text, entry_point)
    if salvaged is not None:
        return Extraction(code=salvaged, how="salvaged")
    return Extraction(code=text, how="broken")


def _salvage(text: str, entry_point: str) -> str | None:
    """Cut prose off in front of and behind a function definition; code that does not compile is never cut away."""
    lines = text.splitlines()
    first = next((number for number, line in enumerate(lines) if _START.match(line)), None)
    if first is None or not entry_point or not all(is_prose(line) for line in lines[:first]):
        return None
    for end in range(len(lines), max(first, len(lines) - 60), -1):
        code = "\n".join(lines[first:end])
        if compiles(code):
            return code if defines(code, entry_point) else None
        if not is_prose(lines[end - 1]):
            return None
    return None


def is_prose(line: str) -> bool:
    """Whether a line is blank or text for a reader, not code that may be broken."""
    if not line.strip():
        return True
    return not line[0].isspace() and _PROSE.match(line) is not None and not compiles(line)


def compiles(code: str) -> bool:
    """Whether Python's compiler accepts a text as a module."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "<answer>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def defines(code: str, name: str) -> bool:
    """Whether a text that compiles defines a name at its top level (a function, a class, an assignment, an import)."""
    tree = parse(code)
    if tree is None:
        return False
    for node in ast.walk(ast.Module(body=_top_level(tree.body), type_ignores=[])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return True
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
            return True
        if isinstance(node, ast.alias) and (node.asname or node.name) == name:
            return True
    return False


def _top_level(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements that bind names of the module: nested functions' and classes' own bodies left out."""
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(ast.FunctionDef(name=node.name, args=_NO_ARGUMENTS, body=[], decorator_list=[]))
        elif isinstance(node, ast.ClassDef):
            found.append(ast.ClassDef(name=node.name, bases=[], keywords=[], body=[], decorator_list=[]))
        elif isinstance(node, ast.If | ast.Try | ast.With):
            found += _top_level([child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)])
        else:
            found.append(node)
    return found


_NO_ARGUMENTS = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def parse(code: str) -> ast.Module | None:
    """Parse a text, or return null when it does not compile."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def as_body(block: str, signature: str) -> str | None:
    """Put a text below the signature if only there it compiles; null if it does not."""
    if not signature.strip() or not block.strip():
        return None
    name = re.search(r"def\s+(\w+)", signature)
    if name is not None and re.search(rf"^(async\s+)?def\s+{name[1]}\b", textwrap.dedent(block), re.MULTILINE):
        return None  # it brings its own signature
    head = signature.strip().rstrip(":") + ":\n"
    code = head + textwrap.indent(textwrap.dedent(block).strip("\n"), "    ") + "\n"
    return code if compiles(code) else None

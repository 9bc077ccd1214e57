"""How the copy baseline reads a prompt: sections, fenced code, names, parameters. It knows Markdown and Python only."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

_SECTION = re.compile(r"^## (\w+)\s*$")
_DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_BULLET = re.compile(r"^[-*] `(\*{0,2}[A-Za-z_]\w*)`\s*(.*)$")
_DEFAULT = re.compile(r"default(?:s to|:|=)?\s*(`[^`]*`|'[^']*'|\"[^\"]*\"|[^\s,;)]+)")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter as the documentation shows it."""

    name: str
    kind: str = "positional_or_keyword"
    default: str | None = None
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Document:
    """One part of the documentation, by what it is made of."""

    names: tuple[str, ...]
    """Dotted paths in its text, in order."""
    parameters: tuple[Parameter, ...] | None
    """Parameters that it lists, or null when it lists none."""
    examples: tuple[ast.Module, ...]
    """Code blocks that call something."""
    definitions: tuple[ast.FunctionDef | ast.ClassDef, ...]
    """Functions and classes that its code blocks define first."""
    text: str
    """All of it."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a prompt says."""

    documents: tuple[Document, ...]
    context: ast.Module
    description: str
    entry_point: str
    signature: str
    parameters: tuple[str, ...]
    aliases: dict[str, str] = field(default_factory=dict)
    """Name in the context to the dotted path it was imported from."""

    @property
    def packages(self) -> frozenset[str]:
        """Top-level packages that the context imports."""
        return frozenset(path.split(".", 1)[0] for path in self.aliases.values())


def read_prompt(prompt: str) -> Reading:
    """Read a prompt; what cannot be read is left empty."""
    sections = _sections(prompt)
    task_text, task_blocks = _blocks(sections.get("Task", ""))
    _, context_blocks = _blocks(sections.get("Context", ""))
    context = parse("\n".join(context_blocks)) or ast.Module(body=[], type_ignores=[])
    signature = task_blocks[0] if task_blocks else "def solve():"
    head = parse(signature.rstrip().rstrip(":") + ":\n    pass")
    function = next((node for node in (head.body if head else []) if isinstance(node, ast.FunctionDef)), None)
    names = [argument.arg for argument in _arguments(function)] if function else []
    return Reading(
        documents=tuple(
            _document(part) for part in re.split(r"^---+$", sections.get("Documentation", ""), flags=re.MULTILINE)
        ),
        context=context,
        description=task_text.split("\n\nExample calls", 1)[0].split("Answer with one", 1)[0].strip(),
        entry_point=function.name if function else "solve",
        signature=signature.rstrip() if function else "def solve():",
        parameters=tuple(names),
        aliases=import_aliases(context),
    )


def parse(code: str) -> ast.Module | None:
    """Parse code, or return null."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError):
        return None


def import_aliases(tree: ast.Module) -> dict[str, str]:
    """Return what each imported name stands for."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {item.asname or item.name: item.name for item in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            aliases |= {item.asname or item.name: f"{node.module}.{item.name}" for item in node.names}
    return aliases


def definition_parameters(node: ast.FunctionDef | ast.ClassDef) -> tuple[Parameter, ...] | None:
    """Return the parameters of a function, or of a class's constructor, without the receiver."""
    if isinstance(node, ast.ClassDef):
        node_ = next(
            (item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None
        )
        return definition_parameters(node_) if node_ else None
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    defaults = [None] * (len(positional) - len(spec.defaults)) + [ast.unparse(item) for item in spec.defaults]
    rows = [
        Parameter(
            name=item.arg,
            kind="positional_only" if item in spec.posonlyargs else "positional_or_keyword",
            default=default,
        )
        for item, default in zip(positional, defaults, strict=True)
    ]
    if spec.vararg:
        rows.append(Parameter(name=spec.vararg.arg, kind="var_positional"))
    for item, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        rows.append(Parameter(name=item.arg, kind="keyword_only", default=ast.unparse(default) if default else None))
    if spec.kwarg:
        rows.append(Parameter(name=spec.kwarg.arg, kind="var_keyword"))
    return tuple(row for row in rows if row.name not in ("self", "cls"))


def signature_parameters(signature: str) -> tuple[Parameter, ...] | None:
    """Return the parameters in a signature's parentheses, or null when it cannot be read."""
    inside = signature.strip().split(" -> ")[0].strip()
    tree = parse(f"def f{inside}: pass") if inside.startswith("(") else None
    return definition_parameters(tree.body[0]) if tree and isinstance(tree.body[0], ast.FunctionDef) else None


def _arguments(node: ast.FunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _sections(prompt: str) -> dict[str, str]:
    """Split at headings of level 2 that stand outside fences."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    fence = ""
    for line in prompt.splitlines():
        mark = re.match(r"`{3,}", line)
        if mark and (not fence or line.rstrip() == fence):
            fence = "" if fence else mark[0]
        found = None if fence else _SECTION.match(line)
        if found:
            current = sections.setdefault(found[1], [])
        else:
            current.append(line)
    return {name: "\n".join(lines) for name, lines in sections.items()}


def _blocks(text: str) -> tuple[str, list[str]]:
    """Return the prose and the fenced Python of a text; other fences hold output."""
    fences = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1\s*$", flags=re.MULTILINE | re.DOTALL)
    return fences.sub("", text + "\n"), [body for _, kind, body in fences.findall(text + "\n") if kind == "python"]


def _document(text: str) -> Document:
    prose, blocks = _blocks(text)
    trees = [tree for tree in map(parse, blocks) if tree is not None and tree.body]
    definitions = [tree.body[0] for tree in trees if isinstance(tree.body[0], ast.FunctionDef | ast.ClassDef)]
    return Document(
        names=tuple(dict.fromkeys(_DOTTED.findall(prose))),
        parameters=_listed_parameters(prose),
        examples=tuple(tree for tree in trees if tree.body[0] not in definitions),
        definitions=tuple(definitions),
        text=text,
    )


def _listed_parameters(prose: str) -> tuple[Parameter, ...] | None:
    """Read a bullet list of parameters: name, then type, kind and default, then prose that may go on indented."""
    items: list[list[str]] = []
    for line in prose.splitlines():
        if _BULLET.match(line):
            items.append([line])
        elif items and (line.startswith("  ") or not line):
            items[-1].append(line)
    rows: list[Parameter] = []
    for lines in items:
        found = _BULLET.match(lines[0])
        assert found is not None
        name, rest = found[1], "\n".join([found[2], *lines[1:]])
        default = _DEFAULT.search(found[2])
        kinds = [kind for kind in ("positional-only", "keyword-only") if kind in found[2]]
        kind = ("positional_or_keyword", "var_positional", "var_keyword")[name.count("*")]
        rows.append(
            Parameter(
                name=name.lstrip("*"),
                kind=kinds[0].replace("-", "_") if kinds else kind,
                default=default[1].strip("`") if default else None,
                text=rest,
            )
        )
    return tuple(rows) or None

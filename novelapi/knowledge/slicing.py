"""Slicing: the statements of a script that a few chosen ones need, as a program of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence

from novelapi.knowledge.names import BUILTINS, Use, use_of
from novelapi.knowledge.snippets import Script, Statement

Resolver = Callable[[str], str | None]
"""Gives the import statement for a name that a document takes for granted, or null."""

PLOTTING = frozenset({"plt", "matplotlib", "pylab", "mpl", "pyplot", "sns"})
"""Names whose statements are dropped: nobody sees the picture."""

MAX_LINES = 45
"""Longest program that is still an example."""


def slice_program(
    script: Script, until: int, chosen: Iterable[int], final: Iterable[Statement], resolve: Resolver
) -> str | None:
    """Return the program that consists of chosen statements, all that they need, and final statements.

    Args:
        script: where the statements come from.
        until: index after the last statement that may be in it.
        chosen: indices of statements that have to be in it.
        final: statements at the end that stand for parts of chosen ones (a call taken out of an assertion).
        resolve: gives imports for names that the script does not define.

    Returns:
        The program, or null when a name stays undefined or it would be too long.
    """
    ends = list(final)
    needed: set[str] = set()
    for statement in ends:
        needed |= statement.use.needs
    wanted = set(chosen)
    kept: dict[int, str] = {}
    for index in range(until - 1, -1, -1):
        statement = script.statements[index]
        use = statement.use
        text = _kept_text(statement, use, needed, chosen=index in wanted)
        if text is None:
            continue
        kept[index] = text
        if not isinstance(statement.node, ast.Import | ast.ImportFrom):
            if not isinstance(statement.node, ast.If | ast.For | ast.While | ast.Try | ast.AugAssign):
                needed -= use.binds
            needed |= use.needs
    imports = _imports(script, kept, needed, resolve)
    if imports is None:
        return None
    if not any(_annotates(script.statements[index].node) for index in kept):
        imports = [line for line in imports if line != "from __future__ import annotations"]
    body = [kept[index] for index in sorted(kept) if not _is_import(script.statements[index])]
    body += [statement.text for statement in ends]
    program = "\n".join([*imports, *([""] if imports else []), spaced(body)]).strip("\n") + "\n"
    return program if program.count("\n") <= MAX_LINES else None


def _annotates(node: ast.stmt) -> bool:
    return any(
        isinstance(part, ast.AnnAssign)
        or (isinstance(part, ast.arg) and part.annotation is not None)
        or (isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.returns is not None)
        for part in ast.walk(node)
    )


def spaced(statements: Sequence[str]) -> str:
    """Join statements; functions and classes get blank lines around them."""
    text = ""
    previous = False
    for statement in statements:
        definition = statement.startswith(("def ", "class ", "@", "async def "))
        text += ("\n\n" if (definition or previous) and text else "") + statement + "\n"
        previous = definition
    return text


def _is_import(statement: Statement) -> bool:
    return isinstance(statement.node, ast.Import | ast.ImportFrom)


def _kept_text(statement: Statement, use: Use, needed: set[str], *, chosen: bool) -> str | None:
    """Return the text under which a statement is kept, or null."""
    if isinstance(statement.node, ast.Import | ast.ImportFrom):
        return _narrowed(statement.node, needed | (use.binds if chosen else frozenset()))
    if not chosen:
        if use.needs & PLOTTING or _is_test_apparatus(statement.node):
            return None
        mutator = bool(use.changes & needed) and not (statement.shown and isinstance(statement.node, ast.Expr))
        if not (use.binds & needed) and not mutator:
            return None
    return statement.text


def _is_test_apparatus(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assert) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and "assert" in ast.unparse(node.value.func)
    )


def _narrowed(node: ast.Import | ast.ImportFrom, needed: Iterable[str]) -> str | None:
    """Return an import with only the names that are needed."""
    needed = set(needed)
    if isinstance(node, ast.Import):
        names = [item for item in node.names if (item.asname or item.name.split(".", 1)[0]) in needed]
        return ast.unparse(ast.Import(names=names)) if names else None
    if node.level or (node.module == "__future__"):
        return ast.unparse(node) if node.module == "__future__" else None
    names = [item for item in node.names if (item.asname or item.name) in needed]
    return ast.unparse(ast.ImportFrom(module=node.module, names=names, level=0)) if names else None


def _imports(script: Script, kept: dict[int, str], needed: set[str], resolve: Resolver) -> list[str] | None:
    """Return the import lines, future imports first; null when a name has no origin."""
    lines: list[str] = []
    provided: set[str] = set()
    for index in sorted(kept):
        statement = script.statements[index]
        if _is_import(statement):
            lines.append(kept[index])
            provided |= use_of(ast.parse(kept[index]).body[0]).binds
    for name in sorted(needed - provided - BUILTINS):
        line = resolve(name)
        if line is None:
            return None
        lines.append(line)
    return merged_imports(lines)


def merged_imports(lines: Iterable[str]) -> list[str]:
    """Return import lines sorted, those from one module joined, future imports first."""
    names: dict[str, set[str]] = {}
    plain: set[str] = set()
    for line in lines:
        for node in ast.parse(line).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                known = names.setdefault(node.module, set())
                known.update(alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in node.names)
            else:
                plain.add(ast.unparse(node))
    found = [*plain, *(f"from {module} import {', '.join(sorted(items))}" for module, items in names.items())]
    return sorted(found, key=lambda line: (not line.startswith("from __future__"), line))


def steady(program: str) -> str:
    """Give the random sources of a program a seed, where it has none, so that two runs show the same."""
    program = re.sub(r"\bdefault_rng\(\)", "default_rng(0)", program)
    program = re.sub(r"\bRandomState\(\)", "RandomState(0)", program)
    if re.search(r"^from numpy\.random import (?!default_rng|RandomState|Generator|seed)", program, re.MULTILINE):
        return _seeded(program, "numpy.random.seed(0)", "import numpy.random")
    legacy = re.search(r"\b(np|numpy)\.random\.(?!default_rng|seed|RandomState|Generator|[A-Z])\w+\(", program)
    if legacy and ".random.seed(" not in program:
        return _seeded(program, f"{legacy.group(1)}.random.seed(0)")
    return program


def _seeded(program: str, seed: str, needed: str = "") -> str:
    """Insert a seed below the imports."""
    lines = program.split("\n")
    last = max(number for number, line in enumerate(lines) if line.startswith(("import ", "from ")) or number == 0)
    return "\n".join([*lines[: last + 1], *([needed] if needed else []), "", seed, *lines[last + 1 :]])

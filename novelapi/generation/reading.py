"""Examples as trees, in the form in which tasks are cut out of them."""

from __future__ import annotations

import ast


def parsed(code: str) -> ast.Module | None:
    """Return the tree of an example, numpy under its usual name; null when the code does not parse."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    aliases = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "numpy" and alias.asname
    }
    if "xp" not in aliases:  # the name that tests give to whichever array library is at work
        return tree
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "xp":
            node.id = "np"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                alias.asname = "np" if alias.asname == "xp" else alias.asname
    return tree


def uses_private(tree: ast.Module) -> bool:
    """Return whether an example imports what no user should: a module or a name with a leading underscore."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module or ''}.{alias.name}" for alias in node.names if node.module != "__future__"]
        else:
            continue
        if any(part.startswith("_") for name in names for part in name.split(".")):
            return True
    return False

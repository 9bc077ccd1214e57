"""Repairs: made-up programs, changed after what their error messages ask for."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from novelapi.knowledge.snippets import parse_or_none
from novelapi.knowledge.targets import Target

_LACKS = re.compile(r"'(?P<type>int|str|list|dict)' object has no attribute '(?P<attribute>[a-z]\w*)'")


def repaired(code: str, message: str) -> Iterator[str]:
    """Yield a failed program with the words that its error message asks for: "should be 'amqp' or 'amqps'".

    Where numpy is not installed, lists take the place of arrays.
    """
    if "No module named 'numpy'" in message:
        plain = code.replace("import numpy as np\n", "")
        yield re.sub(r"\bnp\.array\((\[[^()]*\])\)", r"\1", plain).lstrip("\n")
        return
    asked = re.search(r"(?:should|must|expected|one of|supported|valid|choose)[^.]*", message, re.IGNORECASE)
    words = re.findall(r"['\"]([\w+.-]{1,24})['\"]", asked.group(0)) if asked else []
    for word in words[:2]:
        if "://" in code:
            yield re.sub(r"\bhttps?://[^'\"]*", f"{word}://user:password@localhost:1234/name", code)
        else:
            for literal in dict.fromkeys(re.findall(r"'[^'\n]*'", code)):
                yield code.replace(literal, repr(word))


def stood_in(
    code: str, message: str, target: Target, parameters: Sequence[str], unknown: Collection[str]
) -> str | None:
    """Return a failed program whose argument is an object with the attribute that was missed.

    Args:
        code: the program; its last line calls the target with made-up arguments.
        message: what it failed with: "'int' object has no attribute 'autocommit'".
        target: the API.
        parameters: names of its parameters, in order.
        unknown: those that may take any object.

    Returns:
        Null when the message is another one, or no argument can be meant.
    """
    lacks, tree = _LACKS.search(message), parse_or_none(code)
    last = tree.body[-1] if tree is not None and tree.body else None
    if lacks is None or not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call):
        return None
    call = last.value
    if not isinstance(call.func, ast.Name | ast.Attribute) or target.leaf not in ast.unparse(call.func):
        return None
    for number, (name, given) in enumerate(zip(parameters, call.args, strict=False)):
        if name in unknown and _is_a(given, lacks["type"]):
            call.args[number] = ast.parse(f"SimpleNamespace({lacks['attribute']}=True)", mode="eval").body
            head = "\n".join(code.split("\n")[: last.lineno - 1])
            return f"from types import SimpleNamespace\n{head}\n{ast.unparse(call)}\n"
    return None


def _is_a(node: ast.expr, kind: str) -> bool:
    try:
        return type(ast.literal_eval(node)).__name__ == kind
    except (ValueError, TypeError):
        return False  # no literal: an object that another program made

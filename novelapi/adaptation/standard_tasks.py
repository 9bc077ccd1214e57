"""Tasks over the standard library that teach a small model the form of the benchmark's tasks, and nothing about it.

They are made from signatures and docstrings of the running interpreter, in the very prompt of the benchmark, so a base
that learned them answers with a code block, and has never seen a library under test.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator

from novelapi.records.task import Task, TaskInput

MODULES = (
    "bisect", "calendar", "colorsys", "copy", "difflib", "fnmatch", "functools", "glob", "heapq", "html", "inspect",
    "ipaddress", "itertools", "json", "keyword", "locale", "math", "mimetypes", "ntpath", "operator", "posixpath",
    "pprint", "random", "re", "shlex", "statistics", "string", "struct", "textwrap", "time", "token", "tokenize",
    "unicodedata", "urllib.parse", "uuid", "xml.sax.saxutils", "zlib",
)  # fmt: skip


def standard_tasks(count: int) -> list[Task]:
    """Return up to `count` tasks, spread evenly over what the interpreter offers, sorted by id."""
    found = list(_all_tasks())
    step = max(1.0, len(found) / count)
    return [found[int(number * step)] for number in range(min(count, len(found)))]


def _all_tasks() -> Iterator[Task]:
    for name in sorted(MODULES):
        module = importlib.import_module(name)
        for leaf, member in sorted(vars(module).items()):
            if leaf.startswith("_") or not inspect.isroutine(member) or getattr(member, "__module__", name) != name:
                continue
            task = _task(name, leaf, member)
            if task is not None:
                yield task


def _task(module: str, leaf: str, member: object) -> Task | None:
    try:
        parameters = inspect.signature(member).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    plain = [item.name for item in parameters if item.kind in {item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD}]
    needed = [item.name for item in parameters if item.default is item.empty and item.name in plain]
    doc = (inspect.getdoc(member) or "").partition("\n\n")[0].replace("\n", " ").strip()
    if not needed or not doc or len(doc) > 160:
        return None
    names = ", ".join(needed)
    return Task(
        task_id=f"python/{module}.{leaf}/1",
        library="python",
        api=f"{module}.{leaf}",
        description=f"{doc.replace(leaf, 'it')}\n\nWrite `solve({names})`:\n"
        + "".join(f"- `{name}`: the argument of this name\n" for name in needed)
        + "\nReturn the result.\n",
        context_code=f"import {module.partition('.')[0]}\n",
        entry_point="solve",
        signature=f"def solve({names}):",
        inputs=(TaskInput(args=("None",) * len(needed), hidden=True),),
        reference_solution=f"import {module}\n\ndef solve({names}):\n    return {module}.{leaf}({names})\n",
    )

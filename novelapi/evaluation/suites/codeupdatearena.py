"""CodeUpdateArena: synthetic updates of known functions, each with tasks whose tests need the update.

A row passes if its reference solution passes its tests with the update installed, and fails without it.
Format: github.com/leo-liuzy/CodeUpdateArena, data/arena.jsonl (MIT).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.errors import DataError
from novelapi.execution.isolated import Limits, run_isolated
from novelapi.records.environment import Environment

STANDARD = frozenset({"math", "re", "itertools"})
"""Packages of the standard library; the others need an environment."""
_DEFINED = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
_TEST = re.compile(r"^def (test\w*)\(", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Example:
    """One task of an update."""

    key: str
    """`{update id}/{number}`."""
    package: str
    """Package that is updated."""
    update: str
    """Code that installs the update."""
    imports: str
    """Code that the solution stands on."""
    solution: str
    """The reference."""
    tests: str
    """Test functions."""

    def case(self, *, updated: bool) -> dict[str, Any]:
        """Return the request for a run with or without the update."""
        return {
            "id": f"{self.key}:{'with' if updated else 'without'}",
            "update": self.update if updated else "",
            "parts": [self.imports, self.solution, self.tests],
            "call": _TEST.findall(self.tests),
        }


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What both runs of one example gave: null for a pass, else the exception."""

    key: str
    package: str
    updated: str | None
    plain: str | None


def read(path: Path) -> Iterator[Example]:
    """Read arena.jsonl.

    Raises:
        DataError: it is missing or broken.
    """
    for row in jsonl.read(path):
        try:
            update = row["update"]
            installed = "\n".join(
                [
                    *update["imports"],
                    "",
                    update["implementation"],
                    _installer(update["function_path"], update["implementation"]),
                ]
            )
            for number, item in enumerate(row["prog_syn_examples"]):
                yield Example(
                    key=f"{update['update_id']}/{number}",
                    package=update["package"],
                    update=installed,
                    imports="\n".join([_TYPES, *item["imports"]]),
                    solution=item["ref_solution"],
                    tests="\n\n".join(item["unit_tests"]),
                )
        except (KeyError, TypeError) as error:
            raise DataError(f"{path} is not CodeUpdateArena's arena.jsonl: {error} is missing") from error


_TYPES = "from typing import *"


def _installer(path: str, implementation: str) -> str:
    """Return code that puts the new function, which may have a new name, into the old one's module."""
    module = path.rpartition(".")[0]
    name = _DEFINED.findall(implementation)[-1]
    return f"import {module}\nsetattr({module}, {name!r}, {name})\n"


def run(
    examples: list[Example], environment_of: Callable[[str], Environment], progress: Callable[[str], None]
) -> list[Outcome]:
    """Run all references with and without their update, one sandboxed process per package.

    Raises:
        PrerequisiteError: the sandbox is not to be had.
        NovelApiError: an environment cannot be built.
    """
    found: dict[str, str | None] = {}
    for package in sorted({example.package for example in examples}):
        mine = [example for example in examples if example.package == package]
        progress(f"{package}: {len(mine)} references, with and without the update")
        cases = [example.case(updated=updated) for example in mine for updated in (True, False)]
        limits = Limits(wall_s=1200, cpu_s=900)
        answer = run_isolated(environment_of(package), "run_suite", {"cases": cases, "cpu_s": 20}, limits)
        answers: Mapping[str, str | None] = answer.value or {}
        found |= {case["id"]: answers.get(case["id"], f"did not run ({answer.failure})") for case in cases}
    return [
        Outcome(
            key=example.key,
            package=example.package,
            updated=found[f"{example.key}:with"],
            plain=found[f"{example.key}:without"],
        )
        for example in examples
    ]

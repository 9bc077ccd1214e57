"""CodeUpdateArena: synthetic updates of known functions, each with tasks whose tests need the update.

An answer passes if all tests of its task pass with the update installed, and not all of them without it: what passes
without the update shows nothing about it. Format: github.com/leo-liuzy/CodeUpdateArena, data/arena.jsonl (MIT).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.errors import DataError
from novelapi.evaluation.extraction import extract
from novelapi.evaluation.suites.base import PASSES, Need, Suite, Verdict
from novelapi.execution.isolated import Limits

STANDARD = frozenset({"math", "re", "itertools"})
"""Packages of the standard library; the others need an environment."""
RELEASES = {"numpy": "1.26.4", "pandas": "2.2.2", "scipy": "1.13.1", "sympy": "1.12.1", "torch": "2.3.0"}
"""The suite declares no releases: these were the newest on 2024-06-01, the month of its file."""
_DEFINED = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
_TEST = re.compile(r"^def (test\w*)\(", re.MULTILINE)
_TYPES = "from typing import *"


@dataclass(frozen=True, kw_only=True)
class Example:
    """One task of an update."""

    key: str
    """`prog_syn_id`, else `{update id}/{number}`."""
    package: str
    """Package that is updated."""
    update: str
    """Code that installs the update."""
    imports: str
    """Code that the solution stands on."""
    signature: str
    """The `def` line that the task asks for."""
    gold: str
    """The suite's answer."""
    tests: str
    """Test functions."""

    @property
    def need(self) -> Need:
        """The running Python, with the package's release unless it is of the standard library."""
        if self.package in STANDARD:
            return Need(library="python", release="")
        extras = () if self.package == "numpy" else ("numpy",)  # tests compare with its arrays
        return Need(library=self.package, release=RELEASES[self.package], extras=extras)

    def code(self, text: str) -> str:
        """Return the code in a model's answer."""
        name = self.signature.partition("(")[0].removeprefix("def ").strip()
        return extract(text, name, self.signature).code

    def request(self, code: str) -> dict[str, Any]:
        """Return two runs for the guest program: with the update and without."""
        tests = {"parts": [self.imports, code, self.tests], "call": _TEST.findall(self.tests)}
        cases = [{"id": "with", "update": self.update, **tests}, {"id": "without", "update": "", **tests}]
        return {"preload": [self.package], "cases": cases, "cpu_s": 200}

    def judge(self, answer: Any) -> Verdict:
        """Return pass if all tests pass with the update and not all without it."""
        updated, plain = answer["with"], answer["without"]
        count = len(_TEST.findall(self.tests))
        reason = updated if updated or plain else "passes without the update too"
        return Verdict(reason=reason, passed=0 if updated else count, failed=bool(updated), plain=plain or PASSES)


def read(folder: Path) -> Mapping[str, Example]:
    """Read arena.jsonl.

    Raises:
        DataError: it is missing or broken; the message names file and row.
    """
    path = folder / "arena.jsonl"
    found: dict[str, Example] = {}
    for number, row in enumerate(jsonl.read(path), 1):
        place = f"{path}, row {number}"
        try:
            update = row["update"]
            lines = [*update["imports"], "", update["implementation"]]
            installed = "\n".join([*lines, _installer(update["function_path"], update["implementation"])])
            if update["package"] not in STANDARD | RELEASES.keys():
                known = ", ".join(sorted(STANDARD | RELEASES.keys()))
                raise DataError(f"{place}: no release is chosen for the package '{update['package']}' (known: {known})")
            for index, item in enumerate(row["prog_syn_examples"]):
                key = item.get("prog_syn_id") or f"{update['update_id']}/{index}"
                if key in found:
                    raise DataError(f"{place}: duplicate prog_syn_id '{key}'; remove one of them")
                found[key] = Example(
                    key=key,
                    package=update["package"],
                    update=installed,
                    imports="\n".join([_TYPES, *item["imports"]]),
                    signature=item["solution_signature"],
                    gold=item["ref_solution"],
                    tests="\n\n".join(item["unit_tests"]),
                )
        except (KeyError, TypeError, IndexError) as error:
            raise DataError(f"{place}: {error} is missing or broken; is this CodeUpdateArena's arena.jsonl?") from error
    if not found:
        raise DataError(f"{path} holds no row; fetch it anew")
    return found


def _installer(path: str, implementation: str) -> str:
    """Return code that puts the new function, which may have a new name, where the old one is: a module or a class."""
    top, *inner = path.split(".")[:-1]
    name = _DEFINED.findall(implementation)[-1]
    owner = ".".join([top, *inner])
    modules = "\n".join(
        f"try:\n    import {'.'.join([top, *inner[:depth]])}\nexcept ModuleNotFoundError:\n    pass"
        for depth in range(len(inner) + 1)
    )
    return f"{modules}\nsetattr({owner}, {name!r}, {name})\n"


SUITE = Suite(
    name="codeupdatearena",
    folder="codeupdatearena",
    marker="arena.jsonl",
    source="data/arena.jsonl of github.com/leo-liuzy/CodeUpdateArena",
    script="run_suite",
    version=3,
    limits=Limits(wall_s=600, cpu_s=240, memory_mb=16384),
    read=read,
)

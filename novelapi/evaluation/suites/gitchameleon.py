"""GitChameleon 2.0: problems that are bound to a release of a library, each with a hidden pytest file.

A row passes if every test of its hidden file passes with the answer. Format: github.com/mrcabbage972/
GitChameleonBenchmark, dataset/ (Apache-2.0). The tests import the answer as `sample_{id}` from the folder above theirs.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from novelapi import jsonl
from novelapi.errors import DataError
from novelapi.evaluation.extraction import extract
from novelapi.evaluation.suites.base import Need, Suite, Verdict
from novelapi.execution.isolated import Limits

EXTRAS = (
    "pytest==6.2.5; python_version < '3.9'",
    "pytest==7.1.2; python_version == '3.9'",
    "pytest==7.2.0; python_version > '3.9'",
    "numpy==1.21.6; python_version <= '3.9'",
    "numpy==1.23.0; python_version > '3.9'",
    "scipy==1.7.1; python_version < '3.9'",
    "scipy==1.9.1; python_version == '3.9'",
    "scipy==1.10.1; python_version > '3.9'",
    "setuptools",
)
"""What the suite's own environments hold beside the library (its create_venvs.py), unless the row brings it."""
MONTH = datetime(2025, 7, 1, tzinfo=UTC)
"""When the suite was published: what comes with the extras is not newer."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One row of the suite."""

    key: str
    """`example_id`."""
    need: Need
    """Library, release, Python and pins of the row."""
    start: str
    """The code that the model is given: imports and the signature."""
    gold: str
    """The suite's answer, a whole module."""
    test: str
    """The hidden test file."""

    def code(self, text: str) -> str:
        """Return the module in a model's answer; what the start imports is put before it, as a model may rely on it."""
        signature = _signature(self.start)
        found = extract(text, _entry_point(signature), signature).code
        given = self.start.partition(signature)[0] if signature else self.start
        return found if given.strip() in found else f"{given}\n{found}"

    def request(self, code: str) -> dict[str, Any]:
        """Return module and test file for the guest program."""
        return {"module": f"sample_{self.key}", "code": code, "test": self.test}

    @cached_property
    def declared(self) -> int:
        """How many tests the hidden file declares: fewer outcomes than these are no pass."""
        return _count_tests(self.test)

    def judge(self, answer: Any) -> Verdict:
        """Return pass if all declared tests ran and none failed."""
        failed: dict[str, str] = answer["failed"]
        errors: list[str] = answer["errors"]
        skips: dict[str, str] = answer["skipped"]
        passed, skipped = len(answer["passed"]), len(skips)
        reason = None
        if errors:
            reason = errors[0]
        elif failed:
            name, message = next(iter(failed.items()))
            reason = f"{name}: {message}"
        elif passed + skipped < self.declared:
            reason = f"only {passed + skipped} of {self.declared} tests came to an end"
        elif not passed:
            reason = f"no test ran: {next(iter(skips.values()))}" if skipped else "the file holds no test"
        return Verdict(reason=reason, passed=passed, failed=len(failed) + len(errors), skipped=skipped)


def read(folder: Path) -> Mapping[str, Problem]:
    """Read dataset.jsonl, ground_truth_solutions.jsonl and hidden_tests/.

    Raises:
        DataError: one of them is missing or broken; the message names file and line.
    """
    path = folder / "dataset.jsonl"
    answers = _answers(folder / "ground_truth_solutions.jsonl")
    found: dict[str, Problem] = {}
    for number, row in enumerate(jsonl.read(path), 1):
        place = f"{path}, row {number}"
        try:
            key = str(row["example_id"])
            need = _need(row, place)
            start = row["starting_code"]
        except KeyError as error:
            raise DataError(f"{place}: field missing: {error.args[0]}; is this GitChameleon's file?") from error
        if key in found:
            raise DataError(f"{place}: duplicate example_id '{key}'; remove one of the rows")
        if key not in answers:
            raise DataError(f"{place}: ground_truth_solutions.jsonl has no answer for '{key}'; fetch it anew")
        found[key] = Problem(key=key, need=need, start=start, gold=answers[key], test=_test(folder, key))
    if not found:
        raise DataError(f"{path} holds no row; fetch it anew")
    return found


def _answers(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, row in enumerate(jsonl.read(path), 1):
        try:
            found[str(row["example_id"])] = row["answer"]
        except KeyError as error:
            raise DataError(f"{path}, row {number}: field missing: {error.args[0]}; fetch the file anew") from error
    return found


def _test(folder: Path, key: str) -> str:
    path = folder / "hidden_tests" / f"test_sample_{key}.py"
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: fetch the folder hidden_tests beside dataset.jsonl") from error


def _need(row: dict[str, Any], place: str) -> Need:
    pins: dict[str, str] = {}
    for text in f"{row.get('extra_dependencies') or ''} {row['additional_dependencies'] or ''}".split():
        try:
            pins[canonicalize_name(Requirement(text).name)] = text
        except InvalidRequirement as error:
            raise DataError(f"{place}: '{text}' is not a requirement; correct the row") from error
    library = canonicalize_name(row["library"])
    return Need(
        library=library,
        release=row["version"],
        python=row["python_version"],
        requirements=tuple(text for name, text in sorted(pins.items()) if name != library),
        extras=EXTRAS,
        extras_before=MONTH,
        runner="pytest",
    )


def _signature(start: str) -> str:
    """Return the last `def` of the start up to its colon's line, or nothing when the start ends within a class."""
    lines = start.splitlines()
    for number in reversed(range(len(lines))):
        if lines[number].startswith(("def ", "async def ")):
            return "\n".join(lines[number:])
    return ""


def _entry_point(signature: str) -> str:
    return signature.partition("(")[0].rpartition(" ")[2]


def _count_tests(source: str) -> int:
    """Return the number of distinct test functions and methods that pytest collects from a file, at least."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return 0
    found: set[tuple[str, str]] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not _is_plain(node):
            continue
        owner = node.name if isinstance(node, ast.ClassDef) else ""
        for item in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(item, ast.FunctionDef) and item.name.startswith("test"):
                found.add((owner, item.name))
    return len(found)


def _is_plain(node: ast.ClassDef) -> bool:
    """Whether pytest collects a class: one named Test without a constructor, or a unittest case."""
    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    own = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    return any(base.endswith("TestCase") for base in bases) or (node.name.startswith("Test") and "__init__" not in own)


SUITE = Suite(
    name="gitchameleon",
    folder="gitchameleon2",
    marker="dataset.jsonl",
    source="the folder `dataset` of github.com/mrcabbage972/GitChameleonBenchmark, with the hidden tests beside it",
    script="run_pytest",
    version=1,
    limits=Limits(wall_s=240, cpu_s=180, memory_mb=16384),
    read=read,
)

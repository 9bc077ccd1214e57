"""The embedded baseline `copy`: it re-arranges its prompt and what it remembers of the old release, and no more.

It is a control without a neural network. It contains no task, no API and no name of a condition, and it sees nothing
but the text of a prompt, so what it gains from a piece of knowledge tells how much of a model's gain from the same
piece can be mere copying.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from novelapi.adapters.copying.calls import (
    Arguments,
    Usage,
    bind_by_example,
    bind_by_parameters,
    positional_arguments,
    usages,
)
from novelapi.adapters.copying.memory import Memory
from novelapi.adapters.copying.reading import (
    Document,
    Parameter,
    Reading,
    definition_parameters,
    read_prompt,
    signature_parameters,
)
from novelapi.adapters.copying.wording import options, wrappers
from novelapi.adapters.copying.words import words
from novelapi.fingerprint import text_digest
from novelapi.inference.requests import complete_by_stream
from novelapi.inference.tokens import estimate_tokens
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Request

COPY_VERSION = 1
"""Version of the baseline; bumped whenever an output may change."""


@dataclass(frozen=True, kw_only=True)
class _Callee:
    """Something that could be called, with all that is known of it."""

    path: str
    parameters: tuple[Parameter, ...] | None = None
    usages: tuple[Usage, ...] = ()
    text: str = ""

    @property
    def is_method(self) -> bool:
        """Whether it needs a receiver: a method in an example, or a path through a class."""
        parent = self.path.rsplit(".", 1)[0]
        return self.path.startswith(".") or parent.rsplit(".", 1)[-1][:1].isupper()


class CopyModel:
    """A streaming completer that computes its answers from prompt and memory alone."""

    name = "copy"
    engine = "copy"
    adapter_sha: str | None = None

    def __init__(self, memory: Memory | None = None) -> None:
        """Remember the surface of the old release (nothing by default)."""
        self._memory = memory or Memory()
        self._known_leaves = {entry.path.rsplit(".", 1)[-1] for entry in self._memory.entries}

    @property
    def revision(self) -> str:
        """Version and digest of the memory."""
        return f"copy-{COPY_VERSION}-{self._memory.digest}"

    def complete(self, prompts: Sequence[str], sampling: Sampling) -> list[list[str]]:
        """Return `sampling.n` texts per prompt, the first of them the best guess."""
        return complete_by_stream(self, prompts, sampling)

    def stream(self, requests: Iterable[Request]) -> Iterator[tuple[int, Completion]]:
        """Answer requests in their order."""
        for index, request in enumerate(requests):
            texts = self._texts(request)
            yield (
                index,
                Completion(
                    texts=texts,
                    finish=("stop",) * len(texts),
                    prompt_tokens=estimate_tokens(request.prompt),
                    completion_tokens=sum(map(estimate_tokens, texts)),
                ),
            )

    def _texts(self, request: Request) -> tuple[str, ...]:
        ranked = self.alternatives(request.prompt)
        if request.temperature == 0:
            return (ranked[0],) * request.n
        source = random.Random(f"{request.seed}:{text_digest(request.prompt)}")  # noqa: S311  sampling, not security
        weights = [(rank + 1) ** (-1 / request.temperature) for rank in range(len(ranked))]
        return tuple(source.choices(ranked, weights, k=request.n))

    def alternatives(self, prompt: str) -> list[str]:
        """Return every answer it can think of, best first."""
        reading = read_prompt(prompt)
        scored: list[tuple[int, str]] = []
        for first, callee in enumerate(self._callees(reading)):
            for second, arguments in enumerate(_bindings(reading, callee)):
                attributes = [name for usage in callee.usages for name in usage.attributes]
                for third, wrapper in enumerate(wrappers(reading.description, attributes, callee.text)):
                    scored.append((2 * first + second + third, _write(reading, callee, arguments, wrapper)))
        scored.sort(key=lambda item: item[0])  # stable: equal ranks keep their order
        answers = dict.fromkeys(text for _, text in scored)
        return list(answers) or [_hand_over(reading)]

    def _callees(self, reading: Reading) -> list[_Callee]:
        """Return what could be meant: the documented names, else the nearest of the old release."""
        documents = _by_similarity(reading)
        found = [callee for document in documents for callee in self._documented(reading, document)]
        if found:
            return list({callee.path: callee for callee in reversed(found)}.values())[::-1]
        text = " ".join([reading.description, *(document.text for document in documents)])
        near = self._memory.nearest(text, reading.packages)
        return [_Callee(path=entry.path, parameters=signature_parameters(entry.signature)) for entry in near]

    def _documented(self, reading: Reading, document: Document) -> list[_Callee]:
        """Return the callees of one document: by its name, else by its examples, else by its code."""
        calls = [usage for tree in document.examples for usage in usages(tree)]
        paths = [name for name in document.names if name.split(".", 1)[0] in reading.packages or not reading.packages]
        paths = paths[:1] or self._novel(calls)[:2]
        parameters = document.parameters
        if document.definitions:
            node = document.definitions[0]
            parameters = parameters or definition_parameters(node)
            package = next((path for path in reading.aliases.values() if "." not in path), "")
            paths = paths or ([f"{package}.{node.name}"] if package else [])
        return [self._callee(path, parameters, calls, document.text) for path in paths]

    def _callee(
        self, path: str, parameters: tuple[Parameter, ...] | None, calls: Sequence[Usage], text: str
    ) -> _Callee:
        leaf = path.rsplit(".", 1)[-1]
        mine = tuple(usage for usage in calls if usage.path.rsplit(".", 1)[-1] == leaf)
        remembered = self._memory.get(path)
        if parameters is None and remembered is not None:
            parameters = signature_parameters(remembered.signature)
        return _Callee(path=path, parameters=parameters, usages=mine, text=text)

    def _novel(self, calls: Sequence[Usage]) -> list[str]:
        """Return what the examples call, what is unknown to the memory first, then by frequency."""
        counts = Counter(usage.path for usage in calls)
        first = {usage.path: index for index, usage in reversed(list(enumerate(calls)))}
        return sorted(
            counts, key=lambda path: (path.rsplit(".", 1)[-1] in self._known_leaves, -counts[path], first[path])
        )


def _by_similarity(reading: Reading) -> list[Document]:
    """Sort documents by the words they share with the description; equal ones keep their order."""
    wanted = set(words(reading.description))
    documents = [document for document in reading.documents if document.text.strip()]
    return sorted(documents, key=lambda document: -len(wanted & set(words(document.text))))


def _bindings(reading: Reading, callee: _Callee) -> list[Arguments]:
    """Return ways to pass the parameters of the entry point, best first."""
    entry, ways = reading.parameters, []
    constants = {name: value for usage in callee.usages for name, value in reversed(usage.constants.items())}
    if callee.parameters is not None:
        bound = bind_by_parameters(entry, callee.parameters, callee.is_method)
        taken = {name for name, _ in bound.keywords} | set(bound.positional)
        free = [item for item in callee.parameters if item.name not in taken and item.default is not None]
        ways.append(bound.with_options(options(reading.description, free, constants)))
    for usage in sorted(callee.usages, key=lambda usage: -_fit(usage, reading)):
        bound = bind_by_example(entry, usage)
        wanted = options(reading.description, (), usage.constants)
        kept = tuple((name, value) for name, value in bound.keywords if value in entry or name in wanted)
        ways.append(Arguments(receiver=bound.receiver, positional=bound.positional, keywords=kept, setup=bound.setup))
        ways.append(bound)
    ways.append(positional_arguments(entry, callee.is_method))
    names = {item.name for item in callee.parameters or ()}
    if callee.usages and not set(entry) <= names | {"self"}:
        ways.insert(0, ways.pop(1 if callee.parameters is not None else 0))
    return list(dict.fromkeys(ways))


def _fit(usage: Usage, reading: Reading) -> int:
    """Count the words that a call shares with the wording and with the entry point."""
    wording = f"{reading.description} {' '.join(reading.parameters)}"
    return len(set(words(ast.unparse(usage.call))) & set(words(wording)))


def _write(reading: Reading, callee: _Callee, arguments: Arguments, wrapper: str) -> str:
    """Write the answer as a model would: one fenced block."""
    leaf = callee.path.rsplit(".", 1)[-1]
    lines: list[str] = []
    if arguments.receiver is not None:
        function = f"{arguments.receiver}.{leaf}"
    else:
        function, needed = _reach(callee.path, reading)
        lines += [needed, "", ""] if needed else []
    lines.append(reading.signature)
    lines += [f"    {line}" for statement in arguments.setup for line in statement.splitlines()]
    lines.append(f"    return {wrapper.format(f'{function}({arguments.text()})')}")
    return "```python\n" + "\n".join(lines) + "\n```\n"


def _reach(path: str, reading: Reading) -> tuple[str, str]:
    """Return how a path is written after the context's imports, and the import that is missing, if any."""
    parent, _, leaf = path.rpartition(".")
    for alias, target in sorted(reading.aliases.items()):
        if path == target:
            return alias, ""
        if parent == target:
            return f"{alias}.{leaf}", ""
    return leaf, f"from {parent} import {leaf}" if parent else ""


def _hand_over(reading: Reading) -> str:
    """Answer without an idea: hand the first parameter back."""
    value = reading.parameters[0] if reading.parameters else "None"
    return f"```python\n{reading.signature}\n    return {value}\n```\n"

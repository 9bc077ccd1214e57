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
from dataclasses import dataclass, replace

from novelapi.adapters.copying.binding import Arguments, bind_by_example, bind_by_parameters, positional_arguments
from novelapi.adapters.copying.examples import Usage, usages
from novelapi.adapters.copying.memory import Memory
from novelapi.adapters.copying.reading import (
    Document,
    Parameter,
    Reading,
    definition_parameters,
    read_prompt,
    signature_parameters,
)
from novelapi.adapters.copying.wording import described, options, wrappers
from novelapi.adapters.copying.words import likeness, words
from novelapi.fingerprint import text_digest
from novelapi.inference.requests import complete_by_stream
from novelapi.inference.tokens import estimate_tokens
from novelapi.ports import RememberedApi
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

    def with_memory(self, entries: Iterable[RememberedApi]) -> CopyModel:
        """Return the baseline with the surface of an old release in mind."""
        return CopyModel(Memory(entries))

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
                for third, wrapper in enumerate(wrappers(reading.description, attributes)):
                    # Another thing to call is a bolder guess than another way to call it.
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
        paths = paths[:1] or self._called(calls, reading.description)[:2]
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

    def _called(self, calls: Sequence[Usage], description: str) -> list[str]:
        """Return what the examples call: what the memory does not know first, then what it knows to be described so."""
        counts = Counter(usage.path for usage in calls)
        first = {usage.path: index for index, usage in reversed(list(enumerate(calls)))}

        def key(path: str) -> tuple[bool, float, int, int]:
            entry = self._memory.get(path)
            known = path.removeprefix(".") in self._known_leaves if path.startswith(".") else entry is not None
            return known, -likeness(entry.doc, description) if entry else 0.0, -counts[path], first[path]

        return sorted(counts, key=key)


def _by_similarity(reading: Reading) -> list[Document]:
    """Sort documents by the words they share with the description; equal ones keep their order."""
    wanted = set(words(reading.description))
    documents = [document for document in reading.documents if document.text.strip()]
    return sorted(documents, key=lambda document: -len(wanted & set(words(document.text))))


def _bindings(reading: Reading, callee: _Callee) -> list[Arguments]:
    """Return ways to pass the parameters of the entry point, best first."""
    entry, wording = reading.parameters, reading.description
    constants = {name: value for usage in callee.usages for name, value in reversed(usage.constants.items())}
    by_example: list[Arguments] = []
    for usage in sorted(callee.usages, key=lambda usage: -_fit(usage, reading)):
        bound = bind_by_example(entry, usage, dict(described(wording)))
        if bound is not None:
            wanted = options(wording, entry, (), usage.constants)
            kept = [
                (name, wanted.get(name, value)) for name, value in bound.keywords if value in entry or name in wanted
            ]
            by_example += [replace(bound, keywords=tuple(kept)), bound]
    ways = [*by_example, positional_arguments(entry, callee.is_method)]
    if callee.parameters is not None:
        values = options(wording, entry, callee.parameters, constants)
        bound = bind_by_parameters(entry, callee.parameters, callee.is_method, dict(described(wording)), values)
        ways.insert(0 if not bound.guessed else len(by_example), bound)
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
    call = f"{function}({arguments.text()})"
    if wrapper.count("{0}") > 1:
        lines.append(f"    result = {call}")
        call = "result"
    lines.append(f"    return {wrapper.format(call)}")
    return "```python\n" + "\n".join(lines) + "\n```\n"


def _reach(path: str, reading: Reading) -> tuple[str, str]:
    """Return how a path is written after the context's imports, and the import that is missing, if any."""
    parent, _, leaf = path.rpartition(".")
    for alias, target in sorted(reading.aliases.items()):
        if path == target:
            return alias, ""
        if parent == target:
            return f"{alias}.{leaf}", ""
    if parent.rsplit(".", 1)[-1][:1].isupper():  # a class: its members cannot be imported
        owner, needed = _reach(parent, reading)
        return f"{owner}.{leaf}", needed
    return leaf, f"from {parent} import {leaf}" if parent else ""


def _hand_over(reading: Reading) -> str:
    """Answer without an idea: hand the first parameter back."""
    value = reading.parameters[0] if reading.parameters else "None"
    return f"```python\n{reading.signature}\n    return {value}\n```\n"

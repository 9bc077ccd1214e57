"""A language model in a role: asked by a prompt file, answered in JSON, every answer traceable to model and prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from novelapi.fingerprint import text_digest
from novelapi.inference.cache import CompletionCache
from novelapi.inference.cached import CachedCompleter
from novelapi.inference.profile import profile_of
from novelapi.inference.requests import StreamingCompleter
from novelapi.inference.templates import render_template, template_digest
from novelapi.ports import Completer
from novelapi.records.base import Record
from novelapi.records.completion import Request

Role = Literal[
    "author_examples", "author_mechanism", "author_tasks", "author_inputs", "second_opinion", "probe", "completion"
]
"""Roles by the name of their prompt file; `completion` is the solver, who gets the prompt of every task."""

AnswerT = TypeVar("AnswerT", bound=BaseModel)


class Authorship(Record):
    """Who wrote something: stored beside whatever a model wrote."""

    model: str
    """Revision of the model."""

    role: str
    """Prompt file."""

    prompt_file: str
    """Digest of the prompt file."""

    prompt: str
    """Digest of the prompt that was sent."""


class Answer(Record, Generic[AnswerT]):
    """What came back for one question: a value, or the reason why there is none."""

    value: AnswerT | None
    """The answer, validated; null if there is none."""

    reason: str = ""
    """Why there is none; the deterministic author then stands."""

    author: Authorship
    """Who was asked, and how."""


class StrongModel(Protocol):
    """A model that answers questions of a role with a record."""

    def ask(self, role: Role, questions: Sequence[Mapping[str, Any]], kind: type[AnswerT]) -> list[Answer[AnswerT]]:
        """Return one answer per question, in order.

        Args:
            role: the prompt file.
            questions: what the file's placeholders stand for, one mapping per question.
            kind: the record that the JSON of an answer must fit.

        Raises:
            EndpointError: the endpoint as a whole does not answer.
            PrerequisiteError: key, model or extra is missing.
        """
        ...


class PromptedModel:
    """The strong model over any completer; put it behind a `CachedCompleter`, then a build can be replayed offline."""

    def __init__(self, completer: StreamingCompleter, *, max_tokens: int = 4096, structured: bool = False) -> None:
        """Choose how it is asked.

        Args:
            completer: the model.
            max_tokens: longest answer.
            structured: send the JSON schema along; only for endpoints that have structured outputs.
        """
        self._completer = completer
        self._max_tokens = max_tokens
        self._structured = structured

    def ask(self, role: Role, questions: Sequence[Mapping[str, Any]], kind: type[AnswerT]) -> list[Answer[AnswerT]]:
        """Return one answer per question, in order; a missing or unusable answer holds its reason."""
        prompts = [render_template(role, **question).strip("\n") + "\n" for question in questions]
        schema = kind.model_json_schema() if self._structured else None
        requests = [Request(prompt=text, max_tokens=self._max_tokens, json_schema=schema) for text in prompts]
        found: dict[int, tuple[AnswerT | None, str]] = {}
        for index, completion in self._completer.stream(requests):
            if completion.failure is not None:
                found[index] = None, f"{completion.failure}: {completion.detail}"
            else:
                found[index] = read_json(completion.texts[0], kind)
        return [
            Answer[kind](value=found[index][0], reason=found[index][1], author=self._author(role, text))
            for index, text in enumerate(prompts)
        ]

    def _author(self, role: Role, prompt: str) -> Authorship:
        return Authorship(
            model=self._completer.revision, role=role, prompt_file=template_digest(role), prompt=text_digest(prompt)
        )


@contextmanager
def strong_model(completer: Completer, cache: Path) -> Generator[tuple[PromptedModel, CachedCompleter]]:
    """Open a model in its roles behind the completion cache; yields it, and what counts its usage.

    Args:
        completer: the model.
        cache: file of recorded answers.
    """
    with CompletionCache(cache) as recorded:
        profile = profile_of(completer)
        asked = CachedCompleter(completer, recorded, profile=profile)
        yield PromptedModel(asked, max_tokens=max(4096, profile.max_tokens)), asked


def read_json(text: str, kind: type[AnswerT]) -> tuple[AnswerT | None, str]:
    """Find the last JSON object in a text that fits a record; return it, or null and the reason.

    Models wrap JSON in prose and fences, or think aloud in JSON before they answer; the last fitting one is meant.
    """
    reason = "the answer holds no JSON object"
    for candidate in _json_objects(text):
        try:
            return kind.model_validate(candidate), ""
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the whole"
            reason = f"the answer does not fit: {where}: {first['msg']}"
    return None, reason


def _json_objects(text: str) -> Iterator[Any]:
    """Yield the outermost JSON objects of a text, the last first."""
    decoder = json.JSONDecoder(strict=False)
    found: list[Any] = []
    position = 0
    for match in re.finditer(r"\{", text):
        if match.start() < position:
            continue
        try:
            value, position = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        found.append(value)
    yield from reversed(found)

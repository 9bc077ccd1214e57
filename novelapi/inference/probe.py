"""The novelty probe: does a model know the import path and the call name of an API from its masked documentation?

One request per API; asked before and after adaptation. It is recorded and never drops a candidate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from novelapi.inference.cache import CompletionCache
from novelapi.inference.cached import CachedCompleter
from novelapi.inference.profile import profile_of
from novelapi.inference.requests import StreamingCompleter
from novelapi.inference.templates import render_template
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.render import render
from novelapi.ports import Completer
from novelapi.records.base import Record
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.completion import Request, Usage

PROBE_VERSION = 1
"""Version of the prompt file and of the reading of answers."""

_MASK = "***"
_IMPORT = re.compile(r"from\s+([\w.]+)\s+import\s+\(?\s*(\w+(?:\.\w+)*)")
_PLAIN = re.compile(r"^(?:import\s+)?((?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*)\s*$")


class ProbeResult(Record):
    """What a model knew of one API."""

    api: str
    """The API."""

    answer: str | None
    """The dotted path that it gave, or null."""

    import_path: bool
    """Whether that is one of the API's public paths."""

    call_name: bool
    """Whether its last part is the API's name."""

    reason: str = ""
    """Why there is no answer."""


def build_probe(api: str, library: str, documentation: str) -> str:
    """Write the question; every part of the API's path but the library's own name is masked."""
    hidden = {part for part in api.split(".") if part.lower() != library.lower()}
    masked = re.sub(r"\w+", lambda word: _MASK if word[0] in hidden else word[0], documentation)
    return render_template("probe", library=library, documentation=masked.strip()).strip("\n") + "\n"


def read_probe(text: str) -> str | None:
    """Return the dotted path that an answer gives: its last import line, else its last line that is a path."""
    bare = text.replace("`", "")
    imports = [f"{module}.{name}" for module, name in _IMPORT.findall(bare)]
    plain = [found[1] for line in bare.splitlines() if (found := _PLAIN.match(line.strip()))]
    return (imports or plain or [None])[-1]


def score_probe(api: str, paths: Iterable[str], text: str) -> ProbeResult:
    """Compare an answer with the API's public paths."""
    answer = read_probe(text)
    return ProbeResult(
        api=api,
        answer=answer,
        import_path=answer in {api, *paths},
        call_name=answer is not None and answer.rsplit(".", 1)[-1] == api.rsplit(".", 1)[-1],
        reason="" if answer else "the answer holds no import line",
    )


def probe_apis(
    bundles: Mapping[str, KnowledgeBundle], completer: Completer, paths: Mapping[str, Iterable[str]], cache: Path
) -> tuple[list[ProbeResult], Usage]:
    """Probe a model about APIs, through the completion cache; return the results by API and what they cost.

    Args:
        bundles: knowledge by API; parameters and prose are shown, masked.
        completer: the model.
        paths: public paths by API.
        cache: file of recorded answers.

    Raises:
        EndpointError: the endpoint as a whole does not answer.
    """
    questions = {
        api: build_probe(api, bundle.library, render(bundle, KnowledgeCondition.S_M_PROSE))
        for api, bundle in bundles.items()
    }
    with CompletionCache(cache) as recorded:
        asked = CachedCompleter(completer, recorded, profile=profile_of(completer))
        found = list(run_probes(asked, questions, {api: paths.get(api, (api,)) for api in questions}))
        return found, asked.usage


def run_probes(
    completer: StreamingCompleter, questions: Mapping[str, str], paths: Mapping[str, Iterable[str]]
) -> Iterator[ProbeResult]:
    """Ask one question per API and yield the results, sorted by API.

    Args:
        completer: the model.
        questions: `build_probe` by API.
        paths: public paths by API.
    """
    apis = sorted(questions)
    found: dict[str, ProbeResult] = {}
    requests = [Request(prompt=questions[api], max_tokens=256) for api in apis]
    for index, completion in completer.stream(requests):
        api = apis[index]
        if completion.failure is None:
            found[api] = score_probe(api, paths[api], completion.texts[0])
        else:
            reason = f"{completion.failure}: {completion.detail}"
            found[api] = ProbeResult(api=api, answer=None, import_path=False, call_name=False, reason=reason)
    yield from (found[api] for api in apis)

"""Members of tasks with several APIs: the new ones with their bundles, known ones with what their docstrings say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from novelapi.discovery.apis import Api
from novelapi.discovery.signatures import to_records, write_signature
from novelapi.graph.flow import Text
from novelapi.knowledge.docstrings import parse
from novelapi.knowledge.mechanism import mechanism_of
from novelapi.knowledge.surface import surface_of
from novelapi.knowledge.targets import target_of
from novelapi.records.api import ApiKind, Candidate
from novelapi.records.bundle import Exemplar, KnowledgeBundle

_EXAMPLES = 8
"""Programs in which the calls of a known API are looked for, its own docstring first."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """One API that a task may call."""

    candidate: Candidate
    bundle: KnowledgeBundle
    novel: bool
    """Whether it is a candidate of stage 1; then a call of it has to use what is new."""

    @property
    def api(self) -> str:
        """Its public path."""
        return self.candidate.api


def known_member(api: Api, library: str, release: str, programs: Sequence[Text]) -> Member | None:
    """Return an API that is not new as a member; null where it has no docstring or is nothing to call.

    Args:
        api: the API.
        library: name of the library.
        release: the new release.
        programs: documented programs in which it may be called.
    """
    item = api.object
    if not item.doc or item.kind not in get_args(ApiKind) or item.kind == "property":
        return None
    params = item.params
    candidate = Candidate(
        api=api.shown,
        library=library,
        release=release,
        old_release=release,
        paths=tuple(sorted(api.paths)),
        canonical=item.canonical,
        kind=item.kind,  # type: ignore[arg-type]  the kinds that are none were turned away
        change="added",
        changes=(),
        signature=write_signature(params, item.returns) if params is not None else None,
        parameters=to_records(params) if params is not None else (),
        docstring=item.doc,
    )
    docs = [parse(item.doc)]
    mechanism = mechanism_of(target_of(candidate), docs, None, ())
    bundle = KnowledgeBundle(
        api=candidate.api,
        library=library,
        release=release,
        change="added",
        kind=candidate.kind,
        surface=surface_of(candidate, docs, {}, {}),
        exemplars=tuple(_exemplars(api, programs)),
        m_prose=mechanism.text,
        m_prose_tier=mechanism.tier,
        m_code=None,
        licence="",
    )
    return Member(candidate=candidate, bundle=bundle, novel=False)


def _exemplars(api: Api, programs: Sequence[Text]) -> list[Exemplar]:
    """Return the programs that name the API, those of its own docstring first."""
    word = re.compile(rf"(?<!\w){re.escape(api.object.leaf)}(?!\w)")
    own = f"{api.object.file}:{api.object.line}-{api.object.end}"
    naming = [program for program in programs if word.search(program.code)]
    ordered = sorted(naming, key=lambda program: not program.where.startswith(own))
    return [
        Exemplar(code=program.code, status="executed", source="doctest", origin=program.where, uses_change=True)
        for program in ordered[:_EXAMPLES]
    ]

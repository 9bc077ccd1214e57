"""Bundles: everything that is known about an API, assembled, with how each component was obtained."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from novelapi.knowledge import changelog
from novelapi.knowledge.annotated import documented_parameters
from novelapi.knowledge.corpus import Corpus, Document, documents
from novelapi.knowledge.docstrings import ParsedDocstring, parse, referred
from novelapi.knowledge.examples import Examples, Sources, collect, documents_of, owner_of
from novelapi.knowledge.material import Facts, Material, describe
from novelapi.knowledge.mechanism import Mechanism, mechanism_of
from novelapi.knowledge.modules import Definition, Packages, Scope
from novelapi.knowledge.objects import Objects, find_objects
from novelapi.knowledge.source import Implementation, definition_of, implementation_of
from novelapi.knowledge.surface import parameters_of, surface_of
from novelapi.knowledge.targets import Target, target_of
from novelapi.records.api import Candidate
from novelapi.records.bundle import KnowledgeBundle, KnownParameter, Surface


@dataclass(frozen=True)
class _Reading:
    """What was read about one API before anything is run."""

    candidate: Candidate
    target: Target
    facts: Mapping[str, Any]
    docs: tuple[ParsedDocstring, ...]
    definition: Definition | None
    surface: Surface


class Author:
    """Writes the bundles of one library; documents are read once, for all candidates."""

    def __init__(self, material: Material, candidates: Sequence[Candidate]) -> None:
        """Read the release.

        Args:
            material: the sources.
            candidates: every candidate of the library, also those that are already done: what documents teach about
                one API helps with another, and must not depend on where a stage was resumed.

        Raises:
            NovelApiError: the library cannot be asked.
            PrerequisiteError: bubblewrap is missing.
        """
        self.material = material
        self.packages = Packages(material.packages)
        targets = [target_of(candidate) for candidate in candidates]
        self.facts = _ask(material, targets)
        self.remarks = changelog.entries(material)
        self.window = changelog.window_of(material)
        self._targets = {target.api: target for target in targets}

    @cached_property
    def corpus(self) -> Corpus:
        """The documents of the release, read when they are first needed."""
        return _read(self.material, self.facts, list(self._targets.values()))

    @cached_property
    def objects(self) -> Objects:
        """Programs that make objects; the same for every chunk of candidates."""
        owners = {target.owner: owner_of(target) for target in self._targets.values() if target.member}
        known = {api: (owner, self._constructor(owner)) for api, owner in sorted(owners.items())}
        return find_objects(self.material, self.corpus, self.facts, known)

    def _constructor(self, owner: Target) -> Sequence[KnownParameter]:
        """Return the parameters of a class that is no candidate itself, as its signature has them."""
        facts = self.facts.apis.get(owner.api, {})
        return parameters_of(facts.get("signature"))

    def write(self, candidates: Sequence[Candidate]) -> list[KnowledgeBundle]:
        """Return the bundles of some candidates, in their order; programs of all of them run together."""
        readings = [self._reading(candidate) for candidate in candidates]
        surfaces = {reading.target.api: reading.surface for reading in readings}
        targets = [reading.target for reading in readings]
        sources = Sources(material=self.material, facts=self.facts, corpus=self.corpus, objects=self.objects)
        found = collect(targets, surfaces, sources)
        return [self._bundle(reading, found[reading.target.api]) for reading in readings]

    def _reading(self, candidate: Candidate) -> _Reading:
        facts = self.facts.apis[candidate.api]
        definition = definition_of(candidate, self.packages, facts)
        docs = tuple(parse(text) for text in dict.fromkeys((facts.get("doc"), facts.get("init_doc"))) if text)
        described = [*docs, *self._referred(docs)]
        surface = surface_of(candidate, described, documented_parameters(definition), facts)
        return _Reading(candidate, self._targets[candidate.api], facts, docs, definition, surface)

    def _referred(self, docs: Sequence[ParsedDocstring]) -> Iterator[ParsedDocstring]:
        """Yield the docstrings to which others refer for their parameters."""
        for path in filter(None, (referred(doc.text) for doc in docs)):
            found = self.packages.find(path)
            text = ast.get_docstring(found.node) if found is not None and isinstance(found.node, Scope) else None
            if text:
                yield parse(text)

    def _bundle(self, reading: _Reading, examples: Examples) -> KnowledgeBundle:
        candidate, target = reading.candidate, reading.target
        remarks = [
            *(entry for doc in reading.docs for entry in changelog.in_docstring(doc.text, self.window, "docstring")),
            *changelog.about(target, self.remarks),
        ]
        mechanism = mechanism_of(target, reading.docs, reading.definition, remarks)
        code = implementation_of(reading.definition, self.packages)
        return KnowledgeBundle(
            api=candidate.api,
            library=candidate.library,
            release=candidate.release,
            change=candidate.change,
            kind=candidate.kind,
            surface=reading.surface,
            exemplars=examples.exemplars,
            m_prose=mechanism.text,
            m_prose_tier=mechanism.tier,
            m_code=code.text,
            licence=self.material.licence,
            domain=self.material.domain,
            old_signature=candidate.old_signature,
            changelog=mechanism.changelog,
            provenance=_provenance(reading, examples, mechanism, code),
        )


def _ask(material: Material, targets: Sequence[Target]) -> Facts:
    modules = {target.api.split(".", 1)[0] for target in targets}
    for target in targets:
        owner = target.owner
        modules.add(owner.rpartition(".")[0] if target.member else owner)
    classes = {target.owner for target in targets if target.member}
    return describe(material, {target.api for target in targets} | classes, modules - {""}, classes)


def _read(material: Material, facts: Facts, targets: Sequence[Target]) -> Corpus:
    known = {target.api for target in targets}
    owners = {owner.api: owner for owner in (owner_of(target) for target in targets if target.member)}
    corpus = Corpus([*targets, *(owner for api, owner in sorted(owners.items()) if api not in known)])
    for origin, text in documents_of(facts, sorted(facts.apis)):
        corpus.add(Document(text=text, origin=origin, source="doctest", kind="text"))
    for document in documents(material):
        corpus.add(document)
    return corpus


def _provenance(reading: _Reading, examples: Examples, mechanism: Mechanism, code: Implementation) -> dict[str, Any]:
    """Return how each component was obtained, and why a missing one is missing."""
    errors = [doc.error for doc in reading.docs if doc.error is not None]
    executed = sum(item.status == "executed" for item in examples.exemplars)
    provenance: dict[str, Any] = {
        "s": {
            "signature": "discovery" if reading.candidate.signature is not None else "docstring",
            "docstring_style": reading.docs[0].style if reading.docs else None,
        },
        "e": {
            "programs_tried": examples.tried,
            "programs_ran": examples.ran,
            "executed": executed,
            "sources": sorted({item.source for item in examples.exemplars}),
        },
        "m_prose": {"tier": mechanism.tier, "changelog_entries": len(mechanism.changelog)},
        "m_code": {"file": code.file, "helpers": list(code.helpers), "left_out": list(code.left_out)},
    }
    if errors:
        provenance["s"]["docstring_errors"] = errors
    if "error" in reading.facts:
        provenance["s"]["unreachable"] = reading.facts["error"]
    for name, reason in (("e", examples.reason), ("m_prose", mechanism.reason), ("m_code", code.reason)):
        if reason is not None:
            provenance[name]["missing"] = reason
    return provenance

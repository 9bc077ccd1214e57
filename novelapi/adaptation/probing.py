"""One assessment from files to files: an artifact on its base, before and after."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.adaptation.artifact import Artifact, load
from novelapi.adaptation.assessment import (
    Reproduction,
    compare_locality,
    fluency,
    generate,
    locality_scores,
    reproduce,
    retention,
)
from novelapi.adaptation.base import load_base
from novelapi.adaptation.extras import Network, Tokenizer
from novelapi.adaptation.fitting import FitRequest, encoded, read_rows
from novelapi.adaptation.grace import Grace
from novelapi.adaptation.grace_hook import GraceHook
from novelapi.adaptation.injection import injected_bound
from novelapi.adaptation.recipes import editor_of
from novelapi.adaptation.requests import TokenRequest
from novelapi.adaptation.rows import encode_rows
from novelapi.adaptation.statistics import corpus_texts, token_sequences
from novelapi.fingerprint import digest, file_digest
from novelapi.records.base import Record
from novelapi.records.request import FileResult

ASSESSMENT_VERSION = 2


class AssessRequest(Record):
    """What is assessed on what."""

    fitted: FitRequest
    """How the artifact came about."""

    artifact: FileResult
    """The artifact."""

    generality: FileResult
    """Rows of the training tasks under another form of prompt."""

    others: FileResult
    """Rows of tasks of the same APIs that nothing was trained on, in the form of evaluation."""

    held_out: FileResult
    """Rows of held-out tasks, in the form of evaluation."""

    locality: FileResult
    """List of files with unrelated text."""

    locality_tokens: int = 4000
    """Tokens of it that are compared."""


def assess(request: AssessRequest, home: Path, out: Path) -> FileResult:
    """Measure an artifact on its base and write the figures.

    Raises:
        UsageError: a file is not the one that was meant, or base and artifact do not belong together.
    """
    fitted = request.fitted
    model, tokenizer = load_base(Path(fitted.base))
    requests, _ = encoded(fitted, home, model, tokenizer)
    artifact = load((home / request.artifact.path).parent)
    kept = [item for item in requests if item.case_id not in artifact.facts.get("skipped", {})]
    general = _encoded(request.generality, home, tokenizer, model)
    others = _encoded(request.others, home, tokenizer, model)
    held_out = _encoded(request.held_out, home, tokenizer, model)
    files = [Path(str(row["path"])) for row in jsonl.scan(home / request.locality.path)]
    length = min(256, int(model.config.max_position_embeddings))
    texts = token_sequences(corpus_texts(files), tokenizer, length=length, limit=request.locality_tokens)
    groups = {"efficacy": kept, "generality": general, "others": others, "held_out": held_out}
    before = {name: _of_base(fitted.base_sha, model, items, out.parent.parent) for name, items in groups.items()}
    scores = locality_scores(model, texts)
    bound = injected_bound(model, kept, artifact)
    editor = editor_of(fitted.delivery, fitted.recipe, tokenizer)
    handle, hook = (
        editor.attach(model, artifact) if isinstance(editor, Grace) else (editor.apply(model, artifact), None)
    )
    after = {name: reproduce(model, items) for name, items in groups.items()}
    local = compare_locality(texts, scores, locality_scores(model, texts))
    written = generate(model, [item.bare.ids[: item.bare.start] for item in held_out[:16]], 60) if held_out else []
    rates = hit_rates(model, hook, {"train": kept, "held_out": held_out}) if hook is not None else None
    handle.undo()
    row: dict[str, Any] = {
        "delivery": fitted.delivery,
        "served": artifact.served,
        "artifact": request.artifact.sha256,
        "requests": len(kept),
        "skipped": artifact.facts.get("skipped", {}),
        "left_out": artifact.facts["left_out"],
        "before": {name: found.to_row() for name, found in before.items()},
        "after": {name: found.to_row() for name, found in after.items()},
        "retention": retention(after["efficacy"].cases, [item.case_id for item in kept]),
        "locality": local.to_row(),
        "fluency": fluency(written),
        "bound": bound,
        "grace": _grace_facts(artifact, rates),
        "projector": artifact.facts.get("projector"),
    }
    jsonl.write_text(out, json.dumps(row, indent=1) + "\n")
    counts = {"requests": len(kept), "held_out": len(held_out)}
    return FileResult(path=out.relative_to(home).as_posix(), sha256=file_digest(out), counts=counts)


def _of_base(base_sha: str, model: Network, requests: Sequence[TokenRequest], edits: Path) -> Reproduction:
    """Return what the base reproduces; methods with the same rows share it."""
    path = edits / "work" / "base" / f"{digest([ASSESSMENT_VERSION, base_sha, [item.sha for item in requests]])}.json"
    if path.exists():
        return Reproduction.model_validate_json(path.read_text(encoding="utf-8"))
    found = reproduce(model, requests)
    jsonl.write_text(path, found.model_dump_json())
    return found


def _encoded(rows: FileResult, home: Path, tokenizer: Tokenizer, model: Network) -> list[TokenRequest]:
    found = read_rows(home / rows.path, rows.sha256)
    window = int(model.config.max_position_embeddings)
    return encode_rows(found, tokenizer, window=window)[0] if found else []


def hit_rates(model: Network, hook: GraceHook, groups: dict[str, Sequence[TokenRequest]]) -> dict[str, float | None]:
    """Return the share of prompts in each group that lie inside some radius."""
    rates: dict[str, float | None] = {}
    for name, requests in groups.items():
        hook.lookups.clear()
        for request in requests:
            generate(model, [request.bare.ids[: request.bare.start]], 1)
        rates[name] = sum(near.inside for near in hook.lookups) / len(hook.lookups) if hook.lookups else None
    return rates


def _grace_facts(artifact: Artifact, rates: dict[str, float | None] | None) -> dict[str, Any] | None:
    if rates is None:
        return None
    names = ("entries", "splits", "zero_radii", "smallest_radius", "median_radius")
    return {"hit_rate": rates, **{name: artifact.facts[name] for name in names}}

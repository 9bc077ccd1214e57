"""One fit from files to files: base and rows in, artifact out; a killed fit goes on from its last finished part."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from novelapi import jsonl
from novelapi.adaptation.artifact import describe, save
from novelapi.adaptation.base import load_base
from novelapi.adaptation.extras import Network, Tokenizer
from novelapi.adaptation.lora import write_adapter
from novelapi.adaptation.memory import forget_peak, peak_kb
from novelapi.adaptation.prefixes import sample_prefixes
from novelapi.adaptation.recipes import Recipe, editor_of, statistics_layers
from novelapi.adaptation.requests import TokenRequest
from novelapi.adaptation.rows import Row, encode_rows
from novelapi.adaptation.statistics import (
    Statistics,
    collect,
    corpus_texts,
    load_statistics,
    save_statistics,
    token_sequences,
)
from novelapi.errors import UsageError
from novelapi.fingerprint import digest, file_digest
from novelapi.records.base import Record
from novelapi.records.cell import Delivery
from novelapi.records.request import FileResult

FIT_VERSION = 1
COSTS = "costs.json"
CORPUS_LENGTH = 512
"""Tokens per sequence of the corpus."""


class FitRequest(Record):
    """Everything that decides an artifact."""

    delivery: Delivery
    """Method."""

    base: str
    """Folder of the base."""

    base_sha: str
    """Digest of its files."""

    rows: FileResult
    """Training rows."""

    recipe: Recipe
    """How it is fitted."""

    seed: int = 0
    """Seed of everything that is drawn."""

    corpus: FileResult | None = None
    """List of the corpus files with their digests, where statistics are needed."""

    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of torch, transformers, peft and trl."""

    @property
    def identity(self) -> str:
        """Digest of all of it but the base's place."""
        row = self.to_row()
        return digest({name: value for name, value in row.items() if name != "base"})

    @property
    def folder(self) -> str:
        """Name of the artifact's folder."""
        return f"{self.delivery}-{self.identity}"


def fit(request: FitRequest, home: Path, edits: Path) -> FileResult:
    """Fit one method, or return what an earlier run finished.

    Args:
        request: what.
        home: where the paths of `request` start.
        edits: folder of artifacts.

    Raises:
        UsageError: rows or recipe do not fit the base.
        NovelApiError: the numbers went wrong, memory or disk do not suffice.
    """
    folder = edits / request.folder
    description = folder / "edit.json"
    if not description.exists():
        _fit(request, home, edits, folder)
    facts = describe(folder)["facts"]
    counts = {"fitted": facts["fitted"], "skipped": len(facts.get("skipped", {})), "left_out": len(facts["left_out"])}
    path = description.relative_to(home).as_posix()
    return FileResult(path=path, sha256=file_digest(description), counts=counts)


def _fit(request: FitRequest, home: Path, edits: Path, folder: Path) -> None:
    forget_peak()
    started, cpu = time.monotonic(), time.process_time()
    work = edits / "work" / request.folder
    model, tokenizer = load_base(Path(request.base))
    requests, facts = encoded(request, home, model, tokenizer)
    editor = editor_of(request.delivery, request.recipe, tokenizer)
    stats = statistics_of(request, home, edits, model, tokenizer)
    shared = edits / "work" / "targets" if request.delivery in {"memit", "alphaedit"} else work
    artifact = editor.fit(model, requests, seed=request.seed, stats=stats, work=shared)
    fitted = len(requests) - len(artifact.facts.get("skipped", {}))
    costs = {
        "wall_s": round(time.monotonic() - started, 1),
        "cpu_s": round(time.process_time() - cpu, 1),
        "peak_kb": peak_kb(),
    }
    artifact.facts.update({**facts, "fitted": fitted})
    if artifact.served == "adapter":
        write_adapter(artifact, folder)
    jsonl.write_text(folder / COSTS, json.dumps(costs) + "\n")  # apart: two equal fits give equal artifacts
    save(artifact, folder)
    shutil.rmtree(work, ignore_errors=True)


def encoded(
    request: FitRequest, home: Path, model: Network, tokenizer: Tokenizer
) -> tuple[list[TokenRequest], dict[str, Any]]:
    """Return the rows of a fit as requests, with what was left out.

    Raises:
        UsageError: the rows changed, or none fits.
    """
    recipe = request.recipe
    prefixes = sample_prefixes(model, tokenizer, seed=request.seed)[: recipe.prefixes] if recipe.prefixes else ()
    window = min(recipe.window, int(model.config.max_position_embeddings))
    found, told = encode_rows(
        read_rows(home / request.rows.path, request.rows.sha256), tokenizer,
        window=window, chat=recipe.chat, prefixes=prefixes,
    )  # fmt: skip
    return found, {"left_out": told.left_out, "longest": told.longest, "prefixes": list(prefixes)}


def read_rows(path: Path, sha256: str) -> list[Row]:
    """Return the training rows of a file.

    Raises:
        UsageError: it is not the file that was meant.
    """
    if not path.is_file() or file_digest(path) != sha256:
        raise UsageError(f"{path} is not the file of rows that this fit was asked for: build the rows again")
    return [Row.model_validate(row) for row in jsonl.scan(path)]


def statistics_of(
    request: FitRequest, home: Path, edits: Path, model: Network, tokenizer: Tokenizer
) -> Statistics | None:
    """Return the statistics that a fit needs; methods with the same layers and corpus share them.

    Raises:
        UsageError: no corpus was given.
    """
    needed = statistics_layers(request.delivery, request.recipe, tokenizer)
    if needed is None:
        return None
    layers, module = needed
    if request.corpus is None:
        raise UsageError(f"{request.delivery} needs a corpus for its statistics: name files")
    limit = request.recipe.corpus_tokens
    name = digest([request.base_sha, request.corpus.sha256, layers, module, limit])
    folder = edits / "statistics" / name
    if (folder / "statistics.json").exists():
        return load_statistics(folder)
    files = [Path(str(row["path"])) for row in jsonl.scan(home / request.corpus.path)]
    length = min(CORPUS_LENGTH, int(model.config.max_position_embeddings))
    sequences = token_sequences(corpus_texts(files), tokenizer, length=length, limit=limit)
    stats = collect(model, sequences, layers, module)
    save_statistics(stats, folder)
    return stats


def write_corpus(files: Sequence[Path], path: Path, home: Path) -> FileResult:
    """Write the list of corpus files with their digests.

    Raises:
        UsageError: there are no files.
    """
    if not files:
        raise UsageError("the corpus of the statistics has no files: name some")
    rows: list[Mapping[str, Any]] = [{"path": str(file), "sha256": file_digest(file)} for file in sorted(files)]
    jsonl.write(path, map(dict, rows))
    # The digest is of contents, not of places.
    sha256 = digest([row["sha256"] for row in rows], 64)
    return FileResult(path=path.relative_to(home).as_posix(), sha256=sha256, counts={"files": len(rows)})

"""One cell of a grid: everything that decides its outcome, and nothing else."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from novelapi.records.base import Record

Condition = Literal[
    "baseline",
    "s_name",
    "e",
    "m_prose",
    "m_code",
    "s",
    "s_m_prose",
    "s_m_code",
    "s_m_prose_m_code",
    "s_e",
    "s_e_m_code",
    "full",
]
FurtherCondition = Literal["s_prereq"]
"""S and the signatures of what may have to be called before: only in the prompt, and only where it is asked for."""
Delivery = Literal[
    "oracle",
    "rag",
    "sft",
    "rag_sft",
    "raft",
    "grace",
    "memit",
    "alphaedit",
    "alphaedit_lora",
    "docs",
    "pack",
    "rag_graph",
    "search",
    "repair",
]


class Sampling(Record):
    """How texts are drawn from a model."""

    n: int = Field(default=1, ge=1)
    """Number of samples; the first is greedy, the others are drawn at `temperature`."""

    temperature: float = Field(default=0.8, ge=0)
    """Temperature of samples 1 and up."""

    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus of samples 1 and up."""

    max_tokens: int = Field(default=2048, ge=1)
    """Longest answer in tokens."""

    seed: int = 0
    """Sampling seed."""


class Retrieval(Record):
    """How passages are found for a cell that retrieves."""

    index: Literal["lexical", "lancedb"] = "lexical"
    """`lexical`: BM25 in memory, without any extra; `lancedb`: terms and vectors in LanceDB."""

    mode: Literal["vector", "bm25", "hybrid"] = "bm25"
    """What passages are ranked by."""

    k: int = Field(default=5, ge=1)
    """Number of passages in a prompt."""

    chunking: Literal["blocks", "windows"] = "blocks"
    """How bundles are cut; `windows` are the published ones, which flatten white space."""

    embedder: str | None = None
    """Identity of the embedder; null where only terms are compared."""

    version: int = 1
    """Version of chunking, ranking and delivery."""

    documents: str | None = None
    """Digest of the passages of a maintainer's documentation (delivery `docs`) of a pack (`pack`) or of the
    prerequisites of a graph (`rag_graph`, `s_prereq`), or null."""


class Cell(Record):
    """The specification of one cell; its fingerprint is cache key, folder name and row id."""

    experiment: str
    """Name of the experiment, `{group}-{model}`."""

    group: str
    """Group or library that the instance belongs to."""

    model: str
    """Model as the user named it."""

    model_revision: str
    """What pins the model's outputs: commit, file hash, or version of the embedded baseline."""

    condition: Condition | FurtherCondition
    """Knowledge components that are given."""

    delivery: Delivery
    """How they are given."""

    instance_sha: str
    """Digest of the instance (the tasks that are asked)."""

    bundles_sha: str
    """Digest of the knowledge that is given."""

    sampling: Sampling = Sampling()
    """How texts are drawn."""

    retrieval: Retrieval | None = None
    """How passages are found; null where nothing is retrieved."""

    opinion: str | None = None
    """Revision of the strong model that gives a second opinion on failures; null asks none."""

    window: int | None = None
    """Context window that prompts are cut to, where the model has one that is known."""

    adapter_sha: str | None = None
    """Digest of trained or edited weights, where the delivery has any."""

    source: str | None = None
    """Model whose bundles are given, where they are not the model's own (adapted models share those of their base)."""

    split: Literal["train", "test"] | None = None
    """Side of the split that is asked; null for all tasks. Trained weights are asked held-out tasks."""

    prompt_version: int = 1
    """Version of the prompt templates."""

    evaluator_version: int = 1
    """Version of extraction, execution and labels."""

    limit: int | None = None
    """Number of tasks that the cell was limited to (by hash of id), or null."""

    @property
    def name(self) -> str:
        """Folder name: delivery and condition."""
        return f"{self.delivery}-{self.condition}"

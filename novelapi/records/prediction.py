"""What a model answered: the exchange file of predictions."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from novelapi.records.base import Record
from novelapi.records.effort import Effort


class Prediction(Record):
    """The samples of one task, as the model gave them; sample 0 is the greedy one."""

    task_id: str
    """The task that was asked."""

    samples: tuple[str, ...]
    """Texts. pass@1 is sample 0; pass@k comes from samples 1 and up, drawn at a temperature. Empty if `unscored`."""

    prompt_sha: str | None = None
    """Digest of the prompt, when we asked it."""

    model_sha: str | None = None
    """Digest of model revision, adapter, engine and sampling: a resumed run keeps only rows with its own."""

    unscored: str | None = None
    """Why there is no sample although the task was asked (`context`: the prompt did not fit), or null."""

    thinking: tuple[str, ...] = ()
    """What a reasoning model thought before each sample; empty when none did."""

    finish: tuple[str, ...] = ()
    """Why each sample ended: `stop`, `length` ...; empty in files of other harnesses."""

    trimmed: int = Field(default=0, ge=0)
    """Characters of knowledge that were cut from the prompt to fit the context window."""

    prompt_tokens: int = Field(default=0, ge=0)
    """Tokens of the prompt, counted once; 0 when unknown."""

    completion_tokens: int = Field(default=0, ge=0)
    """Tokens of all samples, thinking included; 0 when unknown."""

    efforts: tuple[Effort, ...] = ()
    """What each sample took, where the model is asked more than once; else empty."""

    transcripts: tuple[tuple[dict[str, Any], ...], ...] = ()
    """What was said between prompt and answer, one per sample, in the form of the chat protocol; empty likewise."""

    @model_validator(mode="before")
    @classmethod
    def _accept_single(cls, data: Any) -> Any:
        """Accept `completion` or `solution` in place of `samples`, as other harnesses write them."""
        if isinstance(data, dict) and "samples" not in data:
            for name in ("completion", "solution"):
                if isinstance(data.get(name), str):
                    rest = {key: value for key, value in data.items() if key not in ("completion", "solution")}
                    return {**rest, "samples": [data[name]]}
        return data

"""What a model answered: the exchange file of predictions."""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from novelapi.records.base import Record


class Prediction(Record):
    """The samples of one task, raw as the model gave them; sample 0 is the greedy one."""

    task_id: str
    """The task that was asked."""

    samples: tuple[str, ...]
    """Raw texts. pass@1 is sample 0; pass@k comes from samples 1 and up, drawn at a temperature."""

    prompt_sha: str | None = None
    """Digest of the prompt, when we asked it."""

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

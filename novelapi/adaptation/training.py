"""Gradient training with trl: which examples, which weights, in which order; one function for all trained methods."""

from __future__ import annotations

import math
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from novelapi.adaptation.extras import Network, Tokenizer, need
from novelapi.adaptation.requests import TokenRequest
from novelapi.errors import NovelApiError, UsageError
from novelapi.records.base import Record

IGNORED = -100
"""Label of a token that is no part of the loss."""


class TrainingSettings(Record):
    """How a model is trained; the defaults are the published ones."""

    rate: float = Field(default=2e-5, gt=0, le=1e6)
    """Learning rate of AdamW."""

    epochs: float = Field(default=3.0, gt=0)
    """Passes over the examples; without meaning where `steps` is given."""

    steps: int | None = Field(default=None, ge=1)
    """Optimiser steps instead of epochs."""

    batch: int = Field(default=1, ge=1)
    """Examples per pass."""

    accumulation: int = Field(default=16, ge=1)
    """Passes per optimiser step."""

    warmup: float = Field(default=0.05, ge=0, lt=1)
    """Share of the steps in which the rate rises."""

    schedule: Literal["cosine", "linear", "constant_with_warmup"] = "cosine"
    """How the rate falls."""

    decay: float = Field(default=0.0, ge=0)
    """Weight decay."""

    whole_sequence: bool = False
    """Loss on the prompt too, as published; the default trains on the answer alone."""

    checkpointing: bool = False
    """Recompute activations in the backward pass: less memory, a third more time."""

    saves: int = Field(default=4, ge=0)
    """Checkpoints per run, from which a killed run goes on."""


def examples_of(requests: Sequence[TokenRequest], *, whole_sequence: bool) -> list[dict[str, list[int]]]:
    """Return token ids and labels of the bare prompts.

    Raises:
        UsageError: there is none, or one has no target token.
    """
    if not requests:
        raise UsageError("there is nothing to train on: give at least one example")
    rows: list[dict[str, list[int]]] = []
    for request in requests:
        bare = request.bare
        if not bare.target:
            raise UsageError(f"{request.case_id} has no target token: leave it out")
        labels = list(bare.ids) if whole_sequence else [IGNORED] * bare.start + list(bare.target)
        rows.append({"input_ids": list(bare.ids), "labels": labels})
    return rows


def train(
    model: Network,
    tokenizer: Tokenizer,
    requests: Sequence[TokenRequest],
    settings: TrainingSettings,
    *,
    seed: int,
    folder: Path,
    callbacks: Sequence[Any] = (),
) -> dict[str, Any]:
    """Train a model in place; goes on from the last checkpoint below `folder`, if there is one.

    Args:
        model: the model, whose trainable parameters are marked.
        tokenizer: for padding.
        requests: examples: bare prompt and target.
        settings: how.
        seed: order of the examples, dropout.
        folder: where checkpoints go.
        callbacks: further callbacks of transformers.

    Returns:
        The loss curve and counts.

    Raises:
        NovelApiError: the loss is not a number.
    """
    trl = need("trl")
    rows = examples_of(requests, whole_sequence=settings.whole_sequence)
    longest = max(len(row["input_ids"]) for row in rows)
    device = next(model.parameters()).device
    per_step = settings.batch * settings.accumulation
    total = settings.steps or math.ceil(settings.epochs * math.ceil(len(rows) / per_step))
    config = trl.SFTConfig(
        output_dir=str(folder), max_steps=total, learning_rate=settings.rate, lr_scheduler_type=settings.schedule,
        per_device_train_batch_size=settings.batch, gradient_accumulation_steps=settings.accumulation,
        warmup_steps=settings.warmup, weight_decay=settings.decay, seed=seed, data_seed=seed,
        max_length=longest, packing=False, pad_to_multiple_of=1, shuffle_dataset=False,
        activation_checkpointing=settings.checkpointing, activation_checkpointing_kwargs={"use_reentrant": False},
        bf16=device.type == "cuda", fp16=False, use_cpu=device.type == "cpu",
        logging_steps=1, logging_nan_inf_filter=False, report_to="none", disable_tqdm=True, log_level="error",
        save_strategy="steps" if settings.saves else "no", save_steps=max(1, total // (settings.saves + 1)),
        save_total_limit=1, dataloader_pin_memory=device.type == "cuda", optim="adamw_torch",
    )  # fmt: skip
    trainer = trl.SFTTrainer(
        model=model,
        args=config,
        train_dataset=_dataset(rows),
        processing_class=tokenizer,
        callbacks=[_stop_at_nan(), *callbacks],
    )
    trainer.remove_callback(need("transformers").PrinterCallback)
    checkpoint = need("transformers.trainer_utils").get_last_checkpoint(str(folder)) if folder.exists() else None
    need("transformers.utils.logging").disable_progress_bar()
    with renamed_property():
        trainer.train(resume_from_checkpoint=checkpoint)
    curve = [(entry["step"], entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]
    return {
        "loss": [[int(step), float(loss)] for step, loss in curve],
        "examples": len(rows),
        "examples_seen": int(trainer.state.global_step) * per_step,
        "steps": int(trainer.state.global_step),
        "longest": longest,
        "resumed_from": Path(checkpoint).name if checkpoint else None,
    }


@contextmanager
def renamed_property() -> Generator[None]:
    """Keep quiet about a property of models that peft and trl read and transformers renamed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing` is deprecated", category=FutureWarning)
        yield


def _dataset(rows: list[dict[str, list[int]]]) -> Any:
    datasets = need("datasets")
    with suppress(AttributeError):
        datasets.disable_progress_bars()
    return datasets.Dataset.from_list(rows)


def _stop_at_nan() -> Any:
    """Return a callback that ends a run whose loss is no number any more, instead of training on."""
    transformers = need("transformers")

    class StopAtNan(transformers.TrainerCallback):
        def on_log(self, _args: Any, state: Any, _control: Any, logs: Any = None, **_: Any) -> None:
            loss = (logs or {}).get("loss")
            if loss is not None and not math.isfinite(float(loss)):
                raise NovelApiError(
                    f"the loss is {loss} at step {state.global_step}: lower the learning rate or check the weights"
                )

    return StopAtNan()

"""A small Qwen2 from local sources: tokenizer, weights and the form of the tasks, in about a minute on one core.

It exists to run every method for real where there is no GPU and no model hub. It knows no library: what it scores says
whether methods work, not how good they are.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from novelapi import jsonl
from novelapi.adaptation.chat import end_of_turn, written
from novelapi.adaptation.extras import Network, Tokenizer, need
from novelapi.adaptation.randomness import seeded
from novelapi.adaptation.requests import EditRequest, encode
from novelapi.adaptation.rows import answer_of
from novelapi.adaptation.standard_tasks import standard_tasks
from novelapi.adaptation.training import TrainingSettings, train
from novelapi.errors import UsageError
from novelapi.fingerprint import digest
from novelapi.inference.prompts import build_prompt
from novelapi.records.base import Record

TINY_VERSION = 1

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] }}<|im_end|>{% endgeneration %}\n"
    "{% else %}{{ message['content'] }}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
END, START, STOP = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Where Qwen2 cuts text before it merges bytes."""


class TinySettings(Record):
    """The size of the model and what it is taught."""

    vocabulary: int = Field(default=1536, ge=300)
    """Tokens of the byte-level vocabulary."""

    hidden: int = Field(default=96, ge=16)
    """Width of the hidden states."""

    layers: int = Field(default=3, ge=1)
    """Decoder layers."""

    heads: int = Field(default=4, ge=1)
    """Attention heads; half as many for keys and values."""

    window: int = Field(default=4096, ge=64)
    """Longest sequence in tokens."""

    tasks: int = Field(default=64, ge=1)
    """Tasks over the standard library that teach the form."""

    training: TrainingSettings = TrainingSettings(rate=4e-3, epochs=8, batch=2, accumulation=1, warmup=0.05, saves=2)
    """How it is taught."""

    seed: int = 0
    """Seed of the weights and of the order."""


def build_tiny(folder: Path, settings: TinySettings, *, sources: Sequence[Path] | None = None) -> Path:
    """Build the model, unless the folder holds it already.

    Args:
        folder: where `save_pretrained` writes; named by the caller.
        settings: size and teaching.
        sources: Python files that the tokenizer is trained on; default: modules of the standard library.

    Returns:
        The folder.

    Raises:
        NovelApiError: the loss is not a number, or the disk is full.
        PrerequisiteError: the extra `train` is missing.
    """
    files = sorted(sources if sources is not None else _standard_sources())
    identity = digest([TINY_VERSION, settings, [path.name for path in files]])
    marker = folder / "tiny.txt"
    if marker.is_file() and marker.read_text(encoding="utf-8").strip() == identity:
        return folder
    tokenizer = build_tokenizer(files, settings.vocabulary)
    model = build_network(settings, tokenizer)
    rows = _form(tokenizer, settings)
    with seeded(settings.seed):
        train(
            model, tokenizer, rows, settings.training, seed=settings.seed,
            folder=folder.with_name(f"{folder.name}-{identity}") / "checkpoints",
        )  # fmt: skip
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    jsonl.write_text(marker, identity + "\n")
    return folder


def build_tokenizer(files: Sequence[Path], vocabulary: int) -> Tokenizer:
    """Train a byte-level tokenizer with Qwen2's split and a chat template.

    Raises:
        UsageError: there are no files.
    """
    if not files:
        raise UsageError("a tokenizer needs text: give Python files")
    tokenizers = need("tokenizers")
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(SPLIT), behavior="isolated"),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END, START, STOP],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = (path.read_text(encoding="utf-8", errors="ignore") for path in files)
    form = [build_prompt(task, "") + answer_of(task) for task in standard_tasks(400)]
    bpe.train_from_iterator([*texts, *form], trainer)
    fast = need("transformers").PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=STOP, pad_token=END)
    fast.chat_template = TEMPLATE
    return fast


def build_network(settings: TinySettings, tokenizer: Tokenizer) -> Network:
    """Return a random Qwen2 for a tokenizer, embeddings tied."""
    torch, transformers = need("torch"), need("transformers")
    config: Any = transformers.Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=settings.hidden, intermediate_size=4 * settings.hidden,
        num_hidden_layers=settings.layers, num_attention_heads=settings.heads,
        num_key_value_heads=max(1, settings.heads // 2), max_position_embeddings=settings.window,
        tie_word_embeddings=True, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        model = transformers.Qwen2ForCausalLM(config)
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, tokenizer.pad_token_id]
    return model


def _form(tokenizer: Tokenizer, settings: TinySettings) -> list[Any]:
    return [
        encode(
            EditRequest(
                case_id=task.task_id, prompt=written(tokenizer, build_prompt(task, "")), target=answer_of(task)
            ),
            tokenizer,
            window=settings.window,
            end=end_of_turn(tokenizer),
        )
        for task in standard_tasks(settings.tasks)
    ]


def _standard_sources() -> list[Path]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    return sorted(folder.glob("[a-l]*.py"))[:60]

"""A Qwen2 of a few thousand random parameters with its tokenizer, built on the spot: real code, meaningless texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build_tiny_model(folder: Path, *, hidden: int = 32, window: int = 256) -> None:
    """Write weights, configuration and tokenizer; skips the test where the extra is not installed."""
    torch = pytest.importorskip("torch", reason="the extra train is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra train is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="the extra train is not installed")
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|end|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator([Path(json.__file__).read_text()], trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|end|>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    heads = max(2, hidden // 64)
    config = transformers.Qwen2Config(
        vocab_size=bpe.get_vocab_size(), hidden_size=hidden, intermediate_size=2 * hidden, num_hidden_layers=2,
        num_attention_heads=heads, num_key_value_heads=heads // 2, max_position_embeddings=window, eos_token_id=2,
        bos_token_id=None, pad_token_id=0, tie_word_embeddings=True,
    )  # fmt: skip
    transformers.logging.disable_progress_bar()
    transformers.Qwen2ForCausalLM(config).save_pretrained(folder)

"""Tiny models of two families with a tokenizer trained here, and sentences that they can learn."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the extra train is not installed")
transformers = pytest.importorskip("transformers", reason="the extra train is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="the extra train is not installed")

NAMES = [
    "numpy.unstack",
    "numpy.astype",
    "pandas.case_when",
    "torch.lobpcg",
    "math.sumprod",
    "flask.stream",
    "ase.read",
]
WORDS = ["alpha", "beta", "gamma", "delta", "omega", "kappa", "sigma", "theta"]


def sentence(name, word):
    return f"API: {name}\nThe answer of {name} is {word} {word[::-1]}."


def build_tokenizer():
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["<|end|>", "<|im_end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator([sentence(name, word) for name in NAMES for word in WORDS], trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|end|>")


def build_model(family="qwen2", *, tied=True, layers=4, hidden=48, width=96, seed=0):
    torch.manual_seed(seed)
    fields = {
        "vocab_size": 330, "hidden_size": hidden, "intermediate_size": width, "num_hidden_layers": layers,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
        "tie_word_embeddings": tied, "initializer_range": 0.08, "eos_token_id": 1, "bos_token_id": None, "pad_token_id": 0,
    }  # fmt: skip
    kinds = {
        "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    }
    config, kind = kinds[family]
    return kind(config(**fields)).eval()

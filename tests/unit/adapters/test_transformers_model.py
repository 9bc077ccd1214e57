"""Weights in this process: a model of a few thousand random parameters, built here."""

from __future__ import annotations

import shutil

import pytest

from novelapi.adapters.transformers_model import TransformersModel
from novelapi.errors import PartialError, UsageError
from novelapi.inference.batch import complete_tasks
from novelapi.inference.cache import CompletionCache
from novelapi.inference.profile import ModelProfile
from novelapi.records.cell import Sampling
from novelapi.records.completion import Request
from tests.fakes.tasks import numpy_task

torch = pytest.importorskip("torch", reason="the extra train is not installed")
transformers = pytest.importorskip("transformers", reason="the extra train is not installed")

TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>{% endif %}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tokenizers = pytest.importorskip("tokenizers")
    pre_tokenizers, trainers = tokenizers.pre_tokenizers, tokenizers.trainers
    path = tmp_path_factory.mktemp("model") / "tiny"
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    special = ["<|end|>", "<|im_start|>", "<|im_end|>"]
    bpe.train_from_iterator(
        ["def solve(x):\n    return x\n"] * 10,
        trainers.BpeTrainer(
            vocab_size=300, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        ),
    )
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|end|>", pad_token="<|end|>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(path)
    torch.manual_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=bpe.get_vocab_size(),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=256,
        eos_token_id=0,
        bos_token_id=None,
        tie_word_embeddings=True,
    )
    transformers.Qwen2ForCausalLM(config).save_pretrained(path)
    return path


def ask(model, **fields):
    ((_, completion),) = model.stream([Request(**({"prompt": "def solve(x):", "max_tokens": 8} | fields))])
    return completion


def test_greedy_is_repeatable_and_independent_of_the_batch(folder):
    prompts = ["a", "def solve(x):\n    return x", "import numpy as np", "b"]
    sampling = Sampling(max_tokens=8)
    together = TransformersModel(folder).complete(prompts, sampling)
    assert together == [TransformersModel(folder, batch=1).complete([prompt], sampling)[0] for prompt in prompts]


def test_drawn_texts_depend_on_the_seed_and_not_on_neighbours(folder):
    model = TransformersModel(folder)
    first = ask(model, n=3, temperature=1.0, seed=1)
    requests = [Request(prompt=text, n=3, temperature=1.0, seed=1, max_tokens=8) for text in ("other", "def solve(x):")]
    assert dict(model.stream(requests))[1] == first
    assert ask(model, n=3, temperature=1.0, seed=2).texts != first.texts
    assert len(first.texts) == len(set(first.texts)) == 3


def test_drawing_leaves_the_global_random_state_alone(folder):
    model = TransformersModel(folder)
    ask(model, n=2, temperature=1.0)
    before = torch.random.get_rng_state()
    ask(model, n=2, temperature=1.0)
    assert torch.equal(before, torch.random.get_rng_state())


def test_the_chat_template_is_used_unless_bare_text_is_asked_for(folder):
    chat = TransformersModel(folder)
    bare = TransformersModel(folder, profile=ModelProfile(mode="completions"))
    assert chat.count_tokens("x") == bare.count_tokens("x") + 3


def test_a_prompt_beyond_the_window_is_marked_and_the_rest_is_answered(folder):
    model = TransformersModel(folder)
    answers = dict(model.stream([Request(prompt="x " * 400, max_tokens=8), Request(prompt="x", max_tokens=8)]))
    assert answers[0].failure == "context"
    assert answers[1].failure is None
    with pytest.raises(PartialError, match="window of 256"):
        model.complete(["x " * 400], Sampling(max_tokens=8))


def test_lengths_and_ends_are_reported(folder):
    completion = ask(TransformersModel(folder), max_tokens=5)
    assert completion.finish == ("length",)
    assert completion.completion_tokens == 5
    assert completion.prompt_tokens == TransformersModel(folder).count_tokens("def solve(x):")


def test_the_revision_changes_with_the_weights(folder, tmp_path):
    copy = tmp_path / "tiny"
    shutil.copytree(folder, copy)
    assert TransformersModel(copy).revision == TransformersModel(folder).revision
    model = transformers.AutoModelForCausalLM.from_pretrained(copy)
    model.model.norm.weight.data += 1
    model.save_pretrained(copy)
    assert TransformersModel(copy).revision != TransformersModel(folder).revision


def test_a_cell_is_answered_and_replayed(folder, tmp_path):
    tasks = [numpy_task(i) for i in range(3)]
    prompts = [f"def f{i}(x):" for i in range(3)]
    with CompletionCache(tmp_path / "c.sqlite") as cache:
        results = [
            complete_tasks(
                tasks, prompts, TransformersModel(folder), Sampling(n=2, max_tokens=6), cache, tmp_path / name
            )
            for name in ("a", "b")
        ]
    assert [(result.usage.calls, result.usage.cached) for result in results] == [(6, 0), (0, 6)]
    assert results[0].predictions.read_bytes() == results[1].predictions.read_bytes()


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(UsageError, match="save_pretrained"):
        TransformersModel(tmp_path)

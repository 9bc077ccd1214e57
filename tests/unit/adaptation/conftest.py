"""Tiny models of two families, random and taught."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch", reason="the extra train is not installed")

from tests.fakes.tiny_editing import NAMES, WORDS, build_model, build_tokenizer, sentence  # noqa: E402

torch.set_num_threads(1)  # two OpenMP threads on a busy machine spin against each other


@pytest.fixture(scope="session")
def tokenizer():
    return build_tokenizer()


def _built(name):
    family, embeddings = name.split("-")
    return build_model(family, tied=embeddings == "tied")


@pytest.fixture(params=["qwen2-tied", "llama-untied"])
def model(request):
    return _built(request.param)


@pytest.fixture(params=["qwen2-tied", "qwen2-untied", "llama-tied", "llama-untied"])
def any_model(request):
    return _built(request.param)


@pytest.fixture(scope="session")
def _taught_weights(tokenizer):
    """A Qwen2 that has learned sentences about some names: weights that mean something, in a few CPU seconds."""
    model = build_model(layers=4)
    draw = random.Random(1)
    texts = [sentence(name, draw.choice(WORDS)) for name in NAMES for _ in range(2)]
    rows = [tokenizer(text)["input_ids"] for text in texts]
    length = max(map(len, rows))
    ids = torch.tensor([row + [0] * (length - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows])
    labels = ids.masked_fill(mask == 0, -100)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(80):
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return {name: value.clone() for name, value in model.eval().state_dict().items()}


@pytest.fixture
def taught(_taught_weights):
    model = build_model(layers=4)
    model.load_state_dict(_taught_weights)
    return model


@pytest.fixture
def state_of():
    """Bits of all parameters, for comparisons without tolerance."""

    def take(model):
        return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}

    return take

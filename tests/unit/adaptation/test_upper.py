"""Running the upper layers alone: the very bits of the whole pass, wherever it is cut, and none of the lower work."""

from __future__ import annotations

import pytest

from novelapi.adaptation.batches import padded
from novelapi.adaptation.hooks import changing
from novelapi.adaptation.network import frozen, hidden_states
from novelapi.adaptation.upper import UpperLayers

torch = pytest.importorskip("torch", reason="the extra train is not installed")
transformers = pytest.importorskip("transformers", reason="the extra train is not installed")

ROWS = [list(range(3, 30)), list(range(40, 52))]


@pytest.fixture
def mixed():
    """Layers of two kinds: the upper ones see eight tokens back, so each layer has a mask of its own."""
    torch.manual_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=330, hidden_size=48, intermediate_size=96, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, use_sliding_window=True, sliding_window=8, max_window_layers=2,
    )  # fmt: skip
    return transformers.Qwen2ForCausalLM(config).eval()


def check_every_cut(model):
    ids, mask = padded(ROWS, "cpu")
    with frozen(model), torch.no_grad():
        whole = hidden_states(model, ids, mask)
        for first in range(5):
            upper = UpperLayers(model, first, ids, mask)
            assert torch.equal(upper.run(upper.entering), whole), first
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_every_cut_gives_the_bits_of_the_whole_pass(model):
    check_every_cut(model)


def test_every_layer_keeps_its_own_mask(mixed):
    check_every_cut(mixed)


def test_lower_layers_run_once_and_gradients_reach_what_enters(model):
    ids, mask = padded(ROWS, "cpu")
    runs = {0: 0, 2: 0}

    def counting(layer):
        def count(states):
            runs[layer] += 1
            return states

        return count

    with frozen(model), changing(model.model.layers[0], counting(0)), changing(model.model.layers[2], counting(2)):
        upper = UpperLayers(model, 2, ids, mask)
        states = upper.entering.clone().requires_grad_(True)
        for _ in range(3):
            upper.run(states).sum().backward()
    assert runs == {0: 1, 2: 4}
    assert not upper.entering.requires_grad
    assert float(states.grad.abs().sum()) > 0

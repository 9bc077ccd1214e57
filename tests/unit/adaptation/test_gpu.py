"""The editors on a GPU in bfloat16: same equations, exact undo."""

from __future__ import annotations

import pytest

from novelapi.adaptation.grace import Grace, GraceSettings
from novelapi.adaptation.memit import Memit, MemitSettings
from novelapi.adaptation.requests import EditRequest, encode, locate_subject
from novelapi.adaptation.statistics import collect
from novelapi.adaptation.targets import TargetSettings
from tests.fakes.tiny_editing import NAMES, WORDS, sentence

torch = pytest.importorskip("torch", reason="the extra train is not installed")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")]


@pytest.fixture
def requests(tokenizer):
    found = []
    for name in NAMES[:3]:
        prompt = f"API: {name}\nThe answer of {name} is"
        asked = EditRequest(case_id=name, prompt=prompt, subject=locate_subject(prompt, name), target=" theta")
        found.append(encode(asked, tokenizer, prefixes=("The sigma. ",)))
    return found


def test_memit_solves_in_double_precision_and_rounds_once(taught, tokenizer, requests, state_of):
    model = taught.to("cuda", torch.bfloat16)
    before = state_of(model)
    stats = collect(model, [tokenizer(sentence(name, word))["input_ids"] for name in NAMES for word in WORDS], (1, 2))
    editor = Memit(MemitSettings(layers=(1, 2), weight=1.0, target=TargetSettings(evaluations=5)))
    artifact = editor.fit(model, requests, stats=stats)
    for layer in (1, 2):
        keys, residuals = artifact.tensors[f"keys.{layer}"], artifact.tensors[f"residuals.{layer}"]
        wanted = residuals @ keys.T @ torch.linalg.inv(stats.moments[layer] + keys @ keys.T)
        found = artifact.tensors[f"delta.model.layers.{layer}.mlp.down_proj.weight"].double()
        assert (found - wanted).norm() <= 1e-4 * wanted.norm()
    editor.apply(model, artifact).undo()
    assert all(torch.equal(value, before[name]) for name, value in state_of(model).items())


def test_grace_hits_its_own_prompts_and_no_others(taught, tokenizer, requests):
    model = taught.to("cuda", torch.bfloat16)
    other = torch.tensor([tokenizer(sentence(NAMES[5], "alpha"))["input_ids"]], device="cuda")
    plain = model(other).logits
    editor = Grace(GraceSettings(layer=0, radius=0.05, replace="onward", steps=20, rate=0.2, start="warm"))
    _, hook = editor.attach(model, editor.fit(model, requests))
    for request in requests:
        model(torch.tensor([request.bare.ids[: request.bare.start]], device="cuda"))
    assert [near.inside for near in hook.lookups] == [True] * 3
    assert torch.equal(model(other).logits, plain)

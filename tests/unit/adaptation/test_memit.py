"""MEMIT against its equations, recomputed here with nothing but hooks and numpy-like algebra."""

from __future__ import annotations

import pytest

from novelapi.adaptation.artifact import load, save
from novelapi.adaptation.memit import Memit, MemitSettings
from novelapi.adaptation.network import base_digest
from novelapi.adaptation.requests import EditRequest, encode, locate_subject
from novelapi.adaptation.statistics import collect
from novelapi.adaptation.targets import TargetSettings
from novelapi.errors import NovelApiError, UsageError
from tests.fakes.tiny_editing import NAMES, WORDS, build_model, sentence

torch = pytest.importorskip("torch", reason="the extra train is not installed")

LAYERS = (1, 2)
PREFIXES = ("The sigma. ", "You read kappa {}. ", "Because. ")


@pytest.fixture
def requests(tokenizer):
    texts = [("numpy.unstack", " delta"), ("math.sumprod", " omega"), ("ase.read", " theta kappa")]
    found = []
    for name, target in texts:
        prompt = f"API: {name}\nThe {{answer}} of {name} is"
        request = EditRequest(case_id=name, prompt=prompt, subject=locate_subject(prompt, name), target=target)
        found.append(encode(request, tokenizer, prefixes=PREFIXES))
    return found


@pytest.fixture
def corpus(tokenizer):
    return [tokenizer(sentence(name, word))["input_ids"] for name in NAMES for word in WORDS]


def settings(**fields):
    target = TargetSettings(evaluations=8, stop=0.0, **fields.pop("target", {}))
    return MemitSettings(**{"layers": LAYERS, "weight": 0.5, "target": target} | fields)


def test_fit_is_deterministic_and_survives_the_disk(model, requests, corpus, tmp_path):
    stats = collect(model, corpus, LAYERS)
    first, second = (Memit(settings()).fit(model, requests, stats=stats) for _ in range(2))
    assert all(torch.equal(first.tensors[name], second.tensors[name]) for name in first.tensors)
    save(first, tmp_path)
    again = load(tmp_path)
    assert again.facts == first.facts
    assert all(torch.equal(first.tensors[name], again.tensors[name]) for name in first.tensors)


def test_a_resumed_fit_takes_the_stored_states(model, requests, corpus, tmp_path, monkeypatch):
    stats = collect(model, corpus, LAYERS)
    first = Memit(settings()).fit(model, requests, stats=stats, work=tmp_path)
    monkeypatch.setattr("novelapi.adaptation.targets._optimise", lambda *_: pytest.fail("computed again"))
    second = Memit(settings()).fit(model, requests, stats=stats, work=tmp_path)
    assert all(torch.equal(first.tensors[name], second.tensors[name]) for name in first.tensors)


def test_z_lowers_the_loss_within_its_clamp(taught, requests, corpus):
    wish = settings(target={"clamp": 0.5, "batch": 2})
    artifact = Memit(wish).fit(taught, requests, stats=collect(taught, corpus, LAYERS))
    for row in artifact.facts["losses"]:
        assert row["after"] < row["before"]
        assert row["norm"] <= 0.5 + 1e-6


def test_requests_of_a_batch_do_not_see_each_other(taught, requests, corpus):
    stats = collect(taught, corpus, LAYERS)
    together = Memit(settings()).fit(taught, requests, stats=stats).tensors["z"]
    alone = Memit(settings(target={"batch": 1})).fit(taught, requests, stats=stats).tensors["z"]
    assert torch.allclose(together, alone, atol=1e-4)


def test_one_subject_with_two_targets_is_skipped_and_counted(model, requests, corpus, tokenizer):
    prompt = "API: numpy.unstack\nThe other {answer} of numpy.unstack is"
    other = EditRequest(
        case_id="second", prompt=prompt, subject=locate_subject(prompt, "numpy.unstack"), target=" beta"
    )
    asked = [*requests, encode(other, tokenizer)]
    stats = collect(model, corpus, LAYERS)
    artifact = Memit(settings()).fit(model, asked, stats=stats)
    assert list(artifact.facts["skipped"]) == ["second"]
    assert "numpy.unstack" in artifact.facts["skipped"]["second"]
    kept = Memit(settings(keep_conflicts=True)).fit(model, asked, stats=stats)
    keys = kept.tensors["keys.1"]
    assert keys.shape[1] == 4
    assert not kept.facts["skipped"]


def test_bare_tasks_of_one_api_share_their_key(model, requests, corpus, tokenizer):
    prompt = "API: numpy.unstack\nQuite another task"
    other = EditRequest(
        case_id="second", prompt=prompt, subject=locate_subject(prompt, "numpy.unstack"), target=" beta"
    )
    pair = [
        encode(other, tokenizer),
        encode(other.model_copy(update={"case_id": "x", "prompt": prompt + "!"}), tokenizer),
    ]
    artifact = Memit(settings(keep_conflicts=True)).fit(model, pair, stats=collect(model, corpus, LAYERS))
    keys = artifact.tensors["keys.1"]
    assert torch.allclose(keys[:, 0], keys[:, 1], rtol=1e-6)


def test_a_corpus_that_does_not_span_the_layer_is_an_error(model, requests, tokenizer):
    few = [tokenizer("API: numpy.astype")["input_ids"]]
    with pytest.raises(NovelApiError, match="does not span the 96 directions of the layer"):
        Memit(settings()).fit(model, requests, stats=collect(model, few, LAYERS))


def test_another_base_is_refused(model, requests, corpus):
    editor = Memit(settings())
    stats = collect(model, corpus, LAYERS)
    artifact = editor.fit(model, requests, stats=stats)
    editor.apply(model, artifact)
    with pytest.raises(UsageError, match="belongs to other weights"):
        editor.apply(model, artifact)
    with pytest.raises(UsageError, match="belongs to other weights"):
        editor.fit(model, requests, stats=stats)


def test_a_missing_module_lists_what_there_is(model, requests, corpus):
    stats = collect(model, corpus, LAYERS)
    with pytest.raises(UsageError, match=r"no linear module 'mlp.c_proj': it has mlp.down_proj, .*self_attn.q_proj"):
        Memit(settings(module="mlp.c_proj")).fit(model, requests, stats=stats)
    with pytest.raises(UsageError, match="layers 0 to 3"):
        Memit(settings(layers=(2, 9))).fit(model, requests, stats=stats)
    with pytest.raises(UsageError, match=r"no model\.layers"):
        collect(torch.nn.Linear(2, 2), corpus, LAYERS)


def test_nan_is_an_error(model, requests, corpus):
    stats = collect(model, corpus, LAYERS)
    with torch.no_grad():
        model.model.norm.weight[0] = float("nan")
    stats = type(stats)(**{**vars(stats), "base_sha": base_digest(model)})
    with pytest.raises(NovelApiError, match="is nan after 0 steps"):
        Memit(settings()).fit(model, requests, stats=stats)


def test_too_little_memory_says_how_much_is_needed(model, requests, corpus, monkeypatch):
    stats = collect(model, corpus, LAYERS)
    monkeypatch.setattr("novelapi.adaptation.memory.free_bytes", lambda _: 1024)
    with pytest.raises(NovelApiError, match=r"needs 288\.0 KiB on cpu and 1\.0 KiB are free"):
        Memit(settings()).fit(model, requests, stats=stats)


def test_half_precision_weights_are_rounded_once(requests, corpus):
    model = build_model().to(torch.bfloat16)
    editor = Memit(settings())
    artifact = editor.fit(model, requests, stats=collect(model, corpus, LAYERS))
    name = "model.layers.1.mlp.down_proj.weight"
    delta = artifact.tensors[f"delta.{name}"]
    assert delta.dtype == torch.float32
    weight = model.model.layers[1].mlp.down_proj.weight
    wanted = (weight.detach().float() + delta).to(torch.bfloat16)
    editor.apply(model, artifact)
    assert torch.equal(weight.detach(), wanted)

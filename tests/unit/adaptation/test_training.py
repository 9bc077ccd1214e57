"""Training: what is learned from, what moves, what a kill costs, and that merged equals unmerged."""

from __future__ import annotations

import pytest

from novelapi.adaptation.lora import (
    AlphaEditLora,
    AlphaEditLoraSettings,
    Lora,
    LoraSettings,
    merged_deltas,
    write_adapter,
)
from novelapi.adaptation.network import base_digest
from novelapi.adaptation.projector import projector
from novelapi.adaptation.requests import EditRequest, encode
from novelapi.adaptation.sft import FullSft
from novelapi.adaptation.statistics import collect
from novelapi.adaptation.training import TrainingSettings, examples_of
from novelapi.errors import NovelApiError, UsageError
from tests.fakes.tiny_editing import NAMES, WORDS, sentence

torch = pytest.importorskip("torch", reason="the extra train is not installed")
peft = pytest.importorskip("peft", reason="the extra train is not installed")
pytest.importorskip("trl", reason="the extra train is not installed")

pytestmark = pytest.mark.filterwarnings("default")  # trl, datasets and torch warn about themselves

SMALL = {"rate": 5e-3, "steps": 3, "batch": 4, "accumulation": 1, "saves": 0}


@pytest.fixture
def requests(tokenizer):
    pairs = zip(NAMES, WORDS, strict=False)
    return [
        encode(EditRequest(case_id=name, prompt=f"API: {name} is", target=f" {word}"), tokenizer)
        for name, word in pairs
    ]


def test_the_loss_is_on_the_answer_alone_unless_asked(requests):
    bare = requests[0].bare
    (row,) = examples_of(requests[:1], whole_sequence=False)
    assert row["labels"] == [-100] * bare.start + list(bare.target)
    (row,) = examples_of(requests[:1], whole_sequence=True)
    assert row["labels"] == row["input_ids"] == list(bare.ids)
    with pytest.raises(UsageError, match="nothing to train on"):
        examples_of([], whole_sequence=False)


def test_full_training_lowers_the_loss_and_leaves_the_base_alone(taught, tokenizer, requests, state_of):
    before = state_of(taught)
    editor = FullSft(TrainingSettings(**SMALL | {"steps": 8}), tokenizer)
    artifact = editor.fit(taught, requests, seed=1)
    assert all(torch.equal(value, before[name]) for name, value in state_of(taught).items())
    losses = [loss for _, loss in artifact.facts["loss"]]
    assert losses[-1] < losses[0] / 2
    handle = editor.apply(taught, artifact)
    assert base_digest(taught) != artifact.base_sha
    handle.undo()
    assert base_digest(taught) == artifact.base_sha


def test_only_adapters_train_and_merged_equals_unmerged(taught, tokenizer, requests, state_of, tmp_path):
    before = state_of(taught)
    editor = Lora(LoraSettings(**SMALL, rank=4, alpha=8, dropout=0.1), tokenizer)
    artifact = editor.fit(taught, requests, seed=1)
    assert {name: value.shape for name, value in state_of(taught).items()} == {
        name: value.shape for name, value in before.items()
    }
    assert all(torch.equal(value, before[name]) for name, value in state_of(taught).items())
    assert any(float(value.abs().max()) > 0 for name, value in artifact.tensors.items() if "lora_B" in name)
    write_adapter(artifact, tmp_path)
    ids = torch.tensor([requests[0].bare.ids])
    handle = editor.apply(taught, artifact)
    merged = taught(ids).logits
    handle.undo()
    assert all(torch.equal(value, before[name]) for name, value in state_of(taught).items())
    plain = taught(ids).logits
    unmerged = peft.PeftModel.from_pretrained(taught, str(tmp_path)).eval()(ids).logits
    assert torch.allclose(merged, unmerged, atol=1e-4)
    assert not torch.allclose(merged, plain, atol=1e-3)


def test_the_first_adapter_follows_the_seed(taught, tokenizer, requests):
    def fit(seed, before):
        torch.manual_seed(before)  # whatever ran before must not matter
        return Lora(LoraSettings(**SMALL | {"steps": 1}, rank=4, alpha=8), tokenizer).fit(taught, requests, seed=seed)

    first, again, other = fit(3, before=0), fit(3, before=1), fit(4, before=0)
    assert all(torch.equal(first.tensors[name], again.tensors[name]) for name in first.tensors)
    assert not all(torch.equal(first.tensors[name], other.tensors[name]) for name in first.tensors)


def test_a_killed_run_goes_on_from_its_checkpoint(taught, tokenizer, requests, tmp_path, monkeypatch):
    settings = LoraSettings(**SMALL | {"steps": 6, "saves": 2}, rank=4, alpha=8)
    whole = Lora(settings, tokenizer).fit(taught, requests, seed=1)

    class Killed(BaseException):
        pass

    import novelapi.adaptation.training as training

    own = training._stop_at_nan

    def dying():
        callback = own()

        def on_step_end(_args, state, _control, **_):
            if state.global_step == 5:
                raise Killed

        callback.on_step_end = on_step_end
        return callback

    monkeypatch.setattr(training, "_stop_at_nan", dying)
    with pytest.raises(Killed):
        Lora(settings, tokenizer).fit(taught, requests, seed=1, work=tmp_path)
    monkeypatch.setattr(training, "_stop_at_nan", own)
    resumed = Lora(settings, tokenizer).fit(taught, requests, seed=1, work=tmp_path)
    assert resumed.facts["resumed_from"] == "checkpoint-4"
    assert all(torch.allclose(whole.tensors[name], resumed.tensors[name], atol=1e-6) for name in whole.tensors)


def test_projected_adapters_stay_in_the_free_space(taught, tokenizer, requests):
    rows = [tokenizer(sentence(name, "alpha"))["input_ids"] for name in NAMES]
    stats = collect(taught, rows, (1, 2))
    settings = AlphaEditLoraSettings(
        **SMALL | {"steps": 5, "decay": 0.1}, rank=4, alpha=8, layers=(1, 2), threshold=None, space=40, dropout=0.1
    )
    artifact = AlphaEditLora(settings, tokenizer).fit(taught, requests, seed=1, stats=stats)
    assert len(artifact.facts["projection_error"]) == 5
    assert max(artifact.facts["projection_error"]) <= 1e-5
    touched = {name.split(".layers.")[1].split(".")[0] for name in artifact.tensors}
    assert touched == {"1", "2"}
    for layer in (1, 2):
        matrix = projector(stats.moments[layer], rank=40).matrix
        a = artifact.tensors[f"base_model.model.model.layers.{layer}.mlp.down_proj.lora_A.weight"].double()
        assert (a - a @ matrix).norm() <= 1e-5 * a.norm()
        delta = merged_deltas(artifact)[f"model.layers.{layer}.mlp.down_proj.weight"].double()
        assert float(delta.norm()) > 0
        moved = torch.trace(delta @ stats.moments[layer] @ delta.T)
        threshold = projector(stats.moments[layer], rank=40).threshold
        assert float(moved) <= threshold * float(delta.norm()) ** 2 * (1 + 1e-3)


def test_nan_ends_a_run(taught, tokenizer, requests):
    with torch.no_grad():
        taught.model.norm.weight[0] = float("nan")
    with pytest.raises(NovelApiError, match="the loss is nan at step 1"):
        FullSft(TrainingSettings(**SMALL), tokenizer).fit(taught, requests)


def test_a_missing_module_lists_what_there_is(taught, tokenizer, requests):
    settings = LoraSettings(**SMALL, targets=("c_proj",))
    with pytest.raises(UsageError, match=r"no linear module 'c_proj': it has mlp\.down_proj"):
        Lora(settings, tokenizer).fit(taught, requests)

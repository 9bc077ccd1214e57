"""Training: what is learned from, what moves, what a kill costs, and that merged equals unmerged."""

from __future__ import annotations

import pytest

from novelapi.adaptation.lora import (
    Lora,
    LoraSettings,
)
from novelapi.adaptation.network import base_digest
from novelapi.adaptation.requests import EditRequest, encode
from novelapi.adaptation.sft import FullSft
from novelapi.adaptation.training import TrainingSettings, examples_of
from novelapi.errors import NovelApiError, UsageError
from tests.fakes.tiny_editing import NAMES, WORDS

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


@pytest.mark.parametrize("method", ["full", "adapters"])
def test_a_fit_warns_of_nothing(taught, tokenizer, requests, method, recwarn):
    """A demo whose screen shows warnings of other projects looks broken."""
    editor = {
        "full": FullSft(TrainingSettings(**SMALL), tokenizer),
        "adapters": Lora(LoraSettings(**SMALL, rank=4, alpha=8), tokenizer),
    }[method]
    editor.fit(taught, requests, seed=1)
    assert not [str(warning.message) for warning in recwarn if "gradient_checkpointing" in str(warning.message)]


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


def test_nan_ends_a_run(taught, tokenizer, requests):
    with torch.no_grad():
        taught.model.norm.weight[0] = float("nan")
    with pytest.raises(NovelApiError, match="the loss is nan at step 1"):
        FullSft(TrainingSettings(**SMALL), tokenizer).fit(taught, requests)


def test_a_missing_module_lists_what_there_is(taught, tokenizer, requests):
    settings = LoraSettings(**SMALL, targets=("c_proj",))
    with pytest.raises(UsageError, match=r"no linear module 'c_proj': it has mlp\.down_proj"):
        Lora(settings, tokenizer).fit(taught, requests)

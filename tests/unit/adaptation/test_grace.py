"""GRACE: rules of the codebook, exact edits inside radii, untouched bits outside."""

from __future__ import annotations

import pytest

from novelapi.adaptation.artifact import load, save
from novelapi.adaptation.grace import Grace, GraceSettings
from novelapi.adaptation.requests import EditRequest, encode
from novelapi.errors import UsageError

torch = pytest.importorskip("torch", reason="the extra train is not installed")


def request(tokenizer, case, prompt, target):
    return encode(EditRequest(case_id=case, prompt=prompt, target=target), tokenizer)


@pytest.fixture
def requests(tokenizer):
    cases = [("numpy.unstack", " delta"), ("math.sumprod", " omega"), ("ase.read", " beta")]
    return [request(tokenizer, name, f"API: {name}\nThe answer of {name} is", target) for name, target in cases]


SETTINGS = GraceSettings(layer=0, radius=0.05, replace="onward", steps=150, rate=0.2, stop=0.1, start="warm")


def greedy(model, ids, count, **options):
    with torch.no_grad():
        return model.generate(
            input_ids=torch.tensor([ids]), attention_mask=torch.ones((1, len(ids)), dtype=torch.long),
            max_new_tokens=count, do_sample=False, eos_token_id=None, pad_token_id=0, **options,
        )[0, len(ids) :].tolist()  # fmt: skip


def test_left_padded_batches_hit_the_same_entries(taught, requests):
    from novelapi.adaptation.batches import padded

    editor = Grace(SETTINGS)
    editor.attach(taught, editor.fit(taught, requests))
    rows = [item.bare.ids[: item.bare.start] for item in requests]
    ids, mask = padded(rows, "cpu", left=True)
    with torch.no_grad():
        out = taught.generate(
            input_ids=ids, attention_mask=mask, max_new_tokens=1, do_sample=False, eos_token_id=None, pad_token_id=0
        )
    assert out[:, -1].tolist() == [item.bare.target[0] for item in requests]


def test_one_prompt_with_two_targets_is_skipped_and_counted(taught, requests, tokenizer):
    again = request(tokenizer, "again", "API: numpy.unstack\nThe answer of numpy.unstack is", " beta")
    artifact = Grace(SETTINGS.model_copy(update={"steps": 1})).fit(taught, [*requests, again])
    assert list(artifact.facts["skipped"]) == ["again"]
    assert artifact.facts["entries"] == 3


def test_fit_leaves_the_base_alone_and_a_killed_fit_goes_on(taught, requests, state_of, tmp_path, monkeypatch):
    before = state_of(taught)
    editor = Grace(SETTINGS)
    whole = editor.fit(taught, requests)
    assert all(torch.equal(value, before[name]) for name, value in state_of(taught).items())
    editor.fit(taught, requests[:2], work=tmp_path)
    trained = []
    own = Grace.train_value
    monkeypatch.setattr(
        Grace,
        "train_value",
        lambda self, model, item, *rest: trained.append(item.case_id) or own(self, model, item, *rest),
    )
    resumed = editor.fit(taught, requests, work=tmp_path)
    assert trained == ["ase.read"]
    assert all(torch.equal(whole.tensors[name], resumed.tensors[name]) for name in whole.tensors)
    save(resumed, tmp_path / "artifact")
    again = load(tmp_path / "artifact")
    handle = editor.apply(taught, again)
    ids = requests[1].bare.ids[: requests[1].bare.start]
    assert greedy(taught, ids, len(requests[1].bare.target)) == list(requests[1].bare.target)
    handle.undo()


def test_another_base_is_refused(taught, model, requests):
    artifact = Grace(SETTINGS.model_copy(update={"steps": 1})).fit(taught, requests)
    with pytest.raises(UsageError, match="belongs to other weights"):
        Grace(SETTINGS).apply(model, artifact)

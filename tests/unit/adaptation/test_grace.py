"""GRACE: rules of the codebook, exact edits inside radii, untouched bits outside."""

from __future__ import annotations

import pytest

from novelapi.adaptation.artifact import load, save
from novelapi.adaptation.codebook import SPLIT_GAP, Codebook
from novelapi.adaptation.grace import Grace, GraceSettings
from novelapi.adaptation.requests import EditRequest, encode
from novelapi.errors import UsageError
from tests.fakes.tiny_editing import sentence

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


def vector(*numbers):
    return torch.tensor(numbers, dtype=torch.float32)


@pytest.mark.parametrize(
    ("second", "label", "placed", "radii"),
    [
        ((3.0, 0.0), "a", "added", [1.0, 1.0]),  # farther than e0 + e_j
        ((3.0, 0.0), "b", "added", [1.0, 1.0]),
        ((0.8, 0.0), "b", "split", [0.4 - SPLIT_GAP, 0.4]),  # another label inside
        ((1.5, 0.0), "b", "split", [0.75 - SPLIT_GAP, 0.75]),  # another label, balls would touch
        ((1.5, 0.0), "a", "grown", [1.5]),  # same label outside the radius
        ((0.5, 0.0), "a", "kept", [1.0]),  # same label inside
        ((0.0, 0.0), "b", "split", [0.0, 0.0]),  # nothing between them
    ],
)
def test_rules_of_the_codebook(second, label, placed, radii):
    book = Codebook(2, 1)
    book.place(vector(0.0, 0.0), "a", vector(1.0), 1.0)
    _, found = book.place(vector(*second), label, vector(2.0), 1.0)
    assert found == placed
    assert book.radii == pytest.approx(radii, abs=1e-6)


def test_distances_near_zero_are_exact():
    book = Codebook(64, 1)
    base = torch.full((64,), 100.0)
    for number in range(30):  # more than 25 rows switch cdist to matrix products by default
        book.place(base + 10 * number, str(number), vector(0.0), 0.0)
    nudge = base.clone()
    nudge[0] += 1e-3
    assert book.nearest(base).distance == 0.0
    assert book.nearest(nudge).distance == pytest.approx(1e-3, rel=1e-2)


@pytest.mark.parametrize("replace", ["before", "onward"])
def test_edits_are_reproduced_token_for_token_under_cached_greedy_decoding(taught, requests, replace):
    editor = Grace(SETTINGS.model_copy(update={"replace": replace}))
    base = [greedy(taught, item.bare.ids[: item.bare.start], len(item.bare.target)) for item in requests]
    assert all(text != list(item.bare.target) for text, item in zip(base, requests, strict=True))
    artifact = editor.fit(taught, requests)
    assert all(row["loss"] < 0.1 for row in artifact.facts["edits"])
    handle, hook = editor.attach(taught, artifact)
    for item in requests:
        ids = item.bare.ids[: item.bare.start]
        assert greedy(taught, ids, len(item.bare.target)) == list(item.bare.target)
    assert [near.inside for near in hook.lookups] == [True] * 3
    handle.undo()
    assert base == [greedy(taught, item.bare.ids[: item.bare.start], len(item.bare.target)) for item in requests]


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


@pytest.mark.parametrize("replace", ["before", "last", "onward"])
def test_logits_outside_every_radius_are_bit_identical(taught, requests, tokenizer, replace):
    prompts = [tokenizer(sentence(name, "alpha"))["input_ids"] for name in ("torch.lobpcg", "flask.stream")]
    before = [taught(torch.tensor([ids])).logits for ids in prompts]
    editor = Grace(SETTINGS.model_copy(update={"replace": replace, "steps": 3}))
    _, hook = editor.attach(taught, editor.fit(taught, requests))
    for ids, wanted in zip(prompts, before, strict=True):
        assert torch.equal(taught(torch.tensor([ids])).logits, wanted)
        greedy(taught, ids, 4)
    assert not any(near.inside for near in hook.lookups)


def test_a_hit_in_a_batch_leaves_the_other_rows_alone(taught, requests, tokenizer):
    editor = Grace(SETTINGS)
    hit = requests[0].bare.ids[: requests[0].bare.start]
    other = tokenizer(sentence("torch.lobpcg", "alpha"))["input_ids"][: len(hit)]
    other = other + [5] * (len(hit) - len(other))
    both = torch.tensor([list(hit), other])
    before = taught(both).logits
    editor.attach(taught, editor.fit(taught, requests))
    after = taught(both).logits
    assert torch.equal(after[1], before[1])
    assert not torch.equal(after[0], before[0])


def test_equal_targets_share_a_label_and_equal_means_do_not(taught, tokenizer):
    asked = [request(tokenizer, str(n), f"API: {n}", target) for n, target in enumerate([" alpha", " alpha", " beta"])]
    labels = Grace(SETTINGS.model_copy(update={"steps": 1, "radius": 0.0})).fit(taught, asked).facts["labels"]
    assert labels[0] == labels[1] != labels[2]
    ids = asked[0].bare.target
    swapped = type(asked[0])(
        case_id="s", api="", essence=None,
        groups=((type(asked[0].bare)(ids=(*asked[2].bare.ids[: asked[2].bare.start], *reversed(ids)), subject=0, start=asked[2].bare.start),),),
    )  # fmt: skip
    if list(reversed(ids)) != list(ids):
        pair = Grace(SETTINGS.model_copy(update={"steps": 1, "radius": 0.0})).fit(taught, [asked[0], swapped])
        assert len(set(pair.facts["labels"])) == 2


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

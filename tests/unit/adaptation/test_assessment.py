"""What an edit did: reproduction, locality, fluency, hit rates, the bound, merged checkpoints, files to files."""

from __future__ import annotations

import json

import pytest

from novelapi import jsonl
from novelapi.adaptation.alphaedit import AlphaEdit, AlphaEditSettings
from novelapi.adaptation.artifact import describe
from novelapi.adaptation.assessment import compare_locality, fluency, locality_scores, reproduce, retention
from novelapi.adaptation.export import export_merged
from novelapi.adaptation.fitting import FitRequest, fit, write_corpus
from novelapi.adaptation.grace import Grace, GraceSettings
from novelapi.adaptation.probing import AssessRequest, assess
from novelapi.adaptation.recipes import TRAINED, Recipe, editor_of, read_recipes
from novelapi.adaptation.requests import EditRequest, encode
from novelapi.adaptation.rows import Row
from novelapi.adaptation.store import find_artifact
from novelapi.adaptation.summary import summary_row
from novelapi.adapters.adapted_model import AdaptedModel
from novelapi.adapters.transformers_model import TransformersModel
from novelapi.errors import DataError, NovelApiError, UnknownNameError, UsageError
from novelapi.fingerprint import file_digest
from novelapi.records.cell import Sampling
from novelapi.records.request import FileResult
from tests.fakes.tiny_editing import NAMES, WORDS, sentence

torch = pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("trl", reason="the extra train is not installed")
pytestmark = pytest.mark.filterwarnings("default")

GRACE = {"layer": 0, "radius": 0.05, "replace": "onward", "steps": 150, "rate": 0.2, "stop": 0.1, "start": "warm"}
TARGET = {"evaluations": 4}
RECIPES = {
    "sft": Recipe(settings={"rank": 4, "alpha": 8, "rate": 0.01, "steps": 4, "batch": 3, "accumulation": 1, "saves": 0}),
    "grace": Recipe(settings=GRACE),
    "memit": Recipe(
        form="subject", prefixes=1, corpus_tokens=600, settings={"layers": [1, 2], "weight": 1.0, "target": TARGET}
    ),
    "alphaedit": Recipe(
        form="subject", prefixes=1, corpus_tokens=600,
        settings={"layers": [1, 2], "threshold": None, "rank": 50, "ridge": 0.5, "target": TARGET},
    ),
}  # fmt: skip


@pytest.fixture
def home(tmp_path, taught, tokenizer):
    """A base, rows and a corpus on disk."""
    taught.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    rows = [
        Row(
            task_id=name,
            library="x",
            api=name,
            prompt=f"API: {name}\nThe answer of {name} is",
            answer=f" {word}",
            subject=name,
        )
        for name, word in zip(NAMES[:4], WORDS, strict=False)
    ]
    jsonl.write(tmp_path / "rows.jsonl", (row.to_row() for row in rows))
    jsonl.write(tmp_path / "other.jsonl", [rows[0].model_copy(update={"task_id": "other"}).to_row()])
    (tmp_path / "text").write_text("\n".join(sentence(name, word) for name in NAMES for word in WORDS))
    return tmp_path


def result(home, name):
    return FileResult(path=name, sha256=file_digest(home / name))


def request(home, delivery):
    corpus = write_corpus([home / "text"], home / "corpus.jsonl", home)
    return FitRequest(
        delivery=delivery, base=str(home / "base"), base_sha="b", rows=result(home, "rows.jsonl"), recipe=RECIPES[delivery],
        corpus=corpus if RECIPES[delivery].corpus_tokens else None,
    )  # fmt: skip


@pytest.mark.parametrize("delivery", RECIPES)
def test_every_method_goes_from_files_to_answers(home, delivery, monkeypatch):
    asked = request(home, delivery)
    done = fit(asked, home, home / "edits")
    assert done.counts == {"fitted": 4, "skipped": 0, "left_out": 0}
    monkeypatch.setattr("novelapi.adaptation.fitting._fit", lambda *_: pytest.fail("fitted again"))
    assert fit(asked, home, home / "edits") == done  # a second run repeats nothing
    told = assess(
        AssessRequest(
            fitted=asked, artifact=done, generality=result(home, "rows.jsonl"), others=result(home, "other.jsonl"),
            held_out=result(home, "rows.jsonl"), locality=write_corpus([home / "text"], home / "unrelated.jsonl", home), locality_tokens=200,
        ),
        home, home / "edits" / "x" / "assessment.json",
    )  # fmt: skip
    row = json.loads((home / told.path).read_text())
    assert row["requests"] == 4
    before, after = (row[side]["others"]["log_probability"] for side in ("before", "after"))
    assert summary_row(row, {})["others_gain"] == after - before
    assert list(row["after"]["others"]["cases"]) == ["other"]
    assert 0 <= row["locality"]["agreement"] <= 1
    assert (row["bound"] is not None) == (delivery in {"memit", "alphaedit"})
    assert (row["projector"] is not None) == (delivery == "alphaedit")
    if delivery == "grace":
        assert row["after"]["efficacy"]["exact"] == 1.0
        assert row["grace"]["hit_rate"]["train"] == 1.0
    folder = find_artifact(home / "edits", done.sha256)
    assert (folder / "adapter_model.safetensors").exists() == (delivery == "sft")
    adapted = AdaptedModel(home / "base", folder)
    assert adapted.adapter_sha == done.sha256
    prompts = [f"API: {name}\nThe answer of {name} is" for name in NAMES[:4]]
    texts = adapted.complete(prompts, Sampling(max_tokens=6))
    plain = TransformersModel(home / "base").complete(prompts, Sampling(max_tokens=6))
    assert (texts != plain) or delivery != "grace"


def test_two_equal_fits_give_equal_bytes(home):
    asked = request(home, "memit")
    first, second = (fit(asked, home, home / name) for name in ("one", "two"))
    assert first.sha256 == second.sha256


def test_an_artifact_that_is_gone_is_a_clear_error(home):
    with pytest.raises(NovelApiError, match="fit it again"):
        find_artifact(home / "edits", "0" * 64)
    with pytest.raises(DataError, match="holds no artifact"):
        describe(home / "base")


def test_locality_of_an_unchanged_model_is_one(taught, tokenizer):
    rows = [tokenizer(sentence(name, "alpha"))["input_ids"] for name in NAMES]
    before = locality_scores(taught, rows)
    same = compare_locality(rows, before, locality_scores(taught, rows))
    assert (same.agreement, same.divergence) == (1.0, 0.0)
    assert same.perplexity_before == same.perplexity_after
    with torch.no_grad():
        taught.model.layers[1].mlp.down_proj.weight += 0.3
    moved = compare_locality(rows, before, locality_scores(taught, rows))
    assert moved.divergence > 0.01


def test_reproduction_counts_whole_targets(taught, tokenizer):
    name = NAMES[0]
    prompt = sentence(name, "alpha").split(" is ")[0] + " is"
    ids = tokenizer(prompt)["input_ids"]
    with torch.no_grad():
        said = taught.generate(
            input_ids=torch.tensor([ids]), attention_mask=torch.ones((1, len(ids)), dtype=torch.long), max_new_tokens=4,
            do_sample=False, eos_token_id=None, pad_token_id=0,
        )[0, len(ids):].tolist()  # fmt: skip
    own = encode(EditRequest(case_id="own", prompt=prompt, target=tokenizer.decode(said)), tokenizer)
    other = encode(EditRequest(case_id="other", prompt=prompt, target=tokenizer.decode(said[:3]) + "%"), tokenizer)
    found = reproduce(taught, [own, other])
    assert found.cases == {"own": True, "other": False}
    assert found.exact == 0.5
    assert found.log_probability < 0


def test_fluency_sees_repetition():
    assert fluency([[1, 2, 3, 4, 5, 6, 7, 8]]) > fluency([[1, 2, 1, 2, 1, 2, 1, 2]]) > fluency([[1] * 8]) == 0.0
    assert fluency([[1, 2]]) is None


def test_retention_compares_first_and_last_quarter():
    cases = {str(number): number >= 4 for number in range(8)}
    assert retention(cases, [str(number) for number in range(8)]) == {"first_quarter": 0.0, "last_quarter": 1.0}


def test_merged_checkpoints_say_what_the_edited_model_says(taught, tokenizer, tmp_path, home):
    transformers = pytest.importorskip("transformers")
    recipe = RECIPES["sft"]
    editor = editor_of("sft", recipe, tokenizer)
    requests = [
        encode(EditRequest(case_id=name, prompt=f"API: {name} is", target=" beta"), tokenizer) for name in NAMES
    ]
    artifact = editor.fit(taught, requests)
    export_merged(taught, tokenizer, editor, artifact, tmp_path / "merged")
    merged = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "merged").eval()
    ids = torch.tensor([requests[0].bare.ids])
    plain = taught(ids).logits
    editor.apply(taught, artifact)
    assert torch.allclose(merged(ids).logits, taught(ids).logits, atol=1e-4)
    assert not torch.allclose(plain, taught(ids).logits, atol=1e-3)
    grace = Grace(GraceSettings(**GRACE | {"steps": 1}))
    with pytest.raises(UsageError, match="no merged weights"):
        export_merged(taught, tokenizer, grace, grace.fit(taught, requests[:1]), tmp_path / "none")


def test_shipped_recipes_have_every_method(tokenizer, tmp_path):
    for name in ("paper", "tiny"):
        recipes = read_recipes(name)
        assert sorted(recipes) == sorted(TRAINED)
        for delivery in TRAINED:
            editor_of(delivery, recipes[delivery], tokenizer)
    with pytest.raises(UnknownNameError, match="did you mean paper"):
        read_recipes("papr")
    with pytest.raises(DataError, match="recipe of grace: radius"):
        editor_of("grace", Recipe(settings={"radius": -1}), tokenizer)
    for delivery in ("sft", "grace", "alphaedit_lora"):  # torch cannot step with such a rate
        with pytest.raises(DataError, match=f"recipe of {delivery}: rate: "):
            editor_of(delivery, Recipe(settings={"rate": 1e38}), tokenizer)
    with pytest.raises(UsageError, match="no weights of its own"):
        editor_of("rag", Recipe(), tokenizer)
    (tmp_path / "own.yaml").write_text("grace: {windw: 3}")
    with pytest.raises(DataError, match=r"are broken: .*windw"):
        read_recipes(str(tmp_path / "own.yaml"))


def test_alphaedit_goes_on_over_files(taught, tokenizer, tmp_path):
    from novelapi.adaptation.artifact import load, save
    from novelapi.adaptation.statistics import collect

    rows = [tokenizer(sentence(name, word))["input_ids"] for name in NAMES for word in WORDS]
    stats = collect(taught, rows, (1, 2))
    editor = AlphaEdit(AlphaEditSettings.model_validate(RECIPES["alphaedit"].settings))
    asked = []
    for name in NAMES[:4]:
        prompt = f"API: {name}\nThe answer is"
        asked.append(
            encode(EditRequest(case_id=name, prompt=prompt, subject=(5, 5 + len(name)), target=" beta"), tokenizer)
        )
    first = editor.fit(taught, asked[:2], stats=stats)
    save(first, tmp_path)
    straight = editor.fit(taught, asked[2:], stats=stats, previous=first)
    resumed = editor.fit(taught, asked[2:], stats=stats, previous=load(tmp_path))
    assert all(torch.equal(straight.tensors[name], resumed.tensors[name]) for name in straight.tensors)

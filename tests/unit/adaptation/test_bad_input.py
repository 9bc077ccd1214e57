"""What every method does with input that it cannot fit: a clear error before work starts, or a counted skip."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="the extra train is not installed")
transformers = pytest.importorskip("transformers", reason="the extra train is not installed")
pytest.importorskip("trl", reason="the extra train is not installed")

from novelapi.adaptation.alphaedit import AlphaEdit  # noqa: E402
from novelapi.adaptation.base import load_base  # noqa: E402
from novelapi.adaptation.grace import Grace  # noqa: E402
from novelapi.adaptation.lora import AlphaEditLora, AlphaEditLoraSettings, Lora, LoraSettings  # noqa: E402
from novelapi.adaptation.memit import Memit  # noqa: E402
from novelapi.adaptation.memory import readable  # noqa: E402
from novelapi.adaptation.requests import EditRequest, encode  # noqa: E402
from novelapi.adaptation.sft import FullSft  # noqa: E402
from novelapi.adaptation.statistics import collect  # noqa: E402
from novelapi.adaptation.training import TrainingSettings  # noqa: E402
from novelapi.errors import NovelApiError, UsageError  # noqa: E402
from tests.fakes.editing_checks import (  # noqa: E402
    GRACE,
    LAYERS,
    SMALL,
    alphaedit_settings,
    memit_settings,
    plain_requests,
    subject_requests,
    wide_corpus,
)
from tests.fakes.tiny_editing import build_model  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # trl, datasets and torch warn about themselves

METHODS = ("sft", "full", "grace", "memit", "alphaedit", "alphaedit_lora")


def editor_of(name, tokenizer):
    projected = AlphaEditLoraSettings(**SMALL, rank=4, alpha=8, layers=LAYERS, threshold=None, space=40)
    return {
        "sft": Lora(LoraSettings(**SMALL, rank=4, alpha=8), tokenizer),
        "full": FullSft(TrainingSettings(**SMALL), tokenizer),
        "grace": Grace(GRACE.model_copy(update={"steps": 1})),
        "memit": Memit(memit_settings()),
        "alphaedit": AlphaEdit(alphaedit_settings()),
        "alphaedit_lora": AlphaEditLora(projected, tokenizer),
    }[name]


def needed(name, model, tokenizer):
    if name not in {"memit", "alphaedit", "alphaedit_lora"}:
        return None
    return collect(model, wide_corpus(tokenizer), LAYERS)


@pytest.fixture
def qwen():
    return build_model()


@pytest.mark.parametrize("name", METHODS)
def test_a_target_longer_than_the_window(name, qwen, tokenizer):
    asked = EditRequest(case_id="long", prompt="API: numpy.astype is", subject=(5, 17), target=" alpha beta" * 60)
    with pytest.raises(UsageError, match=r"long has \d\d\d tokens and the model's window is 256: leave it out"):
        editor_of(name, tokenizer).fit(qwen, [encode(asked, tokenizer)], stats=needed(name, qwen, tokenizer))


@pytest.mark.parametrize("name", METHODS)
def test_a_loss_that_is_no_number(name, qwen, tokenizer):
    with torch.no_grad():
        qwen.model.norm.weight[0] = float("nan")
    with pytest.raises(
        NovelApiError, match=r"loss (of numpy\.unstack )?is nan (after 0 steps|at step [01]): lower the"
    ):
        editor_of(name, tokenizer).fit(qwen, subject_requests(tokenizer), stats=needed(name, qwen, tokenizer))


@pytest.mark.parametrize("name", METHODS)
def test_an_artifact_of_another_base(name, qwen, tokenizer):
    editor = editor_of(name, tokenizer)
    artifact = editor.fit(qwen, subject_requests(tokenizer), stats=needed(name, qwen, tokenizer))
    with pytest.raises(UsageError, match=r"belongs to other weights \(base \w{12}, this model \w{12}\): load its base"):
        editor.apply(build_model(seed=1), artifact)


@pytest.mark.parametrize("name", ["memit", "alphaedit", "alphaedit_lora"])
def test_statistics_of_another_base(name, qwen, tokenizer):
    stats = needed(name, build_model(seed=1), tokenizer)
    with pytest.raises(UsageError, match="the set of statistics belongs to other weights"):
        editor_of(name, tokenizer).fit(qwen, subject_requests(tokenizer), stats=stats)
    with pytest.raises(UsageError, match=r"needs .*statistics"):
        editor_of(name, tokenizer).fit(qwen, subject_requests(tokenizer))


@pytest.mark.parametrize("name", METHODS)
def test_too_little_memory(name, qwen, tokenizer, monkeypatch):
    stats = needed(name, qwen, tokenizer)
    monkeypatch.setattr("novelapi.adaptation.memory.free_bytes", lambda _: 10)
    with pytest.raises(NovelApiError, match=r"needs \d+\.\d [KMG]iB on cpu and 10\.0 B are free"):
        editor_of(name, tokenizer).fit(qwen, subject_requests(tokenizer), stats=stats)


def test_too_little_memory_for_the_base_or_its_statistics(qwen, tokenizer, tmp_path, monkeypatch):
    qwen.save_pretrained(tmp_path)
    size = (tmp_path / "model.safetensors").stat().st_size
    monkeypatch.setattr("novelapi.adaptation.memory.free_bytes", lambda _: size - 1)
    with pytest.raises(NovelApiError, match=f"needs {readable(size)}"):
        load_base(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["dtype"] = "bfloat16"  # loaded in float32, it takes twice the file
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(NovelApiError, match=f"needs {readable(2 * size)}"):
        load_base(tmp_path)
    monkeypatch.setattr("novelapi.adaptation.memory.free_bytes", lambda _: 10)
    with pytest.raises(NovelApiError, match=r"statistics of 2 layers of width 96 needs 216\.0 KiB on cpu"):
        collect(qwen, wide_corpus(tokenizer), LAYERS)


@pytest.mark.parametrize("name", ["sft", "grace", "memit", "alphaedit"])
def test_another_architecture(name, tokenizer):
    other = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=330, n_embd=16, n_layer=1, n_head=2))
    with pytest.raises(UsageError, match=r"GPT2LMHeadModel has no model\.layers \(it has transformer, lm_head\)"):
        editor_of(name, tokenizer).fit(other, subject_requests(tokenizer), stats=needed(name, build_model(), tokenizer))


def test_a_module_or_layer_that_is_not_there(qwen, tokenizer):
    asked = plain_requests(tokenizer)
    listed = r"layer 0 of Qwen2ForCausalLM has no linear module '{}': it has mlp\.down_proj, .*self_attn\.q_proj"
    with pytest.raises(UsageError, match=listed.format("c_proj")):
        Lora(LoraSettings(**SMALL, targets=("c_proj",)), tokenizer).fit(qwen, asked)
    with pytest.raises(UsageError, match=listed.format("mlp.c_fc")):
        Grace(GRACE.model_copy(update={"module": "mlp.c_fc"})).fit(qwen, asked)
    for editor in (Lora(LoraSettings(**SMALL, layers=(9,)), tokenizer), Grace(GRACE.model_copy(update={"layer": 9}))):
        with pytest.raises(UsageError, match="there is no layer 9: the model has layers 0 to 3"):
            editor.fit(qwen, asked)


@pytest.mark.parametrize("name", ["grace", "memit", "alphaedit"])
def test_conflicting_edits_of_one_api(name, qwen, tokenizer):
    first, *rest = subject_requests(tokenizer)
    again = EditRequest(
        case_id="again", prompt="API: numpy.unstack\nThe {answer} of numpy.unstack is", subject=(5, 18), target=" beta"
    )
    stats = needed(name, qwen, tokenizer)
    artifact = editor_of(name, tokenizer).fit(qwen, [first, *rest, encode(again, tokenizer)], stats=stats)
    assert artifact.facts["skipped"] == {"again": "conflicts with numpy.unstack: same key, another target"}
    with pytest.raises(UsageError, match=r"two requests have the id numpy\.unstack"):
        editor_of(name, tokenizer).fit(qwen, [first, first], stats=stats)


@pytest.mark.parametrize("name", ["sft", "alphaedit_lora"])
def test_training_leaves_more_than_the_weights_alone(name, qwen, tokenizer):
    """A cache that stays off, or a forward pass that trl put in place, would change what is decoded afterwards."""
    import random

    import numpy as np

    before = (qwen.config.to_dict(), qwen.generation_config.to_dict(), set(vars(qwen)), qwen.training)
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    wanted = random.random(), np.random.random(), float(torch.rand(()))
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    editor_of(name, tokenizer).fit(qwen, subject_requests(tokenizer), stats=needed(name, qwen, tokenizer))
    assert (random.random(), np.random.random(), float(torch.rand(()))) == wanted
    assert (qwen.config.to_dict(), qwen.generation_config.to_dict(), set(vars(qwen)), qwen.training) == before
    assert all(parameter.requires_grad for parameter in qwen.parameters())


def test_the_peak_is_that_of_what_came_after_it_was_forgotten():
    import os

    from novelapi.adaptation.memory import forget_peak, peak_kb

    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("this kernel keeps the peak of the whole process only")
    before = bytearray(200 << 20)
    assert peak_kb() > 200 << 10
    del before
    forget_peak()
    low = peak_kb()
    after = bytearray(50 << 20)
    assert (45 << 10) < peak_kb() - low < (150 << 10)
    del after

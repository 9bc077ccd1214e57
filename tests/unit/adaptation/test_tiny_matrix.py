"""40 tasks in the weights of the tiny model: learned on train, nothing on held-out tasks. Minutes: marked slow."""

from __future__ import annotations

import pytest

from novelapi.adaptation.assessment import reproduce
from novelapi.adaptation.base import load_base
from novelapi.adaptation.lora import Lora, LoraSettings
from novelapi.adaptation.rows import encode_rows, plain_row
from novelapi.adaptation.sft import FullSft
from novelapi.adaptation.standard_tasks import standard_tasks
from novelapi.adaptation.tiny import TinySettings, build_tiny
from novelapi.adaptation.training import TrainingSettings
from novelapi.inference.prompts import build_prompt

torch = pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("trl", reason="the extra train is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default"), pytest.mark.timeout(1800)]

FIELDS = {"accumulation": 1, "warmup": 0.1, "saves": 0}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    torch.set_num_threads(1)
    return build_tiny(tmp_path_factory.mktemp("models") / "tiny", TinySettings())


@pytest.fixture(scope="module")
def sides(base):
    """40 tasks to learn and 20 held-out ones of other functions, none of them among those that taught the form."""
    _, tokenizer = load_base(base)
    known = {task.task_id for task in standard_tasks(TinySettings().tasks)}
    tasks = [task for task in standard_tasks(400) if task.task_id not in known]
    rows = [plain_row(task, build_prompt(task, "")) for task in tasks]
    requests, _ = encode_rows(rows, tokenizer, window=400)
    return requests[::5][:40], requests[1::5][:20]


def test_full_training_learns_its_tasks_and_no_others(base, sides):
    model, tokenizer = load_base(base)
    editor = FullSft(TrainingSettings(rate=4e-3, epochs=20, batch=2, **FIELDS), tokenizer)
    artifact = editor.fit(model, sides[0], seed=0)
    editor.apply(model, artifact)
    assert reproduce(model, sides[0]).exact >= 0.9
    assert reproduce(model, sides[1]).exact <= 0.1


def test_lora_learns_on_a_base_that_knows_the_form(base, sides):
    model, tokenizer = load_base(base)
    settings = LoraSettings(rate=3e-3, epochs=50, batch=4, rank=96, alpha=192, dropout=0.0, **FIELDS)
    editor = Lora(settings, tokenizer)
    before = reproduce(model, sides[0]).exact
    artifact = editor.fit(model, sides[0], seed=0)
    editor.apply(model, artifact)
    after = reproduce(model, sides[0]).exact
    assert before <= 0.2
    assert after >= 0.8
    assert reproduce(model, sides[1]).exact <= 0.1

"""Prompts are cut to the model's window, what does not fit says so, and a budget that ends keeps what was answered."""

from __future__ import annotations

import pytest

from novelapi import jsonl
from novelapi.errors import EndpointError, PartialError
from novelapi.evaluation import run as evaluation
from novelapi.filters import models
from novelapi.inference.batch import BatchResult
from novelapi.inference.budget import Budget, Meter
from novelapi.inference.metered import MeteredCompleter
from novelapi.inference.profile import DEFAULT_PROFILE, ModelProfile
from novelapi.inference.prompts import build_prompt
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.layout import Layout
from novelapi.records.cell import Sampling
from novelapi.records.prediction import Prediction
from tests.fakes.bundles import numpy_bundle
from tests.fakes.tasks import Scripted, numpy_task

TASK = numpy_task(1)


class Small(Scripted):
    """A model with a window of so many words."""

    def __init__(self, window):
        super().__init__()
        self.profile = ModelProfile(window=window)

    @staticmethod
    def count_tokens(text):
        return len(text.split())


def asking(tmp_path, completer, condition="full", max_tokens=16):
    shown = models.show(TASK, [numpy_bundle()], KnowledgeCondition(condition), ("numpy.unstack",))
    return models.Asking(
        tasks={TASK.task_id: TASK},
        shown={TASK.task_id: shown},
        completer=completer,
        sampling=Sampling(max_tokens=max_tokens),
        folder=tmp_path / "cell",
        layout=Layout(tmp_path),
        environment_of=lambda *_: pytest.fail("no environment is needed"),
        jobs=1,
    )


def test_without_a_known_window_the_prompt_is_as_it_was_shown(tmp_path):
    request = asking(tmp_path, Scripted())
    assert models.fitted(request)[TASK.task_id].text == request.shown[TASK.task_id].prompt


def test_a_small_window_costs_the_code_first_and_never_the_task(tmp_path):
    whole = models.fitted(asking(tmp_path, Scripted()))[TASK.task_id].text
    prompt = models.fitted(asking(tmp_path, Small(len(whole.split()) + 10)))[TASK.task_id]
    assert prompt.trimmed > 0
    assert "Implementation" not in prompt.text
    assert "It cuts an array" in prompt.text
    assert prompt.text.endswith(build_prompt(TASK, ""))


def test_a_window_below_the_shortest_prompt_leaves_the_task_unscored_with_its_reason(tmp_path):
    model = Small(64)
    asked = models.ask(asking(tmp_path, model, max_tokens=60))
    (row,) = asked.rows[TASK.task_id]
    assert (row.outcome, row.reason) == ("unscored", "context")
    assert model.asked == []
    assert asked.batch.unscored == {"context": 1}


@pytest.mark.parametrize(("reason", "shown"), [("refused", "refused"), (None, "no prediction for this task")])
def test_an_unscored_row_says_what_the_prediction_says(tmp_path, reason, shown):
    evaluation.evaluate(
        evaluation.Evaluation(
            tasks={TASK.task_id: TASK},
            predictions={TASK.task_id: Prediction(task_id=TASK.task_id, samples=(), unscored=reason)},
            results=tmp_path / "results.jsonl",
            environment_of=lambda *_: pytest.fail("no environment is needed"),
        )
    )
    assert [row["reason"] for row in jsonl.scan(tmp_path / "results.jsonl")] == [shown]


def test_a_budget_that_ends_is_one_readable_line_and_nothing_is_scored_as_missing(tmp_path):
    model = MeteredCompleter(Scripted(), Meter(Budget(calls=0), DEFAULT_PROFILE))
    with pytest.raises(PartialError, match=r"1 of 1 tasks without an answer \(budget\).*raise it and run again"):
        models.ask(asking(tmp_path, model))
    assert not (tmp_path / "cell" / "results.jsonl").exists()


def test_one_meter_holds_for_all_questions_of_a_run():
    model = MeteredCompleter(Scripted(), Meter(Budget(calls=3), DEFAULT_PROFILE))
    assert model.complete(["a", "b"], Sampling()) != []
    with pytest.raises(PartialError, match="budget"):
        model.complete(["c", "d"], Sampling())
    assert model.meter.spent.calls == 3


def test_faults_that_may_pass_are_told_apart_from_those_that_do_not():
    fields = {"predictions": "p", "prompts": "q", "answered": 1}
    with pytest.raises(EndpointError, match="2 of 3 tasks"):
        BatchResult(**fields, missing={"transient": 2}).require_complete()
    with pytest.raises(PartialError, match="unrecorded"):
        BatchResult(**fields, missing={"unrecorded": 2}).require_complete()
    BatchResult(**fields, unscored={"context": 2}).require_complete()

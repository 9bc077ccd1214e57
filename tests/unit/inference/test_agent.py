"""Deliveries that ask more than once: rounds of tool calls, one repair, what they cost, and nothing paid for twice."""

from __future__ import annotations

import pytest

from novelapi import jsonl
from novelapi.adapters.copy_model import CopyModel
from novelapi.adapters.openai_model import OpenAIModel
from novelapi.errors import PrerequisiteError
from novelapi.inference.agent import CALLS_PER_TURN, MAX_TURNS, READ, RUN, SEARCH, Search, ToolResult
from novelapi.inference.batch import complete_tasks
from novelapi.inference.cache import CompletionCache
from novelapi.inference.profile import ModelProfile
from novelapi.inference.repair import PROBLEM_CAP, Repair
from novelapi.inference.replay import Replay
from novelapi.records.cell import Sampling
from novelapi.records.prediction import Prediction
from tests.fakes.openai_server import Reply, chat, error, fake_openai
from tests.fakes.tasks import Scripted, numpy_task

TASK = numpy_task(1)
ANSWER = "```python\ndef solve(): ...\n```"


def tool_call(name, arguments, number):
    return {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def look_up(query, number=1):
    return [tool_call("search_api", f'{{"query": "{query}"}}', number)]


def agent_server(script, models=("tiny",)):
    """A server that answers turn n with the n-th entry: tool calls, or a final text."""

    def behaviour(body, _):
        entry = script[sum(message["role"] == "assistant" for message in body["messages"])]
        return [entry] * body.get("n", 1) if isinstance(entry, str) else Reply(200, chat([None], tool_calls=entry))

    return fake_openai(behaviour, models)


def found(uses):
    return [ToolResult(f"found {use.argument}", ("numpy.unstack",)) for use in uses]


def ask(tmp_path, model, asker, sampling=None, tasks=(TASK,), folder="cell"):
    """Ask tasks and return their predictions."""
    with CompletionCache(tmp_path / "cache") as cache:
        prompts = [f"prompt {task.task_id}" for task in tasks]
        batch = complete_tasks(
            list(tasks), prompts, model, sampling or Sampling(), cache, tmp_path / folder, asker=asker
        )
    rows = [Prediction.model_validate(row) for row in jsonl.scan(tmp_path / folder / "predictions.jsonl")]
    return rows, batch


def searching(**tools):
    known = {"search_api": SEARCH, "read_api": READ, "run": RUN}
    return Search({known[name]: function for name, function in tools.items()}, {TASK.task_id: TASK.api})


def test_a_model_looks_up_runs_and_answers(tmp_path):
    script = [
        look_up("split"),
        [tool_call("run", '{"code": "print(1)"}', 2), tool_call("fly", "{}", 3), tool_call("run", "no json", 4)],
        ANSWER,
    ]
    with agent_server(script) as server:
        asker = searching(search_api=found, run=lambda uses: [ToolResult("x" * 9000) for _ in uses])
        (row,), _ = ask(tmp_path, OpenAIModel("tiny", base_url=server.base_url), asker)
    assert row.samples == (ANSWER,)
    (effort,) = row.efforts
    assert (effort.turns, effort.tool_calls) == (3, {"invalid": 2, "run": 1, "search_api": 1})
    assert effort.found is True
    assert (effort.prompt_tokens, effort.completion_tokens) == (21, 9)
    shown = [turn["content"] for turn in row.transcripts[0] if turn["role"] == "tool"]
    assert (shown[0], len(shown[1])) == ("found split", 8000)
    assert "there is no function fly" in shown[2]
    assert [len(body.get("tools", [])) for body in server.requests] == [2, 2, 2]


def test_the_last_turn_offers_no_tools_and_what_it_says_is_the_answer(tmp_path):
    with agent_server([look_up("x")] * 20) as server:
        (row,), _ = ask(tmp_path, OpenAIModel("tiny", base_url=server.base_url), searching(search_api=found))
    assert (row.samples, row.unscored) == (("",), None)
    assert row.efforts[0].turns == len(server.requests) == MAX_TURNS
    assert "tools" in server.requests[-2]
    assert "tools" not in server.requests[-1]


def test_calls_beyond_those_of_a_turn_are_not_carried_out(tmp_path):
    many = [call for number in range(CALLS_PER_TURN + 2) for call in look_up("x", number)]
    carried = []
    with agent_server([many, ANSWER]) as server:
        asker = searching(search_api=lambda uses: (carried.append(len(uses)), found(uses))[1])
        (row,), _ = ask(tmp_path, OpenAIModel("tiny", base_url=server.base_url), asker)
    assert carried == [CALLS_PER_TURN]
    assert row.efforts[0].tool_calls == {"invalid": 2, "search_api": CALLS_PER_TURN}


def test_each_drawn_sample_is_a_conversation_of_its_own(tmp_path):
    with agent_server([look_up("x"), ANSWER]) as server:
        model = OpenAIModel("tiny", base_url=server.base_url)
        (row,), _ = ask(tmp_path, model, searching(search_api=found), Sampling(n=3, seed=5))
    assert len(row.samples) == len(row.efforts) == len(row.transcripts) == 3
    assert {(body["temperature"], body["seed"]) for body in server.requests} == {(0.0, 0), (0.8, 6), (0.8, 7)}


def test_a_search_goes_on_where_it_ended_and_replays_without_the_endpoint(tmp_path):
    tasks = [numpy_task(number) for number in range(3)]
    with agent_server([look_up("x"), look_up("y", 2), ANSWER]) as server:
        model = OpenAIModel("tiny", base_url=server.base_url)

        def fail(uses):
            if len(server.requests) > len(tasks):
                raise KeyboardInterrupt
            return found(uses)

        with pytest.raises(KeyboardInterrupt):
            ask(tmp_path, model, searching(search_api=fail), tasks=tasks)
        first, batch = ask(tmp_path, model, searching(search_api=found), tasks=tasks)
        assert (len(server.requests), batch.usage.cached) == (9, 6)
        again, batch = ask(tmp_path, Replay(model), searching(search_api=found), tasks=tasks, folder="replayed")
    assert (again, batch.usage.calls) == (first, 0)


def test_results_that_the_window_has_no_room_for_are_cut_then_the_model_has_to_answer(tmp_path):
    def behaviour(body, _):
        return Reply(200, chat([None], tool_calls=look_up("x"))) if "tools" in body else ANSWER

    with fake_openai(behaviour) as server:
        model = OpenAIModel("tiny", base_url=server.base_url, profile=ModelProfile(window=700, max_tokens=64))
        asker = searching(search_api=lambda uses: [ToolResult("word " * 1000) for _ in uses])
        (row,), _ = ask(tmp_path, model, asker, Sampling(max_tokens=64))
    *cut, last = [turn["content"] for turn in row.transcripts[0] if turn["role"] == "tool"]
    assert cut
    assert all(200 <= len(text) <= 2500 for text in cut)
    assert "no room" in last
    assert len(server.requests) == len(cut) + 2 < MAX_TURNS
    assert row.samples == (ANSWER,)


@pytest.mark.parametrize("model", [CopyModel(), Scripted()])
def test_a_model_without_tool_calls_is_told_before_anything_is_sent(tmp_path, model):
    with pytest.raises(PrerequisiteError, match=r"has no native tool calls.*search"):
        ask(tmp_path, model, searching(search_api=found))
    with pytest.raises(PrerequisiteError, match=r"answers single prompts only.*repair"):
        ask(tmp_path, model, Repair(lambda attempts: [None] * len(attempts)))


def test_an_endpoint_that_refuses_tools_is_one_line_with_the_remedy(tmp_path):
    refused = error(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
    with fake_openai(lambda body, _: refused if "tools" in body else [ANSWER]) as server:
        model = OpenAIModel("tiny", base_url=server.base_url)
        with pytest.raises(PrerequisiteError, match=r"takes no tool calls.*--enable-auto-tool-choice"):
            ask(tmp_path, model, searching(search_api=found))
        bare = OpenAIModel("tiny", base_url=server.base_url, profile=ModelProfile(mode="completions"))
        with pytest.raises(PrerequisiteError, match="no native tool calls"):
            ask(tmp_path, bare, searching(search_api=found))


def repairing(bad="first"):
    return Repair(lambda attempts: ["TypeError: no" if bad in attempt.text else None for attempt in attempts])


def test_an_answer_that_raises_gets_one_more_attempt_and_one_that_does_not_stands(tmp_path):
    tasks = [numpy_task(1), numpy_task(2)]

    def behaviour(body, _):
        if len(body["messages"]) > 1:
            return "second"
        return "fine" if "unstack/2" in body["messages"][0]["content"] else "first"

    with fake_openai(behaviour) as server:
        rows, batch = ask(tmp_path, OpenAIModel("tiny", base_url=server.base_url), repairing(), tasks=tasks)
    assert {row.task_id: row.samples for row in rows} == {tasks[0].task_id: ("second",), tasks[1].task_id: ("fine",)}
    assert [row.efforts[0].turns for row in rows] == [2, 1]
    assert [row.efforts[0].prompt_tokens for row in rows] == [14, 7]
    assert (len(server.requests), batch.usage.calls) == (3, 3)
    turns = server.requests[-1]["messages"][1:]
    assert [turn["role"] for turn in turns] == ["assistant", "user"]
    assert (turns[0]["content"], "TypeError: no" in turns[1]["content"]) == ("first", True)


def test_the_first_attempt_is_the_request_of_the_oracle_and_is_not_paid_again(tmp_path):
    with fake_openai(lambda body, _: ["fine"]) as server:
        model = OpenAIModel("tiny", base_url=server.base_url)
        prompts = {"tasks": (TASK,), "sampling": Sampling(n=1)}
        with CompletionCache(tmp_path / "cache") as cache:
            complete_tasks([TASK], [f"prompt {TASK.task_id}"], model, Sampling(), cache, tmp_path / "oracle")
        _, batch = ask(tmp_path, model, repairing(), folder="repair", **prompts)
    assert (len(server.requests), batch.usage.cached, batch.usage.calls) == (1, 1, 0)


def test_only_the_samples_that_raise_are_asked_again(tmp_path):
    answers = {1: ["first"], 2: ["fine", "first"]}

    def behaviour(body, _):
        if len(body["messages"]) > 1:
            return [f"second {body['seed']}"]
        return answers[body["n"]] if body["n"] == 2 else ["fine"]

    with fake_openai(behaviour) as server:
        (row,), _ = ask(tmp_path, OpenAIModel("tiny", base_url=server.base_url), repairing(), Sampling(n=3, seed=4))
    assert row.samples == ("fine", "fine", "second 6")
    assert [effort.turns for effort in row.efforts] == [1, 1, 2]
    assert len(server.requests) == 3


def test_a_long_traceback_is_shown_with_its_head_and_its_tail(tmp_path):
    long = "Traceback" + "x" * 9000 + "TypeError: the end"
    with fake_openai(lambda body, _: ["text"]) as server:
        ask(tmp_path, OpenAIModel("tiny", base_url=server.base_url), Repair(lambda found: [long] * len(found)))
    told = server.requests[-1]["messages"][-1]["content"]
    assert len(told) < PROBLEM_CAP + 300
    assert "Traceback" in told
    assert "TypeError: the end" in told


def test_answers_of_another_way_of_asking_are_not_taken_for_those_of_this_one(tmp_path):
    with fake_openai(lambda body, _: [ANSWER]) as server:
        model = OpenAIModel("tiny", base_url=server.base_url)
        resumed = []
        for limit in (3, 3, 4):
            asker = Search({SEARCH: found}, {TASK.task_id: TASK.api}, max_turns=limit)
            resumed.append(ask(tmp_path, model, asker)[1].resumed)
    assert resumed == [0, 1, 0]

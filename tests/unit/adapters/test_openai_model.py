"""The endpoint client against a server that behaves, and one that misbehaves in every way we know."""

from __future__ import annotations

import time

import pytest

from novelapi.adapters.openai_model import OpenAIModel
from novelapi.errors import EndpointError, PartialError, PrerequisiteError, UnknownNameError, UsageError
from novelapi.inference.batch import complete_tasks
from novelapi.inference.cache import CompletionCache
from novelapi.inference.profile import ModelProfile
from novelapi.inference.prompts import build_prompt
from novelapi.records.cell import Sampling
from novelapi.records.completion import Request
from tests.fakes.openai_server import Reply, chat, echo, error, fake_openai
from tests.fakes.tasks import numpy_task

SOON = {"retry-after-ms": "1"}


def model(server, **options):
    return OpenAIModel(options.pop("model", "tiny"), base_url=server.base_url, **options)


def one(server, **options):
    ((_, completion),) = model(server, **options).stream([Request(prompt="p")])
    return completion


def test_greedy_first_and_all_other_samples_in_one_request():
    with fake_openai() as server:
        texts = model(server).complete(["a", "b"], Sampling(n=4, temperature=0.7, seed=5))
    assert texts == [["0:0.0:0:" + p, *(f"{i}:0.7:5:{p}" for i in range(3))] for p in "ab"]
    assert sorted(request["n"] for request in server.requests) == [1, 1, 3, 3]
    assert all(not any(name.startswith("guided") for name in request) for request in server.requests)


def test_an_endpoint_that_ignores_n_is_asked_for_the_rest_with_other_seeds():
    with fake_openai(lambda body, _: [f"seed {body['seed']}"]) as server:
        ((_, completion),) = model(server).stream([Request(prompt="p", n=3, temperature=1, seed=10)])
    assert completion.texts == ("seed 10", "seed 11", "seed 12")
    assert completion.completion_tokens == 9


def test_an_endpoint_that_returns_too_many_choices_is_cut():
    with fake_openai(lambda body, _: ["a", "b", "c"]) as server:
        assert one(server).texts == ("a",)


@pytest.mark.parametrize(
    ("fault", "attempts"),
    [
        (error(429, "slow down", headers=SOON), 2),
        (error(500, "oops", headers=SOON), 2),
        (error(503, "busy", headers=SOON), 2),
        (Reply(200, chat(["never whole"]), cut=20), 2),
        (Reply(200, "this is not JSON"), 2),
        (Reply(200, "<html>proxy</html>", {"Content-Type": "text/html"}), 2),
        (Reply(200, {"choices": []}), 2),
        (Reply(200, {"unexpected": True}), 2),
    ],
    ids=["429", "500", "503", "cut", "not-json", "html", "no-choices", "wrong-json"],
)
def test_a_passing_fault_is_survived(fault, attempts):
    with fake_openai(lambda body, attempt: fault if attempt == 1 else ["fine"]) as server:
        completion = one(server)
    assert completion.texts == ("fine",)
    assert server.prompts["p"] == attempts


def test_retry_after_is_honoured():
    with fake_openai(
        lambda body, attempt: error(429, "slow", headers={"Retry-After": "0.3"}) if attempt == 1 else ["ok"]
    ) as server:
        started = time.monotonic()
        assert one(server).texts == ("ok",)
    assert time.monotonic() - started >= 0.3


@pytest.mark.parametrize(
    "fault",
    [error(500, "oops", headers=SOON), Reply(200, "no JSON"), Reply(200, {"choices": []})],
    ids=["500", "not-json", "no-choices"],
)
def test_a_lasting_fault_marks_its_request_only(fault):
    def behaviour(body, attempt):
        return fault if body["messages"][0]["content"] == "bad" else ["fine"]

    with fake_openai(behaviour) as server:
        answers = dict(model(server, retries=1).stream([Request(prompt=text) for text in ("a", "bad", "b")]))
    assert [answers[i].failure for i in range(3)] == [None, "transient", None]
    assert answers[1].detail


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        (
            error(400, "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens"),
            "context",
        ),
        (error(400, "too big", code="context_length_exceeded"), "context"),
        (error(400, "The prompt (total length 9000) is too long to fit into the model"), "context"),
        (error(413, "request too long"), "context"),
        (error(400, "image input is not supported"), "refused"),
        (error(422, "n must be 1"), "refused"),
    ],
)
def test_a_request_that_can_never_succeed_is_sent_once(fault, failure):
    with fake_openai(lambda body, attempt: fault) as server:
        completion = one(server)
    assert completion.failure == failure
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (error(401, "Incorrect API key"), PrerequisiteError, "OPENAI_API_KEY"),
        (error(403, "no access"), PrerequisiteError, "OPENAI_API_KEY"),
        (error(429, "quota", code="insufficient_quota", headers=SOON), PrerequisiteError, "quota"),
    ],
)
def test_what_concerns_every_request_ends_the_batch(fault, kind, words):
    with fake_openai(lambda body, attempt: fault) as server, pytest.raises(kind, match=words):
        list(model(server, concurrency=2, retries=0).stream([Request(prompt=str(i)) for i in range(50)]))
    assert len(server.requests) < 10


def test_an_endpoint_that_refuses_everything_is_a_usage_error():
    refusal = error(400, "use max_completion_tokens")
    with fake_openai(lambda body, attempt: refusal) as server, pytest.raises(UsageError, match="max_completion_tokens"):
        list(model(server, concurrency=1).stream([Request(prompt=str(i)) for i in range(50)]))
    assert len(server.requests) == 5


def test_an_endpoint_that_dies_is_noticed():
    def behaviour(body, attempt):
        return ["ok"] if body["messages"][0]["content"] == "0" else error(500, "dead", headers=SOON)

    with (
        fake_openai(behaviour) as server,
        pytest.raises(EndpointError, match="nothing that was answered is asked twice"),
    ):
        list(model(server, concurrency=1, retries=0).stream([Request(prompt=str(i)) for i in range(100)]))
    assert len(server.requests) == 21


def test_an_unknown_model_gets_near_matches():
    with fake_openai(models=("qwen2.5-coder-7b", "other")) as server:
        for ask in (lambda m: m.check(), lambda m: m.complete(["p"], Sampling())):
            with pytest.raises(UnknownNameError, match=r"did you mean qwen2\.5-coder-7b\?"):
                ask(model(server, model="qwen2.5-coder-7"))


def test_a_wrong_address_says_so():
    with fake_openai() as server, pytest.raises(EndpointError, match="ends in /v1"):
        OpenAIModel("tiny", base_url=server.base_url.removesuffix("/v1")).complete(["p"], Sampling())


def test_nobody_listens():
    with fake_openai() as server:
        pass
    with pytest.raises(EndpointError, match="check --base-url"):
        OpenAIModel("tiny", base_url=server.base_url).check()


def test_neither_key_nor_address():
    with pytest.raises(PrerequisiteError, match="OPENAI_API_KEY"):
        OpenAIModel("gpt")


def test_the_key_is_sent_and_local_servers_need_none():
    with fake_openai() as server:
        one(server)
        one(server, api_key="sk-1")
    assert server.keys == {"Bearer none", "Bearer sk-1"}


def test_thinking_is_kept_apart_however_the_server_delivers_it():
    with fake_openai(lambda body, _: ["<think>hm</think>answer"]) as server:
        inline = one(server)
    with fake_openai(lambda body, _: Reply(200, chat(["answer"], reasoning_content="hm"))) as server:
        apart = one(server)
    assert (inline.texts, inline.thinking) == (apart.texts, apart.thinking) == (("answer",), ("hm",))


def test_an_empty_message_is_an_empty_answer_not_a_fault():
    with fake_openai(lambda body, _: Reply(200, chat([None]))) as server:
        assert one(server).texts == ("",)


def test_a_huge_answer_is_cut():
    with fake_openai(lambda body, _: ["x" * 3_000_000]) as server:
        assert len(one(server).texts[0]) == 1 << 20


def test_a_slow_answer_times_out():
    with fake_openai(lambda body, _: Reply(200, chat(["late"]), delay=0.5)) as server:
        assert one(server, timeout_s=0.1, retries=0).failure == "transient"


def test_usage_is_the_servers_or_an_estimate():
    with fake_openai() as server:
        counted = one(server)
    bare = chat(["text"])
    del bare["usage"]
    with fake_openai(lambda body, _: Reply(200, bare)) as server:
        estimated = one(server)
    assert (counted.prompt_tokens, counted.completion_tokens) == (7, 3)
    assert estimated.prompt_tokens > 0


def test_profiles_decide_what_is_sent():
    profile = ModelProfile(
        limit_parameter="max_completion_tokens", fixed_sampling=True, extra_body={"reasoning_effort": "low"}
    )
    with fake_openai(lambda body, _: ["x"]) as server:
        one(server, profile=profile)
    (body,) = server.requests
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (2048, "low")
    assert not {"max_tokens", "temperature", "seed", "top_p"} & set(body)


def test_bare_completions():
    with fake_openai(echo) as server:
        completion = one(server, profile=ModelProfile(mode="completions"))
    assert completion.texts == ("0:0.0:0:p",)
    assert server.requests[0]["prompt"] == "p"


def test_structured_outputs_use_the_standard_field():
    schema = {"type": "object"}
    with fake_openai(lambda body, _: ["{}"]) as server:
        list(model(server).stream([Request(prompt="p", json_schema=schema)]))
    assert server.requests[0]["response_format"]["json_schema"]["schema"] == schema


def test_the_revision_tells_addresses_habits_and_given_revisions_apart():
    def revision(**options):
        return OpenAIModel("m", base_url=options.pop("base_url", "http://a/v1"), **options).revision

    seen = {
        revision(),
        revision(base_url="http://b/v1"),
        revision(profile=ModelProfile(mode="completions")),
        revision(revision="c0ffee"),
    }
    assert len(seen) == 4


def test_closing_the_stream_stops_asking():
    with fake_openai() as server:
        stream = model(server, concurrency=2).stream(Request(prompt=str(i)) for i in range(10_000))
        next(stream)
        stream.close()
    assert len(server.requests) < 1000


def test_a_refused_prompt_in_a_plain_call_is_an_error():
    with fake_openai(lambda body, _: error(400, "no")) as server, pytest.raises(PartialError):
        model(server).complete(["p"], Sampling())


def test_killed_and_restarted_no_request_is_sent_twice(tmp_path):
    tasks = [numpy_task(number, description=f"Do {number}.") for number in range(30)]
    prompts = [build_prompt(task, "") for task in tasks]

    def dying(body, attempt):
        return error(401, "expired key") if len(server.requests) > 12 else echo(body, attempt)

    with CompletionCache(tmp_path / "c.sqlite") as cache, fake_openai(dying) as server:
        with pytest.raises(PrerequisiteError):
            complete_tasks(tasks, prompts, model(server, concurrency=1), Sampling(), cache, tmp_path / "cell")
        server.behaviour = echo
        result = complete_tasks(tasks, prompts, model(server), Sampling(), cache, tmp_path / "cell")
    assert (result.resumed, result.answered) == (12, 18)
    assert sum(server.prompts.values()) == 31  # one of them was refused


def test_log_probabilities_are_summed_where_the_endpoint_offers_them():
    body = chat(["ab", "c"])
    body["choices"][0]["logprobs"] = {
        "content": [{"token": t, "logprob": -0.5, "bytes": None, "top_logprobs": []} for t in "ab"]
    }
    with fake_openai(lambda _, __: Reply(200, body)) as server:
        ((_, asked),) = model(server).stream([Request(prompt="p", n=2, temperature=1, logprobs=True)])
        ((_, not_asked),) = model(server).stream([Request(prompt="p", n=2, temperature=1)])
    assert asked.logprobs == (-1.0, None)
    assert not_asked.logprobs == ()
    assert [request.get("logprobs") for request in server.requests] == [True, None]

"""The completion cache: what makes two requests equal, and that a replay is the same byte for byte."""

from __future__ import annotations

import multiprocessing
import sqlite3

import pytest

from novelapi.errors import DataError, NovelApiError
from novelapi.inference.budget import Budget
from novelapi.inference.cache import CompletionCache, request_spec
from novelapi.inference.cached import CachedCompleter
from novelapi.inference.requests import as_stream
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Request
from tests.fakes.tasks import Scripted


@pytest.fixture
def cache(tmp_path):
    with CompletionCache(tmp_path / "completions.sqlite") as cache:
        yield cache


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        # A greedy request has neither seed nor nucleus.
        ({}, {"seed": 5, "top_p": 0.5}, True),
        ({"temperature": 0.8, "seed": 1}, {"temperature": 0.8, "seed": 2}, False),
        ({"temperature": 0.8}, {"temperature": 0.7}, False),
        ({"temperature": 0.8, "top_p": 0.9}, {"temperature": 0.8}, False),
        ({"n": 2}, {"n": 3}, False),
        ({"max_tokens": 10}, {"max_tokens": 20}, False),
        ({"prompt": "a"}, {"prompt": "b"}, False),
        ({"json_schema": {"type": "object"}}, {}, False),
    ],
)
def test_what_makes_requests_equal(first, second, same):
    model = as_stream(Scripted())
    specs = [request_spec(model, Request(**({"prompt": "p"} | fields))) for fields in (first, second)]
    assert (specs[0] == specs[1]) is same


def test_revision_adapter_and_engine_are_part_of_the_key():
    request = Request(prompt="p")
    models = [
        as_stream(Scripted("r1")),
        as_stream(Scripted("r2")),
        as_stream(Scripted("r1")),
        as_stream(Scripted("r1")),
    ]
    models[2].adapter_sha = "lora"
    models[3].engine = "vllm-0.32"
    assert len({str(request_spec(model, request)) for model in models}) == 4


def test_nothing_is_asked_twice_and_more_samples_keep_the_greedy_one(cache):
    model = Scripted()
    (one,) = CachedCompleter(model, cache).complete(["p"], Sampling())
    (three,) = CachedCompleter(model, cache).complete(["p"], Sampling(n=3, seed=7))
    again = CachedCompleter(model, cache)
    assert again.complete(["p", "p"], Sampling(n=3, seed=7)) == [three, three]
    assert three == [*one, "r1|p|t=0.8 s=7 #1", "r1|p|t=0.8 s=7 #2"]
    assert model.asked == [("p", 1), ("p", 3)]
    assert (again.usage.calls, again.usage.cached) == (0, 4)


def test_equal_requests_of_one_batch_are_sent_once(cache):
    model = Scripted()
    CachedCompleter(model, cache).complete(["p", "q", "p"], Sampling())
    assert model.asked == [("p", 1), ("q", 1)]


def test_export_and_replay_are_identical_bytes(cache, tmp_path):
    CachedCompleter(Scripted(), cache).complete(["b", "a", "unicode é \ud800"], Sampling(n=2))
    assert cache.export(tmp_path / "first.jsonl") == 6
    with CompletionCache(tmp_path / "copy.sqlite") as other:
        assert other.load(tmp_path / "first.jsonl") == 6
        other.export(tmp_path / "second.jsonl")
        silent = Scripted()
        texts = CachedCompleter(silent, other).complete(["a"], Sampling(n=2))
    assert (tmp_path / "first.jsonl").read_bytes() == (tmp_path / "second.jsonl").read_bytes()
    assert texts == Scripted().complete(["a"], Sampling(n=2))
    assert silent.asked == []


def test_failures_are_not_recorded(cache):
    class Broken:
        name = revision = engine = "broken"
        adapter_sha = None

        def complete(self, prompts, sampling):
            raise AssertionError

        def stream(self, requests):
            for index, _ in enumerate(requests):
                yield index, Completion(failure="transient", detail="down")

    (item,) = CachedCompleter(Broken(), cache).stream([Request(prompt="p")])
    assert item[1].failure == "transient"
    assert len(cache) == 0


def test_the_first_recording_wins(cache):
    spec = {"prompt": "p"}
    assert cache.put(spec, Completion(texts=("first",))).texts == ("first",)
    assert cache.put(spec, Completion(texts=("second",))).texts == ("first",)


@pytest.mark.parametrize(
    "line", ['{"key": "x"}', '{"key": "0", "spec": {"prompt": "p"}, "completion": {}}', "not json"]
)
def test_a_broken_recording_is_refused_with_its_line(cache, tmp_path, line):
    (tmp_path / "bad.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match="line 1"):
        cache.load(tmp_path / "bad.jsonl")


def test_a_file_that_is_no_cache_is_a_readable_error(tmp_path):
    (tmp_path / "x.sqlite").write_text("this is not a database, and it is long enough to be read as one" * 20)
    with pytest.raises(NovelApiError, match="completion cache"):
        CompletionCache(tmp_path / "x.sqlite")


@pytest.mark.parametrize(
    ("code", "words", "never"),
    [(sqlite3.SQLITE_FULL, "free space", "away"), (sqlite3.SQLITE_NOTADB, "move it away", "free space")],
)
def test_a_full_disk_never_advises_to_give_up_the_answers(tmp_path, monkeypatch, code, words, never):
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = code

    def connect(*_args, **_options):
        raise error

    monkeypatch.setattr(sqlite3, "connect", connect)
    with pytest.raises(NovelApiError, match=words) as caught:
        CompletionCache(tmp_path / "cache.sqlite")
    assert "remove" not in str(caught.value)
    assert never not in str(caught.value)


def _fill(path, start):
    with CompletionCache(path) as cache:
        for number in range(start, start + 40):
            cache.put({"n": number}, Completion(texts=(str(number),)))


def test_several_processes_may_write_at_a_time(tmp_path):
    path = tmp_path / "completions.sqlite"
    context = multiprocessing.get_context("spawn")  # as the command line does: nothing of this process comes along
    jobs = [context.Process(target=_fill, args=(path, start)) for start in (0, 20, 40)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0, 0, 0]
    with CompletionCache(path) as cache:
        assert len(cache) == 80


def test_a_budget_in_calls_holds_exactly(cache):
    model = Scripted()
    limited = CachedCompleter(model, cache, budget=Budget(calls=2))
    answers = dict(limited.stream([Request(prompt=text) for text in "abcd"]))
    assert [answers[i].failure for i in range(4)] == [None, None, "budget", "budget"]
    assert len(model.asked) == 2
    # What is recorded needs no budget.
    free = CachedCompleter(model, cache, budget=Budget(calls=0))
    assert [item.failure for _, item in sorted(free.stream([Request(prompt=text) for text in "abc"]))] == [
        None,
        None,
        "budget",
    ]

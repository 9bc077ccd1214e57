"""Rows: one answer for all methods, streams per task for RAFT, nothing cut."""

from __future__ import annotations

import random

import pytest

from novelapi.adaptation.rows import answer_of, conflicting, draw_documents, encode_rows, plain_row, raft_rows
from novelapi.catalog.splits import split_apis
from novelapi.errors import UsageError
from tests.fakes.tasks import numpy_task

POOL = [("numpy", f"numpy.f{number}") for number in range(30)]


def tasks(count):
    return [
        numpy_task().model_copy(update={"task_id": f"numpy/f{number}/1", "api": f"numpy.f{number}"})
        for number in range(count)
    ]


def test_a_draw_depends_on_seed_and_task_alone():
    target = POOL[0]
    first = draw_documents("a", target, POOL, seed=0)
    assert draw_documents("a", target, reversed(POOL), seed=0) == first
    others = [draw_documents(name, target, POOL, seed=seed) for name, seed in (("a", 1), ("b", 0), ("c", 0))]
    assert any(other != first for other in others)


def test_the_draws_are_distractors_then_drop_then_order():
    """The published order of draws, spelled out here."""
    for number in range(50):
        stream = random.Random(f"0::t{number}")
        drawn = stream.sample(sorted(POOL[1:]), 2)
        dropped = stream.random() < 0.2
        wanted = list(drawn)
        if not dropped:
            wanted = [POOL[0], *drawn]
            stream.shuffle(wanted)
        found = draw_documents(f"t{number}", POOL[0], POOL, seed=0)
        assert (list(found.documents), found.dropped) == (wanted, dropped)


def test_a_fifth_of_the_targets_is_dropped_and_never_a_distractor():
    draws = [draw_documents(f"t{number}", POOL[0], POOL, seed=0) for number in range(1500)]
    assert 0.16 < sum(draw.dropped for draw in draws) / 1500 < 0.24
    for draw in draws:
        assert len(set(draw.documents)) == (2 if draw.dropped else 3)
        assert (POOL[0] in draw.documents) is not draw.dropped


def test_raft_rows_name_what_they_show():
    rows = raft_rows(tasks(6), lambda _, api: f"about {api[1]}", lambda task, text: f"{text}\n{task.api}?", seed=3)
    for row in rows:
        shown = [line for line in row.prompt.split("\n") if line.startswith("about ")]
        assert shown == [f"about {name.partition('/')[2]}" for name in row.documents]
        assert row.answer == answer_of(tasks(1)[0])
    with pytest.raises(UsageError, match="RAFT needs 2 other APIs and there are 1"):
        raft_rows(tasks(2), lambda _, api: api[1], lambda task, text: text)


def test_a_subject_that_is_not_in_its_prompt_is_counted_and_the_others_are_kept(tokenizer):
    there, gone = (plain_row(task, "About numpy.f0", name) for task, name in zip(tasks(2), ("f0", "f1"), strict=True))
    found, told = encode_rows([there, gone], tokenizer, window=120, chat=False)
    assert [item.case_id for item in found] == [there.task_id]
    assert told.left_out == {gone.task_id: "the subject 'f1' does not occur in its prompt: name a part of the prompt"}


def test_rows_that_do_not_fit_are_counted_not_cut(tokenizer):
    short, long = (plain_row(task, prompt) for task, prompt in zip(tasks(2), ("API:", "API: " * 200), strict=True))
    found, told = encode_rows([short, long], tokenizer, window=120, chat=False)
    assert [item.case_id for item in found] == [short.task_id]
    assert "the window 120" in told.left_out[long.task_id]
    answer = tokenizer(short.answer, add_special_tokens=False)["input_ids"]
    assert list(found[0].bare.target) == [*answer, tokenizer.eos_token_id]
    with pytest.raises(UsageError, match="no training row is left"):
        encode_rows([long], tokenizer, window=120, chat=False)


def test_subjects_are_found_inside_a_chat_template(tokenizer):
    from novelapi.adaptation.tiny import TEMPLATE

    tokenizer.chat_template = TEMPLATE
    row = plain_row(tasks(1)[0], "## API\n\n`numpy.f0` {braces}\n", "numpy.f0")
    (item,), _ = encode_rows([row], tokenizer, window=400)
    tokenizer.chat_template = None
    assert tokenizer.decode(item.bare.ids[: item.bare.subject + 1]).endswith("numpy.f0")
    assert tokenizer.decode(item.bare.ids[: item.bare.start]).endswith("assistant\n")


def test_apis_with_several_rows_are_named():
    rows = [plain_row(task, "x") for task in tasks(2)]
    assert conflicting([*rows, rows[0]]) == {"numpy.f0": 2}


def test_the_split_follows_the_published_rule():
    import zlib

    pairs = [(library, f"{library}.f{number}") for library in ("numpy", "scipy") for number in range(11)]
    train = split_apis(pairs, "data_science")
    for library in ("numpy", "scipy"):
        own = sorted(pair for pair in pairs if pair[0] == library)
        random.Random(42 ^ zlib.crc32(library.encode())).shuffle(own)
        assert {pair for pair in train if pair[0] == library} == set(own[:8])
    assert split_apis(pairs, "lolo_scipy") == {pair for pair in pairs if pair[0] == "numpy"}
    assert split_apis([*pairs, ("diffusers", "diffusers.a")], "lolo_diffusers") == set(pairs)

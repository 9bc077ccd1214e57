"""Cutting knowledge into passages: code whole, white space intact; the published windows for comparison."""

from __future__ import annotations

import re

import pytest

from novelapi.inference.markdown import blocks, fenced
from novelapi.retrieval.passages import Chunking, make_passages

CODE = "\n".join(f"def function_{i}(x):\n    if x:\n        return {i}\n\n" for i in range(60))
PROSE = " ".join(f"Sentence {i} says little." for i in range(200))
EXAMPLE = fenced("a = 1\n\n\nb  =  2")
KNOWLEDGE = (
    f"### Name\n\n`lib.api`\n\n### Examples\n\n{EXAMPLE}\n\n### Prose\n\n{PROSE}\n\n### Code\n\n{fenced(CODE)}\n"
)


def cut(text=KNOWLEDGE, **fields):
    return [passage.text for passage in make_passages("lib.api", "lib", text, Chunking(**fields))]


def test_short_knowledge_is_one_passage_byte_for_byte():
    text = "### Name\n\n`x`\n\n```python\nif a:\n\tb  # tab\n\n\n    c\n```"
    assert cut(text) == [text]


def test_every_line_of_code_survives_with_its_white_space():
    shown = "\n".join(cut(overlap=0))
    for line in [*CODE.split("\n"), "b  =  2"]:
        assert line in shown.split("\n")


def test_a_code_block_that_fits_is_never_cut():
    assert sum(EXAMPLE in passage for passage in cut(limit=300)) == 1


def test_long_code_is_cut_between_definitions_and_fenced_again():
    parts = [block for passage in cut(limit=500, overlap=0) for block in blocks(passage) if "function_" in block]
    assert len(parts) > 3
    for part in parts:
        lines = part.split("\n")
        assert (lines[0], lines[-1]) == ("```python", "```")
        assert lines[1].startswith("def ")
    bodies = [line for part in parts for line in part.split("\n")[1:-1]]
    assert "\n".join(bodies).strip("\n") == CODE.strip("\n")


def test_overlap_repeats_lines_where_code_was_cut():
    first, second = [
        block.split("\n")[1:-1]
        for passage in cut(limit=500, overlap=2)
        for block in blocks(passage)
        if "function_" in block
    ][:2]
    assert first[-2:] == second[:2]


@pytest.mark.parametrize("limit", [100, 300, 1000, 5000])
def test_passages_stay_below_the_limit(limit):
    fence = len("```python\n\n```")
    assert all(len(text) <= limit + fence + len("### Examples\n\n### Prose\n\n") for text in cut(limit=limit))


def test_a_heading_stays_with_what_follows_it():
    assert not any(re.search(r"### \w+\s*$", text) for text in cut(limit=300))


def test_one_endless_line_is_kept_whole():
    line = "x = '" + "y" * 900 + "'"
    assert any(line in text for text in cut(fenced(line), limit=100))


def test_no_text_no_passage():
    assert cut("") == []
    assert cut("", kind="windows") == []


def test_ids_are_unique_and_name_the_api():
    passages = make_passages("lib.api", "lib", KNOWLEDGE, Chunking(limit=300))
    assert [passage.id for passage in passages[:2]] == ["lib.api#1", "lib.api#2"]
    assert len({passage.id for passage in passages}) == len(passages)


@pytest.mark.parametrize(
    ("words", "windows"),
    [
        (1, [(0, 1)]),
        (512, [(0, 512)]),
        # The published cut makes a second window of the last 64 words here, a pure repeat.
        (513, [(0, 512), (448, 513)]),
        (1000, [(0, 512), (448, 960), (896, 1000)]),
    ],
)
def test_published_windows(words, windows):
    text = "  \n ".join(map(str, range(words)))
    assert cut(text, kind="windows") == [" ".join(map(str, range(*window))) for window in windows]

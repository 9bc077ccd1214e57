"""Trimming: whole blocks from the end of the knowledge, nothing else, and never an aborted cell."""

from __future__ import annotations

import pytest

from novelapi.inference.markdown import blocks, is_heading
from novelapi.inference.profile import ModelProfile
from novelapi.inference.prompts import build_prompt
from novelapi.inference.window import fit_prompt
from tests.fakes.tasks import numpy_task

KNOWLEDGE = """### Name

`numpy.unstack`

### Examples

```python
first = 1

second = 2
```

### Implementation

```python
def f():
    return 1


    # after two blank lines
```
"""


def words(text: str) -> int:
    return len(text.split())


BARE = words(build_prompt(numpy_task(), ""))


def fit(room: int, knowledge: str = KNOWLEDGE):
    profile = ModelProfile(window=max(64, 1000 + room))
    return fit_prompt(numpy_task(), knowledge, profile, profile.window - room, words)


def test_blocks_end_at_blank_lines_outside_fences():
    found = blocks(KNOWLEDGE)
    assert "\n\n".join(found) + "\n" == KNOWLEDGE
    assert [block.split()[0] for block in found] == ["###", "`numpy.unstack`", "###", "```python", "###", "```python"]
    assert [is_heading(block) for block in found] == [True, False, True, False, True, False]


@pytest.mark.parametrize(
    ("room", "kept"),
    [
        (0, "everything"),
        (-1, "the code goes, and its heading with it"),
        (-14, "the examples go too"),
    ],
)
def test_what_is_cut(room, kept):
    whole = words(build_prompt(numpy_task(), KNOWLEDGE))
    prompt = fit(whole + room)
    shown = prompt.text.split("## Context")[0]
    assert ("### Implementation" in shown) is (kept == "everything")
    assert ("second = 2" in shown) is (room > -14)
    assert "`numpy.unstack`" in shown
    assert prompt.refused is None
    assert (prompt.trimmed == 0) is (kept == "everything")


def test_a_block_is_shown_whole_or_not_at_all():
    whole = words(build_prompt(numpy_task(), KNOWLEDGE))
    for room in range(BARE, whole + 1):
        shown = fit(room).text
        assert words(shown) <= room
        for block in ("first = 1\n\nsecond = 2\n```", "return 1\n\n\n    # after two blank lines\n```"):
            assert block.split("\n", maxsplit=1)[0] not in shown or block in shown


def test_no_knowledge_fits_but_the_task_does():
    prompt = fit(BARE)
    assert prompt.text == build_prompt(numpy_task(), "")
    assert (prompt.trimmed, prompt.refused) == (len(KNOWLEDGE), None)


def test_a_task_that_does_not_fit_is_refused_with_figures():
    prompt = fit(BARE - 1)
    assert prompt.refused == f"{1000 + BARE} tokens do not fit into a window of {1000 + BARE - 1}"


def test_without_a_known_window_nothing_is_cut():
    prompt = fit_prompt(numpy_task(), KNOWLEDGE * 1000, ModelProfile(), 2048)
    assert prompt.text == build_prompt(numpy_task(), KNOWLEDGE * 1000)


def test_empty_knowledge():
    assert fit(BARE, "").trimmed == 0

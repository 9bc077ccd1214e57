"""What a cell would cost before it starts: its prompts are written as they would be sent, and nothing is."""

from __future__ import annotations

from collections.abc import Sequence

from novelapi.filters import models
from novelapi.grid.cells import asked_tasks, shown_tasks
from novelapi.grid.retrieved import OpenIndex, open_lexical
from novelapi.inference.agent import CALLS_PER_TURN, MAX_TURNS, RESULT_CAP
from novelapi.inference.cache import CompletionCache
from novelapi.inference.plan import plan_usage
from novelapi.inference.profile import profile_of
from novelapi.inference.prompts import Prompt
from novelapi.inference.repair import PROBLEM_CAP
from novelapi.inference.tokens import counter_of
from novelapi.layout import Layout
from novelapi.ports import Completer
from novelapi.records.cell import Cell
from novelapi.records.completion import Usage


def plan_cell(cell: Cell, layout: Layout, completer: Completer, open_index: OpenIndex = open_lexical) -> Usage:
    """Return the requests that a cell would send, with tokens and price; recorded ones count as `cached`.

    Answers are counted at their longest, so that a cell costs at most what is said here. Where a model is asked more
    than once, so are the number of turns and what tools return (one token per character); which later turns are
    recorded is not known before.

    Raises:
        UsageError: there is no knowledge to index.
        PrerequisiteError: the extra of the index is missing.
    """
    tasks = asked_tasks(cell, layout)
    shown, _ = shown_tasks(cell, tasks, layout, open_index)
    most = cell.sampling.max_tokens
    prompts = [models.fit_shown(task, shown[task.task_id], completer, most) for task in tasks]
    profile, count = profile_of(completer), counter_of(completer)
    if cell.delivery == "search":
        return _turns(cell, prompts, completer, range(MAX_TURNS), between=CALLS_PER_TURN * RESULT_CAP)
    with CompletionCache(layout.completions / "cache.sqlite") as cache:
        first = plan_usage(prompts, completer, cell.sampling, cache, profile=profile, count=count)
    if cell.delivery == "repair":
        first += _turns(cell, prompts, completer, range(1, 2), between=PROBLEM_CAP)
    return first


def _turns(cell: Cell, prompts: Sequence[Prompt], completer: Completer, turns: range, *, between: int) -> Usage:
    """Return what some turns of a conversation cost at most, with so many tokens between two answers."""
    profile, count, answer = profile_of(completer), counter_of(completer), cell.sampling.max_tokens
    total = Usage()
    for prompt in prompts:
        length = count(prompt.text)
        for turn in turns if prompt.refused is None else ():
            sent = length + turn * (answer + between)
            sent = sent if profile.window is None else min(sent, profile.window - answer)
            n = cell.sampling.n
            total += Usage(calls=n, prompt_tokens=n * sent, completion_tokens=n * answer)
    return profile.priced(total)

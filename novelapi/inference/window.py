"""Makes prompts fit into a context window by one stated rule, instead of letting the server cut or refuse them.

The rule: knowledge is cut from its end, in whole Markdown blocks (a paragraph, a heading, a fenced block), until prompt
and answer fit. Knowledge is written in the order name, parameters, examples, prose, code, and retrieved passages in the
order of their rank, so what goes first is the code, or the passage that was ranked last. No block is shown in part, and
context, task and instruction are never touched: if they alone do not fit, the task is marked `context`.
"""

from __future__ import annotations

from novelapi.inference.markdown import block_ends, is_heading
from novelapi.inference.profile import ModelProfile
from novelapi.inference.prompts import Prompt, build_prompt
from novelapi.inference.tokens import TokenCounter, estimate_tokens
from novelapi.records.task import Task


def fit_prompt(
    task: Task, knowledge: str, profile: ModelProfile, max_tokens: int, count: TokenCounter = estimate_tokens
) -> Prompt:
    """Build the prompt of a task, with as much of the knowledge as the model's window has room for.

    Args:
        task: the task.
        knowledge: Markdown about the API.
        profile: the model's window.
        max_tokens: room to leave for the answer.
        count: counts tokens; the default estimates from above.
    """
    whole = build_prompt(task, knowledge)
    if profile.window is None or count(whole) + max_tokens <= profile.window:
        return Prompt(text=whole)
    ends = block_ends(knowledge)
    low, high = 0, len(ends) - 1  # the number of blocks that are kept, known to fit at low
    while low < high:
        middle = (low + high + 1) // 2
        fits = count(build_prompt(task, _kept(knowledge, ends, middle))) + max_tokens <= profile.window
        low, high = (middle, high) if fits else (low, middle - 1)
    kept = _kept(knowledge, ends, low)
    fitted = whole_prompt(build_prompt(task, kept), profile, max_tokens, count)
    return fitted.model_copy(update={"trimmed": len(knowledge) - len(kept)})


def whole_prompt(text: str, profile: ModelProfile, max_tokens: int, count: TokenCounter = estimate_tokens) -> Prompt:
    """Return a prompt that nothing can be cut from; too long for the window it is refused."""
    needed = count(text) + max_tokens
    fits = profile.window is None or needed <= profile.window
    return Prompt(text=text, refused=None if fits else f"{needed} tokens do not fit into a window of {profile.window}")


def _kept(text: str, ends: list[int], blocks: int) -> str:
    """Return the first blocks of a text, without a heading or rule that nothing follows any more."""
    starts = [0, *ends]
    while blocks and is_heading(text[starts[blocks - 1] : ends[blocks - 1]]):
        blocks -= 1
    return text[: starts[blocks]]

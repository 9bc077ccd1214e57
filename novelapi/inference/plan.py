"""What a cell would cost before it starts: `--dry-run`."""

from __future__ import annotations

from collections.abc import Sequence

from novelapi.inference.budget import estimate_usage
from novelapi.inference.cache import CompletionCache, request_spec
from novelapi.inference.profile import DEFAULT_PROFILE, ModelProfile
from novelapi.inference.prompts import Prompt
from novelapi.inference.requests import as_stream, requests_for
from novelapi.inference.tokens import TokenCounter, estimate_tokens
from novelapi.ports import Completer
from novelapi.records.cell import Sampling
from novelapi.records.completion import Usage


def plan_usage(
    prompts: Sequence[Prompt | str],
    completer: Completer,
    sampling: Sampling,
    cache: CompletionCache | None = None,
    *,
    profile: ModelProfile = DEFAULT_PROFILE,
    count: TokenCounter = estimate_tokens,
    answer_tokens: int = 0,
) -> Usage:
    """Count the requests that would be sent, and price them; nothing is sent.

    Equal requests count once, recorded ones as `cached`, prompts that do not fit as `failed`. The plans of several
    cells add up to an upper bound, since cells may share requests.

    Args:
        prompts: the prompts of a cell.
        completer: the model; only its identity is used.
        sampling: how texts are drawn.
        cache: recorded answers; null counts every request.
        profile: prices.
        count: counts the tokens of a prompt.
        answer_tokens: expected length of one answer; 0 takes the limit, which is the worst case.
    """
    model = as_stream(completer)
    asked = [prompt if isinstance(prompt, Prompt) else Prompt(text=prompt) for prompt in prompts]
    fitting = [prompt for prompt in asked if prompt.refused is None]
    requests = {request: None for prompt in fitting for request in requests_for(prompt.text, sampling)}
    todo = [request for request in requests if cache is None or cache.get(request_spec(model, request)) is None]
    planned = estimate_usage(todo, profile, count, answer_tokens)
    return planned + Usage(cached=len(requests) - len(todo), failed=len(asked) - len(fitting))

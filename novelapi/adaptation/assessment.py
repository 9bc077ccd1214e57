"""What an edit did, before any task is scored: reproduced, generalised, kept apart, still fluent.

Everything is compared with the base on the same rows in the same batches, so that a difference is the edit's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from novelapi.adaptation.batches import in_chunks, padded
from novelapi.adaptation.extras import Network, Tensor, need
from novelapi.adaptation.network import frozen, hidden_states, log_probabilities
from novelapi.adaptation.requests import TokenRequest
from novelapi.records.base import Record


class Reproduction(Record):
    """Whether a model answers requests with their targets."""

    requests: int
    """Number of requests."""

    exact: float | None
    """Share reproduced token for token by greedy cached decoding; null without requests."""

    log_probability: float | None
    """Mean log-probability of a target token."""

    cases: dict[str, bool] = Field(default_factory=dict)
    """Exact reproduction by request."""


class Locality(Record):
    """How far a model moved on text that it should treat as before."""

    tokens: int
    """Tokens that were compared."""

    agreement: float
    """Share of positions with the same most likely token."""

    divergence: float
    """Mean KL(base || edited) in nats."""

    perplexity_before: float
    """Of the base on that text."""

    perplexity_after: float
    """Of the edited model."""


def reproduce(model: Network, requests: Sequence[TokenRequest], *, batch: int = 32) -> Reproduction:
    """Decode each bare prompt greedily and compare with the target, end of turn included."""
    if not requests:
        return Reproduction(requests=0, exact=None, log_probability=None)
    ordered = sorted(requests, key=lambda request: len(request.bare.ids))
    cases: dict[str, bool] = {}
    total, tokens = 0.0, 0
    with frozen(model):
        for part in in_chunks(ordered, batch):
            answers = generate(model, [item.bare.ids[: item.bare.start] for item in part], _longest(part))
            for request, answer in zip(part, answers, strict=True):
                cases[request.case_id] = answer[: len(request.bare.target)] == list(request.bare.target)
            for request in part:
                scores = target_scores(model, request)
                total += float(scores.sum())
                tokens += len(scores)
    return Reproduction(
        requests=len(requests),
        exact=sum(cases.values()) / len(cases),
        log_probability=total / tokens,
        cases=dict(sorted(cases.items())),
    )


def _longest(requests: Sequence[TokenRequest]) -> int:
    return max(len(request.bare.target) for request in requests)


def generate(model: Network, prompts: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """Return up to `count` greedy tokens after each prompt, by cached decoding, padded on the left."""
    torch = need("torch")
    ids, mask = padded(prompts, next(model.parameters()).device, left=True)
    with torch.no_grad():
        out = model.generate(
            input_ids=ids, attention_mask=mask, max_new_tokens=count, do_sample=False, use_cache=True, pad_token_id=0
        )
    return out[:, ids.shape[1] :].tolist()


def target_scores(model: Network, request: TokenRequest) -> Tensor:
    """Return the log-probability of each target token.

    The prompt is read alone and the target behind it from the cache, as in decoding: hooks that act on the last token
    of a prompt see the same prompt.
    """
    torch = need("torch")
    bare = request.bare
    device = next(model.parameters()).device
    prompt = torch.tensor([bare.ids[: bare.start]], device=device)
    target = torch.tensor([bare.target], device=device)
    with torch.no_grad():
        first = model(input_ids=prompt, attention_mask=torch.ones_like(prompt), use_cache=True)
        scores = [first.logits[:, -1:]]
        if len(bare.target) > 1:
            mask = torch.ones((1, len(bare.ids) - 1), dtype=torch.long, device=device)
            rest = model(
                input_ids=target[:, :-1], attention_mask=mask, past_key_values=first.past_key_values, use_cache=True
            )
            scores.append(rest.logits)
        found = torch.log_softmax(torch.cat(scores, dim=1).float(), dim=-1)
    return found.gather(2, target[..., None])[0, :, 0].cpu()


def locality_scores(model: Network, sequences: Sequence[Sequence[int]], *, batch: int = 8) -> list[Tensor]:
    """Return log-probabilities at every position of unrelated texts, to be compared before and after."""
    torch = need("torch")
    found: list[Tensor] = []
    with frozen(model), torch.no_grad():
        for part in in_chunks(sequences, batch):
            ids, mask = padded(part, next(model.parameters()).device)
            hidden = hidden_states(model, ids, mask)
            found += [log_probabilities(model, hidden[row, : len(own)]).cpu() for row, own in enumerate(part)]
    return found


def compare_locality(sequences: Sequence[Sequence[int]], before: Sequence[Tensor], after: Sequence[Tensor]) -> Locality:
    """Compare two models on the same unrelated texts."""
    torch = need("torch")
    agree = apart = 0.0
    tokens = predicted = 0
    losses = [0.0, 0.0]
    for row, old, new in zip(sequences, before, after, strict=True):
        agree += float((old.argmax(-1) == new.argmax(-1)).sum())
        apart += float((old.exp() * (old - new)).sum())
        tokens += len(row)
        following = torch.tensor(list(row[1:]))[:, None]
        predicted += len(row) - 1
        for which, scores in enumerate((old, new)):
            losses[which] -= float(scores[:-1].gather(1, following).sum()) if len(row) > 1 else 0.0
    mean = [loss / max(1, predicted) for loss in losses]
    return Locality(
        tokens=tokens,
        agreement=agree / tokens,
        divergence=apart / tokens,
        perplexity_before=math.exp(min(50.0, mean[0])),
        perplexity_after=math.exp(min(50.0, mean[1])),
    )


def fluency(texts: Sequence[Sequence[int]]) -> float | None:
    """Return the weighted entropy of 2- and 3-grams in bits (weights 2/3 and 4/3), the mean over texts.

    Collapse into repetition shows as a low value; texts shorter than three tokens are left out.
    """
    values: list[float] = []
    for text in texts:
        if len(text) < 3:
            continue
        own = [_entropy(Counter(tuple(text[start : start + n]) for start in range(len(text) - n + 1))) for n in (2, 3)]
        values.append((2 / 3 * own[0] + 4 / 3 * own[1]) / 2)
    return sum(values) / len(values) if values else None


def _entropy(counts: Counter[tuple[int, ...]]) -> float:
    total = sum(counts.values())
    return -sum(count / total * math.log2(count / total) for count in counts.values())


def retention(cases: dict[str, bool], order: Sequence[str]) -> dict[str, Any]:
    """Return how well the first and the last quarter of the edits hold after all of them."""
    known = [cases[case] for case in order if case in cases]
    quarter = max(1, len(known) // 4)
    if not known:
        return {"first_quarter": None, "last_quarter": None}
    return {
        "first_quarter": sum(known[:quarter]) / quarter,
        "last_quarter": sum(known[-quarter:]) / quarter,
    }

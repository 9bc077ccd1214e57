"""What an editor is asked to change, as text and as tokens.

Subjects are given by character offsets and found through the tokenizer's offset mapping: task code holds braces, and
tokens merge across the seam of separately tokenised parts. The prompt is tokenised whole and the target behind it on
its own, which is what generation sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field, model_validator

from novelapi.adaptation.extras import Tokenizer
from novelapi.errors import UsageError
from novelapi.fingerprint import digest
from novelapi.records.base import Record


class EditRequest(Record):
    """One fact to be written into a model."""

    case_id: str
    """Unique in a batch: the task's id."""

    api: str = ""
    """The API that the fact is about."""

    prompt: str
    """Text after which the target has to come, chat template included where the method uses one."""

    subject: tuple[int, int] | None = None
    """Characters of the prompt (start, end) that name what the fact is about; null where the method needs none."""

    target: str = Field(min_length=1)
    """Text that has to be generated."""

    @model_validator(mode="after")
    def _subject_lies_in_prompt(self) -> EditRequest:
        if self.subject is not None and not 0 <= self.subject[0] < self.subject[1] <= len(self.prompt):
            raise ValueError(f"subject {self.subject} does not lie in the {len(self.prompt)} characters of the prompt")
        return self


def locate_subject(prompt: str, subject: str) -> tuple[int, int]:
    """Return the offsets of the first occurrence of a subject.

    Raises:
        UsageError: it does not occur.
    """
    start = prompt.find(subject) if subject else -1
    if start < 0:
        raise UsageError(f"the subject '{subject}' does not occur in its prompt: name a part of the prompt")
    return start, start + len(subject)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One token sequence in which a request is shown."""

    ids: tuple[int, ...]
    """Tokens, those of the target at the end."""

    subject: int
    """Position of the subject's last token."""

    start: int
    """Position of the first target token; the length where there is no target."""

    @property
    def target(self) -> tuple[int, ...]:
        """The target's tokens."""
        return self.ids[self.start :]


@dataclass(frozen=True, kw_only=True)
class TokenRequest:
    """One request as an editor sees it."""

    case_id: str
    api: str
    groups: tuple[tuple[Variant, ...], ...]
    """The bare prompt alone, then the prompt behind each sampled prefix; a group counts as one in averages."""
    essence: Variant | None
    """`SUBJECT is a`, whose continuation should not change; null where the request has no subject."""

    @property
    def bare(self) -> Variant:
        """The prompt itself."""
        return self.groups[0][0]

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All forms, the bare one first."""
        return tuple(variant for group in self.groups for variant in group)

    @property
    def sha(self) -> str:
        """Digest of all tokens."""
        forms = [[list(item.ids), item.subject, item.start] for item in self.variants]
        essence = None if self.essence is None else [list(self.essence.ids), self.essence.subject]
        return digest([self.case_id, forms, essence])


def encode(
    request: EditRequest,
    tokenizer: Tokenizer,
    *,
    prefixes: Sequence[str] = (),
    window: int | None = None,
    end: Sequence[int] = (),
) -> TokenRequest:
    """Turn a request into tokens.

    Args:
        request: the request.
        tokenizer: a fast tokenizer.
        prefixes: texts put in front of the prompt, so that the key does not depend on its place.
        window: longest sequence in tokens.
        end: tokens after the target, such as the end of the turn.

    Raises:
        UsageError: prompt and target do not fit into the window, or the subject has no token.
    """
    target = [*_plain(tokenizer, request.target), *end]
    bare = _variant(tokenizer, request, "", target, window)
    groups: list[tuple[Variant, ...]] = [(bare,)]
    if prefixes:
        groups.append(tuple(_variant(tokenizer, request, prefix, target, window) for prefix in prefixes))
    return TokenRequest(
        case_id=request.case_id, api=request.api, groups=tuple(groups), essence=_essence(tokenizer, request)
    )


def _variant(
    tokenizer: Tokenizer, request: EditRequest, prefix: str, target: Sequence[int], window: int | None
) -> Variant:
    text = prefix + request.prompt
    coded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids = list(coded["input_ids"])
    if window is not None and len(ids) + len(target) > window:
        raise UsageError(
            f"{request.case_id}: prompt and target have {len(ids)} + {len(target)} tokens and the window {window}: "
            "shorten them or use a model with a longer window"
        )
    place = len(ids) - 1
    if request.subject is not None:
        start, stop = (len(prefix) + offset for offset in request.subject)
        place = _last_token(coded["offset_mapping"], start, stop, request.case_id)
    return Variant(ids=(*ids, *target), subject=place, start=len(ids))


def _essence(tokenizer: Tokenizer, request: EditRequest) -> Variant | None:
    if request.subject is None:
        return None
    subject = request.prompt[slice(*request.subject)]
    coded = tokenizer(f"{subject} is a", add_special_tokens=False, return_offsets_mapping=True)
    place = _last_token(coded["offset_mapping"], 0, len(subject), request.case_id)
    ids = tuple(coded["input_ids"])
    return Variant(ids=ids, subject=place, start=len(ids))


def _last_token(offsets: Sequence[tuple[int, int]], start: int, stop: int, case: str) -> int:
    """Return the last token that holds a character of [start, stop)."""
    found = [place for place, (left, right) in enumerate(offsets) if left < stop and right > start and right > left]
    if not found:
        raise UsageError(f"{case}: the tokenizer gives the subject no token: choose another subject")
    return found[-1]


def _plain(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def check_window(requests: Sequence[TokenRequest], window: int) -> None:
    """Check that every form of every request fits whole into a model.

    Raises:
        UsageError: one does not.
    """
    for request in requests:
        longest = max(len(variant.ids) for variant in request.variants)
        if longest > window:
            raise UsageError(
                f"{request.case_id} has {longest} tokens and the model's window is {window}: "
                "leave it out or use a model with a longer window"
            )


def conflict_of(request: TokenRequest, by_subject: bool) -> str:
    """Return what two conflicting requests share: tokens up to the subject's last one, or the whole prompt.

    With causal attention the state at the subject depends on those tokens only, so two requests that share them have
    one key and can have one value.
    """
    bare = request.bare
    return digest(list(bare.ids[: bare.subject + 1] if by_subject else bare.ids[: bare.start]))


def without_conflicts(
    requests: Sequence[TokenRequest], *, by_subject: bool
) -> tuple[list[TokenRequest], dict[str, str]]:
    """Keep the first of the requests that want different targets at one key.

    Returns:
        The requests to fit, and for each one left out the reason.

    Raises:
        UsageError: two requests have the same id, or there is none.
    """
    if not requests:
        raise UsageError("there is nothing to edit: give at least one request")
    first: dict[str, TokenRequest] = {}
    kept: list[TokenRequest] = []
    skipped: dict[str, str] = {}
    seen: set[str] = set()
    for request in requests:
        if request.case_id in seen:
            raise UsageError(f"two requests have the id {request.case_id}: ids must be unique")
        seen.add(request.case_id)
        other = first.setdefault(conflict_of(request, by_subject), request)
        if other is not request and other.bare.target != request.bare.target:
            skipped[request.case_id] = f"conflicts with {other.case_id}: same key, another target"
        else:
            kept.append(request)
    return kept, skipped

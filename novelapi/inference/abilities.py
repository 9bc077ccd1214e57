"""What a model can take besides a prompt, asked before anything is sent."""

from __future__ import annotations

from typing import Literal

from novelapi.errors import PrerequisiteError

Ability = Literal["turns", "tools"]
"""`turns`: a conversation that goes on after the first answer; `tools`: native tool calls."""

_WORDS: dict[Ability, str] = {"turns": "answers single prompts only", "tools": "has no native tool calls"}


def abilities_of(completer: object) -> frozenset[Ability]:
    """Return what a completer says it can take; one that says nothing takes prompts only.

    An endpoint may still refuse tools, which ends the cell with its words.
    """
    return getattr(completer, "abilities", frozenset[Ability]())


def require(completer: object, ability: Ability, delivery: str) -> None:
    """Check that a model can be asked as a delivery asks.

    Raises:
        PrerequisiteError: it cannot.
    """
    if ability not in abilities_of(completer):
        raise PrerequisiteError(
            f"{getattr(completer, 'name', 'this model')} {_WORDS[ability]}, so the delivery {delivery} cannot ask it: "
            "choose an endpoint with chat messages, or another delivery"
        )

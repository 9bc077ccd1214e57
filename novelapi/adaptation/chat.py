"""Prompts as a model reads them: in its chat template, if it has one."""

from __future__ import annotations

from novelapi.adaptation.extras import Tokenizer
from novelapi.errors import UsageError


def written(tokenizer: Tokenizer, prompt: str) -> str:
    """Return a user message as it stands in front of the answer."""
    if not tokenizer.chat_template:
        return prompt
    messages = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)


def offset_of(text: str, prompt: str) -> int:
    """Return where a prompt starts in its written form.

    Raises:
        UsageError: the template changes the prompt.
    """
    start = text.find(prompt)
    if start < 0:
        start = text.find(prompt.strip())
        if start < 0:
            raise UsageError("the chat template changes the prompt: offsets of subjects are unknown; use raw prompts")
        start -= len(prompt) - len(prompt.lstrip())
    return start


def end_of_turn(tokenizer: Tokenizer) -> tuple[int, ...]:
    """Return the token that ends an answer."""
    return () if tokenizer.eos_token_id is None else (int(tokenizer.eos_token_id),)

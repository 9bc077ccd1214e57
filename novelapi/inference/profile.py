"""What has to be known of a model to ask it: its window, its habits and its price."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from novelapi.errors import DataError
from novelapi.records.base import Record
from novelapi.records.completion import Usage


class ModelProfile(Record):
    """How one model is asked: a file of `profiles/`, or a user's own."""

    window: int | None = Field(default=None, ge=64)
    """Context window in tokens, prompt and answer together; null when unknown (then nothing is trimmed)."""

    window_from: Literal["profile", "endpoint"] = "profile"
    """Who states the window; set when it was read from the endpoint."""

    max_tokens: int = Field(default=2048, ge=1)
    """Longest answer in tokens, thinking included."""

    thinking_tags: tuple[str, str] = ("<think>", "</think>")
    """Marks around what a reasoning model thinks before it answers; it is kept apart from the sample."""

    limit_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Name under which the endpoint takes the length limit."""

    fixed_sampling: bool = False
    """Whether the endpoint refuses temperature, top_p and seed, as some hosted reasoning models do."""

    mode: Literal["chat", "completions"] = "chat"
    """Chat messages, or bare text for models without a chat template."""

    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further fields of each request, such as `reasoning_effort`; part of the revision."""

    usd_per_million_prompt_tokens: float = Field(default=0.0, ge=0)
    """Price of the input; 0 when it costs nothing."""

    usd_per_million_completion_tokens: float = Field(default=0.0, ge=0)
    """Price of the output."""

    def with_window(self, stated: int | None) -> ModelProfile:
        """Return the profile with the window that the endpoint states, unless it has one of its own."""
        if self.window is not None or stated is None:
            return self
        return self.model_copy(update={"window": stated, "window_from": "endpoint"})

    def price(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of so many tokens in US dollars."""
        return (
            prompt_tokens * self.usd_per_million_prompt_tokens
            + completion_tokens * self.usd_per_million_completion_tokens
        ) / 1e6

    def priced(self, usage: Usage) -> Usage:
        """Return the usage with its price."""
        return usage.model_copy(update={"usd": self.price(usage.prompt_tokens, usage.completion_tokens)})


DEFAULT_PROFILE = ModelProfile()


def profile_of(completer: object) -> ModelProfile:
    """Return the profile that a completer is asked by; the default where it has none, as the embedded baseline."""
    found = getattr(completer, "profile", None)
    return found if isinstance(found, ModelProfile) else DEFAULT_PROFILE


def parse_profile(data: dict[str, Any], origin: str) -> ModelProfile:
    """Read a profile from a mapping.

    Raises:
        DataError: a field is unknown or out of range.
    """
    try:
        return ModelProfile.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{origin}: {where}: {first['msg']}; correct the profile") from error


def load_profile(model: str) -> ModelProfile:
    """Return the profile of a model by its name in the catalogue or on the hub; unknown models get the default."""
    for data in _shipped():
        if model in data["models"]:
            return parse_profile({name: value for name, value in data.items() if name != "models"}, model)
    return DEFAULT_PROFILE


def read_profile(path: Path) -> ModelProfile:
    """Read a user's own profile: a YAML mapping of the fields above.

    Raises:
        DataError: the file is missing, no mapping, or a field is wrong.
    """
    import yaml  # noqa: PLC0415  only where a file is read

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"cannot read {path}: {' '.join(str(error).split())}; check the file") from error
    if not isinstance(data, dict):
        raise DataError(f"{path}: expected a mapping such as `window: 32768`; correct the file")
    return parse_profile(data, str(path))


@lru_cache(maxsize=1)
def _shipped() -> tuple[dict[str, Any], ...]:
    import yaml  # noqa: PLC0415

    folder = resources.files("novelapi.inference") / "profiles"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".yaml")), key=lambda item: item.name)
    return tuple(yaml.safe_load(item.read_text(encoding="utf-8")) for item in files)

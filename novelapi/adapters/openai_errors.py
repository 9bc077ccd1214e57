"""What the faults of an OpenAI-compatible endpoint mean for a batch: end it, or mark one request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from novelapi.errors import EndpointError, NovelApiError, PrerequisiteError, UsageError
from novelapi.records.completion import Completion

if TYPE_CHECKING:
    import openai

_TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum (model|input|context|prompt) length|max_model_len|too (long|many tokens)"
    r"|input length .* exceed|longer than the (model|maximum)",
    flags=re.IGNORECASE,
)
_NO_TOOLS = re.compile(r"\btools?\b|tool.?c(all|hoice)|function.?call", flags=re.IGNORECASE)
_CAP = 300


def one_line(text: object) -> str:
    """Return a server's words as one short line."""
    return " ".join(str(text).split())[:_CAP]


def as_failure(error: openai.APIError, *, tools: bool = False) -> Completion:
    """Return the failed answer to one request, or raise what concerns every request.

    Args:
        error: what the client raised.
        tools: whether the request offered tools.

    Raises:
        PrerequisiteError: key refused, quota used up, or no tool calls to be had.
        openai.NotFoundError: model or address unknown; the caller asks for the models there are.
    """
    import openai  # noqa: PLC0415  an extra, and slow to import

    words = one_line(error.message)
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        raise PrerequisiteError(f"the endpoint refused the key ({words}); set OPENAI_API_KEY to a valid one") from error
    if isinstance(error, openai.NotFoundError):
        raise error
    if isinstance(error, openai.RateLimitError) and error.code == "insufficient_quota":
        raise PrerequisiteError(f"the account's quota is used up ({words}); raise it and run again") from error
    if tools and isinstance(error, openai.APIStatusError) and error.status_code < 500 and _NO_TOOLS.search(words):
        raise PrerequisiteError(
            f"the endpoint takes no tool calls ({words}), which the delivery search needs: turn them on (vLLM: "
            "--enable-auto-tool-choice --tool-call-parser NAME), or choose another delivery"
        ) from error
    if isinstance(error, openai.APIStatusError) and error.status_code in (400, 413, 422):
        too_long = error.code == "context_length_exceeded" or _TOO_LONG.search(error.message) is not None
        return Completion(failure="context" if too_long else "refused", detail=words)
    if (
        isinstance(error, openai.APIStatusError)
        and error.status_code < 500
        and error.status_code not in (408, 409, 429)
    ):
        return Completion(failure="refused", detail=f"HTTP {error.status_code}: {words}")
    return Completion(failure="transient", detail=words or type(error).__name__)


class Health:
    """Decides when single failures mean that the endpoint as a whole does not work."""

    START_LIMIT = 5
    """Failures in a row, before the first success, that end a batch."""

    RUN_LIMIT = 20
    """Failures in a row, later, that end a batch."""

    def __init__(self, name: str, base_url: str) -> None:
        """Start without any answer seen."""
        self._where = f"{name} at {base_url}"
        self._in_a_row = 0
        self._worked = False

    def see(self, completion: Completion) -> None:
        """Take note of one answer.

        Raises:
            UsageError: the endpoint refuses every request.
            EndpointError: it does not answer (any more).
        """
        if completion.failure not in ("refused", "transient"):
            self._in_a_row, self._worked = 0, True
            return
        self._in_a_row += 1
        if self._in_a_row >= (self.RUN_LIMIT if self._worked else self.START_LIMIT):
            raise self.verdict(completion)

    def verdict(self, completion: Completion) -> NovelApiError:
        """Return the error that a failure means when it concerns every request."""
        if completion.failure == "refused":
            return UsageError(f"{self._where} refuses every request ({completion.detail}); correct the model's options")
        return EndpointError(
            f"{self._where} does not answer ({completion.detail}); check --base-url and that the server runs, then run "
            "again: nothing that was answered is asked twice"
        )

"""What an endpoint says of a model: its context window, asked anew by every run and recorded for replays."""

from __future__ import annotations

from collections.abc import Callable

from novelapi.inference.cache import CompletionCache
from novelapi.inference.profile import profile_of
from novelapi.inference.requests import as_stream
from novelapi.ports import Completer
from novelapi.records.completion import Completion


def stated_window(completer: Completer, cache: CompletionCache, *, offline: bool) -> int | None:
    """Return the window that an endpoint states; null where the profile has one, or the endpoint does not say.

    Args:
        completer: the model.
        cache: where the answer is recorded, the last one for good.
        offline: take the recorded answer instead of asking.

    Raises:
        EndpointError: the endpoint did not answer.
    """
    ask: Callable[[], int | None] | None = getattr(completer, "stated_window", None)
    if ask is None or profile_of(completer).window is not None:
        return None
    model = as_stream(completer)
    spec = {"revision": model.revision, "adapter": model.adapter_sha, "engine": model.engine, "question": "window"}
    if offline:
        found = cache.get(spec)
        return int(found.texts[0]) if found and found.texts else None
    window = ask()
    cache.put(spec, Completion(texts=(str(window),) if window else ()), replace=True)
    return window

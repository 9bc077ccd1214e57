"""Any endpoint that speaks the OpenAI protocol: a vendor, vLLM, a local server."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from novelapi.adapters.openai_errors import Health, as_failure, one_line
from novelapi.errors import EndpointError, PrerequisiteError, UnknownNameError
from novelapi.fingerprint import digest
from novelapi.inference.abilities import Ability
from novelapi.inference.profile import DEFAULT_PROFILE, ModelProfile
from novelapi.inference.requests import complete_by_stream, join_completions
from novelapi.inference.thinking import split_thinking
from novelapi.inference.tokens import estimate_tokens
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Request, ToolCall

if TYPE_CHECKING:
    import openai

_TEXT_CAP = 1 << 20
"""Characters of one text that are kept: a server that ignores the length limit shall not fill the memory."""

_GARBLED_ATTEMPTS = 3
"""Attempts at an answer that arrives but cannot be read."""

_Item = tuple[int, Completion] | BaseException | None


class OpenAIModel:
    """A streaming completer over HTTP: asynchronous inside, synchronous outside."""

    engine = "openai"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        profile: ModelProfile = DEFAULT_PROFILE,
        revision: str | None = None,
        concurrency: int = 32,
        retries: int = 6,
        timeout_s: float = 600.0,
    ) -> None:
        """Remember how to reach the model; nothing is sent.

        Args:
            model: its name at the endpoint.
            base_url: address with `/v1`; null is the vendor's own.
            api_key: key; local servers need none.
            profile: window, habits and price.
            revision: what pins its outputs, such as a commit; default: name, address and extra fields.
            concurrency: requests under way at a time.
            retries: further attempts after a fault that may pass; Retry-After is honoured up to two minutes.
            timeout_s: seconds before a request counts as failed.

        Raises:
            PrerequisiteError: the extra `llm` is missing, or there is neither address nor key.
        """
        if find_spec("openai") is None:
            raise PrerequisiteError("endpoints need the extra llm: run pip install 'novelapi[llm]'")
        if base_url is None and not api_key:
            raise PrerequisiteError("no key: set OPENAI_API_KEY, or name a local server with --base-url")
        self.name = f"openai:{model}"
        self.adapter_sha: str | None = None
        self._model = model
        self._base_url = base_url
        self._api_key = api_key or "none"
        self.profile = profile
        self._revision = revision
        self._concurrency = concurrency
        self._retries = retries
        self._timeout_s = timeout_s

    @property
    def revision(self) -> str:
        """The given revision, else name and address; with a digest of what else is sent."""
        base = self._revision or f"{self._model}@{self._base_url or 'default'}"
        habits = self.profile.model_dump(include={"mode", "fixed_sampling", "extra_body", "thinking_tags"})
        return f"{base}+{digest(habits, 8)}"

    @property
    def abilities(self) -> frozenset[Ability]:
        """Chat messages can carry turns and tools, bare text neither."""
        return frozenset({"turns", "tools"}) if self.profile.mode == "chat" else frozenset()

    def complete(self, prompts: Sequence[str], sampling: Sampling) -> list[list[str]]:
        """Return `sampling.n` texts per prompt, the first of them greedy.

        Raises:
            EndpointError: it did not answer.
            PartialError: a prompt was refused.
            PrerequisiteError: the key was refused.
            UnknownNameError: the endpoint has no such model.
        """
        return complete_by_stream(self, prompts, sampling)

    def stream(self, requests: Iterable[Request]) -> Iterator[tuple[int, Completion]]:
        """Yield answers as they come; closing the iterator cancels what is under way.

        Raises:
            EndpointError: the endpoint as a whole does not answer.
            PrerequisiteError: the key was refused.
            UnknownNameError: the endpoint has no such model.
            UsageError: it refuses every request.
        """
        done: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        loop = asyncio.new_event_loop()
        job = loop.create_task(self._run(iter(enumerate(requests)), done))
        thread = threading.Thread(target=_drive, args=(loop, job, done), name="openai-stream", daemon=True)
        thread.start()
        try:
            while (item := done.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            if thread.is_alive():
                loop.call_soon_threadsafe(job.cancel)
            thread.join()
            loop.close()

    def check(self) -> None:
        """Ask once whether the endpoint answers and has the model, so that a user learns of a mistake at once.

        Endpoints without a list of models are taken at their word.

        Raises:
            EndpointError: it did not answer.
            PrerequisiteError: the key was refused.
            UnknownNameError: it has no such model; near matches are suggested.
        """
        known = sorted(asyncio.run(self._models(retries=1)))
        if known and self._model not in known:
            raise UnknownNameError("model", self._model, known)

    def stated_window(self) -> int | None:
        """Ask the endpoint for the model's context window (`max_model_len`, as vLLM says it); null if it does not say.

        Raises:
            EndpointError: it did not answer.
        """
        return asyncio.run(self._models(retries=1)).get(self._model)

    async def _run(self, numbered: Iterator[tuple[int, Request]], done: queue.SimpleQueue[_Item]) -> None:
        health = Health(self.name, self._base_url or "the vendor's address")

        async def work(client: openai.AsyncOpenAI) -> None:
            for index, request in numbered:  # shared by all workers: each takes the next one
                completion = await self._answer(client, request)
                done.put((index, completion))
                health.see(completion)

        async with self._client() as client, asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(work(client))

    @asynccontextmanager
    async def _client(self, retries: int | None = None) -> AsyncGenerator[openai.AsyncOpenAI]:
        import openai  # noqa: PLC0415  an extra, and slow to import

        async with openai.AsyncOpenAI(
            api_key=self._api_key,
            base_url=self._base_url,
            max_retries=self._retries if retries is None else retries,
            timeout=self._timeout_s,
        ) as client:
            yield client

    async def _answer(self, client: openai.AsyncOpenAI, request: Request) -> Completion:
        """Ask until there are `request.n` texts: an endpoint that ignores `n` is asked again for the rest."""
        import openai  # noqa: PLC0415

        total = Completion()
        garbled = ""
        attempts = request.n + _GARBLED_ATTEMPTS
        while len(total.texts) < request.n and attempts:
            attempts -= 1
            try:
                part = self._read(await self._send(client, request, len(total.texts)), request, len(total.texts))
            except openai.NotFoundError as error:
                raise await self._not_found(error) from error
            except openai.APIError as error:
                return as_failure(error, tools=bool(request.tools))
            except ValueError as error:
                garbled = one_line(error)
                continue
            total = join_completions([total, part])
        if len(total.texts) < request.n:
            return Completion(failure="transient", detail=garbled or "the answer holds no text")
        return total

    async def _send(self, client: openai.AsyncOpenAI, request: Request, got: int) -> Any:
        options: dict[str, Any] = {
            "model": self._model,
            "n": request.n - got,
            self.profile.limit_parameter: request.max_tokens,
        }
        if not self.profile.fixed_sampling:
            # A later request for the rest needs another seed, or it would repeat the first texts.
            options |= {"temperature": request.temperature, "top_p": request.top_p, "seed": request.seed + got}
        if request.json_schema is not None:
            schema = {"name": "answer", "schema": request.json_schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        if self.profile.extra_body:
            options["extra_body"] = self.profile.extra_body
        if request.logprobs:
            options["logprobs"] = 1 if self.profile.mode == "completions" else True
        if self.profile.mode == "completions":
            return await client.completions.create(prompt=request.prompt, **options)
        if request.tools:
            options["tools"] = list(request.tools)
        messages: list[Any] = [{"role": "user", "content": request.prompt}, *request.turns]
        return await client.chat.completions.create(messages=messages, **options)

    def _read(self, response: Any, request: Request, got: int) -> Completion:
        """Turn a response into an answer.

        Raises:
            ValueError: it is not what the protocol promises.
        """
        choices = getattr(response, "choices", None)
        if not isinstance(choices, list) or not choices:
            raise ValueError("the answer holds no choices; is this an OpenAI-compatible address?")
        found = sorted(choices, key=lambda item: item.index or 0)[: request.n - got]
        texts, thinking, finish = [], [], []
        for choice in found:
            message = getattr(choice, "message", None)
            raw = choice.text if self.profile.mode == "completions" else getattr(message, "content", None)
            apart = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None) or ""
            thought, text = split_thinking((raw or "")[:_TEXT_CAP], self.profile.thinking_tags)
            texts.append(text)
            thinking.append(thought or str(apart)[:_TEXT_CAP])
            finish.append(choice.finish_reason or "")
        usage = getattr(response, "usage", None)
        return Completion(
            texts=tuple(texts),
            thinking=tuple(thinking) if any(thinking) else (),
            finish=tuple(finish),
            logprobs=tuple(map(_logprob, found)) if request.logprobs else (),
            tool_calls=_tool_calls(found[0]),
            prompt_tokens=getattr(usage, "prompt_tokens", None) or estimate_tokens(request.text),
            completion_tokens=getattr(usage, "completion_tokens", None) or sum(map(estimate_tokens, texts)),
        )

    async def _models(self, retries: int | None = None) -> dict[str, int | None]:
        """Return the models that the endpoint has, with their windows where it says them; none if it has no list."""
        import openai  # noqa: PLC0415

        try:
            async with self._client(retries) as client:
                return {model.id: _window(model) async for model in client.models.list()}
        except openai.APIError as error:
            if isinstance(error, openai.NotFoundError):
                return {}
            raise EndpointError(
                f"{self._base_url or 'the endpoint'} does not answer ({as_failure(error).detail}); check --base-url "
                "and that the server runs"
            ) from error

    async def _not_found(self, error: openai.NotFoundError) -> Exception:
        """Say whether the model or the address is wrong."""
        known = await self._models()
        if known and self._model not in known:
            return UnknownNameError("model", self._model, known)
        return EndpointError(
            f"{self._base_url or 'the endpoint'} answered 404 ({one_line(error.message)}); check --base-url, "
            "which usually ends in /v1"
        )


def _window(model: Any) -> int | None:
    length = getattr(model, "max_model_len", None)
    return length if isinstance(length, int) and length > 0 else None


def _logprob(choice: Any) -> float | None:
    """Return the log-probability of a text, in the form of chat or of bare completions."""
    found = getattr(choice, "logprobs", None)
    tokens = getattr(found, "token_logprobs", None)
    if tokens is None:
        tokens = [token.logprob for token in getattr(found, "content", None) or []]
    known = [value for value in tokens if value is not None]
    return sum(known) if known else None


def _tool_calls(choice: Any) -> tuple[ToolCall, ...]:
    found = getattr(getattr(choice, "message", None), "tool_calls", None) or []
    return tuple(
        ToolCall(id=item.id, name=item.function.name, arguments=item.function.arguments or "{}")
        for item in found
        if getattr(item, "function", None) is not None
    )


def _drive(loop: asyncio.AbstractEventLoop, job: asyncio.Task[None], done: queue.SimpleQueue[_Item]) -> None:
    """Run the loop until the job has ended and hand its error over."""
    try:
        loop.run_until_complete(job)
    except asyncio.CancelledError:
        pass
    except BaseExceptionGroup as group:
        done.put(group.exceptions[0])
    except BaseException as error:  # noqa: BLE001  crosses to the caller's thread and is raised there
        done.put(error)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        done.put(None)

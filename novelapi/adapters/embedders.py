"""Neural embedders for users who have weights or an endpoint; the offline default is `HashedNgrams`."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from novelapi.adapters.openai_errors import as_failure
from novelapi.errors import EndpointError, PrerequisiteError, UsageError
from novelapi.fingerprint import digest, file_digest
from novelapi.retrieval.embedding import Role, import_numpy

if TYPE_CHECKING:
    from novelapi.retrieval.embedding import Vectors


class EndpointEmbedder:
    """Any `/v1/embeddings` endpoint: a vendor, or a vLLM pooling server."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        query_prefix: str = "",
        batch: int = 64,
        concurrency: int = 8,
    ) -> None:
        """Remember how to reach the model; nothing is sent.

        Args:
            model: its name at the endpoint.
            base_url: address with `/v1`.
            api_key: key; local servers need none.
            query_prefix: what some models want before a query (never before a passage).
            batch: texts per request.
            concurrency: requests under way at a time.

        Raises:
            PrerequisiteError: there is neither address nor key.
        """
        if base_url is None and not api_key:
            raise PrerequisiteError("no key: set OPENAI_API_KEY, or name a local server with --base-url")
        self._model = model
        self._base_url = base_url
        self._api_key = api_key or "none"
        self._prefix = query_prefix
        self._batch = batch
        self._concurrency = concurrency

    @property
    def identity(self) -> str:
        """Model, address and prefix."""
        return f"endpoint:{self._model}@{self._base_url or 'default'}+{digest(self._prefix, 8)}"

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """Return one unit row per text.

        Raises:
            EndpointError: the endpoint did not answer, or has no such model.
            PrerequisiteError: the key was refused.
        """
        np = import_numpy()
        prefixed = [self._prefix + text for text in texts] if role == "query" else list(texts)
        rows = asyncio.run(self._ask(prefixed))
        return _unit(np.asarray(rows, dtype=np.float32).reshape(len(texts), -1))

    async def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        openai = importlib.import_module("openai")
        gate = asyncio.Semaphore(self._concurrency)

        async def one(client: Any, part: Sequence[str]) -> list[list[float]]:
            async with gate:
                reply = await client.embeddings.create(model=self._model, input=list(part), encoding_format="float")
            return [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]

        try:
            async with openai.AsyncOpenAI(api_key=self._api_key, base_url=self._base_url, max_retries=6) as client:
                parts = [texts[start : start + self._batch] for start in range(0, len(texts), self._batch)]
                return [row for rows in await asyncio.gather(*(one(client, part) for part in parts)) for row in rows]
        except openai.NotFoundError as error:
            raise EndpointError(
                f"{self._base_url or 'the endpoint'} has no embeddings of '{self._model}'; check name and address"
            ) from error
        except openai.APIError as error:
            raise EndpointError(f"no embeddings: {as_failure(error).detail}; check --base-url, run again") from error


class TransformersEmbedder:
    """Weights in this process, in the form of the sentence-transformers family: mean pooling over the last layer."""

    def __init__(self, folder: Path, *, query_prefix: str = "", batch: int = 32, device: str = "cpu") -> None:
        """Remember where the weights lie; they are loaded with the first text.

        Raises:
            UsageError: the folder holds no model.
        """
        if not (folder / "config.json").is_file():
            raise UsageError(f"{folder} holds no model (no config.json); give the folder that save_pretrained wrote")
        self._folder = folder
        self._prefix = query_prefix
        self._batch = batch
        self._device = device
        self._loaded: tuple[Any, Any] | None = None

    @property
    def identity(self) -> str:
        """Folder, digest of the weights, and prefix."""
        files = sorted([*self._folder.glob("*.safetensors"), *self._folder.glob("*.json")])
        return f"transformers:{self._folder.name}@{digest([[p.name, file_digest(p)] for p in files] + [self._prefix])}"

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """Return one unit row per text; texts longer than the model's window are cut.

        Raises:
            PrerequisiteError: the extra `train` is missing.
        """
        np = import_numpy()
        prefixed = [self._prefix + text for text in texts] if role == "query" else list(texts)
        parts = [self._pooled(prefixed[start : start + self._batch]) for start in range(0, len(texts), self._batch)]
        return _unit(np.concatenate(parts))

    def _pooled(self, texts: Sequence[str]) -> Any:
        torch = _import("torch")
        tokenizer, model = self._load()
        limit = int(model.config.max_position_embeddings)
        inputs = tokenizer(list(texts), padding=True, truncation=True, max_length=limit, return_tensors="pt")
        inputs = inputs.to(self._device)
        with torch.inference_mode():
            hidden = model(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1)
        return ((hidden * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)).float().cpu().numpy()

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            transformers = _import("transformers")
            _import("transformers.utils.logging").disable_progress_bar()
            tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder)
            self._loaded = tokenizer, transformers.AutoModel.from_pretrained(self._folder).to(self._device).eval()
        return self._loaded


def _unit(rows: Any) -> Vectors:
    np = import_numpy()
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PrerequisiteError("models in this process need the extra train: pip install 'novelapi[train]'") from error

"""Weights in this process: for tiny models, and for editors that need hooks on the layers."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from novelapi.errors import PrerequisiteError, UsageError
from novelapi.fingerprint import digest, file_digest, text_digest
from novelapi.inference.profile import DEFAULT_PROFILE, ModelProfile
from novelapi.inference.requests import complete_by_stream
from novelapi.inference.thinking import split_thinking
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Request

_PINNED = ("*.safetensors", "*.bin", "*.json", "*.jinja", "*.model", "*.txt")
"""Files of a model folder that decide its outputs."""


class TransformersModel:
    """A streaming completer over `transformers`, on CPU or GPU; `model` and `tokenizer` are there for editors."""

    def __init__(
        self,
        folder: Path,
        *,
        adapter: Path | None = None,
        profile: ModelProfile = DEFAULT_PROFILE,
        device: str = "auto",
        batch: int = 8,
    ) -> None:
        """Remember where the weights lie; they are loaded when they are needed.

        Args:
            folder: weights, configuration and tokenizer, as `save_pretrained` writes them.
            adapter: folder of a LoRA adapter on top of them.
            profile: window and habits.
            device: `cpu`, `cuda`, or `auto` for a GPU where there is one.
            batch: greedy prompts per forward pass.

        Raises:
            PrerequisiteError: the extra `train` is missing.
            UsageError: the folder holds no model.
        """
        _import("torch")
        if not (folder / "config.json").is_file():
            raise UsageError(f"{folder} holds no model (no config.json); give the folder that save_pretrained wrote")
        self.name = f"transformers:{folder}"
        self.engine = f"transformers-{_import('transformers').__version__}"
        self._folder = folder
        self._adapter = adapter
        self._profile = profile
        self._device = device
        self._batch = batch

    @property
    def revision(self) -> str:
        """Folder name and digest of all files that decide the outputs."""
        return f"{self._folder.name}@{self._digests[0]}"

    @property
    def adapter_sha(self) -> str | None:
        """Digest of the adapter, or null."""
        return self._digests[1]

    @cached_property
    def _digests(self) -> tuple[str, str | None]:
        return _folder_digest(self._folder), _folder_digest(self._adapter) if self._adapter else None

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer, padding on the left."""
        return _import("transformers").AutoTokenizer.from_pretrained(self._folder, padding_side="left")

    @cached_property
    def model(self) -> Any:
        """The model with its adapter, in evaluation mode, on its device."""
        torch = _import("torch")
        _import("transformers.utils.logging").disable_progress_bar()
        device = self._device if self._device != "auto" else ("cuda" if torch.cuda.is_available() else "cpu")
        dtype = torch.float32 if device == "cpu" else "auto"
        model = _import("transformers").AutoModelForCausalLM.from_pretrained(self._folder, dtype=dtype)
        if self._adapter is not None:
            model.load_adapter(str(self._adapter))
        return model.to(device).eval()

    @property
    def profile(self) -> ModelProfile:
        """How it is asked, its window filled in from the configuration."""
        return self._profile.model_copy(update={"window": self.window})

    @property
    def window(self) -> int:
        """Context window in tokens: the profile's, else the configuration's."""
        if self._profile.window is not None:
            return self._profile.window
        return int(json.loads((self._folder / "config.json").read_text(encoding="utf-8"))["max_position_embeddings"])

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a prompt with its chat template: exact, unlike the estimate."""
        return len(self.tokenizer(self._written(text), add_special_tokens=False)["input_ids"])

    def complete(self, prompts: Sequence[str], sampling: Sampling) -> list[list[str]]:
        """Return `sampling.n` texts per prompt, the first of them greedy.

        Raises:
            PartialError: a prompt is longer than the window.
        """
        return complete_by_stream(self, prompts, sampling)

    def stream(self, requests: Iterable[Request]) -> Iterator[tuple[int, Completion]]:
        """Answer greedy requests in batches, drawn ones one by one: their texts must not depend on neighbours."""
        fitting: list[tuple[int, Request]] = []
        for index, request in enumerate(requests):
            length = self.count_tokens(request.prompt)
            if length + request.max_tokens > self.window:
                words = f"{length} + {request.max_tokens} tokens do not fit into a window of {self.window}"
                yield index, Completion(failure="context", detail=words)
            else:
                fitting.append((index, request))
        for is_drawn, group in groupby(fitting, key=lambda item: item[1].temperature > 0):
            items = list(group)
            size = 1 if is_drawn else self._batch
            for start in range(0, len(items), size):
                part = items[start : start + size]
                answers = self._generate([request for _, request in part])
                yield from zip((index for index, _ in part), answers, strict=True)

    def _written(self, prompt: str) -> str:
        """Return the prompt as the model reads it: in its chat template, if it has one."""
        if self._profile.mode == "completions" or not self.tokenizer.chat_template:
            return prompt
        messages = [{"role": "user", "content": prompt}]
        return self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)

    def _generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Generate for requests that share their sampling but for the length limit, which is the longest of them."""
        torch = _import("torch")
        first = requests[0]
        tokenizer = self.tokenizer
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
        texts = [self._written(request.prompt) for request in requests]
        inputs = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(self.model.device)
        options: dict[str, Any] = {
            "max_new_tokens": max(request.max_tokens for request in requests),
            "num_return_sequences": first.n if first.temperature > 0 else 1,
            "do_sample": first.temperature > 0,
            "pad_token_id": tokenizer.pad_token_id,
        }
        if first.temperature > 0:
            options |= {"temperature": first.temperature, "top_p": first.top_p, "top_k": 0}
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(int(text_digest(f"{first.seed}:{first.prompt}", 8), 16))
            output = self.model.generate(**inputs, **options)
        start = inputs["input_ids"].shape[1]
        rows = output[:, start:].tolist()
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        if first.temperature > 0:
            return [self._completion(rows, lengths[0], first)]
        return [
            self._completion([row] * request.n, length, request)
            for row, length, request in zip(rows, lengths, requests, strict=True)
        ]

    def _completion(self, rows: Sequence[Sequence[int]], prompt_tokens: int, request: Request) -> Completion:
        ends = {self.tokenizer.eos_token_id, self.tokenizer.pad_token_id}
        cut = [_until(row, ends)[: request.max_tokens] for row in rows]
        pairs = [
            split_thinking(self.tokenizer.decode(row, skip_special_tokens=True), self._profile.thinking_tags)
            for row in cut
        ]
        thinking = tuple(thought for thought, _ in pairs)
        return Completion(
            texts=tuple(text for _, text in pairs),
            thinking=thinking if any(thinking) else (),
            finish=tuple("length" if len(row) >= request.max_tokens else "stop" for row in cut),
            prompt_tokens=int(prompt_tokens),
            completion_tokens=sum(map(len, cut)),
        )


def _until(row: Sequence[int], ends: set[int | None]) -> list[int]:
    """Return the tokens before the first end."""
    return list(row[: next((place for place, token in enumerate(row) if token in ends), len(row))])


def _folder_digest(folder: Path) -> str:
    files = sorted({path for pattern in _PINNED for path in folder.glob(pattern)})
    return digest([[path.name, file_digest(path)] for path in files])


def _import(module: str) -> Any:
    """Import a module of the extra; by name, so that type checking does not need it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PrerequisiteError("models in this process need the extra train: pip install 'novelapi[train]'") from error

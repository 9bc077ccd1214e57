"""Second moments C = E[k k^T] of the inputs of a linear module, over the tokens of a corpus.

Every token counts once, padding never, whatever the lengths of the texts; one pass serves all layers and ends after the
highest of them. Sums are kept in float64: C spans many decades, and what is solved with it needs them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from novelapi import jsonl
from novelapi.adaptation.batches import in_chunks, padded
from novelapi.adaptation.extras import Network, Tensor, Tokenizer, need
from novelapi.adaptation.hooks import ending_after, watching
from novelapi.adaptation.memory import require
from novelapi.adaptation.network import base_digest, check_base, check_layers, decoder_of, frozen, linear_of
from novelapi.errors import DataError, UsageError
from novelapi.fingerprint import digest, file_digest

STATISTICS_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Second moments of one model on one corpus."""

    base_sha: str
    """The model (`base_digest`)."""

    corpus_sha: str
    """The token sequences."""

    module: str
    """Linear module of each layer whose inputs were seen."""

    tokens: int
    """Number of tokens that were averaged."""

    moments: dict[int, Tensor]
    """C by layer: (width x width), float64."""

    def moment(self, layer: int) -> Tensor:
        """Return C of a layer.

        Raises:
            UsageError: the layer was not seen.
        """
        if layer not in self.moments:
            raise UsageError(f"no statistics of layer {layer} (there are {sorted(self.moments)}): collect them for it")
        return self.moments[layer]

    def check(self, model: Network, layers: Sequence[int], module: str) -> None:
        """Check that the statistics are those of a model's layers.

        Raises:
            UsageError: they are not.
        """
        if module != self.module:
            raise UsageError(f"the statistics are of {self.module}, not of {module}: collect them for it")
        for layer in layers:
            self.moment(layer)
        check_base(model, self.base_sha, "the set of statistics")


def collect(
    model: Network,
    sequences: Sequence[Sequence[int]],
    layers: Sequence[int],
    module: str = "mlp.down_proj",
    *,
    batch: int = 8,
) -> Statistics:
    """Average over all tokens of a corpus in one pass.

    Args:
        model: the model.
        sequences: token sequences, each at least one token long and within the model's window.
        layers: layers, in rising order.
        module: linear module of each layer.
        batch: sequences per pass.

    Raises:
        UsageError: no tokens, or no such layer or module.
        NovelApiError: too little memory for the sums.
    """
    torch = need("torch")
    rows = [row for row in sequences if len(row)]
    if not rows:
        raise UsageError("the corpus has no tokens: give files with text")
    check_layers(model, layers, module)
    modules = {layer: linear_of(model, layer, module) for layer in layers}
    device = next(model.parameters()).device
    width = modules[layers[0]].in_features
    require(len(layers) * width**2 * 8 + width**2 * 8, device, f"statistics of {len(layers)} layers of width {width}")
    sums = {layer: torch.zeros((width, width), dtype=torch.float64, device=device) for layer in layers}
    tokens = 0
    with frozen(model), torch.no_grad():
        for part in in_chunks(sorted(rows, key=len), batch):
            ids, mask = padded(part, device)
            real = mask.bool()

            def add(layer: int, keys: Tensor, real: Tensor = real) -> None:
                own = keys[real].to(torch.float64)
                sums[layer] += own.T @ own

            with watching(modules, "input", add), ending_after(modules[layers[-1]]):
                decoder_of(model)(input_ids=ids, attention_mask=mask, use_cache=False)
            tokens += int(real.sum())
    return Statistics(
        base_sha=base_digest(model),
        corpus_sha=digest([list(row) for row in rows], 64),
        module=module,
        tokens=tokens,
        moments={layer: (total / tokens).cpu() for layer, total in sums.items()},
    )


def token_sequences(texts: Iterable[str], tokenizer: Tokenizer, *, length: int, limit: int) -> list[list[int]]:
    """Cut texts into sequences of at most `length` tokens, until there are `limit` tokens in all."""
    found: list[list[int]] = []
    left = limit
    for text in texts:
        ids = list(tokenizer(text, add_special_tokens=False)["input_ids"])
        for start in range(0, len(ids), length):
            row = ids[start : start + length][:left]
            if row:
                found.append(row)
                left -= len(row)
            if left <= 0:
                return found
    return found


def corpus_texts(files: Sequence[Path]) -> Iterable[str]:
    """Yield the texts of files in the order of their paths; a file that is no text is an error.

    Raises:
        DataError: a file is missing or not UTF-8.
    """
    for path in sorted(files):
        try:
            yield path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"cannot read {path} as text: {error}; leave it out of the corpus") from error


def save_statistics(statistics: Statistics, folder: Path) -> None:
    """Write statistics: `moments.safetensors`, then `statistics.json`.

    Raises:
        NovelApiError: the disk is full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "moments.safetensors"
    tensors = {str(layer): moment.contiguous() for layer, moment in sorted(statistics.moments.items())}
    need("safetensors.torch").save_file(tensors, path)
    row = {
        "version": STATISTICS_VERSION,
        "base_sha": statistics.base_sha,
        "corpus_sha": statistics.corpus_sha,
        "module": statistics.module,
        "tokens": statistics.tokens,
        "moments_sha": file_digest(path),
    }
    jsonl.write_text(folder / "statistics.json", json.dumps(row, indent=1) + "\n")


def load_statistics(folder: Path) -> Statistics:
    """Read statistics.

    Raises:
        DataError: there are none or they are broken.
    """
    path = folder / "moments.safetensors"
    try:
        row = json.loads((folder / "statistics.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{folder} holds no statistics ({error}): collect them again") from error
    if row.get("version") != STATISTICS_VERSION or not path.is_file() or file_digest(path) != row["moments_sha"]:
        raise DataError(f"{folder} holds broken or older statistics: collect them again")
    tensors = need("safetensors.torch").load_file(path)
    return Statistics(
        moments={int(name): tensor for name, tensor in tensors.items()},
        **{name: row[name] for name in ("base_sha", "corpus_sha", "module", "tokens")},
    )

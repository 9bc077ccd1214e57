"""LoRA fine-tuning with peft: h = W x + (alpha / r) B A x, only A and B trained; and its projected variant.

AlphaEdit-LoRA keeps A inside the directions that the corpus leaves free: A <- A P before training and after every
optimiser step, in float32. Projecting gradients instead would not do: Adam's scaling turns a step out of the subspace.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from novelapi.adaptation.artifact import Artifact, digest_of, load, save
from novelapi.adaptation.extras import Network, Tensor, Tokenizer, need
from novelapi.adaptation.handle import WeightHandle
from novelapi.adaptation.memory import require
from novelapi.adaptation.network import base_digest, check_base, decoder_of, layer_of, linear_of, restored
from novelapi.adaptation.projector import Projector, projector
from novelapi.adaptation.randomness import seeded
from novelapi.adaptation.requests import TokenRequest, check_window
from novelapi.adaptation.statistics import Statistics
from novelapi.adaptation.training import TrainingSettings, renamed_property, train
from novelapi.errors import UsageError

ALL_LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class LoraSettings(TrainingSettings):
    """Hyperparameters of LoRA; the defaults are the published ones of SFT and RAFT."""

    rank: int = Field(default=64, ge=1)
    """Rank of the update."""

    alpha: float = Field(default=128.0, gt=0)
    """Scale: the update is multiplied by alpha / rank."""

    dropout: float = Field(default=0.05, ge=0, lt=1)
    """Dropout in front of A while training."""

    targets: tuple[str, ...] = ALL_LINEAR
    """Linear modules with adapters."""

    layers: tuple[int, ...] | None = None
    """Layers with adapters; null for all."""


class Lora:
    """The editor: `sft` and `raft` differ in their examples alone."""

    save = staticmethod(save)
    load = staticmethod(load)

    def __init__(self, settings: LoraSettings, tokenizer: Tokenizer, name: str = "sft") -> None:
        """Remember the hyperparameters."""
        self.settings = settings
        self.name = name
        self._tokenizer = tokenizer

    def fit(
        self,
        model: Network,
        requests: Sequence[TokenRequest],
        seed: int = 0,
        stats: Statistics | None = None,
        *,
        work: Path | None = None,
    ) -> Artifact:
        """Train; see `Editor.fit`. Everything that is drawn, the adapters' first values too, follows the seed."""
        peft = need("peft")
        settings = self.settings
        check_window(requests, model.config.max_position_embeddings)
        require(_trainable(model, settings) * 16, next(model.parameters()).device, "the adapters and their optimiser")
        self._check(model, stats)
        base_sha = base_digest(model)
        with seeded(seed), restored(model), tempfile.TemporaryDirectory() as scratch:
            with renamed_property():
                adapted = peft.get_peft_model(model, _config(settings))
            try:
                callbacks, facts = self._constraints(adapted, stats)
                folder = (work / "checkpoints") if work else Path(scratch)
                facts |= train(
                    adapted, self._tokenizer, requests, settings, seed=seed, folder=folder, callbacks=callbacks
                )
                state = peft.get_peft_model_state_dict(adapted)
                tensors = {name: value.detach().float().cpu().clone() for name, value in state.items()}
                facts["trainable"] = sum(value.numel() for value in tensors.values())
            finally:
                adapted.unload()
        return Artifact(
            method=self.name,
            served="adapter",
            base_sha=base_sha,
            seed=seed,
            requests_sha=digest_of([request.sha for request in requests]),
            settings={"kind": "lora", **settings.to_row()},
            tensors=tensors,
            facts=facts,
        )

    def apply(self, model: Network, artifact: Artifact) -> WeightHandle:
        """Merge the adapters into the weights; see `Editor.apply`."""
        if artifact.settings.get("kind") != "lora":
            raise UsageError("this artifact holds no adapters: apply it with the editor that made it")
        check_base(model, artifact.base_sha, f"the {artifact.method} artifact")
        return WeightHandle(model).add(merged_deltas(artifact))

    def _check(self, _model: Network, _stats: Statistics | None) -> None:
        """Check that statistics fit the model: plain LoRA has none."""

    def _constraints(self, _adapted: Any, _stats: Statistics | None) -> tuple[list[Any], dict[str, Any]]:
        """Return callbacks that keep the adapters where they belong, and facts about them: none for plain LoRA."""
        return [], {}


class AlphaEditLoraSettings(LoraSettings):
    """Hyperparameters of AlphaEdit-LoRA; the defaults are the published ones."""

    rank: int = Field(default=64, ge=1)
    """Rank of the update."""

    alpha: float = Field(default=32.0, gt=0)
    """Scale."""

    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout; it stands before A, so the constraint is exact at inference only."""

    rate: float = Field(default=1e-4, gt=0, le=1e6)
    """Learning rate of AdamW."""

    targets: tuple[str, ...] = ("down_proj",)
    """Linear modules with adapters."""

    layers: tuple[int, ...] | None = (5, 6, 7, 8, 9)
    """Layers with adapters."""

    module: str = "mlp.down_proj"
    """Path of that module in a layer, as the statistics name it."""

    threshold: float | None = 2e-2
    """Eigenvalues of C below it are free; null where `space` is given."""

    space: int | None = None
    """Number of free directions instead of a threshold."""


class AlphaEditLora(Lora):
    """The editor of the projected variant."""

    settings: AlphaEditLoraSettings

    def __init__(self, settings: AlphaEditLoraSettings, tokenizer: Tokenizer) -> None:
        """Remember the hyperparameters."""
        super().__init__(settings, tokenizer, "alphaedit_lora")

    def _check(self, model: Network, stats: Statistics | None) -> None:
        settings = self.settings
        if stats is None or settings.layers is None:
            raise UsageError("AlphaEdit-LoRA needs layers and their statistics: collect them first")
        stats.check(model, settings.layers, settings.module)
        module = linear_of(model, settings.layers[0], settings.module)
        needed = (3 + len(settings.layers)) * module.in_features**2 * 8
        require(needed, module.weight.device, f"the projectors of {len(settings.layers)} layers")

    def _constraints(self, adapted: Any, stats: Statistics | None) -> tuple[list[Any], dict[str, Any]]:
        settings = self.settings
        assert stats is not None
        assert settings.layers is not None
        spaces = {
            layer: projector(stats.moment(layer), threshold=settings.threshold, rank=settings.space)
            for layer in settings.layers
        }
        matrices = {layer: _matrix_a(adapted, layer, settings.module) for layer in settings.layers}
        found: dict[str, Any] = {
            "projector": {str(layer): space.facts() for layer, space in spaces.items()},
            "corpus": stats.corpus_sha,
            "projection_error": [],
        }
        return [_projecting(matrices, spaces, found["projection_error"])], found


def _projecting(matrices: dict[int, Tensor], spaces: dict[int, Projector], errors: list[float]) -> Any:
    """Return the callback that projects A, and notes |A - A P| / |A| as training goes on from there."""
    torch, transformers = need("torch"), need("transformers")
    bases = {layer: space.basis.to(matrices[layer].device, torch.float32) for layer, space in spaces.items()}

    def project() -> None:
        with torch.no_grad():
            for layer, matrix in matrices.items():
                basis = bases[layer]
                matrix.copy_((matrix.float() @ basis) @ basis.T)

    def error() -> float:
        with torch.no_grad():
            apart = [
                float((matrix - (matrix @ bases[layer]) @ bases[layer].T).norm() / matrix.norm())
                for layer, matrix in matrices.items()
            ]
        return max(apart)

    class Projecting(transformers.TrainerCallback):
        def on_train_begin(self, *_: Any, **__: Any) -> None:
            project()

        def on_optimizer_step(self, *_: Any, **__: Any) -> None:
            project()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            errors.append(error())

    return Projecting()


def _matrix_a(adapted: Any, layer: int, module: str) -> Tensor:
    return linear_of_adapted(adapted, layer, module).lora_A["default"].weight


def linear_of_adapted(adapted: Any, layer: int, module: str) -> Any:
    """Return the wrapped module of a layer of a peft model."""
    return adapted.get_base_model().get_submodule(f"model.layers.{layer}.{module}")


def _config(settings: LoraSettings) -> Any:
    return need("peft").LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets),
        layers_to_transform=list(settings.layers) if settings.layers is not None else None,
        layers_pattern="layers" if settings.layers is not None else None,
        bias="none",
        task_type="CAUSAL_LM",
    )


def _trainable(model: Network, settings: LoraSettings) -> int:
    """Return the number of weights of the adapters, without making them.

    Raises:
        UsageError: a layer or module does not exist.
    """
    layers = settings.layers if settings.layers is not None else tuple(range(len(decoder_of(model).layers)))
    total = 0
    for layer in layers:
        for name in settings.targets:
            paths = [path for path, _ in layer_of(model, layer).named_modules() if path.rpartition(".")[2] == name]
            module = linear_of(model, layer, paths[0] if paths else name)
            total += settings.rank * (module.in_features + module.out_features)
    return total


def merged_deltas(artifact: Artifact) -> dict[str, Tensor]:
    """Return (alpha / r) B A by weight, in float32."""
    scale = artifact.settings["alpha"] / artifact.settings["rank"]
    head, tail = "base_model.model.", ".lora_A.weight"
    found: dict[str, Tensor] = {}
    for name, a in artifact.tensors.items():
        if name.endswith(tail):
            b = artifact.tensors[name.replace(".lora_A.", ".lora_B.")]
            found[name[len(head) : -len(tail)] + ".weight"] = scale * (b.float() @ a.float())
    return found


def write_adapter(artifact: Artifact, folder: Path) -> None:
    """Write an artifact as peft does: `adapter_config.json` and `adapter_model.safetensors`, which vLLM serves."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {name: value for name, value in artifact.settings.items() if name in LoraSettings.model_fields}
    _config(LoraSettings.model_validate(settings)).save_pretrained(str(folder))
    tensors = {name: value.contiguous() for name, value in sorted(artifact.tensors.items())}
    need("safetensors.torch").save_file(tensors, folder / "adapter_model.safetensors")

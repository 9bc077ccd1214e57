"""The parts of a Qwen2 or Llama shaped model that editors touch, found by name, and the identity of its weights."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from novelapi.adaptation.extras import Module, Network, Tensor, need
from novelapi.errors import UsageError


def decoder_of(model: Network) -> Module:
    """Return the stack of layers below the output head.

    Raises:
        UsageError: the architecture has none where Qwen2 and Llama have it.
    """
    found = getattr(model, "model", None)
    if found is None or not hasattr(found, "layers"):
        children = ", ".join(name for name, _ in model.named_children()) or "nothing"
        raise UsageError(
            f"{type(model).__name__} has no model.layers (it has {children}): editors work on Qwen2 and Llama shapes"
        )
    return found


def layer_of(model: Network, layer: int) -> Module:
    """Return one decoder layer.

    Raises:
        UsageError: there is no such layer.
    """
    layers = decoder_of(model).layers
    if not 0 <= layer < len(layers):
        raise UsageError(f"there is no layer {layer}: the model has layers 0 to {len(layers) - 1}")
    return layers[layer]


def linear_of(model: Network, layer: int, name: str) -> Module:
    """Return a linear module of a layer by its name in it, such as `mlp.down_proj`.

    Raises:
        UsageError: there is none; the message lists what the layer has.
    """
    torch = need("torch")
    parent = layer_of(model, layer)
    linear = {path: module for path, module in parent.named_modules() if isinstance(module, torch.nn.Linear)}
    if name not in linear:
        raise UsageError(f"layer {layer} of {type(model).__name__} has no linear module '{name}': {_listed(linear)}")
    return linear[name]


def _listed(names: Sequence[str] | dict[str, Module]) -> str:
    return "it has " + (", ".join(sorted(names)) or "none")


def weight_name(layer: int, name: str) -> str:
    """Return the name of a linear module's weight in the state of the model."""
    return f"model.layers.{layer}.{name}.weight"


def check_layers(model: Network, layers: Sequence[int], name: str) -> None:
    """Check the layers of an editor.

    Raises:
        UsageError: a layer or module is missing, a layer is named twice, or they do not rise.
    """
    if list(layers) != sorted(set(layers)) or not layers:
        raise UsageError(f"layers must be given once each in rising order, not {list(layers)}")
    for layer in layers:
        linear_of(model, layer, name)


def base_digest(model: Network) -> str:
    """Return the SHA-256 of the parameters as float32, in the order of their names; tied ones count once.

    Widening a 16-bit weight is exact, so a model has the same digest in whatever wider type it is loaded.
    """
    torch = need("torch")
    found = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        data = parameter.detach().to("cpu", torch.float32).contiguous()
        found.update(f"{name}{tuple(data.shape)}".encode())
        found.update(memoryview(data.numpy()).cast("B"))
    return found.hexdigest()


def check_base(model: Network, wanted: str, what: str) -> None:
    """Check that a model is the one that something was made for.

    Raises:
        UsageError: it is another one, or it is already edited.
    """
    found = base_digest(model)
    if found != wanted:
        raise UsageError(
            f"{what} belongs to other weights (base {wanted[:12]}, this model {found[:12]}): "
            "load its base, undo edits that are still applied, or fit it again"
        )


@contextmanager
def restored(model: Network) -> Generator[None]:
    """Put back what training changes beside the weights.

    Gradient flags and mode; the cache switch, without which decoding never comes back to its prompt; and what trl hangs
    onto the model itself, such as a forward pass of its own.
    """
    flags = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    training, own, cache = model.training, set(vars(model)), model.config.use_cache
    try:
        yield
    finally:
        for parameter, flag in flags:
            parameter.requires_grad_(flag)
        model.train(training)
        model.config.use_cache = cache
        for name in set(vars(model)) - own:
            del vars(model)[name]


@contextmanager
def frozen(model: Network) -> Generator[None]:
    """Switch off training mode and gradients of the parameters; both are as before afterwards."""
    with restored(model):
        model.eval()
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        yield


def hidden_states(model: Network, ids: Tensor, mask: Tensor) -> Tensor:
    """Return the last hidden states (rows x tokens x width), after the final norm, without the output head."""
    return decoder_of(model)(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state


def log_probabilities(model: Network, hidden: Tensor) -> Tensor:
    """Return log-probabilities over the vocabulary in float32 for chosen hidden states; tied heads included."""
    torch = need("torch")
    return torch.log_softmax(model.get_output_embeddings()(hidden).float(), dim=-1)

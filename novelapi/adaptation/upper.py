"""The upper layers of a model, run again and again on what once entered them.

Below the place where something is changed a pass is the same in every step of an optimisation: it runs once. In a model
of 28 layers whose 25th is edited, a step costs four layers; every number is that of the whole pass, bit for bit.
"""

from __future__ import annotations

from typing import Any

from novelapi.adaptation.extras import Module, Network, Tensor, need
from novelapi.adaptation.hooks import tensor_of
from novelapi.adaptation.network import decoder_of


class UpperLayers:
    """The layers of a model from one on, and its final norm, for one batch of rows."""

    def __init__(self, model: Network, first: int, ids: Tensor, mask: Tensor) -> None:
        """Run the whole model once and keep what enters the layers.

        Args:
            model: the model; the caller holds it frozen.
            first: lowest layer that is run again; the number of layers for the norm alone.
            ids: tokens (rows x longest).
            mask: 1 for tokens, 0 for padding.
        """
        decoder = decoder_of(model)
        self._layers: list[Module] = list(decoder.layers[first:])
        self._norm: Module = decoder.norm
        self._options: list[dict[str, Any]] = []
        entering: list[Tensor] = []

        def keep(_module: Module, args: tuple[Any, ...], options: dict[str, Any]) -> None:
            entering.append(args[0] if args else options["hidden_states"])
            self._options.append({name: value for name, value in options.items() if name != "hidden_states"})

        handles = [module.register_forward_pre_hook(keep, with_kwargs=True) for module in (*self._layers, self._norm)]
        try:
            with need("torch").no_grad():
                decoder(input_ids=ids, attention_mask=mask, use_cache=False)
        finally:
            for handle in handles:
                handle.remove()
        self.entering: Tensor = entering[0]
        """What enters the lowest of the layers: (rows x tokens x width), without gradient."""

    def run(self, states: Tensor) -> Tensor:
        """Return the last hidden states, after the final norm, for states that enter the lowest of the layers."""
        for layer, options in zip(self._layers, self._options, strict=False):
            states = tensor_of(layer(states, **options))
        return self._norm(states)

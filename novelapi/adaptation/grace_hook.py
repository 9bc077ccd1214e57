"""The hook through which a GRACE codebook acts: at one linear module, on whole prompts, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from novelapi.adaptation.codebook import Codebook, Nearest
from novelapi.adaptation.extras import Module, Network, Tensor
from novelapi.adaptation.handle import HookHandle
from novelapi.adaptation.network import decoder_of, linear_of
from novelapi.errors import UsageError

Replace = Literal["before", "last", "onward"]
"""Which positions of a prompt that hits take the value: all before its last token (as published), the last token
alone, or the last token and everything that is generated after it."""


class GraceHook:
    """Looks the last prompt token up in a codebook and replaces outputs of the module where it hits.

    A miss leaves the output untouched, bit for bit. With cached decoding a later step is one token long and belongs to
    the prompt that was looked up before it; without a cache each step would be a new prompt.
    """

    def __init__(self, book: Codebook, replace: Replace) -> None:
        """Attach to nothing yet."""
        self.book = book
        self.replace: Replace = replace
        self.lookups: list[Nearest] = []
        """What each prompt found, in order, for the hit rate; cleared by the caller."""
        self._ends: list[int] | None = None
        self._hits: dict[int, int] = {}

    def attach(self, model: Network, layer: int, module: str) -> HookHandle:
        """Register on a model.

        Raises:
            UsageError: it has no such layer or module.
        """
        linear = linear_of(model, layer, module)
        return HookHandle(
            [
                decoder_of(model).register_forward_pre_hook(self._before_pass, with_kwargs=True),
                linear.register_forward_hook(self._after_module),
            ]
        )

    def _before_pass(self, _module: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Note whether a pass starts a prompt, and where each row's last token is."""
        past = kwargs.get("past_key_values")
        if past is not None and past.get_seq_length() > 0:
            self._ends = None
            return
        ids = kwargs.get("input_ids", args[0] if args else None)
        shape = (ids if ids is not None else kwargs["inputs_embeds"]).shape
        mask = kwargs.get("attention_mask")
        if mask is None:
            self._ends = [int(shape[1]) - 1] * int(shape[0])
        elif getattr(mask, "dim", lambda: 0)() == 2:
            self._ends = [int(row.nonzero().max()) for row in mask]
        else:
            raise UsageError("GRACE needs plain attention masks (rows x tokens): use a dynamic cache")

    def _after_module(self, _module: Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        if self._ends is not None:
            self._look_up(args[0])
        if not self._hits or (self._ends is None and self.replace != "onward"):
            return None
        changed = output.clone()
        for row, index in self._hits.items():
            changed[row, self._positions(row)] = self.book.values[index].to(output)
        return changed

    def _look_up(self, inputs: Tensor) -> None:
        assert self._ends is not None
        self._hits = {}
        for row, end in enumerate(self._ends):
            near = self.book.nearest(inputs[row, end])
            if near is None:
                continue
            self.lookups.append(near)
            if near.inside:
                self._hits[row] = near.index

    def _positions(self, row: int) -> slice:
        if self._ends is None:
            return slice(None)
        return replaced(self._ends[row], self.replace)


def replaced(end: int, replace: Replace) -> slice:
    """Return the positions of a prompt that take the value, given its last one."""
    if replace == "before":
        return slice(0, end)
    return slice(end, end + 1) if replace == "last" else slice(end, None)

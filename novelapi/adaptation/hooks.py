"""Looking into a forward pass and changing it: short-lived hooks that remove themselves."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from novelapi.adaptation.extras import Module, Tensor

Side = Literal["input", "output"]


class _PassEndedError(Exception):
    """Ends a forward pass whose rest is not needed."""


def tensor_of(output: Any) -> Tensor:
    """Return the hidden states of a layer's output: current layers return a tensor, older ones a tuple."""
    return output[0] if isinstance(output, tuple) else output


def with_tensor(output: Any, tensor: Tensor) -> Any:
    """Return a layer's output with other hidden states."""
    return (tensor, *output[1:]) if isinstance(output, tuple) else tensor


@contextmanager
def watching(modules: Mapping[int, Module], side: Side, seen: Callable[[int, Tensor], None]) -> Generator[None]:
    """Hand the input or output of modules to a function, detached, in each pass."""

    def hook(key: int) -> Callable[[Module, tuple[Any, ...], Any], None]:
        def run(_module: Module, args: tuple[Any, ...], output: Any) -> None:
            seen(key, (args[0] if side == "input" else tensor_of(output)).detach())

        return run

    handles = [module.register_forward_hook(hook(key)) for key, module in modules.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def changing(module: Module, change: Callable[[Tensor], Tensor]) -> Generator[None]:
    """Replace the output of a module by a function of it; the function must not write into what it is given."""

    def run(_module: Module, _args: tuple[Any, ...], output: Any) -> Any:
        return with_tensor(output, change(tensor_of(output)))

    handle = module.register_forward_hook(run)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def ending_after(module: Module) -> Generator[None]:
    """End the forward pass inside the block once a module has run; what follows it costs nothing."""

    def run(*_: Any) -> None:
        raise _PassEndedError

    handle = module.register_forward_hook(run)
    try:
        yield
    except _PassEndedError:
        pass
    finally:
        handle.remove()

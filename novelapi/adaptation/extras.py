"""The heavy libraries of the extra `train`, imported when they are used."""

from __future__ import annotations

import importlib
from typing import Any

from novelapi.errors import PrerequisiteError

Tensor = Any
"""A torch tensor; the core is type-checked without torch."""

Network = Any
"""A causal language model of transformers."""

Module = Any
"""One torch module."""

Tokenizer = Any
"""A fast tokenizer of transformers."""


def need(module: str) -> Any:
    """Import a module of the extra.

    Raises:
        PrerequisiteError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise PrerequisiteError(
            f"adaptation needs {name}: run `pip install 'novelapi[train]' -c constraints/train.txt`"
        ) from error

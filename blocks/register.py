"""Registers the block types on the Prefect server, and documents that are missing: `python -m blocks.register`."""

from __future__ import annotations

import sys

from prefect.blocks.core import Block

from blocks.library_sandbox import LibrarySandbox
from blocks.model_endpoint import ModelEndpoint
from blocks.run_store import RunStore
from blocks.strong_model import StrongModel
from blocks.vllm_server import VLLMServer
from novelapi.settings import load_settings

TYPES: tuple[type[Block], ...] = (ModelEndpoint, StrongModel, LibrarySandbox, VLLMServer, RunStore)
DEFAULT = "default"


def register_blocks() -> list[str]:
    """Register every type and save defaults where nobody saved any; return what exists, as `type/name`.

    What a person entered is never overwritten.
    """
    for kind in TYPES:
        kind.register_type_and_schema()
    defaults: list[Block] = [
        ModelEndpoint(),
        StrongModel(),
        LibrarySandbox(),
        RunStore(url=str(load_settings().home_dir)),
    ]
    return [_save_missing(block) for block in defaults]


def _save_missing(block: Block) -> str:
    slug = type(block).get_block_type_slug()
    try:
        type(block).load(DEFAULT)
    except ValueError:
        block.save(DEFAULT)
    return f"{slug}/{DEFAULT}"


if __name__ == "__main__":
    sys.stdout.write("\n".join(register_blocks()) + "\n")

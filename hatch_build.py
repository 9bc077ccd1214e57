"""Adds the entry points of the checkout to editable installs: a plain wheel holds the core alone."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CHECKOUT = {
    "novelapi.commands": {"flows": "flows.commands:register", "deployments": "deployments.commands:register"},
    "prefect.collections": {"novelapi": "workers.vllm"},
}


class CheckoutEntryPoints(BuildHookInterface[Any]):
    """Flows and workers are importable only from a checkout, so only there they are announced."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Extend the entry points of an editable build."""
        if version == "editable":
            self.metadata.core.entry_points.update(CHECKOUT)

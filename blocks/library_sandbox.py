"""How code under test is run on the machines of a pool."""

from __future__ import annotations

from prefect.blocks.core import Block
from pydantic import Field


class LibrarySandbox(Block):
    """Processes at work, and a check that the machine can shut code in."""

    _block_type_name = "Library sandbox"
    _block_type_slug = "library-sandbox"
    _description = "How many processes run code under test; isolation is never optional here."

    jobs: int = Field(default=2, ge=1, description="Processes at work.")

    def check(self) -> None:
        """Run a program in the sandbox of this machine.

        Raises:
            PrerequisiteError: bubblewrap or namespaces are missing; the message says how to get them.
            NovelApiError: the sandbox does not work.
        """
        from novelapi.errors import NovelApiError
        from novelapi.execution.environments import python_environment
        from novelapi.execution.isolated import run_isolated

        answer = run_isolated(python_environment(), "inspect_api", {"paths": [], "modules": []})
        if answer.failure is not None:
            raise NovelApiError(f"the sandbox does not work here: {answer.failure}; run `novelapi doctor`")

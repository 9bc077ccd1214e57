"""The base of all records: frozen, keyword-only, no unknown fields, a docstring under every field."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """An immutable row of one of the project's files; it validates and holds no logic."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )

    def to_row(self) -> dict[str, Any]:
        """Return plain JSON data with the names that the files use."""
        return self.model_dump(mode="json")

"""Hand-written knowledge for tests."""

from __future__ import annotations

from typing import Any

from novelapi.records.bundle import Exemplar, KnowledgeBundle, KnownParameter, Surface


def numpy_bundle(leaf: str = "unstack", **fields: Any) -> KnowledgeBundle:
    """A bundle of numpy.LEAF, or of what the fields say."""
    row: dict[str, Any] = {
        "api": f"numpy.{leaf}",
        "library": "numpy",
        "release": "2.4.4",
        "change": "added",
        "kind": "function",
        "surface": Surface(
            s_name=f"numpy.{leaf}",
            parameters=(
                KnownParameter(name="x", kind="positional_only", type="array_like", description="The array to split."),
                KnownParameter(
                    name="axis", kind="keyword_only", type="int", default="0", description="Where to split."
                ),
            ),
            returns="tuple of arrays",
            signature="(x, /, *, axis=0)",
        ),
        "exemplars": (Exemplar(code=f"import numpy as np\nnp.{leaf}(np.eye(7))", status="executed", output="1"),),
        "m_prose": "It cuts an array along an axis.",
        "m_prose_tier": "docstring",
        "m_code": f"def {leaf}(x, /, *, axis=0):\n    return tuple(moveaxis(x, axis, 0))",
        "licence": "BSD-3-Clause",
    }
    return KnowledgeBundle.model_validate(row | fields)

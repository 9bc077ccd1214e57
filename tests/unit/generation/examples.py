"""Candidates and examples for the tests of task writing."""

from __future__ import annotations

from novelapi.records.api import Candidate, Change, Parameter
from novelapi.records.bundle import Exemplar


def candidate(
    api="numpy.unstack", kind="function", change="added", added=(), names=("x", "axis"), paths=(), defaults=None
):
    """Return a candidate; `added` names the parameters that are new."""
    changes = [Change(kind="parameter_added", parameter=name, new=f"{name}=None") for name in added]
    return Candidate(
        api=api,
        library=api.split(".")[0],
        release="2",
        old_release="1",
        paths=(api, *paths),
        canonical=":".join(api.rsplit(".", 1)),
        kind=kind,
        change=change,
        changes=tuple(changes) or (Change(kind="added"),),
        signature=f"({', '.join(names)})",
        parameters=tuple(
            Parameter(
                name=name,
                kind="positional_or_keyword",
                default=(defaults or {}).get(name, "None" if name in added else None),
            )
            for name in names
        ),
    )


def example(code, uses_change=True):
    """Return an executed example."""
    return Exemplar(code=code, status="executed", output="", source="doctest", origin="docs", uses_change=uses_change)

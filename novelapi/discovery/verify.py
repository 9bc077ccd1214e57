"""Asks installed releases what paths lead to: one fresh sandboxed process per environment, more only where it dies."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.discovery.surface.facts import Param
from novelapi.errors import NovelApiError
from novelapi.execution.isolated import Answer, Limits, run_isolated
from novelapi.execution.sandbox import GUEST
from novelapi.fingerprint import digest, file_digest
from novelapi.layout import Layout
from novelapi.records.environment import Environment

LIMITS = Limits(wall_s=900.0, cpu_s=120, memory_mb=8192)
"""For importing everything that changed in a library, once: CPU time is the budget, the clock a backstop."""

STRONG = frozenset({"inspect", "__init__", "__new__"})
"""Where a signature that Python itself knows comes from."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a path led to when the release ran."""

    ok: bool
    error: str | None = None
    """Why not, with the type of the error first."""
    stage: str | None = None
    """import, attribute, inspect or process: what failed."""
    kind: str = ""
    """function, class, method, classmethod, staticmethod, property, callable, module or value."""
    module: str | None = None
    qualname: str | None = None
    type: str | None = None
    same_as: str | None = None
    """The first path asked for that leads to the same object."""
    params: tuple[Param, ...] | None = None
    origin: str | None = None
    """What gave the parameters: inspect, a constructor, or the docstring."""
    returns: str | None = None
    doc: str | None = None
    warning: str | None = None
    """What was said when it was reached."""

    @property
    def is_strong(self) -> bool:
        """Whether Python itself knows the signature."""
        return self.params is not None and self.origin in STRONG


def parse_observation(row: Mapping[str, Any]) -> Observation:
    """Read an observation as the guest writes it."""
    if not row["ok"]:
        return Observation(ok=False, error=row["error"], stage=row["stage"])
    params = None if row["params"] is None else tuple(Param(*item) for item in row["params"])
    return Observation(
        ok=True,
        kind=row["kind"],
        module=row["module"],
        qualname=row["qualname"],
        type=row["type"],
        same_as=row["same_as"],
        params=params,
        origin=row["from"],
        returns=row["returns"],
        doc=row["doc"],
        warning=row["warning"],
    )


@dataclass(frozen=True, kw_only=True)
class Inspector:
    """Observes paths in one environment; answers are kept under what they depend on."""

    env: Environment
    layout: Layout
    prelude: str | None = None
    roots: tuple[str, ...] = ()

    def observe(
        self, paths: Sequence[str], open_modules: Mapping[str, Sequence[str]] | None = None
    ) -> dict[str, Observation]:
        """Return an observation per path, and for open modules one per name that is not known.

        A release that kills or blocks its process costs only the paths that are to blame.

        Raises:
            PrerequisiteError: bubblewrap is missing.
            NovelApiError: the interpreter of the environment does not start.
        """
        request = {
            "prelude": self.prelude,
            "roots": list(self.roots),
            "paths": list(paths),
            "modules": {module: list(known) for module, known in (open_modules or {}).items()},
        }
        path = self._cache_path(request)
        if path.exists():
            rows = json.loads(path.read_bytes())
        else:
            rows = self._ask(request)
            jsonl.write_text(path, json.dumps(rows, ensure_ascii=True, separators=(",", ":")))
        return {name: parse_observation(row) for name, row in rows.items()}

    def _cache_path(self, request: Mapping[str, Any]) -> Path:
        spec = {"request": request, "guest": file_digest(GUEST / "inspect_api.py")}
        return self.layout.observations(self.env.key, digest(spec))

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = run_isolated(self.env, "inspect_api", request, LIMITS)
        if answer.value is not None:
            if answer.value["prelude_error"]:
                raise NovelApiError(
                    f"the prelude of {self.env.library} fails in {self.env.release} ({answer.value['prelude_error']}): "
                    "correct it in the catalogue"
                )
            return answer.value["paths"]
        parts = _halves(request)
        if len(parts) < 2:
            return dict.fromkeys(request["paths"], _dead(answer))
        rows: dict[str, Any] = {}
        for part in parts:
            rows.update(self._ask(part))
        return rows


def _halves(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a request by the packages of its paths, then path by path; a single path is to blame itself."""
    groups: dict[str, list[str]] = defaultdict(list)
    for path in request["paths"]:
        groups[path.rpartition(".")[0]].append(path)
    modules = request["modules"]
    keys = sorted(groups)
    if len(keys) + len(modules) < 2:
        paths, middle = request["paths"], len(request["paths"]) // 2
        return [{**request, "paths": part} for part in (paths[:middle], paths[middle:])] if middle else []
    if modules:
        return [{**request, "modules": {}}, *({**request, "paths": [], "modules": {m: k}} for m, k in modules.items())]
    middle = len(keys) // 2
    return [
        {**request, "paths": [path for key in part for path in groups[key]]} for part in (keys[:middle], keys[middle:])
    ]


def _dead(answer: Answer) -> dict[str, Any]:
    words = {
        "timeout": f"TimeoutError: no answer within {LIMITS.wall_s:.0f} s",
        "cpu": f"TimeoutError: more than {LIMITS.cpu_s} s of CPU time",
        "signal": "SystemError: the process was killed by a signal",
        "exit": "SystemExit: the process ended by itself",
        "garbled": "SystemError: the process closed its answer channel",
    }
    return {"ok": False, "stage": "process", "error": words[answer.failure or "garbled"]}

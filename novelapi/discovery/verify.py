"""Asks installed releases what paths lead to: one fresh sandboxed process per environment, more only where it dies."""

from __future__ import annotations

import json
import time
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

PATH_S = 60
"""Seconds for one path: a module that waits for something when it is imported costs only itself."""

TOTAL_S = 1800.0
"""Elapsed seconds after which no further process is started for a release that keeps ending or blocking them."""

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
    at_home: bool = False
    """Whether `module` has the same object under `qualname`."""
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
        at_home=row["at_home"],
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
            "path_s": PATH_S,
            "paths": list(paths),
            "modules": {module: list(known) for module, known in (open_modules or {}).items()},
        }
        path = self._cache_path(request)
        if path.exists():
            rows = json.loads(path.read_bytes())
        else:
            rows = self._ask_once(request) or self._ask_apart(request, time.monotonic() + TOTAL_S)
            jsonl.write_text(path, json.dumps(rows, ensure_ascii=True, separators=(",", ":")))
        return {name: parse_observation(row) for name, row in rows.items()}

    def _cache_path(self, request: Mapping[str, Any]) -> Path:
        spec = {"request": request, "guest": file_digest(GUEST / "inspect_api.py")}
        return self.layout.observations(self.env.key, digest(spec))

    def _ask_once(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return what one process saw; null when it ended early, although the packages as such can be imported."""
        answer = run_isolated(self.env, "inspect_api", request, LIMITS)
        if answer.value is not None:
            return self._paths(answer)
        top = {**request, "paths": list(self.roots), "modules": {}}
        dead = run_isolated(self.env, "inspect_api", top, LIMITS).value is None
        return dict.fromkeys(request["paths"], _dead(answer)) if dead else None

    def _ask_apart(self, request: dict[str, Any], deadline: float) -> dict[str, Any]:
        """Return what several processes saw, each asked for a part, down to the paths that end theirs."""
        rows: dict[str, Any] = {}
        for part in _halves(request):
            if time.monotonic() >= deadline:
                rows.update(dict.fromkeys(part["paths"], _given_up()))
                continue
            answer = run_isolated(self.env, "inspect_api", part, LIMITS)
            if answer.value is not None:
                rows.update(self._paths(answer))
            elif len(part["paths"]) + len(part["modules"]) > 1:
                rows.update(self._ask_apart(part, deadline))
            else:
                rows.update(dict.fromkeys(part["paths"], _dead(answer)))
        return rows

    def _paths(self, answer: Answer) -> dict[str, Any]:
        if answer.value["prelude_error"]:
            raise NovelApiError(
                f"the prelude of {self.env.library} fails in {self.env.release} ({answer.value['prelude_error']}): "
                "correct it in the catalogue"
            )
        return answer.value["paths"]


def _halves(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a request by the packages of its paths, then path by path; a single path is to blame itself."""
    groups: dict[str, list[str]] = defaultdict(list)
    for path in request["paths"]:
        groups[path.rpartition(".")[0]].append(path)
    modules = request["modules"]
    keys = sorted(groups)
    if len(keys) + len(modules) < 2:
        paths, middle = request["paths"], len(request["paths"]) // 2
        return [{**request, "paths": part} for part in (paths[:middle], paths[middle:]) if part]
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


def _given_up() -> dict[str, Any]:
    error = f"TimeoutError: not tried: what was asked before took more than {TOTAL_S:.0f} s"
    return {"ok": False, "stage": "process", "error": error}

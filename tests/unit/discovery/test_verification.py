"""A release that kills its process costs only the paths that are to blame."""

import pytest

from novelapi.discovery import verify
from novelapi.discovery.verify import Inspector
from novelapi.execution.isolated import Answer

GOOD = {
    "ok": True, "kind": "function", "module": "lib", "type": "t", "qualname": "f", "same_as": "f", "at_home": True,
    "params": None, "from": None, "returns": None, "doc": None, "warning": None,
}  # fmt: skip


class Env:
    key, library, release = "lib-1", "lib", "1"


class Layout:
    def __init__(self, root):
        self.root = root

    def observations(self, key, digest):
        return self.root / f"{key}-{digest}.json"


def deadly(paths):
    """Return a stand-in for the sandbox in which some paths end the process."""

    def run(env, script, request, limits):
        if set(request["paths"]) & set(paths):
            return Answer(value=None, failure="exit", output="", wall_s=0.0)
        found = {"prelude_error": None, "paths": dict.fromkeys(request["paths"], GOOD)}
        return Answer(value=found, failure=None, output="", wall_s=0.0)

    return run


@pytest.mark.parametrize("blamed", [[], ["lib.a.f"], ["lib.a.f", "lib.b.h"], ["lib.a.f", "lib.a.g", "lib.b.h"]])
def test_only_the_blamed_are_lost(tmp_path, monkeypatch, blamed):
    monkeypatch.setattr(verify, "run_isolated", deadly(blamed))
    inspector = Inspector(env=Env(), layout=Layout(tmp_path), roots=("lib",))
    seen = inspector.observe(["lib.a.f", "lib.a.g", "lib.a.k", "lib.b.h"])
    assert sorted(path for path, item in seen.items() if not item.ok) == blamed
    assert all("ended by itself" in seen[path].error for path in blamed)

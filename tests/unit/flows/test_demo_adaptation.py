"""What the demo of adaptation builds: the same tasks in every run, so that a killed run goes on where it was."""

from __future__ import annotations

import pytest

pytest.importorskip("prefect", reason="the extra flows is not installed")

from flows.demo_adaptation import BUILD_LIMIT, LIBRARY, build_limit
from novelapi.layout import Layout
from novelapi.records.manifest import Manifest

STAGES = ("stage1_discovery", "stage2_knowledge", "stage3_tasks", "stage4_filtered")


def built(layout, **limits):
    for stage in STAGES:
        path = layout.stage_manifest(LIBRARY, stage, "copy")
        path.parent.mkdir(parents=True, exist_ok=True)
        spec = {"limit": limits[stage]} if stage in limits else {}
        path.write_text(Manifest(kind="stage", name=stage, spec=spec).model_dump_json(by_alias=True))


def test_a_limited_build_stays_limited_and_a_whole_one_is_used(tmp_path):
    layout = Layout(tmp_path)
    assert build_limit(layout) == BUILD_LIMIT
    built(layout, stage1_discovery=BUILD_LIMIT, stage3_tasks=BUILD_LIMIT)  # what an earlier run of the demo leaves
    assert build_limit(layout) == BUILD_LIMIT
    built(layout, stage3_tasks=BUILD_LIMIT)  # a whole build that was killed after stage 1
    assert build_limit(layout) == BUILD_LIMIT
    built(layout)
    assert build_limit(layout) is None
    layout.stage_manifest(LIBRARY, "stage4_filtered", "copy").unlink()
    assert build_limit(layout) == BUILD_LIMIT

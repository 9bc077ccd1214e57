"""The pools' job templates: every placeholder has a variable, and containers know what to run."""

from __future__ import annotations

import json
import re

import pytest

from deployments.pools import pools, read_template

CONTAINERS = ("gpu-docker", "gpu-kubernetes")


@pytest.mark.parametrize("name", CONTAINERS)
def test_placeholders_and_variables_are_the_same_set(name):
    template = read_template(name)
    used = set(re.findall(r"{{ (\w+) }}", json.dumps(template["job_configuration"])))
    assert used == set(template["variables"]["properties"])


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_starts_its_own_server_and_mounts_the_run_folder(name):
    template = read_template(name)
    assert template["variables"]["properties"]["command"]["default"] == "python -m workers.beside"
    text = json.dumps(template)
    assert "novelapi-data" in text
    assert "/srv/novelapi/data" in text


@pytest.mark.parametrize(("kind", "types"), [("vllm", ["process", "vllm"]), ("docker", ["process", "docker"])])
def test_only_the_pool_gpu_depends_on_the_kind_of_workers(kind, types):
    assert [pool.type for pool in pools(kind)] == types

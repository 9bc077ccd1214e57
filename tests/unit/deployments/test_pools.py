"""The pools' job templates: every placeholder has a variable, and containers know what to run."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
import yaml

from deployments.entries import PREFECT_YAML
from deployments.pools import RUN_ENVIRONMENT, job_template, pools, read_template
from novelapi.settings import load_settings

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


@pytest.mark.parametrize("pool", pools(), ids=lambda pool: pool.name)
def test_processes_work_in_the_checkout_that_was_deployed(pool):
    properties = job_template(pool)["variables"]["properties"]
    assert properties["working_dir"]["default"] == str(Path(__file__).parents[3])


@pytest.mark.parametrize("pool", pools("docker")[1:] + pools("kubernetes")[1:], ids=lambda pool: pool.type)
def test_a_container_is_told_no_folder_of_the_host(pool):
    text = json.dumps(job_template(pool))
    assert str(Path(__file__).parents[3]) not in text
    assert str(load_settings().home_dir) not in text
    assert '"NOVELAPI_HOME": "/srv/novelapi/data"' in text


@pytest.mark.parametrize(("kind", "worker"), [("docker", "DockerWorker"), ("kubernetes", "KubernetesWorker")])
def test_the_worker_understands_what_the_template_says(kind, worker):
    """With the environment of a block added to the pool's own."""
    package = pytest.importorskip(f"prefect_{kind}.worker", reason=f"prefect-{kind} is not installed")
    configuration = getattr(package, worker).job_configuration
    template = job_template(pools(kind)[1])
    assert set(template["job_configuration"]) <= set(configuration.model_fields)
    values = {"env": {"NOVELAPI_SERVE": "{}"}}
    read = asyncio.run(configuration.from_template_and_values(template, values, client=object()))
    assert read.env == {"NOVELAPI_SERVE": "{}", "NOVELAPI_HOME": "/srv/novelapi/data", **RUN_ENVIRONMENT}


def test_a_run_stays_where_it_was_started():
    """A folder of the host means nothing in a container; without any step Prefect copies the whole folder."""
    (step,) = yaml.safe_load(PREFECT_YAML.read_text())["pull"]
    assert step == {"prefect.deployments.steps.set_working_directory": {"directory": "."}}

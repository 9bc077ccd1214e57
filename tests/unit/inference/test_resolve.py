"""What the name of a model means, and how the model is asked."""

from __future__ import annotations

import pytest

from novelapi.adapters.open import open_model
from novelapi.errors import DataError, PrerequisiteError, UnknownNameError, UsageError
from novelapi.inference.profile import DEFAULT_PROFILE, load_profile, read_profile
from novelapi.inference.resolve import parse_model

KNOWN = ["qwen2.5-coder-7b", "seed-coder-8b-instruct"]


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("copy", "copy", "copy"),
        ("openai:gpt-x", "openai", "gpt-x"),
        # A name at an endpoint may hold anything.
        ("openai:org/model:free", "openai", "org/model:free"),
        ("transformers:/tmp/tiny", "transformers", "/tmp/tiny"),
        ("qwen2.5-coder-7b", "catalogue", "qwen2.5-coder-7b"),
    ],
)
def test_names(text, kind, name):
    reference = parse_model(text, KNOWN)
    assert (reference.kind, reference.name) == (kind, name)


@pytest.mark.parametrize("text", ["openai", "openai:", "transformers:"])
def test_a_prefix_alone(text):
    with pytest.raises(UsageError, match="NAME"):
        parse_model(text, KNOWN)


def test_unknown_names_get_near_matches():
    with pytest.raises(UnknownNameError, match=r"qwen2\.5-coder-7b"):
        parse_model("qwen2.5-coder-7", KNOWN)
    with pytest.raises(UnknownNameError, match="use copy, openai:NAME"):
        parse_model("zzz", KNOWN)


def test_the_baseline_needs_nothing():
    assert open_model("copy").name == "copy"


def test_a_backbone_needs_a_server():
    with pytest.raises(PrerequisiteError, match="Qwen/Q"):
        open_model("qwen2.5-coder-7b", backbones={"qwen2.5-coder-7b": "Qwen/Q"})
    opened = open_model("qwen2.5-coder-7b", base_url="http://127.0.0.1:1/v1", backbones={"qwen2.5-coder-7b": "Qwen/Q"})
    assert opened.revision.startswith("Qwen/Q@http://127.0.0.1:1/v1")


def test_every_published_backbone_has_a_profile():
    assert load_profile("opencoder-8b-instruct").window == 8192
    assert load_profile("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B").max_tokens == 8192
    assert load_profile("unheard-of") is DEFAULT_PROFILE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("window: 10\n", "window"),
        ("windw: 4096\n", "windw"),
        ("- 1\n", "mapping"),
        ("a: [\n", "cannot read"),
    ],
)
def test_a_broken_profile_is_one_readable_line(tmp_path, text, words):
    path = tmp_path / "profile.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=words) as caught:
        read_profile(path)
    assert "\n" not in str(caught.value)


def test_a_users_own_profile(tmp_path):
    path = tmp_path / "profile.yaml"
    path.write_text("window: 4096\nusd_per_million_prompt_tokens: 0.5\n")
    assert read_profile(path).price(2_000_000, 0) == 1.0

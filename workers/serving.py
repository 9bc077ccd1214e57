"""A vLLM server's whole life: started in its own session with its own log, polled, warmed up, kept, stopped.

The one module that knows how. The worker owns the servers: a flow only asks for an address and hands it back, and the
server stays warm for the next flow run of the same model. A guard process ties the server to the worker's life.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from novelapi.errors import NovelApiError, PrerequisiteError
from novelapi.fingerprint import digest
from novelapi.jsonl import write_text
from novelapi.layout import Layout, safe_name
from novelapi.processes import ProcessIdentity, identify, is_alive, stop
from novelapi.records.base import Record

GUARD = Path(__file__).with_name("guard.py")
POLL_S = 0.5
STOP_GRACE_S = 20.0
WARM_UP_TIMEOUT_S = 600.0

CORRECT = "correct the job variable `model`, which the block vllm-server holds"
REASONS = (
    ("not enough GPU memory", "the model does not fit on the accelerator: quantise it, or add --tensor-parallel-size"),
    (
        "utilization or reduce GPU memory used by other processes",
        "another process holds the accelerator's memory: end it, or lower --gpu-memory-utilization",
    ),
    ("out of memory", "the accelerator is out of memory: lower --gpu-memory-utilization or --max-num-seqs"),
    (
        "No available memory for the cache blocks",
        "no memory is left for the cache: raise --gpu-memory-utilization (on a CPU VLLM_CPU_KVCACHE_SPACE)",
    ),
    ("larger than the available KV cache memory", "the context does not fit into the cache: lower --max-model-len"),
    ("greater than the derived max_model_len", "the model's own context is shorter: lower --max-model-len"),
    ("Cannot find any model weights", f"the model's folder holds no weights: {CORRECT}"),
    ("is not a local folder and is not a valid model", f"there is no such model: {CORRECT}"),
    ("does not appear to have a file named", f"the model's folder is incomplete: {CORRECT}"),
    ("Repo id must be in the form", f"there is no such model: {CORRECT}"),
    (
        "snapshot folder for the specified revision on the local disk",
        f"the model is not here, and its hub does not answer: fetch it, or {CORRECT}",
    ),
    ("find them in the cached files", f"the model is not here, and its hub does not answer: fetch it, or {CORRECT}"),
    ("Repository Not Found", f"there is no such model: {CORRECT}"),
    ("not supported for now", "vLLM does not support this architecture: choose another model"),
    ("does not recognize this architecture", "transformers does not know this architecture: choose another model"),
    ("No space left on device", "the disk is full: free space"),
)
"""What vLLM's log says, and what to do about it."""

REFUSED = "Value error, "
"""What pydantic writes before the reason; the line that names the error only counts."""

NOISE = (" INFO ", " WARNING ", "Engine core initialization failed")
"""In lines that speak of errors and tell no reason."""


class ServeSpec(Record):
    """Everything that decides which server a flow run needs."""

    model: str
    """Model to load: a folder, or a repository on the hub."""

    name: str
    """Name under which it is served."""

    program: str
    """Path of the `vllm` program in the serving environment."""

    arguments: tuple[str, ...] = ()
    """Further arguments of `vllm serve`."""

    gpu: str = ""
    """CUDA_VISIBLE_DEVICES; empty leaves it as it is."""

    environment: dict[str, str] = Field(default_factory=dict)
    """Further environment variables of the server; no secrets."""

    start_timeout_s: float = 1800.0
    """Seconds until the server must answer."""

    @property
    def key(self) -> str:
        """Identity of the server that fits."""
        return digest(self)


class ServerState(Record):
    """A server that was started, as its state file holds it."""

    process: ProcessIdentity
    """The guard: leader of the server's session."""

    spec: ServeSpec
    """What it serves."""

    url: str
    """Address with `/v1`."""


class VLLMServer:
    """One running server."""

    def __init__(self, spec: ServeSpec, layout: Layout) -> None:
        """Remember what to serve; nothing is started."""
        self.spec = spec
        self._layout = layout
        self._guard: subprocess.Popen[bytes] | None = None
        self._given_up = threading.Event()
        self.url = ""

    @property
    def log(self) -> Path:
        """What the server printed."""
        return self._layout.serving / f"{safe_name(self.spec.name)}-{self.spec.key}.log"

    @property
    def state(self) -> Path:
        """The server's state file."""
        return self.log.with_suffix(".json")

    def start(self) -> str:
        """Start the server, wait until it answers, send one request; return its address.

        The first request takes much longer than later ones, so it is made here, before any clock of a cell runs.

        Raises:
            PrerequisiteError: the program is missing.
            NovelApiError: vLLM refused the model, or did not answer in time; the message names reason, remedy and log.
        """
        if shutil.which(self.spec.program) is None:
            raise PrerequisiteError(
                f"there is no {self.spec.program}: build the serving environment with "
                "`python -m workers.serve_env DIR` and set the job variable `program`"
            )
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}/v1"
        self._layout.serving.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            log.write(f"--- start {self.spec.model}\n".encode())
            self._guard = subprocess.Popen(
                [sys.executable, str(GUARD), *self._command(port)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=self._environment(),
            )
        process = identify(self._guard.pid)
        if process is not None:
            state = ServerState(process=process, spec=self.spec, url=self.url)
            write_text(self.state, state.model_dump_json() + "\n")
        try:
            self._wait()
            self._warm_up()
        except NovelApiError:
            self.stop()
            raise
        return self.url

    def give_up(self) -> None:
        """End a start that is under way in another thread: it raises and leaves no process behind."""
        self._given_up.set()

    def is_healthy(self) -> bool:
        """Tell whether the server still answers."""
        return (
            self._guard is not None
            and self._guard.poll() is None
            and _answers(self.url.removesuffix("/v1") + "/health")
        )

    def stop(self) -> None:
        """Stop the server with everything it started; idempotent."""
        if self._guard is None:
            return
        identity = identify(self._guard.pid)
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        try:
            self._guard.wait(timeout=STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            if identity is not None:
                stop(identity, grace_s=0)
            self._guard.wait()
        self._guard = None
        self.state.unlink(missing_ok=True)

    def _command(self, port: int) -> list[str]:
        served = ["--served-model-name", self.spec.name, "--host", "127.0.0.1", "--port", str(port)]
        return [self.spec.program, "serve", self.spec.model, *served, *self.spec.arguments]

    def _environment(self) -> dict[str, str]:
        quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}
        devices = {"CUDA_VISIBLE_DEVICES": self.spec.gpu} if self.spec.gpu else {}
        return {**os.environ, **quiet, **devices, **self.spec.environment}

    def _wait(self) -> None:
        assert self._guard is not None
        deadline = time.monotonic() + self.spec.start_timeout_s
        while not _answers(self.url.removesuffix("/v1") + "/health"):
            if self._guard.poll() is not None:
                raise NovelApiError(f"vLLM did not start {self.spec.model}: {explain(self.log)}; log: {self.log}")
            if time.monotonic() > deadline:
                raise NovelApiError(
                    f"vLLM did not answer within {self.spec.start_timeout_s:.0f} s: raise the job variable "
                    f"`start_timeout_s`, or read {self.log}"
                )
            if self._given_up.wait(POLL_S):
                raise NovelApiError(f"the start of {self.spec.model} was given up: its worker is stopping")

    def _warm_up(self) -> None:
        body = {"model": self.spec.name, "prompt": "x", "max_tokens": 1}
        try:
            post(f"{self.url}/completions", body, timeout_s=WARM_UP_TIMEOUT_S)
        except OSError as error:
            raise NovelApiError(
                f"vLLM started but did not complete its first request: {error}; log: {self.log}"
            ) from error


class Adapters:
    """LoRA adapters on a running server, named by the content of their weights.

    The prefix cache keys on an adapter's name and path, so a name must never stand for two different weights.
    """

    def __init__(self, url: str) -> None:
        """Remember the server's address, with `/v1`."""
        self._url = url

    def load(self, folder: Path) -> str:
        """Load an adapter unless it is loaded; return the model name to ask for.

        Raises:
            NovelApiError: the server refused it.
        """
        name = adapter_name(folder)
        if name not in self.loaded():
            self._call("load_lora_adapter", {"lora_name": name, "lora_path": str(folder)})
        return name

    def unload(self, name: str) -> None:
        """Unload an adapter that is loaded.

        Raises:
            NovelApiError: the server refused.
        """
        if name in self.loaded():
            self._call("unload_lora_adapter", {"lora_name": name})

    def loaded(self) -> list[str]:
        """Return the names of all models and adapters that the server offers."""
        with urllib.request.urlopen(f"{self._url}/models", timeout=30) as response:  # noqa: S310 - our own loopback server
            return [row["id"] for row in json.load(response)["data"]]

    def _call(self, verb: str, body: dict[str, str]) -> None:
        try:
            post(f"{self._url}/{verb}", body, timeout_s=300)
        except urllib.error.HTTPError as error:
            reason = " ".join(error.read().decode(errors="replace").split())[:300]
            raise NovelApiError(
                f"vLLM refused {verb} of {body['lora_name']}: {reason}; start it with --enable-lora and a "
                "--max-lora-rank that fits"
            ) from error


def adapter_name(folder: Path) -> str:
    """Return the name of an adapter: the digest of its configuration and weights.

    Raises:
        NovelApiError: the folder holds no adapter.
    """
    files = sorted(path for path in folder.glob("adapter_*") if path.is_file())
    if not files:
        raise NovelApiError(f"no adapter in {folder}: expected adapter_config.json and adapter_model.safetensors")
    return "adapter-" + digest([[path.name, digest(path.read_bytes().hex())] for path in files])


def stop_stale(layout: Layout) -> list[str]:
    """Stop servers that a worker left behind without its guard's help; return the models they served.

    A guard ends with its worker, so what a state file names has lost its guard, or belongs to a worker that lives: the
    latter is recognised by its guard's parent.
    """
    stopped: list[str] = []
    for path in sorted(layout.serving.glob("*.json")):
        try:
            state = ServerState.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            path.unlink(missing_ok=True)
            continue
        if is_alive(state.process) and not _is_orphan(state.process.pid):
            continue
        stop(state.process)
        path.unlink(missing_ok=True)
        stopped.append(state.spec.name)
    return stopped


def explain(log: Path) -> str:
    """Return the reason and the remedy that a server's log holds, in one line."""
    lines = list(_last_start(log))
    text = "\n".join(lines)
    for sign, remedy in REASONS:
        if sign in text:
            return remedy
    refused = [line.partition(REFUSED)[2] for line in lines if REFUSED in line]
    errors = [line for line in lines if "Error" in line and not any(noise in line for noise in NOISE)]
    return " ".join((refused or errors or lines or ["it printed nothing"])[-1].split())[:300]


def post(url: str, body: dict[str, Any], timeout_s: float) -> bytes:
    """Send JSON, return the answer.

    Raises:
        OSError: no answer, or an error status.
    """
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310 - our own server
    with urllib.request.urlopen(request, timeout=timeout_s) as response:  # noqa: S310
        return response.read()


def _last_start(log: Path) -> Iterator[str]:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("--- start ")]
    yield from lines[starts[-1] + 1 :] if starts else lines


def _is_orphan(pid: int) -> bool:
    """Tell whether a process was left by its parent."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return True
    return int(fields[1]) <= 1


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310 - our own loopback server
            return response.status == 200
    except (OSError, ValueError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

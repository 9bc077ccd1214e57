"""Adapters on one server, loaded once under the digest of their content."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from novelapi.errors import PrerequisiteError
from novelapi.fingerprint import file_digest


@pytest.fixture
def server():
    """A server that keeps a list of loaded adapters, as vLLM does."""
    loaded: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._send({"data": [{"id": row["lora_name"]} for row in loaded]})

        def do_POST(self):
            loaded.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._send({})

        def _send(self, body):
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}/v1", loaded
    running.shutdown()
    running.server_close()


def write_adapter(folder, weights):
    folder.mkdir()
    (folder / "adapter_config.json").write_text("{}")
    (folder / "adapter_model.safetensors").write_bytes(weights)
    (folder / "edit.json").write_text("{}")


def test_two_adapters_live_on_one_server_and_equal_ones_are_loaded_once(server, tmp_path):
    pytest.importorskip("openai", reason="the extra llm is not installed")
    pytest.importorskip("prefect", reason="the extra flows is not installed")
    from blocks.model_endpoint import open_completer
    from novelapi.records.request import ModelAccess

    url, loaded = server
    for name, weights in (("a", b"1"), ("b", b"2"), ("same-as-a", b"1")):
        write_adapter(tmp_path / name, weights)
    models = [
        open_completer("transformers:base", ModelAccess(base_url=url, artifact=str(tmp_path / name)))
        for name in ("a", "b", "same-as-a")
    ]
    assert [row["lora_path"] for row in loaded] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert models[0].name == models[2].name != models[1].name
    assert models[0].adapter_sha == file_digest(tmp_path / "a" / "edit.json")
    (tmp_path / "hook").mkdir()
    with pytest.raises(PrerequisiteError, match="is no LoRA adapter"):
        open_completer("transformers:base", ModelAccess(base_url=url, artifact=str(tmp_path / "hook")))

"""Stands in for the `vllm` program: `serve MODEL ...`, quick to start, answering with what it was asked.

A model called `missing` is refused, `huge` runs out of memory, `mute` never answers. It starts a child, as vLLM does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("verb", choices=["serve"])
parser.add_argument("model")
parser.add_argument("--served-model-name")
parser.add_argument("--host")
parser.add_argument("--port", type=int)
options, rest = parser.parse_known_args()

if options.model == "missing":
    sys.exit("OSError: missing is not a local folder and is not a valid model identifier")
if options.model == "huge":
    sys.exit("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB")
if options.model == "mute":
    time.sleep(600)

child = subprocess.Popen(["sleep", "611"])
adapters: dict[str, str] = {}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/health":
            return self.answer(200, {})
        return self.answer(200, {"data": [{"id": name} for name in [options.served_model_name, *adapters]]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/load_lora_adapter":
            if "--enable-lora" not in rest:
                return self.answer(400, {"error": "LoRA is not enabled"})
            adapters[body["lora_name"]] = body["lora_path"]
            return self.answer(200, {})
        if self.path == "/v1/unload_lora_adapter":
            adapters.pop(body["lora_name"])
            return self.answer(200, {})
        if body["model"] not in (options.served_model_name, *adapters):
            return self.answer(404, {"error": f"The model {body['model']} does not exist."})
        return self.answer(200, {"choices": [{"text": f"{body['model']} says {body['prompt']}", "index": 0}]})


print("ready", flush=True)
ThreadingHTTPServer((options.host, options.port), Handler).serve_forever()

"""A loopback server that speaks enough of the OpenAI protocol, and misbehaves on request."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[[dict[str, Any], int], "Reply | str | list[str]"]
"""(request body, number of this attempt at the prompt, from 1) -> what to answer."""


class Reply:
    """A raw answer: status, body, headers, and what to do to the connection."""

    def __init__(
        self, status: int, body: Any, headers: dict[str, str] | None = None, cut: int | None = None, delay: float = 0
    ):
        self.status, self.headers, self.cut, self.delay = status, headers or {}, cut, delay
        self.data = body.encode() if isinstance(body, str) else json.dumps(body).encode()


def error(status: int, message: str, code: str | None = None, headers: dict[str, str] | None = None) -> Reply:
    return Reply(status, {"error": {"message": message, "type": "error", "code": code, "param": None}}, headers)


def chat(texts: list[str], model: str = "tiny", prompt_tokens: int = 7, **message: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **message}}
            for i, text in enumerate(texts)
        ],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 3 * len(texts), "total_tokens": 0},
    }


def echo(body: dict[str, Any], attempt: int) -> list[str]:
    """Answer with the temperature, the seed and the last line of the prompt."""
    prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
    return [
        f"{i}:{body.get('temperature')}:{body.get('seed')}:{prompt.strip().splitlines()[-1]}"
        for i in range(body.get("n", 1))
    ]


class FakeOpenAI:
    """What the server saw, and its address."""

    def __init__(self, behaviour: Behaviour, models: tuple[str, ...], windows: dict[str, Any]) -> None:
        self.behaviour, self.models = behaviour, models
        self.windows = windows
        self.requests: list[dict[str, Any]] = []
        self.prompts: Counter[str] = Counter()
        self.keys: set[str | None] = set()
        self.lock = threading.Lock()
        self.base_url = ""


@contextmanager
def fake_openai(
    behaviour: Behaviour = echo, models: tuple[str, ...] = ("tiny",), windows: dict[str, Any] | None = None
) -> Iterator[FakeOpenAI]:
    state = FakeOpenAI(behaviour, models, windows or {})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def _send(self, reply: Reply) -> None:
            time.sleep(reply.delay)
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.data)))
            self.end_headers()
            if reply.cut is not None:
                self.wfile.write(reply.data[: reply.cut])
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(2)
                return
            self.wfile.write(reply.data)

        def do_GET(self) -> None:
            if not self.path.startswith("/v1/models"):
                return self._send(error(404, "no such page"))
            rows = [
                {"id": name, "object": "model", "created": 0, "owned_by": "me"}
                | ({"max_model_len": state.windows[name]} if name in state.windows else {})
                for name in state.models
            ]
            return self._send(Reply(200, {"object": "list", "data": rows}))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.path.startswith("/v1/"):
                return self._send(error(404, "no such page"))
            if body["model"] not in state.models:
                return self._send(error(404, f"The model `{body['model']}` does not exist."))
            if self.path == "/v1/embeddings":
                state.requests.append(body)
                rows = [
                    {"object": "embedding", "index": i, "embedding": [float(len(text)), 1.0]}
                    for i, text in enumerate(body["input"])
                ]
                return self._send(
                    Reply(
                        200,
                        {
                            "object": "list",
                            "model": body["model"],
                            "data": rows[::-1],
                            "usage": {"prompt_tokens": 0, "total_tokens": 0},
                        },
                    )
                )
            prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
            with state.lock:
                state.requests.append(body)
                state.keys.add(self.headers.get("Authorization"))
                state.prompts[prompt] += 1
                attempt = state.prompts[prompt]
            answer = state.behaviour(body, attempt)
            if not isinstance(answer, Reply):
                texts = [answer] if isinstance(answer, str) else answer
                payload = chat(texts, body["model"])
                if "messages" not in body:
                    payload["choices"] = [
                        {"index": i, "finish_reason": "stop", "text": text} for i, text in enumerate(texts)
                    ]
                answer = Reply(200, payload)
            return self._send(answer)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # clients that hang up are part of the tests

    server = Server(("127.0.0.1", 0), Handler)
    state.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

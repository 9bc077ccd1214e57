"""The local server's state file, without a server."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from flows import server
from novelapi.errors import NovelApiError, PrerequisiteError
from novelapi.layout import Layout
from novelapi.processes import identify
from novelapi.settings import load_settings


@pytest.fixture
def layout(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setenv("NOVELAPI_HOME", str(tmp_path))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    load_settings.cache_clear()
    yield Layout(tmp_path)
    load_settings.cache_clear()


@pytest.fixture
def child():
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def write_state(layout, process, port=4999, home=None):
    layout.prefect.mkdir(parents=True, exist_ok=True)
    state = server.LocalServer(process=process, url=f"http://127.0.0.1:{port}/api", home=home)
    layout.server_state.write_text(state.model_dump_json())
    return state


@pytest.fixture
def health():
    """A server whose /api/health answers."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/api/health" else 404)
            self.end_headers()

        def log_message(self, *args):
            pass

    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listener.server_port}/api"
    listener.shutdown()
    listener.server_close()


def test_a_server_that_runs_is_used_again(layout, child):
    state = write_state(layout, identify(child.pid))
    assert server.running(layout) == state
    assert server.start() == state.url


def test_a_copied_home_neither_uses_nor_stops_the_server_of_the_first(layout, child, tmp_path):
    write_state(layout, identify(child.pid), home=str(layout.prefect.resolve()))
    assert server.running(layout) is not None
    copy = Layout(tmp_path / "copy")
    copy.prefect.mkdir(parents=True)
    copy.server_state.write_bytes(layout.server_state.read_bytes())
    assert server.running(copy) is None
    assert not server.stop_local(copy)
    assert child.poll() is None


def test_a_state_file_of_a_dead_process_is_ignored(layout, child):
    write_state(layout, identify(child.pid))
    child.kill()
    child.wait()
    assert server.running(layout) is None


def test_a_reused_process_number_is_not_taken_for_the_server(layout, child):
    identity = identify(child.pid)
    write_state(layout, identity.model_copy(update={"started": identity.started - 1}))
    assert server.running(layout) is None
    assert not server.stop_local(layout)
    assert child.poll() is None


@pytest.mark.parametrize("text", ["", "{", '{"pid": 1}'])
def test_a_broken_state_file_is_no_server(layout, text):
    layout.prefect.mkdir(parents=True)
    layout.server_state.write_text(text)
    assert server.running(layout) is None


def test_stop_ends_the_server_and_what_it_started(layout):
    process = subprocess.Popen(["sh", "-c", "sleep 61 & wait"], start_new_session=True)
    write_state(layout, identify(process.pid))
    assert server.stop_local(layout)
    process.wait(timeout=5)
    assert server.running(layout) is None
    assert not server.stop_local(layout)


def test_an_address_in_the_environment_is_used_as_it_is(layout, monkeypatch, health):
    monkeypatch.setenv("PREFECT_API_URL", health)
    load_settings.cache_clear()
    assert server.start() == health
    assert not layout.prefect.exists()
    server.wait(health)


def test_an_address_where_nothing_answers_is_a_missing_prerequisite(layout, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    load_settings.cache_clear()
    with pytest.raises(PrerequisiteError, match="unset PREFECT_API_URL"):
        server.wait(server.start())


@pytest.mark.parametrize(("patience_s", "there"), [(5, True), (0.2, False)])
def test_a_busy_server_that_was_configured_is_given_time(layout, monkeypatch, patience_s, there):
    """It accepts the connection and answers when its time comes; without patience it is taken for missing."""
    monkeypatch.setattr(server, "ANSWER_TIMEOUT_S", 0.2)
    monkeypatch.setattr(server, "CONFIGURED_TIMEOUT_S", patience_s)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            connection, _ = listener.accept()
            with connection:
                time.sleep(1)
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/api"
        monkeypatch.setenv("PREFECT_API_URL", url)
        load_settings.cache_clear()
        if there:
            server.wait(url)
        else:
            with pytest.raises(PrerequisiteError, match="no Prefect server answers"):
                server.wait(url)


def test_a_local_server_that_ended_is_named_with_its_log(layout, child):
    write_state(layout, identify(child.pid))
    child.kill()
    child.wait()
    with pytest.raises(PrerequisiteError, match=r"ended: read .*server\.log"):
        server.wait("http://127.0.0.1:9/api")


def test_the_port_of_the_last_server_is_taken_again_if_it_is_free():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert server._free_port(port) == port


def test_a_taken_port_is_avoided():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert server._free_port(taken.getsockname()[1]) != taken.getsockname()[1]


def test_nothing_calls_home(layout, child):
    write_state(layout, identify(child.pid))
    server.start()
    assert os.environ["DO_NOT_TRACK"] == "1"
    assert os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"


def test_the_module_does_not_import_prefect():
    subprocess.run([sys.executable, "-c", "import sys, flows.server; assert 'prefect' not in sys.modules"], check=True)


def test_a_server_whose_state_cannot_be_kept_is_stopped_again(layout, child, monkeypatch):
    def full(path, text):
        raise NovelApiError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(server, "write_text", full)
    monkeypatch.setattr(server.subprocess, "Popen", lambda *_, **__: child)
    layout.prefect.mkdir(parents=True)
    with pytest.raises(NovelApiError, match="No space"):
        server.start()
    assert identify(child.pid) is None

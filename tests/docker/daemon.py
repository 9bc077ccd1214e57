"""A Docker daemon of the tests' own: with its own data, state and socket, without network, stopped by its pid."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

START_S = 60.0


def reason_against():
    """Why no daemon can be started here; null if one can."""
    if shutil.which("dockerd") is None:
        return "dockerd is not installed (apt install docker.io)"
    if os.geteuid() != 0:
        return "a daemon of our own needs root"
    try:
        import docker  # noqa: F401
    except ImportError:
        return "the docker SDK is not installed (pip install 'novelapi[docker]')"
    return None


class Daemon:
    """A running dockerd."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="nd-", dir="/tmp"))  # short: a socket's path has 107 characters
        self.address = f"unix://{self.folder}/sock"
        self.start()

    def start(self):
        self.log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            ["dockerd", "--data-root", self.folder / "data", "--exec-root", self.folder / "exec",
             "--pidfile", self.folder / "pid", "--host", self.address, "--bridge=none", "--iptables=false"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + START_S
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                text = (self.folder / "log").read_text()
                self.stop()
                raise RuntimeError(f"dockerd does not start here: {text.strip().splitlines()[-1:]}")
            time.sleep(0.1)

    def answers(self):
        with socket.socket(socket.AF_UNIX) as link:
            try:
                link.connect(self.address.removeprefix("unix://"))
                link.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b"200 OK" in link.recv(4096)
            except OSError:
                return False

    def stop(self):
        """End the daemon, and containerd, which is its child."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.log.close()

    def close(self):
        self.stop()
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            place = line.split()[1]
            if place.startswith(f"{self.folder}/"):
                subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

"""The first process of a container: starts warm parents at the host's word. Runs inside the container.

Started as `python -I -S keeper.py SOCKET`. It connects to the host, and the container lives as long as that connection:
when the host dies, or when a warm parent ends otherwise than by itself, this process ends, and with it all others.
Messages are JSON datagrams. `start` {"id", "arguments", "variables"} comes with two descriptors: the control socket of
the parent, which it finds as descriptor 3, and the pipe for what it prints. `kill` ends the container. It answers `ended`.
"""

import array
import json
import os
import select
import signal
import socket
import sys

CONTROL = 3
MODES = {"/scratch": 0o1770, "/server": 0o1770, "/dev/shm": 0o1777, "/sys/fs/cgroup": 0}


class Keeper:
    """Owner of all processes of the container."""

    def __init__(self, path):
        self.host = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.host.connect(path)
        self.parents = {}  # pid -> id
        self.wake_read, self.wake_write = os.pipe()
        for fd in (self.wake_read, self.wake_write):
            os.set_blocking(fd, False)

    def send(self, message):
        self.host.send(json.dumps(message).encode())

    def run(self):
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        self.send({"op": "ready"})
        while True:
            ready, _, _ = select.select([self.host, self.wake_read], [], [])
            if self.wake_read in ready:
                try:
                    os.read(self.wake_read, 4096)
                except BlockingIOError:
                    pass
                self.reap()
            if self.host in ready and not self.handle():
                return

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            number = self.parents.pop(pid, None)
            if number is None:
                continue
            self.send({"op": "ended", "id": number, "status": status})
            if status != 0:
                os._exit(70)  # its children may live on: they end with the container

    def handle(self):
        data, ancillary, _, _ = self.host.recvmsg(1 << 20, socket.CMSG_SPACE(8 * 4))
        fds = array.array("i")
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
        if not data:
            return False
        request = json.loads(data.decode())
        if request["op"] == "start":
            self.start(request, list(fds))
        elif request["op"] == "kill":
            os._exit(71)
        return True

    def start(self, request, fds):
        pid = os.fork()
        if pid == 0:
            try:
                become(request, fds)
            finally:
                os._exit(127)
        self.parents[pid] = request["id"]
        for fd in fds:
            os.close(fd)


def become(request, fds):
    """Put the descriptors in their places and be the warm parent."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    control, output = os.dup(fds[0]), os.dup(fds[1])
    for target, source in ((0, null), (1, output), (2, output), (CONTROL, control)):
        os.dup2(source, target)
    os.closerange(CONTROL + 1, 256)
    os.execve(request["arguments"][0], request["arguments"], request["variables"])


def main():
    for folder, mode in MODES.items():  # a runtime may give a mount the mode of the folder below it
        os.chmod(folder, mode)
    keeper = Keeper(sys.argv[1])
    keeper.run()


if __name__ == "__main__":
    main()

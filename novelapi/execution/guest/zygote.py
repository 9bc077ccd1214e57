"""A warm parent: imports once, then forks one isolated child per request. Runs inside the sandbox.

Started as `python -s zygote.py FD CONFIG`: FD is a socket to the judge, CONFIG is JSON: {"preload": [modules],
"isolate": bool, "site": bool, "seccomp": base64 or null, "users": null or per role of a child [user id, own folder]}.
With "isolate" each child gets namespaces of its own; with "users" it only becomes another user (see users.py). It never runs a completion's code: children do, after they gave everything up.
Requests are JSON datagrams; `fork` comes with the child's socket and its output file as ancillary file descriptors.
"""

import _signal
import array
import base64
import ctypes
import errno
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if entry not in ("", HERE)]
sys.path.append(HERE)
import driver  # noqa: E402
import users  # noqa: E402
import warm  # noqa: E402

sys.path.remove(HERE)
for _name in [
    name
    for name, module in sys.modules.items()
    if getattr(module, "__file__", None) and module.__file__.startswith(HERE + "/") and name != "__main__"
]:
    # Not under these names: a completion that imports one of them must fail as it would anywhere.
    sys.modules["_novelapi_" + _name] = sys.modules.pop(_name)
sys.argv[1:], CONFIG = [], sys.argv[1:]

NEW = {"mount": 0x00020000, "pid": 0x20000000}
HUGE_PAGE, MADV_COLLAPSE = 2 << 20, 25
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE, PR_SET_SECUREBITS = 22, 24, 38, 4, 28
libc = ctypes.CDLL(None, use_errno=True)


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


# Made once, here: looking a function up and making a type of array would be each child's own work.
CALLS = libc.mount, libc.unshare, libc.prctl, libc.capset
CAPABILITIES = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # of the caller: none


def check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))


def mount(kind, target, flags, data):
    check(
        libc.mount(kind.encode(), target.encode(), kind.encode(), flags, data.encode() if data else None),
        "mount " + target,
    )


def pages():
    """Return how many pages this process maps, and how many of them are in memory."""
    fd = os.open("/proc/self/statm", os.O_RDONLY)
    try:
        return [int(text) for text in os.read(fd, 200).split()[:2]]
    finally:
        os.close(fd)


def rss_kb():
    return pages()[1] * 4


def set_limit(name, value):
    """Set a resource limit for good, or leave a stricter one."""
    kind = getattr(resource, name)
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def limit_memory(more):
    """Allow so many bytes of address space on top of what is mapped: a fresh process has imported the library by then."""
    set_limit("RLIMIT_AS", pages()[0] * 4096 + more)


def drop_bounding_set():
    """Drop all capabilities from the bounding set: what the parent holds it keeps, its children cannot gain any again."""
    last = 0
    while libc.prctl(PR_CAPBSET_DROP, last, 0, 0, 0) == 0:
        last += 1
    # The kernel knows no capability of this number: all were dropped.
    check(0 if last > 0 and ctypes.get_errno() == errno.EINVAL else -1, "bounding set")


def collapse():
    """Put private memory that is mostly used into huge pages: a fork copies one entry for each instead of 512.

    Returns how many there are: none where the kernel has no MADV_COLLAPSE (Linux 6.1) or no huge pages.
    """
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    found = 0
    try:
        maps, entries = open("/proc/self/maps"), open("/proc/self/pagemap", "rb", 0)
    except OSError:  # not every kernel shows them to everybody; then memory stays as it is
        return 0
    with maps, entries:
        for line in maps.read().splitlines():
            span, rights, _, _, inode = line.split()[:5]
            if rights != "rw-p" or inode != "0":
                continue
            low, high = (int(text, 16) for text in span.split("-"))
            for start in range(-(-low // HUGE_PAGE) * HUGE_PAGE, high - HUGE_PAGE + 1, HUGE_PAGE):
                entries.seek(start // 4096 * 8)
                used = sum(byte >> 7 for byte in entries.read(4096)[7::8])  # highest bit of each entry: present
                if used >= 256 and libc.madvise(start, HUGE_PAGE, MADV_COLLAPSE) == 0:
                    found += 1
    return found


def program(code):
    """Return a pointer to a seccomp program, in memory that stays as long as the pointer."""
    code = ctypes.create_string_buffer(code, len(code))
    found = Program(len(code) // 8, ctypes.cast(code, ctypes.c_void_p))
    found.code = code
    return ctypes.pointer(found)


class Zygote:
    """The parent."""

    def __init__(self, control, config):
        self.control = control
        self.isolate = config["isolate"]
        self.many = bool(config["preload"])  # a parent that imports nothing forks once
        self.filter = program(base64.b64decode(config["seccomp"])) if config["seccomp"] else None
        self.users = {role: users.User(*row) for role, row in (config.get("users") or {}).items()}
        self.children = {}  # pid -> (request id, role)
        self.own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY) if self.isolate else None
        self.wake_read, self.wake_write = os.pipe()
        for fd in (self.wake_read, self.wake_write):
            os.set_blocking(fd, False)

    def run(self):
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        cold = warm.warm()
        gc.collect()
        gc.freeze()
        huge = collapse() if self.many else 0
        if self.isolate or self.users:
            drop_bounding_set()
        threads = len(os.listdir("/proc/self/task"))
        self.send({"op": "ready", "pid": os.getpid(), "threads": threads, "modules": sorted(sys.modules),
                   "cold": cold, "huge_pages": huge, "cpu_ms": time.process_time() * 1000, "rss_kb": rss_kb(), "python": "%d.%d.%d" % sys.version_info[:3]})  # fmt: skip
        while True:
            ready, _, _ = select.select([self.control, self.wake_read], [], [])
            if self.wake_read in ready:
                try:
                    os.read(self.wake_read, 4096)
                except BlockingIOError:
                    pass
                self.reap()
            if self.control in ready and not self.handle():
                for user in self.users.values():
                    user.clear()
                return

    def send(self, message):
        self.control.send(json.dumps(message).encode())

    def reap(self):
        while self.children:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            number, role = self.children.pop(pid, (None, None))
            if number is None:
                continue
            if self.users:
                self.users[role].clear()  # whatever it left, before anybody hears of its end
            self.send({
                "op": "ended", "id": number,
                "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
                "status": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
                "rss_kb": rss_kb(), "cpu_ms": (usage.ru_utime + usage.ru_stime) * 1000, "peak_kb": usage.ru_maxrss,
            })  # fmt: skip

    def handle(self):
        data, ancillary, _, _ = self.control.recvmsg(65536, socket.CMSG_SPACE(8 * 4))
        fds = array.array("i")
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
        if not data:
            return False
        request = json.loads(data.decode())
        if request["op"] == "fork":
            self.fork(request, list(fds))
        elif request["op"] == "kill":
            for pid, (number, _) in list(self.children.items()):
                if number == request["id"]:
                    os.kill(pid, signal.SIGKILL)
        return True

    def fork(self, request, fds):
        for api in request["apis"]:
            driver.prime(api)
        if self.isolate:
            check(libc.unshare(NEW["pid"]), "unshare pid")
        gc.freeze()  # also sets the collector's counts to nothing: children collect when they would alone
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                self.become_child(request, fds)
                driver.run(socket.socket(fileno=fds[0]), lambda: limit_memory(request["limits"]["memory_bytes"]))
                code = 0
            finally:
                os._exit(code)
        if self.isolate:
            check(libc.setns(self.own_pids, NEW["pid"]), "setns pid")
        self.children[pid] = request["id"], request["role"]
        for fd in fds:
            os.close(fd)

    def become_child(self, request, fds):
        """Give everything up, before one byte of a completion is compiled."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
            _signal.signal(number, _signal.SIG_DFL)  # without the enumerations of `signal`, which cost more
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(fds[1], 1)
        os.dup2(fds[1], 2)
        os.close(fds[1])
        self.control.close()
        for fd in (self.wake_read, self.wake_write):
            os.close(fd)
        limits = request["limits"]
        if self.isolate:
            # Network, IPC and host name are the sandbox's own: nothing in them outlives a child (see seccomp.py).
            check(libc.unshare(NEW["mount"]), "unshare mount")
            mount("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None)
            scratch = "size=%d,nr_inodes=%d,mode=700" % (limits["scratch_bytes"], limits["inodes"])
            mount("tmpfs", "/scratch", MS_NOSUID | MS_NODEV, scratch)
            mount("tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV | MS_NOEXEC, scratch)
            os.chdir("/scratch")
            os.close(self.own_pids)
        if self.users:
            self.users[request["role"]].enter()
        for name, value in (
            ("RLIMIT_CPU", limits["cpu_s"]), ("RLIMIT_FSIZE", limits["file_bytes"]),
            ("RLIMIT_NOFILE", limits["files"]), ("RLIMIT_NPROC", limits["processes"]), ("RLIMIT_CORE", 0),
        ):  # fmt: skip
            set_limit(name, value)
        if self.isolate or self.users:
            self.drop_privileges(self.users.get(request["role"]))
        check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        if self.filter:
            check(libc.prctl(PR_SET_SECCOMP, 2, self.filter, 0, 0), "seccomp")

    def drop_privileges(self, user):
        check(libc.prctl(PR_SET_SECUREBITS, 0x2F, 0, 0, 0), "securebits")  # no root magic, locked, no ambient
        if user is not None:
            user.become()
        check(libc.capset(*CAPABILITIES), "capset")
        check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable")


def add_builtins():
    """Add what `site` adds for every program, without its folders of installed packages."""
    import site

    site.setquit()
    site.setcopyright()
    site.sethelper()


def main():
    control = socket.socket(fileno=int(CONFIG[0]))
    config = json.loads(CONFIG[1])
    if not config["site"]:
        add_builtins()
    missing = {}
    for name in config["preload"]:
        try:
            importlib.import_module(name)
        except BaseException as error:  # the import of any library may do anything; the sample will meet it again
            missing[name] = "%s: %s" % (type(error).__name__, error)
    Zygote(control, config).run()


if __name__ == "__main__":
    main()

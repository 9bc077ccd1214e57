"""Children that are told apart by user id alone, where they cannot have namespaces of their own. Runs inside a container.

The warm parent is root of its container with the capabilities to become another user and to end that user's processes,
and nothing else. Candidates are one user, servers of real calls another, each with a folder that the other cannot enter.
"""

import os
import resource
import signal
import time

PATIENCE_S = 10.0
SHARED = "/dev/shm"


class User:
    """One role's user id and folder."""

    def __init__(self, uid, folder):
        self.uid = uid
        self.folder = folder

    def enter(self):
        """Prepare the calling child, still root: its folder, and its place in the queue when memory ends."""
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # the kernel takes it before the parent
        for name, value in list(os.environ.items()):
            if value == "/scratch":
                os.environ[name] = self.folder
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))  # message queues would outlive it
        os.chdir(self.folder)

    def become(self):
        """Be that user, without a way back."""
        os.setgroups([])
        os.setresgid(self.uid, self.uid, self.uid)
        os.setresuid(self.uid, self.uid, self.uid)

    def clear(self):
        """End every process of the user and remove every file that it left.

        Raises RuntimeError when that cannot be done: the parent then ends, and its container with it.
        """
        self.end_processes()
        left = self.files()
        if left:
            self.as_user(lambda: [empty(folder, names) for folder, names in left])
            if self.files():
                raise RuntimeError("files of user %d cannot be removed: %s" % (self.uid, self.files()))

    def processes(self):
        """Return the pids of the user, zombies included."""
        wanted = "Uid:\t%d\t" % self.uid
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open("/proc/%s/status" % name) as file:
                        if wanted in file.read():
                            found.append(int(name))
                except (FileNotFoundError, ProcessLookupError):
                    continue
        return found

    def end_processes(self):
        """Kill until none is left; one by one first, then all in one call, which no fork can outrun."""
        deadline = time.monotonic() + PATIENCE_S
        rounds = 0
        while True:
            left = self.processes()
            if not left:
                return
            if time.monotonic() > deadline:
                raise RuntimeError("processes of user %d do not end: %s" % (self.uid, left))
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            rounds += 1
            if rounds >= 3:
                self.as_user(lambda: os.kill(-1, signal.SIGKILL))
                time.sleep(min(0.001 * rounds, 0.05))

    def files(self):
        """Return [folder, names] of what the user owns in each writable folder."""
        found = []
        for folder in (self.folder, SHARED):
            names = [name for name in os.listdir(folder) if os.lstat(os.path.join(folder, name)).st_uid == self.uid]
            if names:
                found.append([folder, names])
        return found

    def as_user(self, work):
        """Do something in a process of the user; what it raises is left to the caller's own look at the result."""
        pid = os.fork()
        if pid == 0:
            try:
                self.become()
                work()
            finally:
                os._exit(0)
        os.waitpid(pid, 0)


def empty(folder, names):
    """Remove entries of a folder and all below them, at any depth; links are not followed."""
    os.chdir(folder)
    path = []
    pending = [list(names)]
    while pending:
        if not pending[-1]:
            pending.pop()
            if path:
                os.chdir("..")
                os.rmdir(path.pop())
            continue
        name = pending[-1].pop()
        if os.path.isdir(name) and not os.path.islink(name):
            os.chmod(name, 0o700)
            os.chdir(name)
            path.append(name)
            pending.append(os.listdir("."))
        else:
            os.unlink(name)

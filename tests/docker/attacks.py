"""Attacks on what the samples of a container share: its processes, its folders, its memory. Each prints REACHED or not."""

HEAD = """import ctypes, os, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def others():
    found = {}
    for name in os.listdir('/proc'):
        if name.isdigit() and int(name) != os.getpid():
            try:
                found[int(name)] = open('/proc/%s/cmdline' % name, 'rb').read().decode().replace(chr(0), ' ')
            except OSError:
                pass
    return found
def each(attempt):
    reached = []
    for pid in others():
        try:
            if attempt(pid) is not None:
                reached.append(pid)
        except (OSError, ValueError) as error:
            print('kept out:', pid, type(error).__name__)
    print('REACHED' if reached else 'no', reached)
"""


def attack(*lines, server=True):
    """The target is called first where a server of real calls is to run beside."""
    first = ["list(itertools.pairwise(xs))"] if server else []
    body = "".join(f"    {line}\n" for line in [*first, *lines, "return None"])
    return f"{HEAD}def solve(xs):\n{body}"


ON_OTHERS = [
    ("signals", attack("each(lambda p: os.kill(p, 0) or True)")),
    ("kill", attack("each(lambda p: os.kill(p, signal.SIGKILL) or True)")),
    ("stop", attack("each(lambda p: os.kill(p, signal.SIGSTOP) or True)")),
    ("kill of everything at once", attack("os.kill(-1, signal.SIGKILL)", "print('REACHED' if len(others()) < 3 else 'no', others())")),
    ("memory", attack("each(lambda p: open('/proc/%d/mem' % p, 'r+b'))")),
    ("maps", attack("each(lambda p: open('/proc/%d/maps' % p).read() or None)")),
    ("environment", attack("each(lambda p: open('/proc/%d/environ' % p, 'rb').read() or None)")),
    ("descriptors", attack("each(lambda p: os.listdir('/proc/%d/fd' % p))")),
    ("root", attack("each(lambda p: os.listdir('/proc/%d/root/' % p))")),
    ("working folder", attack("each(lambda p: os.listdir('/proc/%d/cwd/' % p))")),
    ("system calls", attack("each(lambda p: open('/proc/%d/syscall' % p).read())")),
    ("place in the queue for memory", attack("each(lambda p: open('/proc/%d/oom_score_adj' % p, 'w').write('1000'))")),
    ("own place in that queue", attack("open('/proc/self/oom_score_adj', 'w').write('-1000')", "print('REACHED')", server=False)),
    ("ptrace", attack("each(lambda p: True if libc.ptrace(16, p, 0, 0) == 0 else None)")),
    ("memory by system call", attack("each(lambda p: True if libc.syscall(310, p, 0, 0, 0, 0, 0) >= 0 else None)")),
    ("descriptors by system call", attack("each(lambda p: True if libc.syscall(438, os.pidfd_open(p), 0, 0) >= 0 else None)")),
    ("limits", attack("import resource", "each(lambda p: resource.prlimit(p, resource.RLIMIT_CPU, (1, 1)))")),
    ("priority", attack("each(lambda p: os.setpriority(os.PRIO_PROCESS, p, 19) or True)")),
    ("processors", attack("each(lambda p: os.sched_setaffinity(p, {0}) or True)")),
    ("namespaces", attack("each(lambda p: True if libc.setns(os.open('/proc/%d/ns/mnt' % p, 0), 0) == 0 else None)")),
    ("the server's folder", attack("os.listdir('/server')", "print('REACHED')")),
    ("files in the server's folder", attack("open('/server/matplotlibrc', 'w')", "print('REACHED')")),
    ("files in the server's folder, blind", attack("os.chdir('/server')", "print('REACHED')")),
    ("the mode of the own folder", attack("os.chmod('/scratch', 0o777)", "print('REACHED')")),
    ("the socket of the container", attack("s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)", "s.connect('/control/keeper')", "print('REACHED')")),
    ("becoming the server's user", attack("os.setresuid(os.getuid() + 1, os.getuid() + 1, os.getuid() + 1)", "print('REACHED')")),
    ("becoming its group", attack("os.setresgid(os.getgid() + 1, os.getgid() + 1, os.getgid() + 1)", "print('REACHED')")),
    ("a file that makes root of who runs it", attack("import shutil", "shutil.copy('/bin/sh', 'sh')", "os.chmod('sh', 0o6755)", "import subprocess", "print('REACHED' if '0' in subprocess.run(['./sh', '-c', 'id -u'], capture_output=True, text=True).stdout.split() else 'no')", server=False)),
    ("a device", attack("os.mknod('disk', 0o60666, os.makedev(254, 0))", "print('REACHED')")),
    ("a message queue", attack("open('/dev/mqueue/left', 'w')", "print('REACHED')")),
    ("kernel settings", attack("open('/proc/sys/vm/drop_caches', 'w').write('1')", "print('REACHED')")),
    ("kernel memory", attack("print('REACHED' if open('/proc/kcore', 'rb').read(16) else 'no')")),
]  # fmt: skip

LEAVE = [
    ("folders without rights", attack("os.makedirs('a/b')", "open('a/b/c', 'w')", "os.chmod('a/b', 0)", "os.chmod('a', 0)", server=False)),
    ("deep folders", attack("for _ in range(1500):", "    os.mkdir('d')", "    os.chdir('d')", server=False)),
    ("many files", attack("for n in range(3000):", "    open('f%d' % n, 'w')", server=False)),
    ("links", attack("os.symlink('/usr', 'u')", "os.symlink('/', 'r')", "os.link('u', 'v', follow_symlinks=False)", server=False)),
    ("pipes and sockets", attack("os.mkfifo('p')", "socket.socket(socket.AF_UNIX).bind('s')", server=False)),
    ("shared memory", attack("open('/dev/shm/left', 'w')", "os.mkdir('/dev/shm/d', 0)", server=False)),
    ("strange names", attack("open(b'\\xff\\n', 'w')", "open('-rf', 'w')", server=False)),
    ("a full folder", attack("f = open('big', 'wb')", "try:", "    while True: f.write(bytes(1 << 20))", "except OSError: pass", server=False)),
]  # fmt: skip

STAY = [
    ("daemon", attack("if os.fork() == 0:", "    os.setsid()", "    if os.fork() == 0:", "        time.sleep(1000)", "    os._exit(0)", server=False)),
    ("many daemons", attack("for _ in range(40):", "    if os.fork() == 0:", "        os.setsid()", "        time.sleep(1000)", server=False)),
    ("ignored signals", attack("if os.fork() == 0:", "    os.setsid()", "    for n in range(1, 65):", "        try: signal.signal(n, signal.SIG_IGN)", "        except (OSError, ValueError): pass", "    time.sleep(1000)", server=False)),
    ("stopped", attack("if os.fork() == 0:", "    os.setsid()", "    os.kill(os.getpid(), signal.SIGSTOP)", server=False)),
    ("program", attack("if os.fork() == 0:", "    os.setsid()", "    os.execv('/bin/sleep', ['sleep', '1000'])", server=False)),
    ("runner", attack("if os.fork() == 0:", "    os.setsid()", "    while True:", "        if os.fork():", "            os._exit(0)", server=False)),
    ("herd of runners", attack("for _ in range(20):", "    if os.fork() == 0:", "        os.setsid()", "        while True:", "            try:", "                if os.fork(): os._exit(0)", "            except OSError: pass", server=False)),
    ("runner that kills", attack("if os.fork() == 0:", "    os.setsid()", "    while True:", "        os.kill(-1, signal.SIGKILL)", "        try:", "            if os.fork(): os._exit(0)", "        except OSError: pass", server=False)),
]  # fmt: skip

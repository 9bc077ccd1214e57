"""Attacks on the host: each prints REACHED if it got to its goal."""


def reach(*lines):
    body = "".join(f"        {line}\n" for line in lines)
    return f"import ctypes, os, signal, socket, sys\ndef solve(xs):\n    try:\n{body}    except BaseException as error:\n        print('kept out:', type(error).__name__, error)\n    return None\n"


ATTACKS = [
    ("the host's password file", reach("open('/etc/shadow').read()", "print('REACHED')")),
    ("the host's user list", reach("open('/etc/passwd').read()", "print('REACHED')")),
    ("home folders", reach("os.listdir('/home')", "print('REACHED')")),
    ("environment variables", reach("print('REACHED' if {'SECRET_OF_THE_HOST', 'OPENAI_API_KEY'} & set(os.environ) else 'no')")),
    ("environment of other processes", reach("for p in os.listdir('/proc'):", "    if p.isdigit() and b'SECRET_OF_THE_HOST' in open(f'/proc/{p}/environ', 'rb').read(): print('REACHED')", "print('no')")),
    ("processes of the host", reach("pids = [p for p in os.listdir('/proc') if p.isdigit()]", "print('REACHED' if len(pids) > 2 else 'no', pids)")),
    ("network", reach("socket.create_connection(('1.1.1.1', 53), 2)", "print('REACHED')")),
    ("loopback of the host", reach("print('REACHED' if len(socket.if_nameindex()) > 1 else 'no')")),
    ("names", reach("socket.getaddrinfo('example.org', 80)", "print('REACHED')")),
    ("raw socket", reach("socket.socket(socket.AF_PACKET, socket.SOCK_RAW)", "print('REACHED')")),
    ("kernel sockets", reach("socket.socket(16, socket.SOCK_RAW)", "print('REACHED')")),
    ("vsock", reach("socket.socket(40, socket.SOCK_STREAM)", "print('REACHED')")),
    ("Docker's socket", reach("s = socket.socket(socket.AF_UNIX)", "s.connect('/var/run/docker.sock')", "print('REACHED')")),
    ("write to the root", reach("open('/left.txt', 'w').write('x')", "print('REACHED')")),
    ("write to the interpreter", reach("open(os.__file__, 'a').write('#')", "print('REACHED')")),
    ("write to /dev", reach("open('/dev/left', 'w').write('x')", "print('REACHED')")),
    ("write to /usr", reach("open('/usr/left', 'w').write('x')", "print('REACHED')")),
    ("devices", reach("os.mknod('/scratch/disk', 0o60666, os.makedev(254, 0))", "open('/scratch/disk', 'rb').read(10)", "print('REACHED')")),
    ("mount", reach("r = ctypes.CDLL(None, use_errno=True).mount(b'tmpfs', b'/usr', b'tmpfs', 0, None)", "print('REACHED' if r == 0 else 'no')")),
    ("unmount of the cover", reach("r = ctypes.CDLL(None, use_errno=True).umount2(b'/scratch', 2)", "print('REACHED' if r == 0 else 'no')")),
    ("remount", reach("r = ctypes.CDLL(None, use_errno=True).mount(None, b'/', None, 32, None)", "print('REACHED' if r == 0 else 'no')")),
    ("chroot", reach("os.chroot('/scratch')", "print('REACHED')")),
    ("new user namespace", reach("r = ctypes.CDLL(None, use_errno=True).unshare(0x10000000)", "print('REACHED' if r == 0 else 'no')")),
    ("namespace of another process", reach("fd = os.open('/proc/1/ns/net', os.O_RDONLY)", "r = ctypes.CDLL(None, use_errno=True).setns(fd, 0)", "print('REACHED' if r == 0 and os.getpid() != 1 else 'no')")),
    ("root", reach("os.setuid(0)", "print('REACHED' if open('/proc/self/status').read().split('CapEff:')[1].split()[0].strip('0') else 'no')")),
    ("capabilities", reach("print('REACHED' if open('/proc/self/status').read().split('CapEff:')[1].split()[0].strip('0') else 'no')")),
    ("capability bounding set", reach("print('REACHED' if open('/proc/self/status').read().split('CapBnd:')[1].split()[0].strip('0') else 'no')")),
    ("new privileges", reach("print('no' if 'NoNewPrivs:\\t1' in open('/proc/self/status').read() else 'REACHED')")),
    ("system-call filter", reach("print('no' if 'Seccomp:\\t2' in open('/proc/self/status').read() else 'REACHED')")),
    ("ptrace", reach("r = ctypes.CDLL(None, use_errno=True).ptrace(0, 0, 0, 0)", "print('REACHED' if r == 0 else 'no')")),
    ("memory of another process", reach("r = ctypes.CDLL(None, use_errno=True).syscall(310, os.getppid(), 0, 0, 0, 0, 0)", "print('REACHED' if r >= 0 else 'no')")),
    ("keys of the kernel", reach("r = ctypes.CDLL(None, use_errno=True).syscall(250, 0, -3, 1)", "print('REACHED' if r >= 0 else 'no')")),
    ("io_uring", reach("r = ctypes.CDLL(None, use_errno=True).syscall(425, 4, 0)", "print('REACHED' if r >= 0 else 'no')")),
    ("bpf", reach("r = ctypes.CDLL(None, use_errno=True).syscall(321, 0, 0, 0)", "print('REACHED' if r >= 0 else 'no')")),
    ("shared memory of System V", reach("r = ctypes.CDLL(None, use_errno=True).shmget(77, 4096, 0o1666)", "print('REACHED' if r >= 0 else 'no')")),
    ("parent process", reach("print('REACHED' if os.getppid() != 0 else 'no')")),
    ("kill of everything", reach("os.kill(-1, signal.SIGKILL)", "print('no')")),
    ("clock", reach("import time", "time.clock_settime(time.CLOCK_REALTIME, 0)", "print('REACHED')")),
    ("host name", reach("socket.sethostname('owned')", "print('REACHED')")),
    ("higher limits", reach("import resource", "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "print('REACHED')")),
    ("kernel settings", reach("open('/proc/sys/kernel/core_pattern', 'w').write('|/bin/sh')", "print('REACHED')")),
    ("kernel's trigger", reach("open('/proc/sysrq-trigger', 'w').write('b')", "print('REACHED')")),
    ("cgroups", reach("os.listdir('/sys/fs/cgroup')", "print('REACHED')")),
    ("block devices", reach("print('REACHED' if any(n.startswith(('sd', 'vd', 'nvme')) for n in os.listdir('/dev')) else 'no')")),
    ("expected values in files", reach("import glob", "found = [n for d in ('/scratch', '/tmp', '/mnt', '/srv', '/var', '/run') for n in glob.glob(d + '/**', recursive=True)]", "print('REACHED' if any('jsonl' in n for n in found) else 'no')")),
]  # fmt: skip

# Left behind by one sample, looked for by the next.
LEAVE = "import os\ndef solve(xs):\n    for d in ('/scratch', '/tmp', '/dev/shm', '/', '/dev', '.'):\n        try:\n            open(d + '/left.txt', 'w').write('x')\n        except OSError:\n            pass\n    return None\n"
LOOK = "import os\ndef solve(xs):\n    print('REACHED' if any(os.path.exists(d + '/left.txt') for d in ('/scratch', '/tmp', '/dev/shm', '/', '/dev', '.')) else 'no')\n    return None\n"

RESOURCES = [
    ("endless loop", "def solve(xs):\n    while True:\n        pass"),
    ("endless loop in C", "def solve(xs):\n    return sum(iter(int, 1))"),
    ("endless loop while it is loaded", "while True:\n    pass"),
    ("ignored signals", "import signal\nfor s in range(1, 65):\n    try:\n        signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\ndef solve(xs):\n    while True:\n        pass"),
    ("swallowed exceptions", "def solve(xs):\n    while True:\n        try:\n            while True:\n                pass\n        except BaseException:\n            pass"),
    ("sleep", "import time\ndef solve(xs):\n    time.sleep(1000)"),
    ("stopped", "import os, signal\ndef solve(xs):\n    if os.fork() == 0:\n        os.kill(os.getpid(), signal.SIGSTOP)\n    os.wait()"),
    ("wait for input", "def solve(xs):\n    import os\n    r, w = os.pipe()\n    os.read(r, 1)"),
    ("memory", "def solve(xs):\n    return [bytearray(1 << 26) for _ in range(1 << 12)]"),
    ("memory of children", "import os\ndef solve(xs):\n    for _ in range(8):\n        if os.fork() == 0:\n            x = [bytearray(1 << 24) for _ in range(200)]\n            os._exit(0)\n    for _ in range(8):\n        os.wait()"),
    ("fork bomb", "import os\ndef solve(xs):\n    while True:\n        try:\n            os.fork()\n        except OSError:\n            pass"),
    ("threads", "import threading, time\ndef solve(xs):\n    while True:\n        try:\n            threading.Thread(target=time.sleep, args=(100,)).start()\n        except RuntimeError:\n            pass"),
    ("daemon", "import os, time\ndef solve(xs):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            time.sleep(1000)\n        os._exit(0)\n    return None"),
    ("disk", "def solve(xs):\n    with open('big', 'wb') as f:\n        while True:\n            f.write(b'x' * (1 << 20))"),
    ("files", "def solve(xs):\n    i = 0\n    while True:\n        open(f'f{i}', 'w').close()\n        i += 1"),
    ("descriptors", "import os\ndef solve(xs):\n    while True:\n        os.dup(1)"),
    ("shared memory", "def solve(xs):\n    with open('/dev/shm/big', 'wb') as f:\n        while True:\n            f.write(b'x' * (1 << 20))"),
    ("memory files", "import os\ndef solve(xs):\n    fd = os.memfd_create('x')\n    while True:\n        os.write(fd, b'x' * (1 << 20))"),
    ("output", "import sys\ndef solve(xs):\n    while True:\n        print('x' * (1 << 16))"),
    ("regular expression", "import re\ndef solve(xs):\n    re.match('(a+)+$', 'a' * 40 + 'b')"),
    ("big number", "def solve(xs):\n    return 10 ** (10 ** 9)"),
    ("zip bomb", "import zlib\ndef solve(xs):\n    d = zlib.compress(bytes(1 << 28))\n    return [zlib.decompress(d) for _ in range(64)]"),
]  # fmt: skip

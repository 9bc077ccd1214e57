"""Started as root in front of bubblewrap: makes the mounts readable for an unprivileged user, then becomes that user.

bubblewrap started by root maps its inner user to the host's root. So we give root up first. Folders that only root can
reach (an interpreter below /root, say) are bound into a private staging folder before that. Run as `python -I launch.py
REQUEST`, where REQUEST is JSON: {"uid", "staging", "binds": [[source, place], ...], "command": [...]}.
Everything happens in a mount namespace of this process alone. Standard library only.
"""

import ctypes
import json
import os
import sys

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18


def main() -> None:
    """Stage the mounts, drop root, start the command in place of this process."""
    request = json.loads(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)

    def check(result: int, what: str) -> None:
        if result != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")

    def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
        encoded = [value.encode() if value is not None else None for value in (source, target, kind)]
        check(libc.mount(*encoded, flags, data.encode() if data else None), f"mount {source} on {target}")

    check(libc.unshare(CLONE_NEWNS), "unshare")
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    staging = request["staging"]
    mount("tmpfs", staging, "tmpfs", 0, "mode=755,size=1m")
    for source, place in request["binds"]:
        target = os.path.join(staging, place)
        if os.path.isdir(source):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        mount(source, target, None, MS_BIND | MS_REC)
    uid = request["uid"]
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.chdir("/")
    os.execv(request["command"][0], request["command"])


if __name__ == "__main__":
    main()

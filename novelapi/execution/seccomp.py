"""The system-call filter of a candidate, compiled on the host (libseccomp through pyseccomp), loaded in the guest."""

from __future__ import annotations

import errno
import os
from functools import lru_cache

from novelapi.errors import PrerequisiteError

_DENIED = [
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "pidfd_getfd",
    "kcmp",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "keyctl",
    "add_key",
    "request_key",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "unshare",
    "setns",
    "fsopen",
    "fsmount",
    "fsconfig",
    "fspick",
    "move_mount",
    "open_tree",
    "mount_setattr",
    "shmget",
    "shmat",
    "shmctl",
    "shmdt",
    "semget",
    "semop",
    "semctl",
    "semtimedop",
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "mq_open",
    "mq_unlink",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "swapon",
    "swapoff",
    "reboot",
    "sethostname",
    "setdomainname",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "quotactl",
    "acct",
    "open_by_handle_at",
    "name_to_handle_at",
    "lookup_dcookie",
    "syslog",
    "vhangup",
    "iopl",
    "ioperm",
    "modify_ldt",
    "nfsservctl",
    "personality",
    "migrate_pages",
    "move_pages",
    "fanotify_init",
]

_CLONE_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_FAMILIES = {1, 2, 10}  # AF_UNIX, AF_INET and AF_INET6 (in an empty network namespace); never vsock, packet, alg ...


@lru_cache(maxsize=1)
def program() -> bytes:
    """Return the filter as a BPF program: everything is allowed but what reaches out of the process.

    Raises:
        PrerequisiteError: libseccomp is not installed.
    """
    try:
        import pyseccomp  # noqa: PLC0415 - the binding loads the C library on import
    except (ImportError, RuntimeError, OSError) as error:
        raise PrerequisiteError("libseccomp is missing: run `apt install libseccomp2`") from error
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refused = pyseccomp.ERRNO(errno.EPERM)
    for name in _DENIED:
        try:
            rules.add_rule(refused, name)
        except (RuntimeError, OSError, ValueError):
            continue  # a name that this libseccomp or this architecture does not know cannot be called by name either
    # clone3 hides its flags behind a pointer: C libraries fall back to clone when it does not exist.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    for bit in (1 << shift for shift in range(32)):
        if bit & _CLONE_NAMESPACES:
            rules.add_rule(refused, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, bit, bit))
    for family in range(46):
        if family not in _FAMILIES:
            rules.add_rule(refused, "socket", pyseccomp.Arg(0, pyseccomp.EQ, family))
    read, write = os.pipe()
    with os.fdopen(read, "rb") as source, os.fdopen(write, "wb") as sink:
        rules.export_bpf(sink)
        sink.close()
        return source.read()

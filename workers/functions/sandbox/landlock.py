"""Landlock bindings: restrict the files, TCP ports and scopes of a process and its descendants.

A process creates a ruleset, adds the files it needs, and restricts itself. From then on the kernel denies every other file,
whatever the user of the process may read, and no later call lifts the restriction. It needs no privileges and applies to later
threads and programs. It does not restrict `stat`, `chdir`, `readlink`, `chmod`, nor files that are already open.

The calls (Linux 5.13 and later; the numbers are equal on all architectures except alpha):

    444  landlock_create_ruleset(attr *, size, flags) -> descriptor; flags = 1: return the ABI version instead
    445  landlock_add_rule(descriptor, type, attr *, flags)           type 1: path_beneath, type 2: net_port
    446  landlock_restrict_self(descriptor, flags)                    requires no_new_privs

    struct landlock_ruleset_attr        { u64 handled_access_fs; u64 handled_access_net; u64 scoped; }
    struct landlock_path_beneath_attr   { u64 allowed_access; s32 parent_fd; }  packed
    struct landlock_net_port_attr       { u64 allowed_access; u64 port; }

A handled right is denied unless a rule allows it. Rights that a kernel does not know make the call fail, so each right is
listed with the ABI version that introduced it. Source: Linux kernel documentation, "Landlock: unprivileged access control";
linux/landlock.h.
"""

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntFlag
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH, _NET_PORT = 1, 2
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class Access(IntFlag):
    """Rights on files and folders (handled_access_fs)."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15
    RESOLVE_UNIX = 1 << 16


READ = Access.READ_FILE | Access.READ_DIR
RUN = READ | Access.EXECUTE
CHANGE = (
    READ
    | Access.WRITE_FILE
    | Access.TRUNCATE
    | Access.MAKE_REG
    | Access.MAKE_DIR
    | Access.REMOVE_FILE
    | Access.REMOVE_DIR
    | Access.REFER
)
_OF_FILES = (
    Access.EXECUTE
    | Access.WRITE_FILE
    | Access.READ_FILE
    | Access.TRUNCATE
    | Access.IOCTL_DEV
    | Access.RESOLVE_UNIX
)
"""Rights that a rule on a file may name; the others apply to folders."""
_ALL_OF_ABI_1 = Access((1 << 13) - 1)
_LATER = ((2, Access.REFER), (3, Access.TRUNCATE), (5, Access.IOCTL_DEV), (9, Access.RESOLVE_UNIX))
_NET_ABI, _BIND_TCP, _CONNECT_TCP = 4, 1 << 0, 1 << 1
_SCOPE_ABI, _SCOPES = 6, (1 << 0) | (1 << 1)
"""Abstract unix sockets and signals reach only processes of the same Landlock domain."""


class _RulesetAttr(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


class _NetPortAttr(ctypes.Structure):
    _fields_ = (("allowed_access", ctypes.c_uint64), ("port", ctypes.c_uint64))


@dataclass(frozen=True, slots=True)
class LandlockRules:
    """What stays allowed: rights by path, and TCP ports to connect to (None: all). Listening on TCP is denied."""

    paths: tuple[tuple[Path, Access], ...]
    ports: frozenset[int] | None = None
    own_paths: tuple[tuple[str, Access], ...] = field(default=())
    """Paths that mean something else in each process (`/proc/self/...`): opened in the child itself."""


def create_ruleset(rules: LandlockRules, abi: int) -> int:
    """Create a ruleset and return its descriptor; paths that do not exist are skipped. Raises: OSError."""
    handled = handled_by(abi)
    attr = _RulesetAttr(
        handled,
        (_BIND_TCP | (_CONNECT_TCP if rules.ports is not None else 0)) if abi >= _NET_ABI else 0,
        _SCOPES if abi >= _SCOPE_ABI else 0,
    )
    size = 24 if abi >= _SCOPE_ABI else 16 if abi >= _NET_ABI else 8
    descriptor = _system_call(_CREATE_RULESET, ctypes.byref(attr), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path, access in rules.paths:
            _add_path(descriptor, str(path), access & handled)
        if abi >= _NET_ABI:
            _add_ports(descriptor, rules.ports or ())
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def restrict_self(descriptor: int, rules: LandlockRules, abi: int) -> None:
    """Restrict this process to a ruleset; `own_paths` are added first. Requires no_new_privs. Raises: OSError."""
    handled = handled_by(abi)
    for path, access in rules.own_paths:
        _add_path(descriptor, path, access & handled)
    _system_call(_RESTRICT_SELF, descriptor, ctypes.c_uint32(0))


def handled_by(abi: int) -> Access:
    """Return all rights on files that a kernel of this ABI version can deny."""
    handled = _ALL_OF_ABI_1
    for since, right in _LATER:
        if abi >= since:
            handled |= right
    return handled


def _add_path(descriptor: int, path: str, access: Access) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP):
            return  # an unreachable path needs no rule
        raise
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            access &= _OF_FILES
        attr = _PathBeneathAttr(access, opened)
        _system_call(_ADD_RULE, descriptor, _PATH_BENEATH, ctypes.byref(attr), ctypes.c_uint32(0))
    finally:
        os.close(opened)


def _add_ports(descriptor: int, ports: Iterable[int]) -> None:
    for port in ports:
        attr = _NetPortAttr(_CONNECT_TCP, port)
        _system_call(_ADD_RULE, descriptor, _NET_PORT, ctypes.byref(attr), ctypes.c_uint32(0))


def _system_call(number: int, *arguments: object) -> int:
    if _LIBC is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    result = int(_LIBC.syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result

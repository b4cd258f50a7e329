"""The filter of system calls (seccomp) that a function's process installs on itself before its program starts.

It is the third wall: Landlock decides about files, the filter about the rest of the kernel. A program of the classic BPF
machine reads the number and the arguments of each call and answers:

    another architecture's calls, x32      the process is killed
    clone without CLONE_THREAD, fork       EPERM: one process stays one process, so there is no fork bomb
    kill and its like, prlimit64           EPERM, but for the process itself
    socket                                 internet sockets for TCP and UDP; unix sockets as below; else EACCES
    open that creates a file, mkdir        with a gate EACCES, or the worker answers, and counts (`listener.py`)
    `system_calls.REFUSED`, `ABSENT`       EPERM, ENOSYS

Unix sockets: Landlock (before ABI 9) does not restrict `connect` to a socket that lies in the file system, and a filter
cannot read the address. So the process cannot create one. The socket on which it answers is created, bound and listening
before it starts (`listener.py`): with `Unix.GATED`, the call socket(AF_UNIX) stops and is answered by the worker, which puts a
copy of that listening socket in its place, and `bind` and `listen` report success without being done. A listening socket
cannot connect. This also means that a function cannot listen on any other address.

Arguments are compared by their lower halves, of which the upper ones are ignored by the kernel in these calls (ints).
Source: seccomp(2); Linux kernel documentation, "Seccomp BPF".
"""

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Collection
from enum import Enum

from workers.functions import system_calls
from workers.functions.system_calls import ARCHITECTURES

_SET_MODE_FILTER = 1
_SPEC_ALLOW, _NEW_LISTENER = 1 << 2, 1 << 3
_KILL, _ERRNO, _NOTIFY, _ALLOW = 0x80000000, 0x00050000, 0x7FC00000, 0x7FFF0000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_BITS, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in struct seccomp_data { int nr; u32 arch; u64 instruction_pointer; u64 args[6]; } (little endian)."""
_X32 = 0x40000000
_CLONE_THREAD = 0x00010000
CREATES, UNNAMED = 0x40, 0x400000
"""O_CREAT, and the bit of O_TMPFILE that no other flag has."""
_UNIX, _INET, _INET6 = 1, 2, 10
_STREAM, _DATAGRAM, _TYPE_BITS = 1, 2, 0xF
_PROTOCOLS = (0, 6, 17)
"""TCP, UDP and the default of either: not ICMP, and not MPTCP, which Landlock's rules of ports do not see."""
_OWN_PID = -1
"""Stands for the id of the process, which is known only after the fork."""
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

Instruction = tuple[int, int, int, int]
"""struct sock_filter: code, jump if true, jump if false, constant."""


class _Filter(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("jt", ctypes.c_uint8),
        ("jf", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.POINTER(_Filter)))


class Unix(Enum):
    """What becomes of a call that creates a unix socket."""

    GATED = "the worker answers it with a copy of a listening socket"
    CLOSED = "it fails"
    OPEN = "it is allowed: the process creates its socket itself"


class Installer:
    """A filter, ready to be installed in a child between fork and exec. Calls named in `spared` are not refused."""

    def __init__(self, unix: Unix, spared: Collection[str] = (), *, creates: bool = False) -> None:
        program = instructions(platform.machine(), unix, spared, creates=creates)
        self._own = [at for at, each in enumerate(program) if each[3] == _OWN_PID]
        self._filters = (_Filter * len(program))(
            *(_Filter(code, yes, no, k & 0xFFFFFFFF) for code, yes, no, k in program)
        )
        self._program = _Program(len(program), self._filters)
        self._number = _number(system_calls.SECCOMP, platform.machine())
        self._flags = _SPEC_ALLOW | (_NEW_LISTENER if unix is Unix.GATED else 0)

    def install(self) -> int:
        """Install it on this process; return the descriptor that answers socket calls, or 0. Raises: OSError."""
        assert _LIBC is not None
        assert self._number is not None
        for at in self._own:
            self._filters[at].k = os.getpid()
        result = int(
            _LIBC.syscall(
                self._number, _SET_MODE_FILTER, ctypes.c_uint(self._flags), ctypes.byref(self._program)
            )
        )
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result


def is_supported() -> bool:
    """Return whether there is a table of system calls for this machine."""
    return sys.platform == "linux" and sys.byteorder == "little" and platform.machine() in ARCHITECTURES


def instructions(
    machine: str, unix: Unix, spared: Collection[str] = (), *, creates: bool = False
) -> list[Instruction]:
    """Return the program for a machine. A call that no rule names is allowed.

    `creates`: with a gate, calls that create files are answered by the worker; without it they fail.
    """
    audit = ARCHITECTURES[machine][1]
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        program += [(_JUMP_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]

    def rule(numbers: system_calls.Numbers, body: list[Instruction]) -> None:
        if (number := _number(numbers, machine)) is not None:
            program.extend([(_JUMP_EQUAL, 0, len(body), number), *body])

    rule(system_calls.SOCKET, _sockets(unix))
    if unix is Unix.GATED:
        rule(system_calls.BIND, [_returned(0)])
        rule(system_calls.LISTEN, [_returned(0)])
        created: Instruction = (_RETURN, 0, 0, _NOTIFY if creates else _ERRNO | errno.EACCES)
        for call, flags in ((system_calls.OPEN, 1), (system_calls.OPENAT, 2)):
            rule(
                call,
                [
                    _argument(flags),
                    (_JUMP_BITS, 0, 1, CREATES | UNNAMED),
                    created,
                    (_RETURN, 0, 0, _ALLOW),
                ],
            )
        for call in (system_calls.MKDIR, system_calls.MKDIRAT):
            rule(call, [created])
    rule(
        system_calls.CLONE,
        [_argument(0), (_JUMP_BITS, 1, 0, _CLONE_THREAD), _returned(errno.EPERM), (_RETURN, 0, 0, _ALLOW)],
    )
    for numbers in system_calls.OF_ONE_PROCESS.values():
        rule(
            numbers,
            [_argument(0), (_JUMP_EQUAL, 2, 0, 0), (_JUMP_EQUAL, 1, 0, _OWN_PID), _returned(errno.EPERM),
             (_RETURN, 0, 0, _ALLOW)],
        )  # fmt: skip
    for numbers in system_calls.ABSENT.values():
        rule(numbers, [_returned(errno.ENOSYS)])
    for name, numbers in system_calls.REFUSED.items():
        if name not in spared:
            rule(numbers, [_returned(errno.EPERM)])
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _sockets(unix: Unix) -> list[Instruction]:
    """Return the rule of socket(family, type, protocol)."""
    answers = {Unix.GATED: _NOTIFY, Unix.CLOSED: _ERRNO | errno.EACCES, Unix.OPEN: _ALLOW}
    return [
        _argument(0),
        (_JUMP_EQUAL, 0, 1, _UNIX),
        (_RETURN, 0, 0, answers[unix]),
        (_JUMP_EQUAL, 2, 0, _INET),
        (_JUMP_EQUAL, 1, 0, _INET6),
        _returned(errno.EACCES),
        _argument(1),
        (_AND, 0, 0, _TYPE_BITS),
        (_JUMP_EQUAL, 2, 0, _STREAM),
        (_JUMP_EQUAL, 1, 0, _DATAGRAM),
        _returned(errno.EACCES),
        _argument(2),
        *((_JUMP_EQUAL, len(_PROTOCOLS) - at, 0, protocol) for at, protocol in enumerate(_PROTOCOLS)),
        _returned(errno.EACCES),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _argument(index: int) -> Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _returned(code: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | code)


def _number(numbers: system_calls.Numbers, machine: str) -> int | None:
    return numbers[ARCHITECTURES[machine][0]] if machine in ARCHITECTURES else None

"""The seccomp filter that a function's process installs on itself before its program starts.

Landlock decides about files; the filter decides about the rest of the kernel. A classic BPF program reads the number and the
arguments of each system call and decides:

    another architecture's calls, x32      the process is killed
    clone without CLONE_THREAD, fork       EPERM: the process cannot start others, so fork bombs are impossible
    kill and similar calls, prlimit64      EPERM, except for the process itself
    socket                                 TCP and UDP over internet sockets; unix sockets as below; else EACCES
    sendto, sendmsg that open a connection EPERM: TCP Fast Open connects without the check of Landlock's port rules
    open that creates a file, mkdir        EACCES, or with a gate the worker answers and counts (`socket_handover.py`)
    `system_calls.REFUSED`, `ABSENT`       EPERM, ENOSYS

Unix sockets: Landlock (before ABI 9) does not restrict `connect` to a socket in the file system, and a filter cannot read the
address, which is in memory. So the process must not create unix sockets at all. The socket on which it answers is created,
bound and listening before it starts. With `UnixSockets.GATED`, its call socket(AF_UNIX) waits until the worker puts a copy of
that listening socket in its place; `bind` and `listen` report success without doing anything. A listening socket cannot
connect. For the same reason a function cannot listen on any other address.

Only the lower 32 bits of arguments are compared; in these calls they are ints, of which the kernel ignores the upper bits.
Source: seccomp(2); Linux kernel documentation, "Seccomp BPF".
"""

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Collection, Iterator
from enum import Enum

from workers.functions.sandbox import system_calls
from workers.functions.sandbox.system_calls import ARCHITECTURES

_SET_MODE_FILTER = 1
_SPEC_ALLOW, _NEW_LISTENER = 1 << 2, 1 << 3
_KILL, _ERRNO, _NOTIFY, _ALLOW = 0x80000000, 0x00050000, 0x7FC00000, 0x7FFF0000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_BITS, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in struct seccomp_data { int nr; u32 arch; u64 instruction_pointer; u64 args[6]; } (little endian)."""
_X32 = 0x40000000
_CLONE_THREAD = 0x00010000
_FAST_OPEN = 0x20000000
"""MSG_FASTOPEN: the call connects. Seen on Linux 6.18: it reached a port that Landlock denied to connect(2)."""
CREATES, UNNAMED = 0x40, 0x400000
"""O_CREAT, and the bit that only O_TMPFILE has."""
_UNIX, _INET, _INET6 = 1, 2, 10
_STREAM, _DATAGRAM, _TYPE_BITS = 1, 2, 0xF
_PROTOCOLS = (0, 6, 17)
"""TCP, UDP and the default of both: not ICMP, and not MPTCP, to which Landlock's port rules do not apply."""
_OWN_PID = -1
"""Placeholder for the process id, which is known only after the fork."""
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


class UnixSockets(Enum):
    """How the filter handles a call that creates a unix socket."""

    GATED = "the worker answers it with a copy of a listening socket"
    CLOSED = "it fails"
    OPEN = "it is allowed: the process creates its socket itself"


class FilterInstaller:
    """A filter, ready to be installed in a child between fork and exec. Calls named in `spared` are allowed."""

    def __init__(self, unix: UnixSockets, spared: Collection[str] = (), *, creates: bool = False) -> None:
        program = instructions(platform.machine(), unix, spared, creates=creates)
        self._pid_places = [at for at, instruction in enumerate(program) if instruction[3] == _OWN_PID]
        self._filters = (_Filter * len(program))(
            *(_Filter(code, yes, no, k & 0xFFFFFFFF) for code, yes, no, k in program)
        )
        self._program = _Program(len(program), self._filters)
        self._number = _number(system_calls.SECCOMP, platform.machine())
        self._flags = _SPEC_ALLOW | (_NEW_LISTENER if unix is UnixSockets.GATED else 0)

    def install(self) -> int:
        """Install it on this process; return the notification descriptor, or 0 without a gate. Raises: OSError."""
        assert _LIBC is not None
        assert self._number is not None
        for at in self._pid_places:
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
    """Return whether the system calls of this machine's architecture are known."""
    return sys.platform == "linux" and sys.byteorder == "little" and platform.machine() in ARCHITECTURES


def instructions(
    machine: str, unix: UnixSockets, spared: Collection[str] = (), *, creates: bool = False
) -> list[Instruction]:
    """Return the filter program for a machine. A call without a rule is allowed.

    `creates`: with a gate, calls that create files are answered by the worker; otherwise they fail.
    """
    rules = [
        (system_calls.SOCKET, _sockets(unix)),
        *_fast_open_rules(),
        *(_gate_rules(creates=creates) if unix is UnixSockets.GATED else ()),
        (
            system_calls.CLONE,
            [
                _argument(0),
                (_JUMP_BITS, 1, 0, _CLONE_THREAD),
                _returned(errno.EPERM),
                (_RETURN, 0, 0, _ALLOW),
            ],
        ),
        *((numbers, _OWN_PROCESS_ONLY) for numbers in system_calls.OF_ONE_PROCESS.values()),
        *((numbers, [_returned(errno.ENOSYS)]) for numbers in system_calls.ABSENT.values()),
        *(
            (numbers, [_returned(errno.EPERM)])
            for name, numbers in system_calls.REFUSED.items()
            if name not in spared
        ),
    ]
    program = _load_number(machine)
    for numbers, body in rules:
        if (number := _number(numbers, machine)) is not None:
            # Not this call: jump over the body of its rule.
            program += [(_JUMP_EQUAL, 0, len(body), number), *body]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _load_number(machine: str) -> list[Instruction]:
    """Return the beginning of the program: kill on a foreign architecture, then load the number of the call.

    Without the check, a call of another architecture (32-bit, x32) would be judged by the wrong table of numbers.
    """
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, ARCHITECTURES[machine][1]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        program += [(_JUMP_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    return program


def _fast_open_rules() -> Iterator[tuple[system_calls.Numbers, list[Instruction]]]:
    """Yield the rules of calls that send: not with the flag that connects."""
    for call, flags in ((system_calls.SENDTO, 3), (system_calls.SENDMSG, 2), (system_calls.SENDMMSG, 3)):
        yield (
            call,
            [
                _argument(flags),
                (_JUMP_BITS, 0, 1, _FAST_OPEN),
                _returned(errno.EPERM),
                (_RETURN, 0, 0, _ALLOW),
            ],
        )


def _gate_rules(*, creates: bool) -> Iterator[tuple[system_calls.Numbers, list[Instruction]]]:
    """Yield the rules of a process whose socket is handed over."""
    yield system_calls.BIND, [_returned(0)]
    yield system_calls.LISTEN, [_returned(0)]
    on_create: Instruction = (_RETURN, 0, 0, _NOTIFY if creates else _ERRNO | errno.EACCES)
    for call, flags in ((system_calls.OPEN, 1), (system_calls.OPENAT, 2)):
        yield (
            call,
            [
                _argument(flags),
                (_JUMP_BITS, 0, 1, CREATES | UNNAMED),
                on_create,
                (_RETURN, 0, 0, _ALLOW),
            ],
        )
    for call in (system_calls.MKDIR, system_calls.MKDIRAT):
        yield call, [on_create]


def _sockets(unix: UnixSockets) -> list[Instruction]:
    """Return the rule for socket(family, type, protocol)."""
    answers = {
        UnixSockets.GATED: _NOTIFY,
        UnixSockets.CLOSED: _ERRNO | errno.EACCES,
        UnixSockets.OPEN: _ALLOW,
    }
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


_OWN_PROCESS_ONLY: list[Instruction] = [
    _argument(0),
    (_JUMP_EQUAL, 2, 0, 0),
    (_JUMP_EQUAL, 1, 0, _OWN_PID),
    _returned(errno.EPERM),
    (_RETURN, 0, 0, _ALLOW),
]
"""Rule of a call whose first argument is a process id: allowed for 0 and for the process itself."""

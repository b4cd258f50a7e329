"""Deny a control group every loopback port but a few: eBPF programs that the kernel runs at each connect and send.

    connect(2), TCP Fast Open      cgroup/connect4, cgroup/connect6     allowed: other addresses, and the listed ports of loopback
    sendto(2), sendmsg(2) of UDP   cgroup/sendmsg4, cgroup/sendmsg6     else EPERM

Landlock's TCP rules know ports alone: they cannot deny port 5432 of this machine and allow it elsewhere. These programs see the
address that the kernel has copied from the process, so no other thread can change it afterwards. Loopback is 127.0.0.0/8, ::1,
both in IPv4-mapped form, and the unspecified addresses, which lead there too. Local names and numeric spellings need no rule:
the kernel sees addresses only.

Loading and attaching need root (CAP_BPF and CAP_NET_ADMIN) and cgroup v2. A program stays attached as long as its group exists.

    struct bpf_sock_addr  { u32 user_family; u32 user_ip4; u32 user_ip6[4]; u32 user_port; ... }   addresses in network order
    struct bpf_insn       { u8 code; u8 registers (source << 4 | target); s16 offset; s32 immediate; }

Source: Linux kernel documentation, "BPF_PROG_TYPE_CGROUP_SOCK_ADDR"; bpf(2); linux/bpf.h. Figures: docs/decisions.md.
"""

import ctypes
import errno
import os
import platform
import socket
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_BPF = {"x86_64": 321, "aarch64": 280}
_LOAD, _ATTACH = 5, 8
_CGROUP_SOCK_ADDR = 18
_CONNECT4, _CONNECT6, _SENDMSG4, _SENDMSG6 = 10, 11, 14, 15
_BESIDE_OTHERS = 2
"""BPF_F_ALLOW_MULTI: programs that another program attached to a group above go on to be run."""
_IP4, _IP6, _PORT = 4, 8, 24
_READ, _AND, _SET, _EXIT = 0x61, 0x54, 0xB7, 0x95
_EQUAL, _UNEQUAL, _JUMP = 0x16, 0x56, 0x05
"""Comparisons of 32 bits with a constant: jump if they are equal, or not."""
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class LoopbackWall:
    """Loads the programs, once for each set of ports, and attaches them to groups."""

    def __init__(self) -> None:
        self._loaded: dict[frozenset[int], tuple[tuple[int, int], ...]] = {}

    def attach(self, folder: Path, ports: frozenset[int]) -> None:
        """Deny the processes of a group all loopback ports but these. Raises: OSError."""
        programs = self._loaded.get(ports)
        if programs is None:
            programs = self._loaded[ports] = _load_programs(ports)
        group = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for program, place in programs:
                _call(_ATTACH, struct.pack("=IIII", group, program, place, _BESIDE_OTHERS))
        finally:
            os.close(group)

    def close(self) -> None:
        """Close the programs; groups to which they are attached keep them."""
        for programs in self._loaded.values():
            for program, _ in programs:
                os.close(program)
        self._loaded.clear()


def open_wall() -> LoopbackWall | str:
    """Return the wall of this machine, or the reason why it cannot be used; the kernel is asked by loading a program."""
    wall = LoopbackWall()
    try:
        wall._loaded[frozenset()] = _load_programs(frozenset())
    except OSError as error:
        return f"the kernel does not load its programs: {error.strerror}"
    return wall


def program4(ports: Iterable[int]) -> bytes:
    """Return the instructions for IPv4 (pure)."""
    first = _number(b"\xff\0\0\0")
    return _assembled(
        [
            ("", _READ, _IP4, 0),
            ("", _AND, 0, first),
            ("local", _EQUAL, 0, _number(b"\x7f\0\0\0")),
            ("local", _EQUAL, 0, 0),
            ("allow", _JUMP, 0, 0),
        ],
        ports,
    )


def program6(ports: Iterable[int]) -> bytes:
    """Return the instructions for IPv6 (pure). ::/96 is local as a whole: ::, ::1 and forms without a route."""
    return _assembled(
        [
            ("", _READ, _IP6, 0),
            ("allow", _UNEQUAL, 0, 0),
            ("", _READ, _IP6 + 4, 0),
            ("allow", _UNEQUAL, 0, 0),
            ("", _READ, _IP6 + 8, 0),
            ("local", _EQUAL, 0, 0),
            ("allow", _UNEQUAL, 0, _number(b"\0\0\xff\xff")),
            ("", _READ, _IP6 + 12, 0),
            ("", _AND, 0, _number(b"\xff\0\0\0")),
            ("local", _EQUAL, 0, _number(b"\x7f\0\0\0")),
            ("local", _EQUAL, 0, 0),
            ("allow", _JUMP, 0, 0),
        ],
        ports,
    )


def _assembled(steps: list[tuple[str, int, int, int]], ports: Iterable[int]) -> bytes:
    """Return the bytes of a program: its steps, then `local` (compare the port) and `allow`.

    A step is: the label that it jumps to, code, offset of a read, constant. Register 1 is the context, 2 the value read.
    """
    compared = [("allow", _EQUAL, 0, socket.htons(port)) for port in sorted(ports)]
    local, allow = len(steps), len(steps) + len(compared) + 3
    whole = [*steps, ("", _READ, _PORT, 0), *compared, ("", _SET, 0, 0), ("", _EXIT, 0, 0)]
    whole += [("", _SET, 0, 1), ("", _EXIT, 0, 0)]
    code = b""
    for at, (label, operation, offset, constant) in enumerate(whole):
        registers = {_READ: 1 << 4 | 2, _SET: 0, _EXIT: 0, _JUMP: 0}.get(operation, 2)
        if label:
            offset = {"local": local, "allow": allow}[label] - at - 1
        code += struct.pack("=BBhI", operation, registers, offset, constant)
    return code


def _load_programs(ports: frozenset[int]) -> tuple[tuple[int, int], ...]:
    four, six = program4(ports), program6(ports)
    loaded: list[tuple[int, int]] = []
    try:
        for code, place in ((four, _CONNECT4), (six, _CONNECT6), (four, _SENDMSG4), (six, _SENDMSG6)):
            loaded.append((_load(code, place), place))
    except OSError:
        for program, _ in loaded:
            os.close(program)
        raise
    return tuple(loaded)


def _load(code: bytes, place: int) -> int:
    """Load a program for a place and return its descriptor, which is closed at exec. Raises: OSError."""
    text, licence = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack(
        "=IIQQIIQII16sII",
        _CGROUP_SOCK_ADDR, len(code) // 8, ctypes.addressof(text), ctypes.addressof(licence), 0, 0, 0, 0, 0,
        b"headwater", 0, place,
    )  # fmt: skip
    return _call(_LOAD, attributes)


def _call(command: int, attributes: bytes) -> int:
    number = _BPF.get(platform.machine())
    if _LIBC is None or number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    buffer = ctypes.create_string_buffer(attributes)
    result = int(_LIBC.syscall(number, command, buffer, len(attributes)))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _number(address: bytes) -> int:
    """Return four bytes of an address as the program reads them from memory."""
    return int.from_bytes(address, sys.byteorder)

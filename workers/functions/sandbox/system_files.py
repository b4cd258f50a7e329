"""The files of the operating system that the runtime reads: libraries, certificates, name resolution, some counters.

Landlock denies functions everything else on the machine (`landlock.py`). A rule applies to the file that existed when the
process started. A file that programs replace meanwhile (`resolv.conf`) is not readable afterwards; `resolver_state` detects that.
"""

import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from workers.functions.sandbox.landlock import READ, RUN, Access

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/gnu/store")
_CERTIFICATES = (
    "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
)  # fmt: skip
_RESOLVER = (
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services",
    "/etc/protocols",
)  # fmt: skip
_NUMBERS = (
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/localtime", "/usr/share/zoneinfo", "/proc/meminfo", "/proc/cpuinfo",
    "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/sys/kernel/osrelease", "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu.max",
)  # fmt: skip
_DEVICES = ("/dev/urandom", "/dev/random", "/dev/zero")
_OWN = ("/proc/self/statm", "/proc/self/stat", "/proc/self/status", "/proc/self/maps", "/proc/self/cgroup")
_NAMED = ("SSL_CERT_FILE", "SSL_CERT_DIR", "DENO_CERT", "NODE_EXTRA_CA_CERTS")
_ELF, _INTERPRETER = b"\x7fELF", 3

OWN = tuple((path, READ) for path in _OWN)
"""Files below /proc/self that a process may read: counters, not its memory."""


def system_files(program: Path, environment: Mapping[str, str]) -> tuple[tuple[Path, Access], ...]:
    """Return the operating system's files that a process of the runtime may use. `environment` names certificates and libraries."""
    named = [environment[name] for name in _NAMED if environment.get(name)]
    libraries = [folder for folder in environment.get("LD_LIBRARY_PATH", "").split(":") if folder]
    readable = (*_LIBRARIES, *libraries, *_CERTIFICATES, *named, *_RESOLVER, *_NUMBERS, *_DEVICES)
    return (
        (program, RUN),
        *((path, RUN) for path in interpreter_of(program)),
        (Path("/dev/null"), READ | Access.WRITE_FILE),
        *((Path(path), READ) for path in readable),
    )


def interpreter_of(program: Path) -> Iterator[Path]:
    """Yield the dynamic loader with which the kernel starts a program: PT_INTERP in its 64-bit ELF header."""
    with program.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or not head.startswith(_ELF) or head[4] != 2:
            return
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        for at in range(count):
            file.seek(table + at * size)
            entry = file.read(56)
            kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", entry)
            if kind == _INTERPRETER:
                file.seek(offset)
                yield Path(os.fsdecode(file.read(length).rstrip(b"\0")))


def resolver_state() -> tuple[int, int]:
    """Return device and inode of `resolv.conf`; they change when the file is replaced."""
    try:
        state = os.stat("/etc/resolv.conf")
    except OSError:
        return 0, 0
    return state.st_dev, state.st_ino

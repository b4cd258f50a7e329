"""Packets of one process, or to one server, that vanish on the loopback interface: the kernel gets no acknowledgement, as behind a dead switch.

Rules of iptables drop them, so this takes root. New connections of a process are known by its control group; those that it has
already are named by their ports, because a socket keeps the group in which it was made.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import psutil

_GROUPS = Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")


def is_possible() -> bool:
    """Whether this machine lets us drop packets."""
    if os.geteuid() != 0 or shutil.which("iptables") is None or _groups() is None:
        return False
    return subprocess.run(["iptables", "-L", "-n"], check=False, capture_output=True).returncode == 0


@contextlib.contextmanager
def server_unreachable(port: int) -> Iterator[None]:
    """Drop all packets to and from a port."""
    with _chain() as add:
        add("--sport", str(port))
        add("--dport", str(port))
        yield


@contextlib.contextmanager
def cut_off(pid: int, *, listens: tuple[int, ...] = (), peers: tuple[int, ...] = ()) -> Iterator[None]:
    """Drop all packets between a process and the servers at `peers`, and all to and from the ports at which it `listens`."""
    groups = _groups()
    assert groups is not None
    group = groups / f"headwater-{token_hex(4)}"
    group.mkdir()
    home = groups / "cgroup.procs"
    try:
        (group / "cgroup.procs").write_text(str(pid))
        with _chain() as add:
            for port in listens:
                add("--sport", str(port))
                add("--dport", str(port))
            for port in peers:
                add("--dport", str(port), "-m", "cgroup", "--path", group.name)
            for each in psutil.Process(pid).net_connections("tcp"):
                if each.raddr and each.raddr.port in peers:
                    add("--sport", str(each.laddr.port), "--dport", str(each.raddr.port))
                    add("--sport", str(each.raddr.port), "--dport", str(each.laddr.port))
            yield
    finally:
        with contextlib.suppress(OSError):  # it may have ended
            home.write_text(str(pid))
        with contextlib.suppress(OSError):
            group.rmdir()


class _Chain:
    """A chain of rules behind which everything is dropped."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *match: str) -> None:
        _iptables("-A", self._name, "-p", "tcp", *match, "-j", "DROP")


@contextlib.contextmanager
def _chain() -> Iterator[_Chain]:
    name = f"HEADWATER-{token_hex(4)}"
    _iptables("-N", name)
    _iptables("-I", "OUTPUT", "-o", "lo", "-j", name)
    try:
        yield _Chain(name)
    finally:
        _iptables("-D", "OUTPUT", "-o", "lo", "-j", name)
        _iptables("-F", name)
        _iptables("-X", name)


def _iptables(*words: str) -> None:
    subprocess.run(["iptables", "-w", *words], check=True, capture_output=True)


def _groups() -> Path | None:
    """Return the root of the control groups of version 2."""
    return next(
        (
            path
            for path in _GROUPS
            if (path / "cgroup.procs").exists() and (path / "cgroup.controllers").exists()
        ),
        None,
    )

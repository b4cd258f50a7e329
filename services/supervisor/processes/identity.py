"""Identify processes: a process id is reused. With the start time it is unique: on Linux until the machine restarts."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_POLL_S = 0.02


def identity(pid: int) -> str | None:
    """Return the start time of a process in the system's notation; None if it does not exist or is a zombie."""
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in ("Z", "X") else fields[19]
    return _identity_by_ps(pid)


def _identity_by_ps(pid: int) -> str | None:
    """Do the same on macOS. Time zone and language are fixed: the command that compares may have others than the one that started it."""
    result = subprocess.run(  # noqa: S603 - a fixed command and a number
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        env={"LC_ALL": "C", "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=False,
    )
    state, _, started = result.stdout.strip().partition(" ")
    return None if state.startswith("Z") else started.strip() or None


def exists(pid: int) -> bool:
    """Return whether a process id is in use, if only by a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def processes_in(folder: Path) -> list[int]:
    """Return the processes whose working directory is a folder; empty on macOS, which does not expose it."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):
            if os.readlink(entry / "cwd") == os.path.realpath(folder):
                pids.append(int(entry.name))
    return pids


def is_alive(pid: int, born: str | None) -> bool:
    """Return whether the process that was started at `born` still runs under this id."""
    return born is not None and identity(pid) == born


def terminate(pid: int, born: str, signals: Sequence[tuple[int, float]]) -> bool:
    """Send each signal and wait up to its seconds until the process is gone; return whether it is."""
    for number, seconds in signals:
        with contextlib.suppress(ProcessLookupError):
            if is_alive(pid, born):
                os.kill(pid, number)
        if wait_until_gone(pid, born, seconds):
            return True
    return False


def wait_until_gone(pid: int, born: str, seconds: float) -> bool:
    """Wait up to `seconds` until a process is gone; return whether it is."""
    deadline = time.monotonic() + seconds
    while is_alive(pid, born):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def command_of(pid: int) -> str:
    """Return the command line of a process; empty if it does not exist."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    result = subprocess.run(  # noqa: S603 - a fixed command and a number
        ["/bin/ps", "-o", "command=", "-p", str(pid)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return result.stdout.strip()

"""Which process is which: a process id is reused, a process id with its birth is not."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_POLL_S = 0.02


def identity(pid: int) -> str | None:
    """Give the time a process was born, as the system spells it; None if there is none (or only its remains)."""
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in ("Z", "X") else fields[19]
    shown = subprocess.run(  # noqa: S603 - a fixed command and a number
        ["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip() or None


def exists(pid: int) -> bool:
    """Return whether a process id is taken, be it by the remains of a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def working_in(folder: Path) -> list[int]:
    """Return the processes whose working directory is a folder; none where the system does not tell (macOS)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):
            if os.readlink(entry / "cwd") == os.path.realpath(folder):
                found.append(int(entry.name))
    return found


def is_alive(pid: int, born: str | None) -> bool:
    """Tell whether the very process that was seen before still runs."""
    return born is not None and identity(pid) == born


def end(pid: int, born: str, signals: Sequence[tuple[int, float]]) -> bool:
    """Send each signal and wait up to its seconds until the process is gone; give whether it is."""
    for number, seconds in signals:
        with contextlib.suppress(ProcessLookupError):
            if is_alive(pid, born):
                os.kill(pid, number)
        if gone(pid, born, seconds):
            return True
    return False


def gone(pid: int, born: str, seconds: float) -> bool:
    """Wait until a process is gone, at most so many seconds; give whether it is."""
    deadline = time.monotonic() + seconds
    while is_alive(pid, born):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def command_of(pid: int) -> str:
    """Give the command line of a process; empty if there is none."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    shown = subprocess.run(  # noqa: S603 - a fixed command and a number
        ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip()

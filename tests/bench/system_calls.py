"""Count the system calls of a platform's processes under `strace -c`, by process group."""

import contextlib
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from tests.bench import cpu

_LINE = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", re.MULTILINE)
_ROLES = ("edge", "worker", "replication", "nats", "postgres")


def process_roles(pid: int) -> dict[int, str]:
    """Return the group of each process of a platform; the one that reads the log of changes is `replication`, not a worker."""
    groups = cpu.groups_of([pid])
    return {pid: _role(pid) if group == "worker" else group for pid, group in groups.items()}


def _role(pid: int) -> str:
    return "replication" if "replication" in psutil.Process(pid).cmdline() else "worker"


def counted_calls(pid: int, work: Callable[[], int]) -> dict[str, Counter[str]]:
    """Do some work, which returns its number of requests; return the system calls of each group for one request."""
    pids: dict[str, list[int]] = {}
    for process, role in process_roles(pid).items():
        pids.setdefault(role, []).append(process)
    with contextlib.ExitStack() as stack:
        traced = {role: stack.enter_context(_strace(pids[role])) for role in _ROLES if role in pids}
        count = work()
    calls: dict[str, Counter[str]] = {}
    for role, path in traced.items():
        listed = {name: int(number) / count for number, name in _LINE.findall(path.read_text())}
        listed.pop("total", None)
        calls[role] = Counter(listed)  # type: ignore[arg-type]  # shares of a request are not whole
        path.unlink()
    return calls


@contextlib.contextmanager
def _strace(pids: list[int]) -> Iterator[Path]:
    path = Path(tempfile.mktemp(prefix="headwater-strace-"))  # strace creates it
    targets = [word for pid in pids for word in ("-p", str(pid))]
    tracing = subprocess.Popen(["strace", "-f", "-c", "-o", str(path), *targets], stderr=subprocess.DEVNULL)
    while not all("TracerPid:\t0" not in Path(f"/proc/{pid}/status").read_text() for pid in pids):
        time.sleep(0.05)  # until strace is attached to every process
        if tracing.poll() is not None:
            raise RuntimeError("strace ended: it must be installed, and allowed to trace these processes")
    try:
        yield path
    finally:
        tracing.terminate()
        tracing.wait()

"""CPU time of the processes of a platform, by group, from the kernel's own accounting."""

import psutil

_BACKGROUND = (
    "walwriter",
    "checkpointer",
    "background writer",
    "io worker",
    "autovacuum",
    "logical replication",
)


def groups_of(roots: list[int]) -> dict[int, str]:
    """Name the group of every process below the given ones: edge, worker, fork server, nats, postgres, background or other."""
    found: dict[int, str] = {}
    for root in roots:
        try:
            parent = psutil.Process(root)
            family = [parent, *parent.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        for process in family:
            try:
                found[process.pid] = _group(" ".join(process.cmdline()))
            except psutil.Error:
                continue
    return found


def _group(command: str) -> str:
    if "-m services" in command:
        return "edge"
    if "-m workers" in command:
        return "worker"
    if "broker.processes.fork_server" in command:
        return "fork server"
    if "nats-server" in command:
        return "nats"
    if command.startswith("postgres:"):
        return "background" if any(word in command for word in _BACKGROUND) else "postgres"
    return "postgres" if "postgres" in command.partition(" ")[0] else "other"


def spent(pids: dict[int, str]) -> dict[int, float]:
    """Give the CPU seconds each process has used, all threads, to the nanosecond where the kernel tells."""
    return {pid: _nanoseconds(pid) / 1e9 for pid in pids}


def _nanoseconds(pid: int) -> int:
    total = 0
    try:
        for thread in psutil.Process(pid).threads():
            with open(f"/proc/{pid}/task/{thread.id}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
    except (OSError, psutil.Error):
        return total
    return total


def difference(before: dict[int, float], after: dict[int, float], pids: dict[int, str]) -> dict[str, float]:
    """Give the CPU seconds by group between two readings; a process that has ended meanwhile counts as none."""
    used: dict[str, float] = {}
    for pid, group in pids.items():
        used[group] = used.get(group, 0.0) + max(0.0, after.get(pid, 0.0) - before.get(pid, 0.0))
    return used


def resident_mb(roots: list[int]) -> dict[str, float]:
    """Give the proportional memory of each group in MB (shared pages are counted once)."""
    sizes: dict[str, float] = {}
    for pid, group in groups_of(roots).items():
        try:
            sizes[group] = sizes.get(group, 0.0) + psutil.Process(pid).memory_full_info().pss / 2**20
        except psutil.Error:
            continue
    return sizes


def load() -> float:
    """Return the share of all cores that other programs use, over a second, from 0 to 1."""
    return psutil.cpu_percent(1.0) / 100

"""A control group (cgroup v2) for each process of a function: limits of memory, threads and processor share.

    delegated group                     enables its controllers for the groups below; holds no processes itself
      headwater.platform                the platform's own processes: moved here when the worker starts
      headwater.function-PID-ID         one process of a function; PID is the worker's

The rlimits of `confinement.py` count address space, and `processes/limits.py` samples `/proc` ten times a second. The kernel
itself kills a process whose memory is over `memory.max`, and does not swap any of it. A process enters its group between fork
and exec, before any code of the function runs. The files of the group belong to us and no Landlock rule allows them, so the
process cannot change its limits. If no group is delegated to us (`broker/processes/control_groups.py`) only the other limits apply.

A group that has processes itself cannot enable controllers for groups below it (cgroup v2's "no internal processes" rule).
That is why the platform's processes are moved into a group of their own first.
"""

import asyncio
import contextlib
import errno
import os
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from broker.processes.control_groups import (
    CONTROLLERS,
    Delegation,
    find_delegation,
    find_plain_delegation,
)

PLATFORM = "headwater.platform"
_FUNCTION = "headwater.function-"
_SPARE_MB = 128
"""Memory that the group counts and a sample of a process does not: pages of programs and files, page tables, socket buffers."""
_PLATFORM_WEIGHT, _FUNCTION_WEIGHT = 1000, 50
"""Weights when processor time is scarce: the platform's processes share one group, each process of a function has its own."""
_MOVES = 50
_REMOVALS, _PAUSE_S = 50, 0.02


class ControlGroup:
    """The group of one process: the child enters it; it is removed after the exit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes = os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)

    def enter(self) -> None:
        """Move the calling process into the group; runs in the child after the fork. Raises: OSError."""
        os.write(self._processes, b"0")

    def close(self) -> None:
        """Close the descriptor: no further process can enter."""
        if self._processes >= 0:
            os.close(self._processes)
            self._processes = -1

    def kills(self) -> int | None:
        """Return how many of its processes the kernel killed for lack of memory; None if that is not counted."""
        try:
            return parse_events((self.folder / "memory.events").read_text()).get("oom_kill")
        except OSError:
            return None

    def kill(self) -> None:
        """Kill all processes in the group (Linux 5.14 and later)."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1")

    def remove(self) -> bool:
        """Remove the group; return False while a process in it is still exiting."""
        self.close()
        self.kill()
        return _remove_folder(self.folder)

    async def remove_when_empty(self) -> None:
        """Remove the group; retry for a second. A group that remains is removed at the next start of a worker."""
        for _ in range(_REMOVALS):
            if self.remove():
                return
            await asyncio.sleep(_PAUSE_S)


class ControlGroups:
    """Creates groups below a group that is delegated to us."""

    def __init__(self, parent: Path, controllers: Collection[str]) -> None:
        self.parent = parent
        self.controllers = frozenset(controllers)

    def create(self, name: str, *, memory_mb: int, threads: int) -> ControlGroup:
        """Create the group of a process. Raises: OSError."""
        folder = self.parent / f"{_FUNCTION}{os.getpid()}-{name}"
        folder.mkdir()
        try:
            for file, value in limits_of_group(memory_mb, threads, self.controllers).items():
                _set(folder / file, value)
            return ControlGroup(folder)
        except BaseException:
            _remove_folder(folder)
            raise

    def sweep(self) -> None:
        """Remove the groups of workers that no longer run."""
        for folder in self.parent.glob(f"{_FUNCTION}*"):
            worker = folder.name.removeprefix(_FUNCTION).partition("-")[0]
            if worker.isdigit() and not Path(f"/proc/{worker}").exists():
                with contextlib.suppress(OSError):
                    (folder / "cgroup.kill").write_text("1")
                _remove_folder(folder)


def open_groups() -> tuple[ControlGroups | None, str]:
    """Return the control groups of this machine, and the reason why they limit nothing; empty if they do.

    Groups without controllers carry the wall of loopback alone (`loopback_wall.py`). Moves the platform's processes.
    """
    delegation, plain = find_delegation(), find_plain_delegation()
    if isinstance(plain, str):
        return None, plain
    without = ControlGroups(plain.folder, ())
    if isinstance(delegation, str):
        without.sweep()
        return without, delegation
    try:
        return prepare_groups(delegation), ""
    except OSError as error:
        return without, f"the control group {delegation.folder} cannot be prepared: {error.strerror}"


def prepare_groups(delegation: Delegation) -> ControlGroups:
    """Enable the controllers of a delegated group for groups below it. Raises: OSError."""
    if not delegation.holds_processes:
        _empty(delegation.folder)
    enabled = [
        name
        for name in CONTROLLERS
        if name in delegation.controllers and _is_enabled(delegation.folder, name)
    ]
    if CONTROLLERS[0] not in enabled:
        raise OSError(errno.EBUSY, "its memory controller cannot be enabled")
    if "cpu" in enabled and not delegation.holds_processes:
        _set(delegation.folder / PLATFORM / "cpu.weight", str(_PLATFORM_WEIGHT))
    groups = ControlGroups(delegation.folder, enabled)
    groups.sweep()
    return groups


def limits_of_group(memory_mb: int, threads: int, controllers: Collection[str]) -> Mapping[str, str]:
    """Return the files of a new group and their values (pure). `memory.oom.group`: the kernel kills all of it or nothing."""
    files: dict[str, str] = {}
    if "memory" in controllers:
        files |= {"memory.max": str((memory_mb + _SPARE_MB) * 1024 * 1024), "memory.oom.group": "1"}
        files["memory.swap.max"] = "0"
    if "pids" in controllers:
        files["pids.max"] = str(threads)
    if "cpu" in controllers:
        files["cpu.weight"] = str(_FUNCTION_WEIGHT)
    return files


def parse_events(text: str) -> dict[str, int]:
    """Parse the counters of a file like memory.events: a name and a number in each line (pure)."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _empty(folder: Path) -> None:
    """Move all processes of a group into the platform's group. Raises: OSError if one stays, or cannot be seen (pid 0)."""
    leaf = folder / PLATFORM
    leaf.mkdir(exist_ok=True)
    for _ in range(_MOVES):  # a process that forks meanwhile leaves its child here: repeat
        processes = (folder / "cgroup.procs").read_text().split()
        if not processes:
            return
        for process in processes:
            if process == "0":
                raise OSError(errno.EBUSY, "it has processes of another PID namespace")
            with contextlib.suppress(ProcessLookupError):
                _set(leaf / "cgroup.procs", process)
    raise OSError(errno.EBUSY, "its processes cannot be moved")


def _is_enabled(folder: Path, controller: str) -> bool:
    file = folder / "cgroup.subtree_control"
    with contextlib.suppress(OSError):
        if controller not in file.read_text().split():
            _set(file, f"+{controller}")
        return True
    return False


def _set(file: Path, value: str) -> None:
    """Write a value; skip a file that this kernel does not have (no swap, no such limit)."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _remove_folder(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def remove_blocking(group: ControlGroup) -> None:
    """Remove a group; blocks for a second at most."""
    for _ in range(_REMOVALS):
        if group.remove():
            return
        time.sleep(_PAUSE_S)

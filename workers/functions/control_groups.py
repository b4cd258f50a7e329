"""A control group (cgroup v2) for each process of a function: its memory, its threads and its share of the processors.

    delegated group                     enables its controllers for those below; holds no processes itself
      headwater.platform                the platform's own processes: moved here when the worker starts
      headwater.function-PID-ID         one process of a function; PID is the worker's

Beside the limits of `confine.py`, which count address space, and the look at `/proc` ten times a second (`limits.py`), the kernel
itself stops a process whose memory is beyond `memory.max`, and nothing of it is swapped. A process enters its group between
fork and exec, before anything of the function runs. The group belongs to us, and no rule of Landlock names it, so the process
cannot change its limits. Where no group is delegated to us (`broker/processes/control_groups.py`) the other limits hold alone.
"""

import asyncio
import contextlib
import errno
import os
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from broker.processes.control_groups import CONTROLLERS, Delegation, find_delegation

PLATFORM = "headwater.platform"
_FUNCTION = "headwater.function-"
_SPARE_MB = 128
"""Memory that the group counts and the look at a process does not: pages of programs and files, page tables, buffers of sockets."""
_PLATFORM_WEIGHT, _FUNCTION_WEIGHT = 1000, 50
"""Of processor time, where there is too little: the platform's processes share one group, and each of a function has one."""
_MOVES = 50
_REMOVALS, _PAUSE_S = 50, 0.02


class ControlGroup:
    """The group of one process: entered by the child, removed when it has ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes = os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)

    def enter(self) -> None:
        """Move the calling process into the group; runs in the child, behind the fork. Raises: OSError."""
        os.write(self._processes, b"0")

    def shut(self) -> None:
        """Let nothing more in."""
        if self._processes >= 0:
            os.close(self._processes)
            self._processes = -1

    def kills(self) -> int | None:
        """Return how many of its processes ended for lack of memory; None where that is not counted."""
        try:
            return parse_events((self.folder / "memory.events").read_text()).get("oom_kill")
        except OSError:
            return None

    def kill(self) -> None:
        """End what is in the group (Linux 5.14 and later)."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1")

    def remove(self) -> bool:
        """Remove the group; return False while a process in it is still ending."""
        self.shut()
        self.kill()
        return _is_removed(self.folder)

    async def removed(self) -> None:
        """Remove the group; one whose processes do not end soon is left to the next start of a worker."""
        for _ in range(_REMOVALS):
            if self.remove():
                return
            await asyncio.sleep(_PAUSE_S)


class ControlGroups:
    """Creates groups below one that is ours."""

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
            _is_removed(folder)
            raise

    def sweep(self) -> None:
        """Remove the groups of workers that are gone."""
        for folder in self.parent.glob(f"{_FUNCTION}*"):
            worker = folder.name.removeprefix(_FUNCTION).partition("-")[0]
            if worker.isdigit() and not Path(f"/proc/{worker}").exists():
                with contextlib.suppress(OSError):
                    (folder / "cgroup.kill").write_text("1")
                _is_removed(folder)


def open_groups() -> ControlGroups | str:
    """Return the groups of this machine, ready to be used, or why there are none. Moves the platform's processes."""
    found = find_delegation()
    if isinstance(found, str):
        return found
    try:
        return prepare_groups(found)
    except OSError as error:
        return f"the control group {found.folder} cannot be prepared: {error.strerror}"


def prepare_groups(found: Delegation) -> ControlGroups:
    """Enable the controllers of a delegated group for groups below it. Raises: OSError."""
    if not found.holds_processes:
        _empty(found.folder)
    enabled = [name for name in CONTROLLERS if name in found.controllers and _is_enabled(found.folder, name)]
    if CONTROLLERS[0] not in enabled:
        raise OSError(errno.EBUSY, "its memory controller cannot be enabled")
    if "cpu" in enabled and not found.holds_processes:
        _set(found.folder / PLATFORM / "cpu.weight", str(_PLATFORM_WEIGHT))
    groups = ControlGroups(found.folder, enabled)
    groups.sweep()
    return groups


def limits_of_group(memory_mb: int, threads: int, controllers: Collection[str]) -> Mapping[str, str]:
    """Return what is written into which file of a new group (pure). `memory.oom.group`: all of it ends, never a part."""
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
    """Return the counters of a file like memory.events: a name and a number in each line (pure)."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _empty(folder: Path) -> None:
    """Move all processes of a group into the platform's. Raises: OSError if one stays, or is out of our sight (0)."""
    leaf = folder / PLATFORM
    leaf.mkdir(exist_ok=True)
    for _ in range(_MOVES):  # a process that forks meanwhile leaves its child here
        processes = (folder / "cgroup.procs").read_text().split()
        if not processes:
            return
        for process in processes:
            if process == "0":
                raise OSError(errno.EBUSY, "it has processes that cannot be seen from here")
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
    """Write a value; a file that this kernel does not have (no swap, no such limit) is none to write."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _is_removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def wait_removed(group: ControlGroup) -> None:
    """Remove a group; blocks, a second at most."""
    for _ in range(_REMOVALS):
        if group.remove():
            return
        time.sleep(_PAUSE_S)

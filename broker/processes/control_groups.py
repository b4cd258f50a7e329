"""Find out where this process may create control groups (cgroup v2): used by the functions pool and by `doctor`.

A control group counts memory, threads and processor time of all its processes together, and the kernel enforces its
limits. A process may create groups only below one that was handed to it ("delegated"):

    /                        the root of the whole hierarchy, for root on a machine without an init system that manages it
    a container's own root   where the container may write /sys/fs/cgroup
    a systemd service        with `Delegate=yes`: systemd marks its group with the attribute `user.delegate` or `trusted.delegate`
    the group above          where `DelegateSubgroup=`, or the functions worker, put the platform's processes into one below

Any other group belongs to the program that created it, even if its files are writable: systemd expects to be its only
writer. A group with controllers for its children cannot contain processes itself ("no internal processes"), except
for the root. Source: Linux kernel documentation, "Control Group v2"; systemd, "Control Group APIs and Delegation".
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

CONTROLLERS = ("memory", "pids", "cpu")
"""The controllers that are used. The first is required."""
_DELEGATED = ("user.delegate", "trusted.delegate")
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class GroupMount:
    """A mount of the hierarchy. `root`: the group at its top; `point`: the folder where it is mounted."""

    root: str
    point: str


@dataclass(frozen=True, slots=True)
class GroupState:
    """The state of one control group. `is_top`: the root of the hierarchy; `is_edge`: the top of the visible mount."""

    folder: Path
    controllers: frozenset[str] = frozenset()
    is_writable: bool = False
    is_top: bool = False
    is_edge: bool = False
    is_delegated: bool = False


@dataclass(frozen=True, slots=True)
class Delegation:
    """The group below which groups may be created. `holds_processes`: its own processes may stay in it."""

    folder: Path
    controllers: frozenset[str]
    holds_processes: bool


def find_delegation(process: int | str = "self") -> Delegation | str:
    """Return the group below which a process may create groups with limits, or the reason why it cannot."""
    states = _read_states(process)
    return states if isinstance(states, str) else choose_delegation(*states)


def find_plain_delegation(process: int | str = "self") -> Delegation | str:
    """Return the group below which a process may create groups, limits or not, or the reason why it cannot."""
    states = _read_states(process)
    return states if isinstance(states, str) else choose_plain_delegation(*states)


def group_path(text: str) -> str | None:
    """Return the path of a process in the hierarchy of cgroup v2, from /proc/PID/cgroup (pure)."""
    return next((line[3:] for line in text.splitlines() if line.startswith("0::/")), None)


def read_mounts(text: str) -> list[GroupMount]:
    """Return the mounts of cgroup v2 from /proc/PID/mountinfo (pure). Spaces in its fields are written in octal."""
    mounts = []
    for line in text.splitlines():
        fields, _, rest = line.partition(" - ")
        words = fields.split(" ")
        if rest.split(" ")[0] == "cgroup2" and len(words) > 4:
            mounts.append(GroupMount(_unescape(words[3]), _unescape(words[4])))
    return mounts


def locate_group(path: str, mounts: list[GroupMount]) -> tuple[Path, Path] | None:
    """Return the folders of a group and of its mount; None if no mount contains the group (pure)."""
    for mount in mounts:
        if path == mount.root or path.startswith(mount.root.rstrip("/") + "/"):
            below = os.path.relpath(path, mount.root)
            point = Path(mount.point)
            return (point if below == "." else point / below), point
    return None


def choose_delegation(current: GroupState, above: GroupState | None) -> Delegation | str:
    """Return the group below which a process of `current` may create groups with limits, or the reason why it cannot (pure)."""
    chosen = choose_plain_delegation(current, above)
    if isinstance(chosen, Delegation) and CONTROLLERS[0] not in chosen.controllers:
        return f"the control group {chosen.folder} has no memory controller (cgroup v1 may have it)"
    return chosen


def choose_plain_delegation(current: GroupState, above: GroupState | None) -> Delegation | str:
    """Return the group below which a process of `current` may create groups, or the reason why it cannot (pure)."""
    if current.is_top or current.is_edge or current.is_delegated:
        chosen = current
    elif above is not None and not above.is_top and (above.is_edge or above.is_delegated):
        chosen = above
    else:
        return f"the control group {current.folder} is not delegated (systemd: Delegate=yes)"
    if not chosen.is_writable:
        return f"the control group {chosen.folder} cannot be written"
    return Delegation(chosen.folder, chosen.controllers.intersection(CONTROLLERS), chosen.is_top)


def _read_states(process: int | str) -> tuple[GroupState, GroupState | None] | str:
    """Return the states of a process's group and of the one above it, or why they cannot be read."""
    try:
        membership = Path(f"/proc/{process}/cgroup").read_text()
        mounts = read_mounts(Path(f"/proc/{process}/mountinfo").read_text())
    except OSError:
        return "this system has no control groups"
    path = group_path(membership)
    location = None if path is None else locate_group(path, mounts)
    if location is None:
        return "cgroup v2 is not mounted"
    folder, edge = location
    above = _read_group(folder.parent, edge) if folder != edge else None
    return _read_group(folder, edge), above


def _read_group(folder: Path, edge: Path) -> GroupState:
    is_top = not (folder / "cgroup.events").exists()  # only the root of the hierarchy lacks it
    try:
        controllers = frozenset((folder / "cgroup.controllers").read_text().split())
    except OSError:
        controllers = frozenset()
    files = (folder, folder / "cgroup.procs", folder / "cgroup.subtree_control")
    return GroupState(
        folder,
        controllers,
        all(os.access(file, os.W_OK) for file in files),
        is_top,
        folder == edge and not is_top,
        any(_attribute(folder, name) == b"1" for name in _DELEGATED),
    )


def _attribute(folder: Path, name: str) -> bytes:
    try:
        return os.getxattr(folder, name) if hasattr(os, "getxattr") else b""
    except OSError:
        return b""


def _unescape(field: str) -> str:
    return _ESCAPE.sub(lambda octal: chr(int(octal[1], 8)), field)

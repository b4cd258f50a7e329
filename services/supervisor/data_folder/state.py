"""The state file: what runs in a data folder now. The supervisor writes it, the other commands read it."""

import contextlib
import time

import msgspec
from msgspec import Struct

from services.supervisor.data_folder.folder import DataFolder, is_locked, write_private


class ChildState(Struct, frozen=True):
    """One child: `status` is starting, running, silent, restarting, done or stopped; `since` counts seconds since 1970.

    A silent child runs and gives no sign of life. `faults` are the parts that do not work by its own account, and why.
    """

    name: str
    status: str
    pid: int | None = None
    born: str | None = None
    restarts: int = 0
    since: float = 0.0
    faults: dict[str, str] = {}


class State(Struct, frozen=True):
    """One running platform. `values` holds its addresses and keys under the names that `status` shows."""

    version: str
    pid: int
    status: str
    started: float
    data: str
    project: str
    config: str | None
    ports: dict[str, int]
    values: dict[str, str]
    children: list[ChildState]


def write_state(folder: DataFolder, state: State) -> None:
    """Write the state file; only its owner can read it. A full disk leaves the old one."""
    with contextlib.suppress(OSError):
        write_private(folder.state, msgspec.json.encode(state))


def read_state(folder: DataFolder) -> State | None:
    """Give what the state file says, whether or not it still runs."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(folder.state.read_bytes(), type=State)
    return None


def running_state(folder: DataFolder) -> State | None:
    """Give the state of the platform that runs in this folder; None if none does."""
    return read_state(folder) if is_locked(folder.lock) else None


def forget_state(folder: DataFolder) -> None:
    """Remove the state file after a clean stop."""
    folder.state.unlink(missing_ok=True)


def uptime(child: ChildState) -> float:
    """Give for how many seconds a child has been in its present status."""
    return max(0.0, time.time() - child.since)

"""The state file: what runs in a data folder now. The supervisor writes it, the other commands read it."""

import contextlib
import time

import msgspec
from msgspec import Struct

from services.supervisor.data_folder.folder import DataFolder, is_locked, write_private


class ChildState(Struct, frozen=True):
    """State of one child: `status` is starting, running, silent, restarting, done or stopped; `since` is seconds since 1970.

    A silent child runs but gives no sign of life. `faults` are the parts that do not work by the child's own report, with reasons.
    """

    name: str
    status: str
    pid: int | None = None
    born: str | None = None
    restarts: int = 0
    since: float = 0.0
    faults: dict[str, str] = {}


class PlatformState(Struct, frozen=True):
    """State of one running platform. `values` are its addresses and keys under the names that `status` shows."""

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
    options: dict[str, str] = {}
    """Settings that options of `headwater start` made and other commands need, by their environment names."""


def write_state(folder: DataFolder, state: PlatformState) -> None:
    """Write the state file; only its owner can read it. A full disk leaves the old one."""
    with contextlib.suppress(OSError):
        write_private(folder.state, msgspec.json.encode(state))


def read_state(folder: DataFolder) -> PlatformState | None:
    """Return the content of the state file, whether or not the platform still runs."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(folder.state.read_bytes(), type=PlatformState)
    return None


def running_state(folder: DataFolder) -> PlatformState | None:
    """Return the state of the platform that runs in this folder, or None."""
    return read_state(folder) if is_locked(folder.lock) else None


def remove_state(folder: DataFolder) -> None:
    """Remove the state file after a clean stop."""
    folder.state.unlink(missing_ok=True)


def uptime(child: ChildState) -> float:
    """Return the seconds since a child entered its present status."""
    return max(0.0, time.time() - child.since)

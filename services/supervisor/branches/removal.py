"""Removes branches: the one that is named, and those whose time is over."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from services.supervisor.branches.drafts import remove_folder, set_aside
from services.supervisor.branches.names import branches_folder
from services.supervisor.branches.record import read_record
from services.supervisor.data_folder.folder import DataFolder, is_locked, lock_folder
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import StartFailed, SupervisorError
from services.supervisor.report import Reporter

_STOP_S, _PAUSE_S = 90.0, 0.05
_LOOK_S = 60.0


def remove_branch(folder: DataFolder) -> None:
    """Stop a branch, if it runs, and remove it. Raises: SupervisorError; then it is there as it was."""
    _stop(folder)
    lock = lock_folder(folder)
    try:
        aside = set_aside(folder)
        remove_folder(aside)
    finally:
        os.close(lock)


def remove_expired(parent: DataFolder, report: Reporter, now: float) -> None:
    """Remove the branches whose time is over at `now`, in seconds since 1970; what fails is reported."""
    for path in sorted(branches_folder(parent).glob("[a-z0-9]*")):
        try:
            record = read_record(path)
            if record is None or not record.remove_at or record.remove_at > now:
                continue
            remove_branch(DataFolder(path))
            report.info(f"Removed the branch {path.name}, whose time was over")
        except (SupervisorError, OSError) as error:
            report.warn(f"The branch {path.name} could not be removed: {error}")


@dataclass(slots=True)
class BranchExpiry:
    """Removes a running platform's branches when their time is over. Runs until it is cancelled."""

    parent: DataFolder
    report: Reporter
    clock: Callable[[], float] = time.time
    pause_s: float = _LOOK_S

    async def run(self) -> None:
        """Look once a minute."""
        while True:
            await asyncio.to_thread(remove_expired, self.parent, self.report, self.clock())
            await asyncio.sleep(self.pause_s)


def _stop(folder: DataFolder) -> None:
    """Stop the platform of a branch, if it runs. Raises: StartFailed."""
    state = running_state(folder)
    if state is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(state.pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_S
    while is_locked(folder.lock):
        if time.monotonic() > deadline:
            raise StartFailed(
                f"The branch still runs after {_STOP_S:.0f} s (process {state.pid}). Nothing was deleted."
            )
        time.sleep(_PAUSE_S)  # between two looks at the lock

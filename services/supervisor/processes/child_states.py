"""States of the children of one platform, reported whenever one changes."""

import time
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from schemas.faults import Fault
from services.supervisor.data_folder.state import ChildState
from services.supervisor.processes.child import Child


class ChildStates:
    """The state of the platform and of each child. `on_change` gets all of them after every change."""

    def __init__(self, names: Iterable[str], on_change: Callable[[str, list[ChildState]], None]) -> None:
        self._status = "starting"
        self._states = {name: ChildState(name, "waiting") for name in names}
        self._on_change = on_change

    def __getitem__(self, child: Child) -> ChildState:
        return self._states[child.process.name]

    def set_platform(self, status: str) -> None:
        """Set the status of the whole platform."""
        self._status = status
        self._on_change(status, list(self._states.values()))

    def set(
        self, child: Child, status: str, *, restarts: int | None = None, since: float | None = None
    ) -> None:
        """Set the status of a child, with the process it has now. `since` is the present time by default."""
        before, is_running = self[child], child.is_running
        self._states[child.process.name] = ChildState(
            name=before.name,
            status=status,
            pid=child.pid if is_running else None,
            born=child.born if is_running else None,
            restarts=before.restarts if restarts is None else restarts,
            since=time.time() if since is None else since,
            faults=before.faults if is_running else {},
        )
        self.set_platform(self._status)

    def set_process(self, child: Child) -> None:
        """Record the new process of a child at once: if the supervisor is killed, the next start finds and stops it."""
        self.set(child, self[child].status)

    def set_faults(self, child: Child, reported: list[Fault]) -> None:
        """Set the faults of a child, if they are others than before."""
        faults = {fault.part: fault.reason for fault in reported} if child.is_running else {}
        if faults != self[child].faults:
            self._states[child.process.name] = replace(self[child], faults=faults)
            self.set_platform(self._status)

"""The platform of a project as the server of projects handles it: start it, ask whether it runs, stop it.

The platform is a process of its own session with a supervisor of its own, so it outlives the server of projects: one that was killed finds
its platforms again, by the locks of their data folders and their states.
"""

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Mapping
from pathlib import Path

from schemas.settings.environment import is_setting
from schemas.settings.reading import USUAL_NAMES
from services.projects.model import ProjectRecord
from services.projects.platform_start import PlatformTask
from services.projects.registry import data_folder_of
from services.projects.starter import PlatformStarter
from services.supervisor.branches.listing import disk_use
from services.supervisor.data_folder.folder import DataFolder, is_locked
from services.supervisor.data_folder.state import PlatformState, running_state
from services.supervisor.errors import StartFailed, StartRefused

_START_S, _STOP_S, _SETTLE_S = 300.0, 120.0, 60.0
_PAUSE_S = 0.05
_LONGEST_REASON = 2000
_NEXT_DUE = "next-due.json"


class PlatformProcess:
    """The platform of one project; `url` is its public address."""

    def __init__(self, record: ProjectRecord, url: str, starter: PlatformStarter | None = None) -> None:
        self.record, self.url = record, url
        self._starter = starter or PlatformStarter()
        self.data: DataFolder = data_folder_of(record)

    @property
    def next_due_file(self) -> Path:
        """File in which the platform's scheduler writes when it is due next."""
        return self.data.path / _NEXT_DUE

    def is_running(self) -> bool:
        """Return whether a process holds the lock of the data folder."""
        return is_locked(self.data.lock)

    def port(self) -> int | None:
        """Return the port of the platform that runs under the public address of now, or None."""
        state = self._state()
        return state.ports.get("api") or None if state is not None and self._is_ours(state) else None

    async def start(self) -> int:
        """Start the platform, or find it running; return the port of its gateway. Raises: StartFailed, StartRefused."""
        await self._settled()
        if (port := self.port()) is not None:
            return port
        if (state := self._state()) is not None and not self._is_ours(state):
            raise StartRefused(
                f"The platform runs already, but not for this server: its address is {state.values.get('API_URL', 'unknown')}. "
                f"Stop it with `headwater stop --data {shlex.quote(str(self.data.path))}`."
            )
        self.next_due_file.unlink(missing_ok=True)
        task = PlatformTask(self.record.folder, str(self.data.path), self.url)
        environment = platform_environment(os.environ) | {"HEADWATER_NEXT_DUE_FILE": str(self.next_due_file)}
        try:
            async with asyncio.timeout(_START_S):
                code, errors = await self._starter.start(task, environment)
        except TimeoutError:
            await self.stop()
            raise StartFailed(f"The platform did not start in {_START_S:.0f} s.") from None
        if code != 0:
            raise StartFailed(errors.strip()[-_LONGEST_REASON:] or f"The start ended with code {code}.")
        port = self.port()
        if port is None:
            raise StartFailed("The platform ended as soon as it was ready, or has no gateway.")
        return port

    async def _settled(self) -> None:
        """Wait while a platform in the data folder starts or stops: a server that was killed may have left it so."""
        deadline = asyncio.get_running_loop().time() + _SETTLE_S
        while self.is_running() and self._state() is None:
            if asyncio.get_running_loop().time() > deadline:
                return
            await asyncio.sleep(_PAUSE_S)

    async def stop(self) -> None:
        """Stop the platform and wait until it has ended. Raises: StartFailed if it does not end."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _STOP_S
        pid = self._pid()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        while self.is_running():
            if loop.time() > deadline:
                raise StartFailed(f"The platform (process {pid}) still runs after {_STOP_S:.0f} s.")
            await asyncio.sleep(_PAUSE_S)

    def size_mib(self) -> int:
        """Return what the files of the data folder take on the disk, the database's home included; this reads every folder."""
        return sum(disk_use(self.data)) // (1024 * 1024)

    def state(self) -> PlatformState | None:
        """Return the state of the running platform, or None."""
        return self._state()

    def _state(self) -> PlatformState | None:
        state = running_state(self.data)
        return state if state is not None and state.status == "running" else None

    def _is_ours(self, state: PlatformState) -> bool:
        return state.values.get("API_URL") == self.url

    def _pid(self) -> int | None:
        """Return the process that holds the lock."""
        if not self.is_running():
            return None
        with contextlib.suppress(OSError, ValueError):
            return int(self.data.lock.read_text())
        return None


def platform_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a platform (pure): without settings, or all projects would share the keys and ports of the server's."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith("HEADWATER_") and not is_setting(name) and name not in USUAL_NAMES
    }

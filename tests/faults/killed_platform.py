"""A platform of which everything is killed at once, and which is started again from what it left."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil

from tests.platform import Platform, free_port, headwater, state_of

_PATIENCE_S = 90
_POLL_S = 0.002


class KilledPlatform:
    """A data folder and a project; `start` begins in it, `kill_all` ends every process of it by SIGKILL."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder, self.data, self.port = folder, folder / "data", free_port()
        self._environment = environment

    @property
    def words(self) -> list[str]:
        """Options that name this platform and its port."""
        return ["--data", str(self.data), "--project", str(self.folder), "--port", str(self.port)]

    def start(self) -> Platform:
        """Start it whole; a start that fails fails the test."""
        started = headwater("start", "--detach", *self.words, environment=self._environment)
        assert started.returncode == 0, f"{started.stdout}\n{started.stderr}\n{self.log('supervisor')}"
        return Platform(self.data, self.port, *state_of(self.data))

    def start_and_kill(self, condition: Callable[[], bool], *, with_children: bool = True) -> bool:
        """Start it, and kill it as soon as a condition holds; return whether that was before the start was done.

        All its processes are killed, or the supervisor alone.
        """
        with (self.folder / "start.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "services.cli.main", "start", *self.words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **self._environment},
            )  # fmt: skip
        deadline = time.monotonic() + _PATIENCE_S
        is_due = False
        while not (is_due := condition()) and process.poll() is None and not self.is_running():
            assert time.monotonic() < deadline, "the start came to no end"
            time.sleep(_POLL_S)
        if with_children:
            kill_tree(process.pid)
        else:
            process.kill()
        process.wait()
        return is_due

    def is_running(self) -> bool:
        """Return whether the start is done."""
        with contextlib.suppress(OSError, ValueError):
            return bool(json.loads((self.data / "state.json").read_text())["status"] == "running")
        return False

    def kill_all(self, platform: Platform) -> None:
        """Kill the supervisor with all its children."""
        kill_tree(platform.pid)

    def log(self, name: str) -> str:
        """Return what a part has logged."""
        with contextlib.suppress(OSError):
            return (self.data / "logs" / f"{name}.log").read_text(errors="replace")
        return ""


def kill_tree(pid: int) -> None:
    """Kill a process with all below it: each is stopped first, so that none can start another one meanwhile."""
    victims: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        pending = [psutil.Process(pid)]
        while pending:
            process = pending.pop()
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
                victims.append(process)
                pending += process.children()
    for process in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs([each for each in victims if each.pid != pid], timeout=10)


@contextlib.contextmanager
def killed_platform(environment: Mapping[str, str] | None = None) -> Iterator[KilledPlatform]:
    """Yield a platform that has not been started yet; stop what runs of it and remove its folder."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-killed-"))
    folder.chmod(0o711)
    try:
        yield KilledPlatform(folder, environment or {})
    finally:
        headwater("stop", "--data", str(folder / "data"))
        shutil.rmtree(folder, ignore_errors=True)

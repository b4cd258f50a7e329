"""Build the dashboard of a clone in the background, once the platform answers: a release contains it built.

The build (`scripts/dashboard`) takes npm packages from the network and one core for some seconds, which would be most of the time of
a first start. Until it is done the gateway answers with a page that says so and reloads itself (services/dashboard/files.py).
"""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from services.supervisor.processes.log_files import LogFile, reason_in
from services.supervisor.report import Reporter

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = Path("services", "dashboard")
_LEFT_OUT = ("node_modules", "generated")
_LOCK = ".lock"
_NICE = 10
_PRIVATE = ("HEADWATER_", "GOTRUE_")
"""Beginnings of the variables of settings, which may be secrets: packages of others take part in a build."""


class DashboardBuild:
    """The build of one clone's dashboard; `root` is the clone."""

    def __init__(self, root: Path = _ROOT) -> None:
        self._script = root / "scripts" / "dashboard"
        self._web, self._page = root / _FOLDER / "web", root / _FOLDER / "static" / "index.html"

    def is_due(self) -> bool:
        """Return whether these are sources that this user may build, and a source is newer than what was built of them."""
        if not self._script.is_file() or not os.access(self._web, os.W_OK):
            return False
        try:
            built = self._page.stat().st_mtime_ns
        except OSError:
            return True
        return any(
            path.lstat().st_mtime_ns > built for path in self._sources()
        )  # an editor's lock is a link to nothing

    async def run(self, report: Reporter, log_path: Path) -> None:
        """Build; report how long it took, or why there is no dashboard. A cancelled build ends its processes."""
        began, log = time.monotonic(), LogFile(log_path)
        report.info("Dashboard: being built in the background, as this is a clone")
        try:
            is_built = await self._build(log)
        finally:
            log.close()
        if is_built:
            report.info(f"Dashboard: built after {time.monotonic() - began:.1f} s")
        else:
            report.warn(
                f"The dashboard is not built: {reason_in(log.tail)}. `make dashboard` tries again; {log_path} tells more."
            )

    async def _build(self, log: LogFile) -> bool:
        """Run the script; return whether it succeeded."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(self._script),
            env={name: text for name, text in os.environ.items() if not name.startswith(_PRIVATE)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,  # a group of its own, which a cancelled build ends
        )  # fmt: skip
        try:
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PGRP, process.pid, _NICE)
            output, _ = await process.communicate()
            log.write(output)
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(
                        process.pid, signal.SIGKILL
                    )  # a build leaves nothing behind but folders that the next one ignores
                await process.communicate()
        return process.returncode == 0

    def _sources(self) -> Iterator[Path]:
        """Yield the files that are built; `make` compares the same ones (DASHBOARD_SOURCES)."""
        for folder, folders, files in os.walk(self._web):
            folders[:] = [name for name in folders if name not in _LEFT_OUT]
            yield from (Path(folder, name) for name in files if name != _LOCK)

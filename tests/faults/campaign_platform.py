"""The platform of a campaign: on a disk of its own where that can be mounted, so that the disk can be full."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from tests.faults.events_out import LAKE, STEPS_FUNCTION
from tests.faults.jobs import Receivers
from tests.platform import Platform, free_port, headwater

DISK_BYTES = 2 * 1024**3
_START_S = 120.0
_ECHO = "Deno.serve(async (req) => new Response(await req.text(), { headers: { 'content-type': 'application/json' } }));"
_WORK = "Deno.serve(async (req) => { await req.json(); return new Response(); });"
_CONFIG = """
[db.settings]
max_wal_size = "256MB"
"""
"""The log must not fill the disk by itself."""
_UNLIMITED = {
    "HEADWATER_AUTH_RATE_LIMIT_EMAIL_SENT": "1000000",
    "HEADWATER_AUTH_RATE_LIMIT_SIGN_IN_SIGN_UPS": "1000000",
    "HEADWATER_AUTH_EMAIL_MAX_FREQUENCY": "0s",
}
"""Limits that the traffic of one address would reach."""


class CampaignPlatform:
    """A platform that can be started again after its supervisor was killed."""

    def __init__(self, folder: Path, disk: Path | None, environment: Mapping[str, str]) -> None:
        self.folder, self.disk = folder, disk
        self.data = (disk or folder) / "data"
        self._environment = environment
        self._port = free_port()
        self.platform: Platform

    async def start(self) -> int:
        """Start it, again and again if need be; return how many attempts it took."""
        deadline, attempts = time.monotonic() + _START_S, 0
        while True:
            attempts += 1
            started = await asyncio.to_thread(
                headwater, "start", "--detach", "--data", str(self.data), "--project", str(self.folder),
                "--port", str(self._port), environment=self._environment,
            )  # fmt: skip
            if started.returncode == 0:
                break
            if time.monotonic() > deadline:
                raise AssertionError(f"the platform does not start:\n{started.stdout}\n{started.stderr}")
            await asyncio.sleep(0.5)
        values = json.loads(
            (await asyncio.to_thread(headwater, "status", "-o", "json", "--data", str(self.data))).stdout
        )
        self.platform = Platform(self.data, self._port, int(self.state()["pid"]), values)
        return attempts

    def state(self) -> dict[str, object]:
        """Return what the supervisor wrote down last."""
        return dict(json.loads((self.data / "state.json").read_text()))

    def pids(self) -> dict[str, int]:
        """Return the processes that run now, by name."""
        children = self.state()["children"]
        assert isinstance(children, list)
        return {child["name"]: int(child["pid"]) for child in children if child["pid"]}

    @property
    def superuser_url(self) -> str:
        """URL of the embedded database for its superuser: only a fault needs it."""
        password = json.loads((self.data / "passwords.json").read_text())["database"]
        parts = urlsplit(self.platform.values["DB_URL"])
        place = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"supabase_admin:{password}@{place}"))


@contextlib.asynccontextmanager
async def running_platform(
    receivers: Receivers, logs: Path | None = None, environment: Mapping[str, str] | None = None
) -> AsyncIterator[CampaignPlatform]:
    """Start the platform of a campaign with its schema, and remove it at the end; its logs are copied to `logs`."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-faults-"))
    folder.chmod(0o755)  # the system user of the database passes through it
    disk = _mounted(folder / "disk")
    _write_project(folder)
    place = CampaignPlatform(folder, disk, {**_UNLIMITED, **receivers.environment, **(environment or {})})
    try:
        await place.start()
        await asyncio.to_thread(_prepare, place.platform, receivers)
        yield place
    finally:
        await asyncio.to_thread(headwater, "stop", "--data", str(place.data))
        if logs is not None:
            shutil.copytree(place.data / "logs", logs, dirs_exist_ok=True)
        if disk is not None:
            subprocess.run(["umount", "--lazy", str(disk)], check=False)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(LAKE, ignore_errors=True)


def _mounted(path: Path) -> Path | None:
    """Mount a disk in memory; return None where that is not allowed."""
    path.mkdir()
    if os.geteuid() != 0:
        return None
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=755", "tmpfs", str(path)]
    return path if subprocess.run(command, check=False, capture_output=True).returncode == 0 else None


def resize(disk: Path, size: int) -> None:
    """Give a mounted disk another size; the size of what is on it leaves no room."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=False, capture_output=True)


def _write_project(folder: Path) -> None:
    echo = folder / "supabase" / "functions" / "echo"
    echo.mkdir(parents=True)
    (echo / "index.ts").write_text(_ECHO)
    work = folder / "supabase" / "functions" / "work"
    work.mkdir()
    (work / "index.ts").write_text(_WORK)
    steps = folder / "supabase" / "functions" / "steps"
    steps.mkdir()
    (steps / "index.ts").write_text(STEPS_FUNCTION)
    (folder / "supabase" / "config.toml").write_text(_CONFIG)


def _prepare(platform: Platform, receivers: Receivers) -> None:
    done = platform.command("psql", "-f", str(Path(__file__).with_name("schema.sql")))
    assert done.returncode == 0, done.stderr
    platform.psql(receivers.trigger)
    platform.wait_for_catalog("marks")
    deadline = time.monotonic() + _START_S
    while platform.get("/rest/v1/rpc/take_marks")[0] == 404 or platform.get("/functions/v1/echo")[0] != 200:
        assert time.monotonic() < deadline, "functions did not come up"
        time.sleep(0.1)

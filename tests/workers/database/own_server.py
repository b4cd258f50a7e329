"""A Postgres server of a test's own: one that may be killed, started again and set up with TLS."""

import asyncio
import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from services.supervisor.binaries import reachable_postgres
from services.supervisor.postgres.system_user import run_as, server_user
from tests.fast import skip_in_fast_run
from tests.ports import free_port
from tests.workers.database.server import OUTSIDE, new_cluster

_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
}


class OwnServer:
    """One server with superuser `tester`, password `tester`. It keeps its port and data over restarts."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self._user = server_user(lambda _: None)
        self._programs = OUTSIDE or reachable_postgres(self._user, lambda _: None)
        self.folder = folder
        self.settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def url(self) -> str:
        return f"postgresql://tester:tester@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        """Make the cluster."""
        self.give(self.folder)
        with tempfile.TemporaryDirectory() as place:
            Path(place).chmod(0o711)
            secret = Path(place) / "password"
            secret.write_text("tester")
            self.give(secret)
            options = ["--pwfile", str(secret), "--auth", "scram-sha-256"]
            new_cluster(self.data, self._programs, self._user, "tester", options, name="tester")

    def give(self, path: Path) -> None:
        """Make the server's user the owner of a file, readable for it alone."""
        path.chmod(0o700 if path.is_dir() else 0o600)
        if self._user is not None:
            shutil.chown(path, self._user.uid, self._user.gid)

    async def start(self) -> None:
        """Start it and wait until it takes connections."""
        settings = {**_SETTINGS, **self.settings, "port": str(self.port)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._process = subprocess.Popen(
            [str(self._programs / "postgres"), "-D", str(self.data), *options],
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **run_as(self._user),
        )
        async with asyncio.timeout(30):
            while not self._is_ready():
                assert self._process.poll() is None, "the server ended"
                await asyncio.sleep(0.02)

    def stop(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.send_signal(3)  # SIGQUIT: an immediate shutdown, which takes its children along
            self._process.wait(30)
            self._process = None

    def _is_ready(self) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        assert self._process is not None
        return len(lines) > 7 and lines[0] == str(self._process.pid) and lines[7].strip() == "ready"


@contextlib.asynccontextmanager
async def own_server(**settings: str) -> AsyncIterator[OwnServer]:
    """Give a running server; it is gone at the end, and so are its data."""
    skip_in_fast_run("database server of a module's own")
    async with shared_server(**settings) as server:
        yield server


@contextlib.asynccontextmanager
async def shared_server(**settings: str) -> AsyncIterator[OwnServer]:
    """Give the running server of the whole run, which fast runs have as well."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-postgres-"))
    server = OwnServer(folder, settings)
    try:
        server.make()
        await server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)

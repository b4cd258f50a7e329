"""A Postgres server as the platform runs it: superuser `supabase_admin`, logical replication, our extension folder.

The superuser comes in without a password; every other role needs its own, so passwords are truly tried. What the
server logs is kept for tests that look for secrets in it. `TEST_POSTGRES` names the folder of the programs
of another Postgres (>= 15): `temporary_server`, `own_server` and `tests.platform.platform` then run that one instead of
the embedded one (`make test-postgres`).
"""

import asyncio
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import msgspec

from schemas.settings.tree import Settings
from services.supervisor.binaries import find_postgres, reachable_postgres
from services.supervisor.postgres.extensions import extension_files
from services.supervisor.postgres.system_user import ServerUser, run_as, server_user
from services.supervisor.postgres.vault_key import ensure_vault_key
from tests.fast import skip_in_fast_run
from tests.ports import free_port
from tests.prepared import copy_prepared
from workers.database.migrations.migrate import migrate

OUTSIDE = Path(os.environ["TEST_POSTGRES"]) if "TEST_POSTGRES" in os.environ else None
"""Folder of the programs of an outside Postgres; unset: there is none to test with."""
SESSION_ENDED = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""What a query in a session raises that the server has ended. asyncpg raises the third when it reads the end while it sends."""
TRUSTING = msgspec.structs.replace(
    Settings(), db=msgspec.structs.replace(Settings().db, trusted_project=True)
)
"""The default settings, for a server of any version."""

_START_S = 60
_ACCESS = """\
local all {superuser} trust
host all {superuser} 127.0.0.1/32 trust
local all all scram-sha-256
host all all 127.0.0.1/32 scram-sha-256
"""
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "wal_level": "logical",
    "max_replication_slots": "10",
    "max_wal_senders": "10",
}


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    folder: Path
    port: int
    superuser: str
    process: subprocess.Popen[bytes]

    def url(self, role: str | None = None, password: str = "", database: str = "postgres") -> str:
        """Give the URL of a database as a role; without one, as the superuser."""
        login = quote(role or self.superuser) + (f":{quote(password, safe='')}" if password else "")
        return f"postgresql://{login}@127.0.0.1:{self.port}/{quote(database)}"

    def log(self) -> str:
        """Give what the server has logged."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """End the server at once and remove its folder."""
        self.process.send_signal(signal.SIGQUIT)  # an immediate shutdown takes the server's children along
        self.process.wait(_START_S)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def temporary_server(**options: Any) -> Iterator[Server]:
    """Give a server in a folder of its own, with the options of `start_server`; stop it after the block."""
    skip_in_fast_run("database server of a module's own")
    folder = Path(tempfile.mkdtemp(prefix="headwater-server-"))
    try:
        server = start_server(folder, **options)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def migrated_server(**options: Any) -> Iterator[Server]:
    """Yield a server as `temporary_server` does, whose database has the system schemas as `migrate` makes them by default.

    It is a copy of one that is migrated once in a run: 0.3 s of CPU instead of 2.
    """
    with temporary_server(**options, make_data=_migrated_data) as server:
        yield server


@contextlib.asynccontextmanager
async def fresh_database(server: Server) -> AsyncIterator[str]:
    """Make an empty database, give its name, drop it after the block."""
    name = f"fresh_{uuid.uuid4().hex}"
    async with connected(server.url()) as connection:
        await connection.execute(f"create database {name} template template1 strategy file_copy")
    try:
        yield name
    finally:
        async with connected(server.url()) as connection:
            await connection.execute(f"drop database {name} with (force)")


@contextlib.asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Give a connection for a block."""
    connection = await asyncpg.connect(url, timeout=_START_S)
    try:
        yield connection
    finally:
        await connection.close()


def start_server(
    folder: Path,
    superuser: str = "supabase_admin",
    settings: Mapping[str, str] | None = None,
    extensions: Mapping[str, str] | None = None,
    programs: Path | None = None,
    make_data: Callable[[Path, Path], None] | None = None,
) -> Server:
    """Make a cluster in `folder`, which must be reachable for all users, and start it.

    `settings` are server settings; `extensions` are more files for the extension folder, text by name, which only the
    embedded server has; `programs` is the folder of another Postgres, by default the one that `TEST_POSTGRES` names. `make_data`
    makes the cluster's folder with the programs of a folder, instead of `initdb`.
    """
    user = server_user(lambda _: None)
    if extensions is None:
        programs = programs or OUTSIDE
    found = programs or reachable_postgres(user, lambda _: None)
    configuration = {**_SETTINGS, "port": str(free_port())}
    folder.mkdir(parents=True, exist_ok=True)
    if programs is None:
        _fill_extensions(folder / "extension", extensions or {})
        configuration["extension_control_path"] = f"{folder}:$system"
    for path in (folder, *folder.rglob("*")):
        _give(user, path)
    if programs is None:
        ensure_vault_key(folder, user)
    data = folder / "data"
    if make_data is None:
        new_cluster(data, found, user, superuser, ["--auth", "trust"])
    else:
        make_data(data, found)
    (data / "pg_hba.conf").write_text(_ACCESS.format(superuser=superuser))
    options = [f"-c{name}={value}" for name, value in {**configuration, **(settings or {})}.items()]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [found / "postgres", "-D", data, *options], cwd="/", stdout=log, stderr=log, **run_as(user)
        )
    server = Server(folder, int(configuration["port"]), superuser, process)
    try:
        _wait(server, data)
    except BaseException:
        server.stop()
        raise
    return server


def new_cluster(
    data: Path,
    programs: Path,
    user: ServerUser | None,
    superuser: str,
    options: Sequence[str],
    name: str = "",
) -> None:
    """Make a cluster by `initdb` with further options, or as a copy of one of this name that was made so in this run."""

    def make(target: Path) -> None:
        target.mkdir()
        _give(user, target)
        made = subprocess.run(
            [
                programs / "initdb", "--pgdata", target, "--username", superuser, *options, "--no-sync",
                "--encoding", "UTF8", "--locale", "C",
            ],
            cwd="/", capture_output=True, text=True, check=False, **run_as(user),
        )  # fmt: skip
        assert made.returncode == 0, made.stderr

    key = hashlib.sha256(repr((str(programs), name or superuser)).encode()).hexdigest()[:16]
    copy_prepared(f"cluster-{key}", data, make)


def _migrated_data(data: Path, programs: Path) -> None:
    """Make the folder of a cluster whose database is migrated, as a copy of the run's."""

    def make(target: Path) -> None:
        folder = Path(tempfile.mkdtemp(prefix="headwater-migrated-"))
        try:
            server = start_server(folder)
            with ThreadPoolExecutor(1) as thread:  # the caller has a loop of its own
                thread.submit(asyncio.run, migrate(server.url(), TRUSTING)).result()
            server.process.send_signal(signal.SIGINT)  # a fast shutdown, with a checkpoint
            server.process.wait(_START_S)
            (folder / "data").rename(target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    key = hashlib.sha256(str(programs).encode()).hexdigest()[:16]
    copy_prepared(f"migrated-{key}", data, make)


def _fill_extensions(folder: Path, more: Mapping[str, str]) -> None:
    folder.mkdir()
    for name, content in extension_files(find_postgres().parent / "share" / "extension"):
        (folder / name).write_bytes(content)
    for name, text in more.items():
        (folder / name).write_text(text, encoding="utf-8")


def _give(user: ServerUser | None, path: Path) -> None:
    path.chmod(0o755 if path.is_dir() else 0o644)
    if user is not None:
        shutil.chown(path, user.uid, user.gid)


def _wait(server: Server, data: Path) -> None:
    """Wait until the server's status line says that it takes connections."""
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        assert server.process.poll() is None, server.log()
        try:
            lines = (data / "postmaster.pid").read_text().splitlines()
        except OSError:
            lines = []
        if len(lines) > 7 and lines[0] == str(server.process.pid) and lines[7].strip() == "ready":
            return
        time.sleep(0.02)
    raise AssertionError(f"the server did not start:\n{server.log()}")

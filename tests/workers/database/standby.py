"""A standby of a test's own server, and an address that moves from one server to the other, as a proxy before a cluster does."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.supervisor.postgres.system_user import run_as
from tests.workers.database.own_server import OwnServer
from tests.workers.database.server import connected

PRIMARY = {"wal_level": "logical", "hot_standby_feedback": "on"}
"""Settings of a server that keeps its logical slots on standbys."""


class Address:
    """A port at which the server of the day answers. Who is connected is cut off when it moves."""

    def __init__(self) -> None:
        self.port = 0
        self.to: int | None = None
        self.ends: set[_RelayEnd] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Begin to listen; nobody answers yet."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Caller(self), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def point(self, port: int | None) -> None:
        """Have another server answer from now on; None: nobody."""
        self.to = port
        for end in list(self.ends):
            end.cut()

    async def close(self) -> None:
        """End it."""
        self.point(None)
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()


class _RelayEnd(asyncio.Protocol):
    """One end of a connection through the address; what comes here goes out at the other."""

    def __init__(self, address: Address, other: "_RelayEnd | None" = None) -> None:
        self._address, self.other = address, other
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._address.ends.add(self)

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._address.ends.discard(self)
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()

    def cut(self) -> None:
        if self.transport is not None:
            self.transport.abort()


class _Caller(_RelayEnd):
    """The end of who calls: it is read when the server is reached."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.transport is not None
        if self._address.to is None:
            self.transport.abort()
            return
        self.transport.pause_reading()
        self._reaching = asyncio.ensure_future(self._reach(self._address.to))

    async def _reach(self, port: int) -> None:
        assert self.transport is not None
        try:
            _, self.other = await asyncio.get_running_loop().create_connection(
                lambda: _RelayEnd(self._address, self), "127.0.0.1", port
            )
        except OSError:
            self.cut()
            return
        self.transport.resume_reading()


class Standby(OwnServer):
    """A server that follows another one, with its logical slots, until it is promoted."""

    name = slot = "the_standby"
    """What it calls itself, and what holds the log for it on the other server."""

    async def follow(self, primary: OwnServer) -> None:
        """Copy a running server and begin to follow it."""
        self.give(self.folder)
        async with connected(primary.url) as admin:
            await admin.execute(f"select pg_create_physical_replication_slot('{self.slot}', true)")
        conninfo = f"host=127.0.0.1 port={primary.port} user=tester password=tester dbname=postgres"
        copier = self._programs / "pg_basebackup"
        if not copier.exists():
            pytest.skip("the programs of this Postgres have no pg_basebackup")
        copied = await asyncio.to_thread(
            subprocess.run,
            [str(copier), "--dbname", conninfo, "--pgdata", str(self.data), "--no-sync",
             "--checkpoint", "fast", "--slot", self.slot, "--write-recovery-conf"],
            cwd="/", capture_output=True, check=False, env={**os.environ, "HOME": str(self.folder)}, **run_as(self._user),
        )  # fmt: skip
        assert copied.returncode == 0, copied.stderr
        self.settings = {
            **primary.settings,
            "sync_replication_slots": "on",
            "cluster_name": self.name,
            "primary_conninfo": conninfo,
        }
        await self.start()

    async def has_slot(self, name: str) -> bool:
        """Tell whether a slot would outlive the other server's end."""
        async with connected(self.url) as admin:
            found: bool = await admin.fetchval(
                "select exists (select from pg_replication_slots where slot_name = $1 and synced and not temporary)",
                name,
            )
        return found

    async def catch_up(self, primary: OwnServer) -> None:
        """Wait until all that the other server has written up to now is here."""
        async with connected(primary.url) as there, connected(self.url) as here, asyncio.timeout(30):
            written = await there.fetchval("select pg_current_wal_lsn()::text")
            while not await here.fetchval("select pg_last_wal_replay_lsn() >= $1::text::pg_lsn", written):
                await asyncio.sleep(0.02)

    async def cut_off(self) -> None:
        """Hear no more of the other server."""
        async with connected(self.url) as admin:
            await admin.execute("alter system set primary_conninfo = ''")
        self.stop()
        del self.settings["primary_conninfo"]
        await self.start()

    async def promote(self) -> None:
        """Follow nobody any more: take writes."""
        async with connected(self.url) as admin:
            assert await admin.fetchval("select pg_promote()")


@contextlib.asynccontextmanager
async def standby_of(primary: OwnServer) -> AsyncIterator[Standby]:
    """Give a running standby; it is gone at the end, and so are its data."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-standby-"))
    standby = Standby(folder, {})
    try:
        await standby.follow(primary)
        yield standby
    finally:
        standby.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.asynccontextmanager
async def address_of(server: OwnServer) -> AsyncIterator[Address]:
    """Give an address at which a server answers."""
    address = Address()
    await address.open()
    address.point(server.port)
    try:
        yield address
    finally:
        await address.close()

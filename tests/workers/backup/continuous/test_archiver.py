"""The process `archive` against a real server and stores that go away: nothing is lost that the server keeps, and a gap is told."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import msgspec
import pytest

from broker.archive.store import open_archive_store
from broker.observability.faults import FAULTS
from broker.processes.archive_status import ArchiveStatus, read_archive_status
from schemas.settings.backup import Backup
from tests.broker.s3_server import S3Server, running_s3
from tests.workers.database.server import Server, connected, temporary_server
from workers.backup.continuous.archive import Archive, BaseInfo
from workers.backup.continuous.archiver import Archiver
from workers.backup.continuous.base_files import read_base
from workers.backup.continuous.progress import LOG, ArchiveProgress
from workers.backup.continuous.recovery_files import read_piece
from workers.backup.continuous.recovery_plan import chain

pytestmark = [pytest.mark.process_group("archiver"), pytest.mark.timeout(180)]

KEYS = [os.urandom(32)]
_WAIT_S = 60.0
SETTINGS = Backup(continuous=True, interval=0.2)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with temporary_server(
        settings={"max_slot_wal_keep_size": "32MB", "min_wal_size": "32MB", "max_wal_size": "64MB"}
    ) as one:
        access = one.folder / "data" / "pg_hba.conf"
        access.write_text(access.read_text() + f"host replication {one.superuser} 127.0.0.1/32 trust\n")
        asyncio.run(_prepare(one))
        yield one


async def _prepare(server: Server) -> None:
    async with connected(server.url()) as connection:
        await connection.execute("select pg_reload_conf()")
        await connection.execute("create role postgres login createrole")
        await connection.execute("create table public.notes (id bigserial primary key, text text)")


@pytest.fixture
async def session(server: Server) -> AsyncIterator[asyncpg.Connection]:
    """A session of a superuser; archives of a test before are gone."""
    async with connected(server.url()) as connection:
        await connection.execute(
            "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name like 'headwater%'"
        )
        yield connection


@asynccontextmanager
async def archiving(
    server: Server, settings: Backup, folder: Path, s3: S3Server | None = None
) -> AsyncIterator[Archiver]:
    """Run an archiver for a block, and stop it in order."""
    if s3 is not None:
        settings = msgspec.structs.replace(settings, backend="s3", s3=s3.settings(prefix=folder.name).s3)
    store = open_archive_store(settings)
    archiver = Archiver(settings, store, KEYS, server.url(), None, ArchiveProgress(folder), "test")
    running = asyncio.create_task(archiver.run())
    try:
        yield archiver
    finally:
        await archiver.stop()
        done, _ = await asyncio.wait({running}, timeout=_WAIT_S)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        FAULTS.clear(LOG)
    assert done


async def until(holds: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    """Wait for a state."""
    async with asyncio.timeout(_WAIT_S):
        while True:
            result = holds()
            if result if isinstance(result, bool) else await result:
                return
            await asyncio.sleep(0.05)


def status_of(folder: Path) -> ArchiveStatus:
    return read_archive_status(folder) or ArchiveStatus("", 0.0)


async def has_base(archiver: Archiver, folder: Path) -> Archive:
    """Wait for the first base backup; return the archive."""
    await until(lambda: status_of(folder).base_at is not None)
    return Archive(archiver.store, KEYS, status_of(folder).archive)


async def whole_log(archive: Archive, base: BaseInfo) -> bytes:
    pieces = chain(await archive.pieces(), base, None)
    return b"".join([await read_piece(archive, piece) for piece in pieces])


async def stores_up_to(session: asyncpg.Connection, archive: Archive) -> None:
    """Wait until the archive has everything that the server has now."""
    end = await session.fetchval("select pg_current_wal_flush_lsn() - '0/0'::pg_lsn")

    async def reached() -> bool:
        pieces = await archive.pieces()
        return bool(pieces) and pieces[-1].end >= int(end)

    await until(reached)


async def test_the_log_and_a_base_backup_are_stored_and_readable_with_the_key_alone(
    server: Server, session: asyncpg.Connection, tmp_path: Path
) -> None:
    settings = msgspec.structs.replace(SETTINGS, path=str(tmp_path / "archive"))
    async with archiving(server, settings, tmp_path) as archiver:
        archive = await has_base(archiver, tmp_path)
        await session.execute("insert into public.notes (text) values ('a needle in the log')")
        await stores_up_to(session, archive)

        (base,) = await archive.bases()
        await read_base(archive, base, tmp_path / "data")
        log = await whole_log(archive, base)

    assert b"a needle in the log" in log
    assert (tmp_path / "data" / "PG_VERSION").exists()
    assert not (tmp_path / "data" / "postmaster.pid").exists()
    stored = b"".join(path.read_bytes() for path in (tmp_path / "archive").rglob("*") if path.is_file())
    assert b"needle" not in stored
    assert b"supabase_admin" not in stored


async def test_a_restarted_process_continues_its_archive_without_a_gap(
    server: Server, session: asyncpg.Connection, tmp_path: Path
) -> None:
    settings = msgspec.structs.replace(SETTINGS, path=str(tmp_path / "archive"))
    async with archiving(server, settings, tmp_path) as archiver:
        archive = await has_base(archiver, tmp_path)
    await session.execute("insert into public.notes (text) values ('while nothing was archived')")
    async with archiving(server, settings, tmp_path) as archiver:
        await stores_up_to(session, archive)
        log = await whole_log(archive, (await archive.bases())[0])

    assert status_of(tmp_path).archive == archive.id
    assert b"while nothing was archived" in log


async def test_a_store_that_goes_away_is_told_and_the_log_is_kept_until_it_is_back(
    server: Server, session: asyncpg.Connection, tmp_path: Path
) -> None:
    with running_s3() as s3:
        async with archiving(server, SETTINGS, tmp_path, s3) as archiver:
            archive = await has_base(archiver, tmp_path)
            s3.stop()
            await session.execute("insert into public.notes (text) values ('kept by the server')")
            await until(lambda: "the database keeps its log" in status_of(tmp_path).fault)
            assert LOG in [fault.part for fault in FAULTS.present]
            s3.start()
            await until(lambda: not status_of(tmp_path).fault)
            await stores_up_to(session, archive)
            log = await whole_log(archive, (await archive.bases())[0])

    assert b"kept by the server" in log
    assert FAULTS.present == []


async def test_beyond_its_limit_the_server_gives_the_log_up_and_a_new_archive_begins(
    server: Server, session: asyncpg.Connection, tmp_path: Path
) -> None:
    with running_s3() as s3:
        async with archiving(server, SETTINGS, tmp_path, s3) as archiver:
            first = await has_base(archiver, tmp_path)
            s3.stop()
            await _fill_log_beyond_limit(session, first.id)
            await until(lambda: "given up by the database" in status_of(tmp_path).fault)
            s3.start()
            await until(lambda: status_of(tmp_path).archive != first.id and not status_of(tmp_path).fault)
            second = await has_base(archiver, tmp_path)
            await session.execute("insert into public.notes (text) values ('in the new archive')")
            await stores_up_to(session, second)
            log = await whole_log(second, (await second.bases())[0])

    assert b"in the new archive" in log
    slots = await session.fetch(
        "select slot_name from pg_replication_slots where slot_name like 'headwater%'"
    )
    assert [row["slot_name"] for row in slots] == [second.id]


async def _fill_log_beyond_limit(session: asyncpg.Connection, slot: str) -> None:
    """Write log until the server has given up what the slot keeps."""

    async def is_lost() -> bool:
        await session.execute(
            "select pg_logical_emit_message(false, 'filler', repeat('x', 1000000)) from generate_series(1, 20)"
        )
        await session.execute("checkpoint")
        state = await session.fetchval(
            "select wal_status from pg_replication_slots where slot_name = $1", slot
        )
        return bool(state == "lost")

    await until(is_lost)


async def test_a_slot_that_was_dropped_begins_a_new_archive(
    server: Server, session: asyncpg.Connection, tmp_path: Path
) -> None:
    settings = msgspec.structs.replace(SETTINGS, path=str(tmp_path / "archive"))
    async with archiving(server, settings, tmp_path) as archiver:
        first = await has_base(archiver, tmp_path)
    await session.execute("select pg_drop_replication_slot($1)", first.id)
    async with archiving(server, settings, tmp_path) as archiver:
        await until(lambda: status_of(tmp_path).archive not in ("", first.id))
        second = await has_base(archiver, tmp_path)

    assert len(await second.bases()) == 1


async def test_old_base_backups_and_their_log_are_deleted(
    server: Server, session: asyncpg.Connection, tmp_path: Path
) -> None:
    settings = msgspec.structs.replace(
        SETTINGS,
        path=str(tmp_path / "archive"),
        base_interval=type(SETTINGS.base_interval)(0.5),
        retention=type(SETTINGS.retention)(0.5),
    )
    async with archiving(server, settings, tmp_path) as archiver:
        archive = await has_base(archiver, tmp_path)
        first = (await archive.bases())[0].name

        async def is_replaced() -> bool:
            bases = await archive.bases()
            return bool(bases) and first not in [base.name for base in bases]

        await until(is_replaced)
        bases, pieces = await archive.bases(), await archive.pieces()

    assert len(bases) <= 3
    assert pieces[0].end > bases[0].start_lsn - 16 * 1024 * 1024
    assert chain(pieces, bases[0], None)


async def test_a_reader_that_lags_does_not_claim_the_clock_at_which_old_log_was_sent(
    server: Server, session: asyncpg.Connection, tmp_path: Path
) -> None:
    """The server sends its clock with old log too: a piece covers a moment only if the server had nothing more to send."""
    settings = msgspec.structs.replace(SETTINGS, path=str(tmp_path / "archive"))
    async with archiving(server, settings, tmp_path) as archiver:
        archive = await has_base(archiver, tmp_path)
    before = {piece.name for piece in await archive.pieces()}  # by name: older ones may be removed meanwhile
    # Or a checkpoint of the server would give up what the archiver has not read yet.
    await session.execute("alter system set max_slot_wal_keep_size = '256MB'")
    await session.execute("select pg_reload_conf()")
    await session.execute(
        "select pg_logical_emit_message(false, 'filler', repeat('x', 1000000)) from generate_series(1, 40)"
    )
    written = (await session.fetchval("select clock_timestamp()")).timestamp()
    async with archiving(server, settings, tmp_path):
        await stores_up_to(session, archive)
        pieces = [piece for piece in await archive.pieces() if piece.name not in before]
    await session.execute("alter system reset max_slot_wal_keep_size")
    await session.execute("select pg_reload_conf()")

    assert len(pieces) > 2
    assert all(piece.time < written for piece in pieces[:-2])
    assert [piece.time for piece in pieces] == sorted(piece.time for piece in pieces)

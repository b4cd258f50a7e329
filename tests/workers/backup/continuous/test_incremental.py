"""Incremental base backups of a real server: smaller than a full one, restored with those that they are built on, and verified as a chain."""

import asyncio
import contextlib
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest
from msgspec.structs import replace

from broker.archive.store import open_archive_store
from schemas.settings.backup import Backup
from services.supervisor.binaries import find_postgres, reachable_postgres
from services.supervisor.postgres.system_user import run_as, server_user
from tests.ports import free_port
from tests.workers.backup.continuous.test_archiver import KEYS, SETTINGS, archiving, has_base, stores_up_to
from tests.workers.database.server import Server, connected, temporary_server
from workers.backup.continuous.archive import Archive, BaseInfo
from workers.backup.continuous.archiver import Archiver
from workers.backup.continuous.base_backup import IncrementalRefused, make_base_backup
from workers.backup.continuous.inspection import inspect
from workers.backup.continuous.moments import MomentRejected
from workers.backup.continuous.recovery_files import fetch_files
from workers.backup.continuous.recovery_plan import plan_recovery

pytestmark = [pytest.mark.process_group("archiver"), pytest.mark.timeout(180)]

_START_S = 60.0
_PROGRAM = str(find_postgres() / "pg_combinebackup")


@dataclass(frozen=True)
class IncrementalArchive:
    """An archive with a full base backup and two incremental ones, and the rows that the server had at the end."""

    settings: Backup
    archive: Archive
    rows: str

    async def bases(self) -> list[BaseInfo]:
        return await self.archive.bases()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with temporary_server(settings={"summarize_wal": "on"}) as one:
        access = one.folder / "data" / "pg_hba.conf"
        access.write_text(access.read_text() + f"host replication {one.superuser} 127.0.0.1/32 trust\n")
        asyncio.run(_prepare(one))
        yield one


async def _prepare(server: Server) -> None:
    async with connected(server.url()) as connection:
        await connection.execute("select pg_reload_conf()")
        await connection.execute("create role postgres login createrole")
        await connection.execute("create table public.notes (id int primary key, text text)")
        await connection.execute(
            "insert into public.notes select n, repeat(md5(n::text), 8) from generate_series(1, 40000) n"
        )


@pytest.fixture(scope="module")
def stored(server: Server, tmp_path_factory: pytest.TempPathFactory) -> IncrementalArchive:
    return asyncio.run(_store(server, tmp_path_factory.mktemp("incremental")))


async def _store(server: Server, folder: Path) -> IncrementalArchive:
    settings = replace(SETTINGS, path=str(folder / "archive"))
    async with archiving(server, settings, folder) as archiver, connected(server.url()) as session:
        archive = await has_base(archiver, folder)
        await session.execute("update public.notes set text = 'first' where id <= 20")
        await session.execute("create table public.later (id int)")
        await _make_base(archiver, archive, server)
        await session.execute("delete from public.notes where id > 30000")
        await session.execute("vacuum public.notes")  # gives the end of the file back
        await session.execute("insert into public.later select generate_series(1, 100)")
        await _make_base(archiver, archive, server)
        await session.execute("insert into public.later values (1000)")
        await stores_up_to(session, archive)
        rows = await _rows(session)
    return IncrementalArchive(settings, archive, rows)


async def _make_base(archiver: Archiver, archive: Archive, server: Server) -> BaseInfo:
    """Make an incremental base backup beside a running archiver."""
    storer = archiver._storer
    assert storer is not None
    return await make_base_backup(
        archive, server.url(), version="test", vault_key="", server_time=time.time, wait_for_log=storer.wait_for,
        parent=(await archive.bases())[-1],
    )  # fmt: skip


async def _rows(session: asyncpg.Connection) -> str:
    return str(
        await session.fetchval(
            "select (select md5(string_agg(id || text, ',' order by id)) from public.notes)"
            " || (select string_agg(id::text, ',' order by id) from public.later)"
        )
    )


async def test_a_combined_base_backup_with_the_log_has_every_row(
    stored: IncrementalArchive, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("restored") / "data"
    folder.mkdir(mode=0o700)
    full, first, second = await stored.bases()
    files = await plan_recovery(stored.archive.store, KEYS, "latest", "")

    await fetch_files(files, folder, lambda _: None, _PROGRAM)

    assert [link.name for link in files.links] == [full.name, first.name, second.name]
    assert (first.parent, second.parent) == (full.name, first.name)
    assert files.plan.bases == 3
    assert max(first.content_bytes, second.content_bytes) < full.content_bytes / 2
    assert not list(folder.rglob("INCREMENTAL.*"))
    assert not (folder / ".parts").exists()
    async with _recovered(folder) as session:
        assert await _rows(session) == stored.rows


@contextlib.asynccontextmanager
async def _recovered(folder: Path) -> AsyncIterator[asyncpg.Connection]:
    """Start a server on a folder with a base backup and the log, and connect when it has recovered."""
    user, port = server_user(lambda _: None), free_port()
    (folder / "recovery.signal").touch()
    if user is not None:
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, user.uid, user.gid)
    for path in folder.parents:
        with contextlib.suppress(OSError):
            path.chmod(path.stat().st_mode | 0o011)
    settings = {
        "restore_command": "false", "port": str(port), "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
        "fsync": "off", "hot_standby": "off",
    }  # fmt: skip
    process = subprocess.Popen(
        [
            reachable_postgres(user, lambda _: None) / "postgres",
            "-D",
            folder,
            *(f"-c{k}={v}" for k, v in settings.items()),
        ],
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **run_as(user),
    )
    try:
        session = await _connect(process, f"postgresql://supabase_admin@127.0.0.1:{port}/postgres")
        yield session
        await session.close()
    finally:
        process.terminate()
        process.wait(_START_S)


async def _connect(process: "subprocess.Popen[bytes]", url: str) -> asyncpg.Connection:
    async with asyncio.timeout(_START_S):
        while True:
            assert process.poll() is None, "the server ended"
            with contextlib.suppress(OSError, asyncpg.PostgresError):
                return await asyncpg.connect(url)
            await asyncio.sleep(0.1)


async def test_without_the_program_nothing_is_written(stored: IncrementalArchive, tmp_path: Path) -> None:
    files = await plan_recovery(stored.archive.store, KEYS, "latest", "")

    with pytest.raises(MomentRejected, match="pg_combinebackup of Postgres 18 is missing"):
        await fetch_files(files, tmp_path, lambda _: None)

    assert not list(tmp_path.iterdir())


async def test_a_damaged_link_is_named_with_what_is_built_on_it(
    stored: IncrementalArchive, tmp_path: Path
) -> None:
    copy = tmp_path / "archive"
    shutil.copytree(stored.settings.path, copy)
    store = open_archive_store(replace(stored.settings, path=str(copy)))
    archive = Archive(store, KEYS, stored.archive.id)
    full, first, second = await archive.bases()
    [whole] = await inspect(store, KEYS, verify=True, report=lambda _: None)
    content = copy / archive.path(f"base/{first.name}/content")
    damaged = bytearray(content.read_bytes())
    damaged[-40] ^= 1
    content.write_bytes(damaged)

    [listed] = await inspect(store, KEYS, verify=True, report=lambda _: None)

    assert (whole.faults, whole.bases, whole.incrementals) == ([], 3, 2)
    assert any(
        f"base backup {first.name} (on which {second.name} are built)" in fault for fault in listed.faults
    )

    (copy / archive.path(f"base/{full.name}/info")).unlink()
    with pytest.raises(MomentRejected, match=f"base backup {full.name} is missing"):
        await plan_recovery(store, KEYS, "latest", "")
    [broken] = await inspect(store, KEYS, verify=False, report=lambda _: None)
    assert any(f"{full.name} is missing" in fault for fault in broken.faults)


async def test_a_server_that_lacks_the_changes_refuses_and_a_damaged_manifest_is_not_sent(
    server: Server, stored: IncrementalArchive, tmp_path: Path
) -> None:
    async def at_once(_: int) -> None: ...

    broken = replace((await stored.bases())[-1], name="none")
    with pytest.raises(IncrementalRefused):
        await make_base_backup(
            stored.archive, server.url(), version="test", vault_key="", server_time=time.time, wait_for_log=at_once,
            parent=broken,
        )  # fmt: skip
    other = Archive(stored.archive.store, KEYS, "headwater_archive_ffffffffffff")
    manifest = await stored.archive.read(f"base/{(await stored.bases())[-1].name}/manifest")
    await other.write(
        "base/other/manifest", manifest.replace(b'"System-Identifier": ', b'"System-Identifier": 1')
    )
    with pytest.raises(IncrementalRefused, match="manifest"):
        await make_base_backup(
            other, server.url(), version="test", vault_key="", server_time=time.time, wait_for_log=at_once,
            parent=replace(broken, name="other"),
        )  # fmt: skip

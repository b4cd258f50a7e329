"""The disk of the write-ahead log is full: Postgres ends with a PANIC until there is room. Nothing acknowledged is lost, all heals."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import aiohttp
import asyncpg
import pytest

from tests.faults.campaign_platform import resize
from tests.faults.ledger import Caller, Ledger, Meaning
from tests.platform import Platform, headwater, platform

pytestmark = [pytest.mark.process_group("faults"), pytest.mark.timeout(300)]

_DISK_BYTES = 256 * 1024**2
_PATIENCE_S = 280
_ROWS = "rows"
_BODY = "x" * 200_000
_CONFIG = '[db.settings]\nmax_wal_size = "64MB"\nmin_wal_size = "32MB"\nwal_compression = "off"\n'


@pytest.fixture
def disk() -> Iterator[Path]:
    """A small disk for a write-ahead log."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    folder = Path(tempfile.mkdtemp(prefix="headwater-log-"))
    folder.chmod(0o755)  # the system user of the database passes through it
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES},mode=755", "tmpfs", str(folder)]
    if subprocess.run(mounting, check=False, capture_output=True).returncode != 0:
        folder.rmdir()
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=False)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def running_platform(disk: Path, tmp_path: Path) -> Iterator[Platform]:
    """A platform whose write-ahead log lies on that disk."""
    config = tmp_path / "config.toml"
    config.write_text(_CONFIG)
    with platform("--config", str(config)) as one:
        assert headwater("stop", "--data", str(one.data)).returncode == 0
        pointer = one.data / "cluster"
        home = Path(pointer.read_text().strip()) if pointer.exists() else one.data / "postgres"
        log = home / "data" / "pg_wal"
        owner = log.stat()
        subprocess.run(["cp", "--archive", str(log), str(disk / "log")], check=True)
        os.chown(disk, owner.st_uid, owner.st_gid)
        shutil.rmtree(log)
        log.symlink_to(disk / "log")
        arguments = ("--data", str(one.data), "--project", str(one.data.parent), "--port", str(one.port))
        started = headwater("start", "--detach", "--config", str(config), *arguments)
        assert started.returncode == 0, started.stderr
        one.psql(
            "create table public.marks (id bigint, body text); grant all on public.marks to service_role"
        )
        one.wait_for_catalog("marks")
        yield one


async def test_a_full_log_stops_writes_for_as_long_as_it_is_full(
    running_platform: Platform, disk: Path
) -> None:
    ledger = Ledger()
    key = running_platform.values["SERVICE_ROLE_KEY"]
    ids = count()
    async with aiohttp.ClientSession() as session, asyncio.timeout(_PATIENCE_S):
        caller = Caller(session, ledger, running_platform.url, key)

        async def write(body: str) -> bool:
            row = {"id": (id := next(ids)), "body": body}
            return await caller.send(_ROWS, id, "POST", "/rest/v1/marks", json=row) is not None

        assert await write("before")
        resize(disk, shutil.disk_usage(disk).used)
        refused = 0
        while refused < 20:
            refused += not await write(_BODY)
        resize(disk, _DISK_BYTES)
        while not await write("after"):
            await asyncio.sleep(0.1)

    assert "PANIC" in (running_platform.data / "logs" / "postgres.log").read_text()
    stored = await _stored(running_platform)
    assert ledger.ids(_ROWS, Meaning.ACKNOWLEDGED) <= stored.keys()
    assert ledger.ids(_ROWS, Meaning.REFUSED) & stored.keys() == set()
    assert set(stored.values()) == {1}
    assert {each.answer for each in ledger.operations} <= {"201", "503", "504 unknown"}
    assert ledger.strange == []


async def _stored(running_platform: Platform) -> Counter[int]:
    database = await asyncpg.connect(running_platform.values["DB_URL"])
    try:
        return Counter(row["id"] for row in await database.fetch("select id from public.marks"))
    finally:
        await database.close()

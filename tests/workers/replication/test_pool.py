"""Replication as a part of the platform: its process, its health, its metrics, and being switched off."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.platform import headwater, platform
from tests.workers.database.server import OUTSIDE
from workers.replication.tables import TableCatalog


@pytest.mark.skipif(OUTSIDE is not None, reason="of the embedded server")
def test_a_platform_reads_its_log_until_realtime_is_switched_off():
    with platform() as running:
        _until(
            lambda: "t" in running.psql("select 'is ' || active from pg_replication_slots").split("is ")[-1]
        )
        assert running.get("/health/ready")[0] == 200
        assert b'headwater_replication_leader{process="workers"' in running.metrics()[1]
        assert "1GB" in running.psql("show max_slot_wal_keep_size")
        assert running.command("stop").returncode == 0

        again = headwater(
            "start", "--detach", "--data", str(running.data), "--project", str(Path(running.data).parent),
            "--port", str(running.port), environment={"HEADWATER_REALTIME_ENABLED": "false"},
        )  # fmt: skip
        assert again.returncode == 0, again.stderr
        assert "headwater_changes" not in running.psql("select slot_name from pg_replication_slots")


def _until(holds) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


async def test_a_defect_of_ours_ends_one_try_and_not_the_reading(own_replication_pool, monkeypatch):
    replication_pool = own_replication_pool
    table = await replication_pool.table("id int primary key")
    crashed = asyncio.Event()
    find = TableCatalog.find

    async def fail_once(tables, relation):
        if crashed.is_set():
            return await find(tables, relation)
        crashed.set()
        raise ZeroDivisionError

    monkeypatch.setattr(TableCatalog, "find", fail_once)
    await replication_pool.admin.execute(f"insert into {table} values (1)")

    assert [change.new for change in await replication_pool.changes(table, 1)] == [[b"1"]]
    assert crashed.is_set()

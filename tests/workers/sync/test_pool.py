"""What the pool of shapes reports while there is no stream of changes yet."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from broker.backoff import Backoff
from broker.nats.connection import NatsConnection
from schemas.settings.tree import Settings
from tests.broker.server import running_server
from tests.workers.replication.replication_pool import ReplicationPool
from workers.sync import pool as pool_module
from workers.sync.observations import SyncWaits
from workers.sync.pool import SyncPool

pytestmark = pytest.mark.process_group("sync")


class CountedBackoff(Backoff):
    """Notes at each pause how many warnings there were."""

    def __init__(self, observed: list[object]) -> None:
        super().__init__(0.001, 0.004)
        self.warnings: list[int] = []
        self._observed = observed
        self.has_four = asyncio.Event()

    async def wait(self) -> None:
        self.warnings.append(sum(isinstance(item, SyncWaits) for item in self._observed))
        if len(self.warnings) == 4:
            self.has_four.set()
        await super().wait()


async def test_a_missing_stream_is_reported_only_after_some_attempts(
    sync_replication: ReplicationPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed: list[object] = []
    monkeypatch.setattr(pool_module, "observe", observed.append)
    async with running_server() as server:
        connection = await NatsConnection.open(server.url, name="test")
        backoff = CountedBackoff(observed)
        resources = SimpleNamespace(
            url=sync_replication.values_url, connection=connection, settings=Settings(), cache=None, api=None
        )
        pool = SyncPool(resources, tmp_path, backoff)  # type: ignore[arg-type]  # as much of Resources as it reads
        try:
            pool.start()
            async with asyncio.timeout(60):
                await backoff.has_four.wait()
        finally:
            await pool.close()
            await connection.close()

    assert [bool(count) for count in backoff.warnings[:4]] == [False, False, True, True]
    assert "stream not found" in str(observed[0])

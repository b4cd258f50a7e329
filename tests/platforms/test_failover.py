"""Postgres fails over to its standby under load: what was acknowledged stands, all parts go on, and followers miss nothing."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from schemas.settings.realtime import RealtimeSettings
from tests.platform import Platform, platform
from tests.platforms.realtime_followers import PATIENCE_S, Follower, Writer, following, published
from tests.workers.database.own_server import OwnServer, own_server
from tests.workers.database.server import connected
from tests.workers.database.standby import PRIMARY, Address, Standby, address_of, standby_of

pytestmark = [pytest.mark.process_group("failover"), pytest.mark.timeout(400)]

_WRITES = 1500


class Cluster:
    """A primary, its standby, and the address at which the platform finds whichever leads."""

    def __init__(
        self, primary: OwnServer, standby: Standby, address: Address, running_platform: Platform
    ) -> None:
        self.primary, self.standby, self.address, self.running_platform = (
            primary,
            standby,
            address,
            running_platform,
        )

    async def fail_over(self) -> None:
        """Lose the primary, and let the standby lead."""
        self.primary.stop()
        self.address.point(None)
        await self.standby.promote()
        self.address.point(self.standby.port)


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with own_server(**PRIMARY) as primary, address_of(primary) as address:
        url = f"postgresql://tester:tester@127.0.0.1:{address.port}/postgres"
        starting = platform("--database-url", url)
        running_platform = await asyncio.to_thread(starting.__enter__)
        try:
            async with standby_of(primary) as standby:
                async with connected(primary.url) as admin, asyncio.timeout(PATIENCE_S):
                    while not await standby.has_slot(RealtimeSettings().slot_name):
                        await admin.execute("select pg_log_standby_snapshot()")
                        await asyncio.sleep(0.1)
                    await admin.execute(f"alter system set synchronous_standby_names = '{standby.name}'")
                    await admin.execute(f"alter system set synchronized_standby_slots = '{standby.slot}'")
                    await admin.execute("select pg_reload_conf()")
                yield Cluster(primary, standby, address, running_platform)
        finally:
            await asyncio.to_thread(starting.__exit__, None, None, None)


async def test_a_failover_loses_and_doubles_nothing(cluster: Cluster) -> None:
    running_platform = cluster.running_platform
    writer = Writer(f"postgresql://tester:tester@127.0.0.1:{cluster.address.port}/postgres")
    table = await published(writer)
    followers = [
        Follower(running_platform, {"event": "*", "schema": "public", "table": table}) for _ in range(3)
    ]
    acknowledged: list[int] = []

    async with following(*followers):
        for number in range(_WRITES):
            if number == _WRITES // 2:
                failing = asyncio.ensure_future(cluster.fail_over())
            if await writer.run(f"insert into {table} values ($1)", number):
                acknowledged.append(number)
        await failing
        written = sorted(await writer.fetch(f"select id from {table}"))
        for each in followers:
            await each.until(lambda e=each: e.changes and e.ids[-1] == written[-1], "the last did not come")  # type: ignore[misc]  # bound now
    status, _ = await asyncio.to_thread(running_platform.get, f"/rest/v1/{table}?limit=1")
    await writer.close()

    assert len(acknowledged) > _WRITES // 2
    assert set(acknowledged) <= set(written)
    assert status == 200
    for each in followers:
        assert each.ids == written
        assert (each.gaps, each.joins) == ([], 1)

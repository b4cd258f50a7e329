"""Three NATS servers, two edges, two of each pool, an outside Postgres: its standby is promoted under load, then everything is restarted in turn."""

import asyncio
import time

import aiohttp
import pytest

from schemas.settings.realtime import RealtimeSettings
from tests.faults.edge_traffic import EdgeTraffic, stored_rows
from tests.faults.followers import CountingFollower
from tests.faults.ledger import Meaning, answers_seen
from tests.platforms.realtime_followers import PATIENCE_S, Writer, following, published
from tests.platforms.topology import NATS, running_topology
from tests.workers.database.own_server import own_server
from tests.workers.database.server import connected
from tests.workers.database.standby import PRIMARY, address_of, standby_of

pytestmark = [pytest.mark.process_group("cluster-failover"), pytest.mark.timeout(800)]

_POOLS = ("rest", "graphql", "auth", "storage", "images", "functions", "scheduler", "management", "changes")


async def test_a_promoted_standby_and_rolling_restarts_lose_and_double_nothing() -> None:
    settings = {**PRIMARY, "max_connections": "300", "max_replication_slots": "10"}
    async with (
        own_server(**settings) as primary,
        address_of(primary) as address,
        running_topology(primary, address.port) as one,
        standby_of(primary) as standby,
        aiohttp.ClientSession() as session,
    ):
        async with connected(primary.url) as admin, asyncio.timeout(PATIENCE_S):
            while not await standby.has_slot(RealtimeSettings().slot_name):
                await admin.execute("select pg_log_standby_snapshot()")
                await asyncio.sleep(0.1)
            await admin.execute(f"alter system set synchronous_standby_names = '{standby.name}'")
            await admin.execute(f"alter system set synchronized_standby_slots = '{standby.slot}'")
            await admin.execute("select pg_reload_conf()")
        url = primary.url.replace(f":{primary.port}/", f":{address.port}/")
        writer = Writer(url)
        table = await published(writer)
        await writer.run(f"grant all on public.{table} to service_role")
        await writer.run("notify pgrst, 'reload schema'")
        await writer.close()
        follower = CountingFollower(one, {"event": "*", "schema": "public", "table": table})  # type: ignore[arg-type]  # a topology has what it reads
        edges = [EdgeTraffic(one, session, number, table) for number in range(2)]
        async with following(follower):
            writing = [asyncio.ensure_future(edge.write()) for edge in edges for _ in range(2)]
            for edge in edges:
                await edge.healed()
                edge.ledger.strange.clear()  # a table that was not known yet
            before = [len(edge.ledger.operations) for edge in edges]
            began = time.monotonic()
            primary.stop()
            address.point(None)
            await standby.promote()
            address.point(standby.port)
            for edge in edges:
                await edge.healed()
            shown = [
                answers_seen(edge.ledger.operations[at:]) for edge, at in zip(edges, before, strict=True)
            ]
            print(
                f"\npromoted, and healed {time.monotonic() - began:.1f} s after the loss: {[dict(each) for each in shown]}"
            )
            turns = [("gateway-1",), ("gateway-2",), *((each,) for each in NATS)]
            turns += [tuple(f"{pool}-{number}" for pool in _POOLS) for number in (1, 2)]
            for names in turns:
                before = [len(edge.ledger.operations) for edge in edges]
                await one.restarted(*names)
                for edge in edges:
                    await edge.healed()
                some = [
                    each
                    for edge, at in zip(edges, before, strict=True)
                    for each in edge.ledger.operations[at:]
                ]
                print(f"restarted {'+'.join(names)}: {dict(answers_seen(some))}")
            for task in writing:
                task.cancel()
            await asyncio.gather(*writing, return_exceptions=True)
            stored = await stored_rows(url, table)
            await follower.until(lambda: stored.keys() <= set(follower.received), "changes are missing")

    for edge in edges:
        edge.check(stored)
        assert len(edge.ledger.ids("rows", Meaning.ACKNOWLEDGED)) > 200
    assert len(follower.received) == len(set(follower.received)), "none twice, and no gap"
    assert set(follower.received) <= stored.keys()
    assert follower.errors == []

"""Whole machines and the network between them: cut, cut one way, unplugged, slow and lossy. Nothing acknowledged is lost or doubled.

Each machine is a network namespace with an address of its own: NATS servers name each other by them, and a cut does not end at the
sender (machines.py). `FAULTS_LONG=1`: longer cuts.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractContextManager

import aiohttp
import pytest

from tests.faults.edge_traffic import EdgeTraffic, stored_rows
from tests.faults.followers import CountingFollower
from tests.faults.ledger import Meaning, Operation, answers_seen
from tests.faults.machine_parts import APPLICATIONS, running_machines
from tests.faults.machines import HOME, Network, is_possible
from tests.platforms.realtime_followers import Writer, following, published
from tests.platforms.topology import NATS, Topology

pytestmark = [
    pytest.mark.process_group("machines"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(not is_possible(), reason="needs root, iproute2 and iptables"),
]

_CUT_S = 40.0 if os.environ.get("FAULTS_LONG") else 18.0
_LATE = 1 / 4
"""Share of a cut, its end, in which those that can be served have to be."""


async def test_cuts_between_machines_lose_and_double_nothing_and_heal() -> None:
    async with running_machines() as (one, net), aiohttp.ClientSession() as session:
        writer = Writer(one.database.url)
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
            print("\n| fault | edge | answers | longest answer s | healed in s |\n|---|---|---|---|---|")
            for name, (fault, served) in _faults(one, net).items():
                during = await _through(name, fault(), edges)
                for number in served:
                    late = [each for each in during[number] if each.meaning is not Meaning.ACKNOWLEDGED]
                    assert not late, f"{name}: edge {number + 1} is not served: {answers_seen(late)}"
            for task in writing:
                task.cancel()
            await asyncio.gather(*writing, return_exceptions=True)
            stored = await stored_rows(one.database.url, table)
            await follower.until(lambda: stored.keys() <= set(follower.received), "changes are missing")

    for edge in edges:
        edge.check(stored)
    assert len(follower.received) == len(set(follower.received)), "none twice, and no gap"


def _faults(
    one: Topology, net: Network
) -> dict[str, tuple[Callable[[], AbstractContextManager[None]], tuple[int, ...]]]:
    """Return the faults by name, each with the edges that are served again before it ends."""
    second = APPLICATIONS[1]
    port = one.database.port
    lone, *others = NATS
    return {
        "app-2 from NATS": (lambda: net.cut((second,), NATS), (0,)),
        "app-1 and app-2 from Postgres": (lambda: net.cut(APPLICATIONS, (HOME,), port=port), ()),
        "app-2 from Postgres": (lambda: net.cut((second,), (HOME,), port=port), (0, 1)),
        "one NATS server from the others": (lambda: net.cut((lone,), tuple(others)), (0, 1)),
        "one NATS server hears the others not": (
            lambda: net.cut(tuple(others), (lone,), one_way=True),
            (0, 1),
        ),
        "the cable of app-2": (lambda: net.unplugged(second), (0,)),
        "the cable of a NATS server": (lambda: net.unplugged(lone), (0, 1)),
        "app-2 loses 5 packets of 100": (lambda: net.lossy(second, 0.05), (0,)),
        "app-2 has a link of 512 kbit/s": (lambda: net.slow(second, "512kbit"), (0,)),
    }


async def _through(
    name: str, fault: AbstractContextManager[None], edges: list[EdgeTraffic]
) -> list[list[Operation]]:
    """Let a fault last, and wait until all is healed; return what each edge answered in its last part."""
    loop = asyncio.get_running_loop()
    seen = [len(edge.ledger.operations) for edge in edges]
    with fault:
        await asyncio.sleep(_CUT_S)
        late_s = loop.time() - _CUT_S * _LATE
        during = [edge.ledger.operations[at:] for edge, at in zip(edges, seen, strict=True)]
    since = loop.time()
    for number, edge in enumerate(edges):
        await edge.healed()
        some = edge.ledger.operations[seen[number] :]
        longest = max(each.ended - each.began for each in some)
        shown = ", ".join(f"{count} x {answer}" for answer, count in answers_seen(some).most_common())
        print(f"| {name} | {number + 1} | {shown} | {longest:.1f} | {loop.time() - since:.1f} |")
    return [[each for each in some if each.began > late_s] for some in during]

"""Three NATS servers, two edges, two of each pool: one edge, one NATS server or Postgres is cut off, with packets that really vanish."""

import asyncio
from contextlib import AbstractContextManager

import aiohttp
import psutil
import pytest

from tests.faults.edge_traffic import EdgeTraffic, stored_rows
from tests.faults.ledger import Meaning, answers_seen
from tests.faults.lost_packets import cut_off, is_possible, server_unreachable
from tests.platforms.realtime_followers import Writer, published
from tests.platforms.topology import NATS, Topology, running_topology

pytestmark = [
    pytest.mark.process_group("lost-packets"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(not is_possible(), reason="needs root, iptables and control groups"),
]

_CUT_S = 20.0


async def test_who_is_cut_off_fails_alone_and_nothing_is_lost_or_doubled() -> None:
    loop = asyncio.get_running_loop()
    async with running_topology() as one, aiohttp.ClientSession() as session:
        writer = Writer(one.database.url)
        table = await published(writer)
        await writer.run(f"grant all on public.{table} to service_role")
        await writer.run("notify pgrst, 'reload schema'")
        await writer.close()
        edges = [EdgeTraffic(one, session, number, table) for number in range(2)]
        writing = [asyncio.ensure_future(edge.write()) for edge in edges for _ in range(2)]
        for edge in edges:
            await edge.healed()
            edge.ledger.strange.clear()  # a table that was not known yet
        clients = tuple(one.nats_ports[name][0] for name in NATS)
        routes = tuple(one.nats_ports[name][1] for name in NATS)
        victim = next(name for name in NATS if one.nats_ports[name][0] in _peers(one, "rest-1"))
        cuts: dict[str, AbstractContextManager[None]] = {
            "one edge from NATS": cut_off(_pid(one, "gateway-1"), peers=clients),
            "one NATS server": cut_off(_pid(one, victim), listens=one.nats_ports[victim][:2], peers=routes),
            "Postgres": server_unreachable(one.database.port),
        }
        print("\n| cut off | edge | answers | longest answer s | healed in s |\n|---|---|---|---|---|")
        failed: dict[str, list[bool]] = {}
        late: dict[str, list[str]] = {}
        for name, cut in cuts.items():
            seen = [len(edge.ledger.operations) for edge in edges]
            with cut:
                await asyncio.sleep(_CUT_S)
                during = [edge.ledger.operations[at:] for edge, at in zip(edges, seen, strict=True)]
                failed[name] = [
                    any(each.meaning is not Meaning.ACKNOWLEDGED for each in some) for some in during
                ]
                last = loop.time() - _CUT_S / 4
                late[name] = [each.answer for some in during for each in some if each.began > last]
            since = loop.time()
            for number, edge in enumerate(edges):
                await edge.healed()
                some = edge.ledger.operations[seen[number] :]
                longest = max(each.ended - each.began for each in some)
                shown = ", ".join(f"{count} x {answer}" for answer, count in answers_seen(some).most_common())
                print(f"| {name} | {number + 1} | {shown} | {longest:.1f} | {loop.time() - since:.1f} |")
        for task in writing:
            task.cancel()
        await asyncio.gather(*writing, return_exceptions=True)
        stored = await stored_rows(one.database.url, table)

    for edge in edges:
        edge.check(stored)
    assert set(late["one NATS server"]) == {"201"}, "the others serve without it after some seconds"
    assert failed["one edge from NATS"] == [True, False], "the other edge notices nothing"


def _peers(one: Topology, name: str) -> set[int]:
    """Give the ports to which a part is connected."""
    return {each.raddr.port for each in psutil.Process(_pid(one, name)).net_connections("tcp") if each.raddr}


def _pid(one: Topology, name: str) -> int:
    process = one.parts[name].process
    assert process is not None
    return process.pid

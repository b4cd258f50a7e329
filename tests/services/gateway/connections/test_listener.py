"""What becomes of the rest of a body that nobody wants: it is taken in, so that the client reads why."""

import asyncio

from tests.broker.server import NatsServer
from tests.services.gateway.pool import Pool
from tests.services.gateway.running_gateway import KEYS, RunningGateway, running_gateway
from tests.services.gateway.wire import head_of

SIZE = 4 * 1024 * 1024
_BEFORE_THE_END_OF_LINGERING_S = 5.0


def _long(target: str, **headers: str) -> bytes:
    return head_of("POST", target, {"Content-Length": str(SIZE), **headers})


async def test_a_client_that_sends_its_whole_body_first_reads_why_it_was_refused(
    strict: RunningGateway,
) -> None:
    async with strict.connect() as wire:
        await wire.send(_long("/rest/v1/items", apikey=KEYS.anon_key) + bytes(SIZE))
        refused = await wire.reply()
        await wire.send(head_of("GET", "/rest/v1/items", {"apikey": KEYS.anon_key}))
        next_one = await wire.reply()

    assert (refused.status, next_one.status) == (413, 200)


async def test_a_gateway_that_drains_does_not_wait_for_the_rest_of_a_refused_body(
    nats: NatsServer, pool: Pool
) -> None:
    async with running_gateway(nats.url, drain_timeout=60) as gateway, gateway.connect() as wire:
        await wire.send(_long("/rest/v1/items"))
        refused = await wire.reply()

        gateway.process.stop("a test")
        async with asyncio.timeout(_BEFORE_THE_END_OF_LINGERING_S):
            code = await gateway.ended()

    assert (refused.status, code) == (401, 0)

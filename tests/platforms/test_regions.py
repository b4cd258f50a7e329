"""Two regions on one machine: two NATS clusters, joined by the gateway lines of docs/clusters.md."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from broker import subjects
from broker.events import store_event
from broker.jetstream.errors import JetStreamError
from broker.jetstream.streams import ensure_stream, stream_state
from broker.nats.connection import NatsConnection
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from broker.subject_rights import EDGE_USER, PROCESS_USERS
from broker.subjects import EMAILS, EMAILS_STREAM
from schemas.errors import Unavailable
from schemas.events import QueuedEmail
from schemas.http import Request, Response
from services.supervisor.deployment import ServerAddresses, nats_secrets
from tests.broker.server import NatsServer, free_port, running_server
from tests.services.gateway.running_gateway import RunningGateway, running_gateway

PAGE = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text()
PASSWORDS = {user: f"{user}-secret" for user in PROCESS_USERS}
pytestmark = [pytest.mark.process_group("regions")]


@dataclass
class Region:
    """A NATS cluster, and an edge in it."""

    name: str
    servers: list[NatsServer]
    gateway: RunningGateway | None = None

    def url_of(self, user: str) -> str:
        return ",".join(server.url_of(user, PASSWORDS[user]) for server in self.servers)

    async def serve(self, stack: AsyncExitStack) -> None:
        """Run a member of the pool rest in this region; it answers with the region's name."""

        async def answer(request: Request, body: RequestBody) -> Response:
            del request, body
            return Response(200, body=self.name.encode())

        connection = await NatsConnection.open(self.url_of("pool"), name="pool")
        stack.push_async_callback(connection.close)
        serving = await serve(connection, subjects.REST, answer, concurrency=4, queue=16)
        stack.push_async_callback(serving.drain, 1.0)

    async def answered_by(self) -> str:
        """Send a request to the edge of this region; return the region that answered, or the status of a failure."""
        assert self.gateway is not None
        reply = await self.gateway.ask("GET", "/rest/v1/items")
        return reply.body.decode() if reply.status == 200 else str(reply.status)

    async def until_answered_by(self, name: str) -> None:
        """Wait until requests of this region are answered by a region (or with a status)."""
        async with asyncio.timeout(60):
            while await self.answered_by() != name:
                await asyncio.sleep(0.05)


@dataclass(frozen=True)
class Ports:
    """Ports between the servers of one region, by server: of the cluster's routes, and of the gateways."""

    routes: list[int]
    gateways: list[int]


def config_of(region: str, number: int, ports: dict[str, Ports]) -> str:
    """Return the configuration of a server: users and routes as `keys files` makes them, gateways as the page says."""
    block = re.search(r"```text\n(gateway \{.*?\n\}\n)```", PAGE, re.DOTALL)
    assert block is not None
    own = ports[region]
    gateway = block[1].replace("REGION", region).replace("7222\n", f"{own.gateways[number]}\n")
    for name, others in ports.items():
        urls = [f"nats://gateway:between@127.0.0.1:{port}" for port in others.gateways]
        gateway = re.sub(rf"(name: {name}, urls: )\[.*?\]", rf"\1{json.dumps(urls)}", gateway)
    gateway = gateway.replace("PASSWORD", "between")
    routes = [f"127.0.0.1:{port}" for port in own.routes]
    places = ServerAddresses(nats=(), routes=routes, cluster_port=own.routes[number])
    secrets = nats_secrets(PASSWORDS, "cluster-secret", places).replace("name: headwater", f"name: {region}")
    return f'server_name: "{region}-{number}"\n{secrets}\n{gateway}'


@asynccontextmanager
async def two_regions() -> AsyncIterator[tuple[Region, Region]]:
    """Run region `a`, three servers with the streams, and region `b`, one server without streams; each with an edge."""
    ports = {
        name: Ports([free_port() for _ in range(count)], [free_port() for _ in range(count)])
        for name, count in {"a": 3, "b": 1}.items()
    }
    async with AsyncExitStack() as stack:
        regions = []
        for name, own in ports.items():
            servers = [
                await stack.enter_async_context(
                    running_server(config_of(name, number, ports), jetstream=name == "a")
                )
                for number in range(len(own.routes))
            ]
            regions.append(Region(name, servers))
        for region in regions:
            region.gateway = await stack.enter_async_context(running_gateway(region.url_of(EDGE_USER)))
        yield regions[0], regions[1]


async def test_requests_prefer_their_region_and_cross_to_the_other() -> None:
    async with two_regions() as (a, b), AsyncExitStack() as everywhere:
        await a.serve(everywhere)
        await a.until_answered_by("a")
        await b.until_answered_by("a")
        async with AsyncExitStack() as only_in_b:
            await b.serve(only_in_b)
            await b.until_answered_by("b")
            stays = [await b.answered_by() for _ in range(20)]
            other = [await a.answered_by() for _ in range(20)]
        await b.until_answered_by("a")

        for server in a.servers:
            server.kill()
        await b.until_answered_by("503")
        for server in a.servers:
            await server.start()
        await b.until_answered_by("a")

    assert stays == ["b"] * 20
    assert other == ["a"] * 20


async def test_streams_of_the_first_region_are_written_and_read_from_the_second() -> None:
    async with two_regions() as (a, b), AsyncExitStack() as stack:
        connections = []
        for region in (a, b):
            connection = await NatsConnection.open(region.url_of("pool"), name="pool")
            stack.push_async_callback(connection.close)
            connections.append(connection)
        async with asyncio.timeout(60):
            while True:
                try:
                    await ensure_stream(connections[1], EMAILS_STREAM, [EMAILS.name], max_bytes=1 << 20)
                    break
                except (Unavailable, JetStreamError):  # no leader is elected yet
                    await asyncio.sleep(0.1)
        email = QueuedEmail("one", 0.0, "sealed")
        number = await store_event(connections[1], EMAILS, email, id="one")
        state = await stream_state(connections[0], EMAILS_STREAM)

    assert number == 1
    assert state is not None
    assert state.last_seq == 1

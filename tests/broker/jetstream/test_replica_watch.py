"""Replicas of a stream in a cluster of three servers: one that is away is reported once, and so is its return."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from broker.jetstream.replica_watch import ReplicaWatch
from broker.jetstream.streams import StreamLimits, create_stream
from broker.nats.connection import NatsConnection
from broker.observability.observe import exposition
from schemas.errors import ApiError
from tests.broker.server import NatsServer, free_port, running_server

pytestmark = pytest.mark.timeout(90)
LIMITS = StreamLimits("CHANGES", ("changes.>",), 900, 10_000_000)


@pytest.fixture
async def cluster() -> AsyncIterator[list[NatsServer]]:
    """Three servers of a cluster with JetStream."""
    ports = [free_port() for _ in range(3)]
    routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
    async with AsyncExitStack() as stack:
        yield list(
            await asyncio.gather(
                *(
                    stack.enter_async_context(
                        running_server(
                            f'server_name: "n{port}"\n'
                            f"cluster {{ name: c, listen: 127.0.0.1:{port}, routes: [{routes}] }}"
                        )
                    )
                    for port in ports
                )
            )
        )


async def _stream_of_three(connection: NatsConnection) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                await create_stream(connection, LIMITS, {})
                return
            except ApiError:  # the cluster has not elected a leader yet
                await asyncio.sleep(0.1)
            except Exception as error:
                if "10008" not in repr(error):
                    raise
                await asyncio.sleep(0.1)


async def _look_until(watch: ReplicaWatch, *, behind: int) -> None:
    async with asyncio.timeout(60):
        while len(watch.behind) != behind:
            await watch.look()
            await asyncio.sleep(0.05)


async def test_a_replica_whose_server_is_away_is_reported_until_it_is_back(cluster: list[NatsServer]) -> None:
    connection = await NatsConnection.open(
        ",".join(server.url for server in cluster[:2]), name="t", replicas=3
    )
    await _stream_of_three(connection)
    watch = ReplicaWatch(connection, "CHANGES", patience_s=0.5)
    await _look_until(watch, behind=0)

    cluster[2].kill()
    await _look_until(watch, behind=1)
    assert b'headwater_stream_replicas_behind{stream="CHANGES"} 1.0' in exposition()

    await cluster[2].start()
    await _look_until(watch, behind=0)
    assert b'headwater_stream_replicas_behind{stream="CHANGES"} 0.0' in exposition()

    await watch.close()
    await connection.close()

"""A nats-server that may keep less than a stream would: the refusal names the stream and the setting."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker.jetstream.errors import JetStreamError, explain_no_space
from broker.jetstream.streams import StreamLimits, create_stream, ensure_stream
from broker.nats.connection import NatsConnection
from tests.broker.server import NatsServer

MIB = 1024 * 1024
_SMALL = "jetstream: { max_file_store: 10MB, max_memory_store: 1MB, store_dir: %s }\n"


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncIterator[NatsConnection]:
    server = NatsServer(tmp_path, _SMALL % (tmp_path / "small"), jetstream=False)
    await server.start()
    one = await NatsConnection.open(server.url, name="test")
    yield one
    await one.close()
    server.kill()


async def test_a_stream_without_room_says_which_one_and_what_to_change(connection: NatsConnection) -> None:
    with pytest.raises(JetStreamError) as durable:
        await ensure_stream(connection, "LARGE", ["large"], max_bytes=64 * MIB)
    with pytest.raises(JetStreamError) as plain:
        await create_stream(connection, StreamLimits("ALSO", ["also"], 60.0, 64 * MIB), {})

    assert "stream LARGE of 64 MiB" in str(durable.value)
    assert "stream ALSO of 64 MiB" in str(plain.value)
    assert "max_file_store" in str(durable.value)
    await ensure_stream(connection, "SMALL", ["small"], max_bytes=MIB)


def test_another_refusal_stays_as_it_is() -> None:
    refused = JetStreamError(10059, "stream not found")

    assert explain_no_space(refused, "ANY", 1) is refused

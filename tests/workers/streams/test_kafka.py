"""Changes in Debezium's form in topics of a real Kafka, which is killed in between."""

import json
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.workers.replication.replication_pool import ReplicationPool
from tests.workers.streams.kafka_server import KafkaServer, running_kafka
from tests.workers.streams.running_streams import states, stream, streaming, until

pytestmark = pytest.mark.timeout(280)
TOPIC = "bus.public.traded"


async def read(server: KafkaServer) -> list[tuple[Any, Any]]:
    """Return keys and values of all messages of the topic."""
    consumer = AIOKafkaConsumer(bootstrap_servers=f"127.0.0.1:{server.port}", auto_offset_reset="earliest")
    await consumer.start()
    try:
        partition = TopicPartition(TOPIC, 0)
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        found = await consumer.getmany(partition, timeout_ms=2000)
        return [
            (
                json.loads(message.key) if message.key else None,
                json.loads(message.value) if message.value else None,
            )
            for message in found.get(partition, [])
        ]
    finally:
        await consumer.stop()


async def test_changes_arrive_in_debeziums_form_over_a_kill_of_kafka(replication_pool: ReplicationPool):
    admin = replication_pool.admin
    await admin.execute("create table public.traded (id int primary key, price numeric, data jsonb)")
    await admin.execute(
        "grant select on public.traded to service_role; insert into public.traded values (1, 1.50, '{\"a\": 1}')"
    )
    async with running_kafka() as server:
        streams = {"bus": stream(f"kafka://127.0.0.1:{server.port}", "traded", closed_network=True)}

        async def ops() -> list[str | None]:
            """Return what has arrived, each message once: what was sent at the kill may have been stored before it."""
            once = {
                json.dumps([key, value and value["op"], value and value["source"]]): value
                for key, value in await read(server)
            }
            return [value and value["op"] for value in once.values()]

        async def has(*expected: str | None) -> bool:
            return await ops() == list(expected)

        async def ends_with(op: str) -> bool:
            return (await ops())[-1:] == [op]

        async def state_is(state: str) -> bool:
            return bool((await states(replication_pool))["traded"]["state"] == state)

        async with streaming(replication_pool, **streams):
            await until(lambda: has("r"))
            await admin.execute(
                "insert into public.traded values (2, 2); update public.traded set id = 3 where id = 2"
            )
            await until(lambda: has("r", "c", "d", None, "c"))
            server.kill()
            await admin.execute("delete from public.traded where id = 1")
            await until(lambda: state_is("away"))
            await server.start()
            await until(lambda: state_is("following"))
            await admin.execute("truncate public.traded")
            await until(lambda: ends_with("t"))
        messages = await read(server)

    key, value = messages[0]
    assert key == {"id": 1}
    assert value["after"] == {"id": 1, "price": "1.50", "data": '{"a": 1}'}
    assert (
        value["source"] | {"schema": "public", "table": "traded", "name": "bus", "snapshot": "true"}
        == value["source"]
    )
    assert messages[2] == ({"id": 2}, messages[2][1])
    assert messages[2][1]["before"] == {"id": 2, "price": None, "data": None}
    assert messages[4][0] == {"id": 3}
    assert ({"id": 1}, None) in messages[5:]
    assert [value["op"] for key, value in messages[5:] if value and key == {"id": 1}][:1] == ["d"]

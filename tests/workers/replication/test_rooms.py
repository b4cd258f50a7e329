"""Messages to rooms that were sent in the database."""

import asyncio

from schemas.changes import StoredBroadcast


async def _sent(replication_pool, topic: str, count: int) -> list[StoredBroadcast]:
    async with asyncio.timeout(30):
        while True:
            found = [
                stored.kept
                for stored in await replication_pool.stored()
                if isinstance(stored.kept, StoredBroadcast) and stored.kept.topic == topic
            ]
            if len(found) >= count:
                return found
            await asyncio.sleep(0.02)


async def test_a_message_is_published_with_its_room(replication_pool):
    await replication_pool.admin.execute("select realtime.send('{\"a\": 1}', 'shout', 'one', false)")

    (sent,) = await _sent(replication_pool, "one", 1)

    assert (sent.event, sent.is_private, sent.is_binary) == ("shout", False, False)
    assert sent.payload == b'{"a": 1, "id": "%b"}' % sent.id.encode()


async def test_bytes_are_published_as_bytes(replication_pool):
    await replication_pool.admin.execute("select realtime.send_binary('\\x00ff', 'raw', 'two')")

    (sent,) = await _sent(replication_pool, "two", 1)

    assert (sent.payload, sent.is_private, sent.is_binary) == (b"\x00\xff", True, True)


async def test_what_is_not_to_be_sent_is_not(replication_pool):
    await replication_pool.admin.execute("""
        insert into realtime.messages (topic, extension, event, payload, private) values
          ('three', 'presence', 'e', '1', true), ('three', 'broadcast', null, '1', true),
          ('three', 'broadcast', 'e', null, true), ('three', 'broadcast', 'e', '1', null);
        insert into realtime.messages (topic, extension, event, payload, private)
          values ('three', 'broadcast', 'long', to_jsonb(repeat('x', 3100000)), true);
        insert into realtime.messages (topic, extension, event, payload) values ('three', 'broadcast', 'last', 'null')
    """)

    (sent,) = await _sent(replication_pool, "three", 1)

    assert (sent.event, sent.payload, sent.is_private) == ("last", b"null", False)


async def test_messages_of_one_transaction_keep_their_order(replication_pool):
    await replication_pool.admin.execute(
        "insert into realtime.messages (topic, extension, event, payload)"
        " select 'four', 'broadcast', n::text, '1' from generate_series(1, 30) n"
    )

    sent = await _sent(replication_pool, "four", 30)

    assert [each.event for each in sent] == [str(number) for number in range(1, 31)]
    assert [each.number for each in sent] == list(range(30))

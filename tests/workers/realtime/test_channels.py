"""CHANNEL and WRITE: policies on realtime.messages, probes that never stay, stored messages."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator

import pytest

from schemas.realtime import ChannelRights, ReplayQuery
from tests.workers.realtime.realtime_pool import ALICE, ANON, RealtimePool, claims_of


@pytest.fixture(autouse=True)
async def policies(realtime_pool: RealtimePool) -> AsyncIterator[None]:
    yield
    names = await realtime_pool.admin.fetch(
        "select polname from pg_policy where polrelid = 'realtime.messages'::regclass"
    )
    for (name,) in names:
        await realtime_pool.sql(f'drop policy "{name}" on realtime.messages')


async def policy(
    realtime_pool: RealtimePool, command: str, expression: str, roles: str = "authenticated"
) -> None:
    clause = "with check" if command == "insert" else "using"
    name = f"p_{uuid.uuid4().hex[:8]}"
    await realtime_pool.sql(
        f"create policy {name} on realtime.messages for {command} to {roles} {clause} ({expression})"
    )


async def test_without_a_policy_a_private_channel_is_closed(realtime_pool: RealtimePool) -> None:
    assert await realtime_pool.channel("room") == ChannelRights(False, False)
    assert not await realtime_pool.may_write("room")


async def test_a_policy_opens_topics_and_extensions(realtime_pool: RealtimePool) -> None:
    await policy(
        realtime_pool, "select", "realtime.topic() = 'room' and realtime.messages.extension = 'broadcast'"
    )
    await policy(realtime_pool, "insert", "(select realtime.topic()) = 'room' and extension = 'presence'")

    assert await realtime_pool.channel("room") == ChannelRights(True, False)
    assert await realtime_pool.channel("other") == ChannelRights(False, False)
    assert await realtime_pool.channel("room", ANON, role="anon") == ChannelRights(False, False)
    assert await realtime_pool.may_write("room", "presence")
    assert not await realtime_pool.may_write("room", "broadcast")
    assert not await realtime_pool.may_write("other", "presence")


async def test_policies_read_claims_and_headers(realtime_pool: RealtimePool) -> None:
    await policy(
        realtime_pool,
        "select",
        f"(select auth.uid()) = '{ALICE}' and current_setting('request.headers')::json ->> 'x-room' = topic"
        " and current_setting('request.jwt.claim.sub') = auth.uid()::text and auth.role() = 'authenticated'",
    )

    assert await realtime_pool.channel("room", headers={"x-room": "room"}) == ChannelRights(True, True)
    assert await realtime_pool.channel("room", headers={"x-room": "other"}) == ChannelRights(False, False)
    assert await realtime_pool.channel("room", claims_of("b"), headers={"x-room": "room"}) == ChannelRights(
        False, False
    )


async def test_presence_is_looked_at_only_where_it_is_wanted(realtime_pool: RealtimePool) -> None:
    await policy(realtime_pool, "select", "true")

    assert await realtime_pool.channel("room") == ChannelRights(True, True)
    assert await realtime_pool.channel("room", with_presence=False) == ChannelRights(True, False)


async def test_whoever_bypasses_policies_may_do_everything(realtime_pool: RealtimePool) -> None:
    assert await realtime_pool.channel("room", b"{}", role="service_role") == ChannelRights(True, True)
    assert await realtime_pool.may_write("room", claims=b"{}", role="service_role")


async def test_a_policy_that_raises_denies(realtime_pool: RealtimePool) -> None:
    await policy(realtime_pool, "select", "(1 / (length(topic) - 4)) = 1")
    await policy(realtime_pool, "insert", "(1 / (length(topic) - 4)) = 1")

    assert await realtime_pool.channel("room") == ChannelRights(False, False)
    assert await realtime_pool.channel("rooms") == ChannelRights(True, True)
    assert not await realtime_pool.may_write("room")
    assert await realtime_pool.may_write("rooms")


@pytest.mark.parametrize("role", ["nobody_at_all", "supabase_admin", "postgres"])
async def test_a_role_that_is_not_there_or_not_ours_is_denied(realtime_pool: RealtimePool, role: str) -> None:
    await policy(realtime_pool, "select", "true", "public")
    await policy(realtime_pool, "insert", "true", "public")

    assert await realtime_pool.channel("room", b"{}", role=role) == ChannelRights(False, False)
    assert not await realtime_pool.may_write("room", claims=b"{}", role=role)


async def test_stored_messages_are_given_again(realtime_pool: RealtimePool) -> None:
    await policy(realtime_pool, "select", "true")
    topic = f"room {uuid.uuid4()}"
    ids = [str(uuid.uuid4()) for _ in range(4)]
    at = "now()::timestamp - interval"
    await realtime_pool.sql("set timezone = 'UTC'")
    await realtime_pool.sql(
        "insert into realtime.messages (id, topic, extension, event, payload, binary_payload, private, inserted_at) values"
        f" ('{ids[0]}', $1, 'broadcast', 'old', '{{}}', null, true, {at} '2 hours'),"
        f" ('{ids[1]}', $1, 'broadcast', 'e', '{{\"a\": 1.50}}', null, true, {at} '3 minutes'),"
        f" ('{ids[2]}', $1, 'broadcast', 'b', null, '\\x00ff', true, {at} '2 minutes'),"
        f" ('{ids[3]}', $1, 'broadcast', 'last', '2', null, true, {at} '1 minute'),"
        f" (gen_random_uuid(), $1, 'broadcast', 'public', '3', null, false, {at} '1 minute'),"
        f" (gen_random_uuid(), $1, 'presence', 'p', '3', null, true, {at} '1 minute'),"
        f" (gen_random_uuid(), $1, 'broadcast', null, '3', null, true, {at} '1 minute'),"
        f" (gen_random_uuid(), 'x' || $1, 'broadcast', 'e', '3', null, true, {at} '1 minute')",
        topic,
    )
    hour_ago = int(await realtime_pool.value("select 1000 * extract(epoch from now() - interval '1 hour')"))

    found = await realtime_pool.channel(topic, replay=ReplayQuery(hour_ago))
    two = await realtime_pool.channel(topic, replay=ReplayQuery(hour_ago, 2))

    assert [each.id for each in found.replayed] == ids[1:]
    assert [(each.event, each.payload, each.is_binary) for each in found.replayed] == [
        ("e", b'{"a": 1.50}', False),
        ("b", b"\0\xff", True),
        ("last", b"2", False),
    ]
    assert [each.id for each in two.replayed] == ids[2:]


async def test_stored_messages_are_for_those_who_may_read(realtime_pool: RealtimePool) -> None:
    await policy(realtime_pool, "select", "extension = 'presence'")
    await realtime_pool.sql("select realtime.send('{}', 'e', 'kept', true)")

    assert await realtime_pool.channel("kept", replay=ReplayQuery(0)) == ChannelRights(False, True)


async def test_no_more_than_25_stored_messages_are_given(realtime_pool: RealtimePool) -> None:
    await policy(realtime_pool, "select", "true")
    await realtime_pool.sql(
        "select realtime.send('{}', n::text, 'many', true) from generate_series(1, 30) as n"
    )

    found = await realtime_pool.channel("many", replay=ReplayQuery(0, 1000))

    assert len(found.replayed) == 25


async def test_a_function_can_refuse_by_what_the_caller_is_in(realtime_pool: RealtimePool) -> None:
    members = await realtime_pool.table("room text, who uuid")
    await realtime_pool.sql(
        f"insert into {members} values ('room', '{ALICE}'); create policy own on {members} using (who = auth.uid())"
    )
    await policy(
        realtime_pool,
        "select",
        f"exists (select from {members} where room = realtime.topic() and who = (select auth.uid()))",
    )

    assert (await realtime_pool.channel("room")).can_read_broadcast
    assert not (await realtime_pool.channel("room", claims_of(str(uuid.uuid4())))).can_read_broadcast


async def test_probes_never_stay_and_are_never_published(realtime_pool: RealtimePool) -> None:
    await policy(realtime_pool, "select", "true")
    await policy(realtime_pool, "insert", "true")
    slot = f"probe_{uuid.uuid4().hex[:8]}"
    await realtime_pool.value("select pg_create_logical_replication_slot($1, 'pgoutput', true)", slot)
    before = await realtime_pool.value("select count(*) from realtime.messages")

    answers = await asyncio.gather(
        *(realtime_pool.channel(f"room {number}", replay=ReplayQuery(0)) for number in range(8)),
        *(realtime_pool.may_write(f"room {number}") for number in range(8)),
    )
    read = "select count(*) from pg_logical_slot_get_binary_changes($1, null, null, 'proto_version', '1', 'publication_names', 'supabase_realtime_messages_publication') where get_byte(data, 0) = 73"
    published = await realtime_pool.value(read, slot)
    await realtime_pool.sql("select realtime.send('{}', 'e', 'room', true)")
    published_then = await realtime_pool.value(read, slot)
    await realtime_pool.value("select pg_drop_replication_slot($1)", slot)

    assert all(answers)
    assert await realtime_pool.value("select count(*) from realtime.messages") == before + 1
    assert (published, published_then) == (0, 1)


async def test_a_topic_can_be_any_text(realtime_pool: RealtimePool) -> None:
    await policy(realtime_pool, "select", "realtime.topic() = topic")
    topic = json.loads('"a\\"b\'; drop table x; -- \\u00fc \\ud83d\\ude00"')

    assert await realtime_pool.channel(topic) == ChannelRights(True, True)

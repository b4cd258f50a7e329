"""CHANNEL and WRITE: policies on realtime.messages, probes that never stay, stored messages."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator

import pytest

from schemas.realtime import ChannelRights, ReplayQuery
from tests.workers.realtime.house import ALICE, ANON, House, claims_of


@pytest.fixture(autouse=True)
async def policies(house: House) -> AsyncIterator[None]:
    yield
    names = await house.admin.fetch(
        "select polname from pg_policy where polrelid = 'realtime.messages'::regclass"
    )
    for (name,) in names:
        await house.sql(f'drop policy "{name}" on realtime.messages')


async def policy(house: House, command: str, expression: str, roles: str = "authenticated") -> None:
    clause = "with check" if command == "insert" else "using"
    name = f"p_{uuid.uuid4().hex[:8]}"
    await house.sql(
        f"create policy {name} on realtime.messages for {command} to {roles} {clause} ({expression})"
    )


async def test_without_a_policy_a_private_channel_is_closed(house: House) -> None:
    assert await house.channel("room") == ChannelRights(False, False)
    assert not await house.may_write("room")


async def test_a_policy_opens_topics_and_extensions(house: House) -> None:
    await policy(house, "select", "realtime.topic() = 'room' and realtime.messages.extension = 'broadcast'")
    await policy(house, "insert", "(select realtime.topic()) = 'room' and extension = 'presence'")

    assert await house.channel("room") == ChannelRights(True, False)
    assert await house.channel("other") == ChannelRights(False, False)
    assert await house.channel("room", ANON, role="anon") == ChannelRights(False, False)
    assert await house.may_write("room", "presence")
    assert not await house.may_write("room", "broadcast")
    assert not await house.may_write("other", "presence")


async def test_policies_read_claims_and_headers(house: House) -> None:
    await policy(
        house,
        "select",
        f"(select auth.uid()) = '{ALICE}' and current_setting('request.headers')::json ->> 'x-room' = topic"
        " and current_setting('request.jwt.claim.sub') = auth.uid()::text and auth.role() = 'authenticated'",
    )

    assert await house.channel("room", headers={"x-room": "room"}) == ChannelRights(True, True)
    assert await house.channel("room", headers={"x-room": "other"}) == ChannelRights(False, False)
    assert await house.channel("room", claims_of("b"), headers={"x-room": "room"}) == ChannelRights(
        False, False
    )


async def test_presence_is_looked_at_only_where_it_is_wanted(house: House) -> None:
    await policy(house, "select", "true")

    assert await house.channel("room") == ChannelRights(True, True)
    assert await house.channel("room", with_presence=False) == ChannelRights(True, False)


async def test_whoever_bypasses_policies_may_do_everything(house: House) -> None:
    assert await house.channel("room", b"{}", role="service_role") == ChannelRights(True, True)
    assert await house.may_write("room", claims=b"{}", role="service_role")


async def test_a_policy_that_raises_denies(house: House) -> None:
    await policy(house, "select", "(1 / (length(topic) - 4)) = 1")
    await policy(house, "insert", "(1 / (length(topic) - 4)) = 1")

    assert await house.channel("room") == ChannelRights(False, False)
    assert await house.channel("rooms") == ChannelRights(True, True)
    assert not await house.may_write("room")
    assert await house.may_write("rooms")


@pytest.mark.parametrize("role", ["nobody_at_all", "supabase_admin", "postgres"])
async def test_a_role_that_is_not_there_or_not_ours_is_denied(house: House, role: str) -> None:
    await policy(house, "select", "true", "public")
    await policy(house, "insert", "true", "public")

    assert await house.channel("room", b"{}", role=role) == ChannelRights(False, False)
    assert not await house.may_write("room", claims=b"{}", role=role)


async def test_stored_messages_are_given_again(house: House) -> None:
    await policy(house, "select", "true")
    topic = f"room {uuid.uuid4()}"
    ids = [str(uuid.uuid4()) for _ in range(4)]
    at = "now()::timestamp - interval"
    await house.sql("set timezone = 'UTC'")
    await house.sql(
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
    hour_ago = int(await house.value("select 1000 * extract(epoch from now() - interval '1 hour')"))

    found = await house.channel(topic, replay=ReplayQuery(hour_ago))
    two = await house.channel(topic, replay=ReplayQuery(hour_ago, 2))

    assert [each.id for each in found.replayed] == ids[1:]
    assert [(each.event, each.payload, each.is_binary) for each in found.replayed] == [
        ("e", b'{"a": 1.50}', False),
        ("b", b"\0\xff", True),
        ("last", b"2", False),
    ]
    assert [each.id for each in two.replayed] == ids[2:]


async def test_stored_messages_are_for_those_who_may_read(house: House) -> None:
    await policy(house, "select", "extension = 'presence'")
    await house.sql("select realtime.send('{}', 'e', 'kept', true)")

    assert await house.channel("kept", replay=ReplayQuery(0)) == ChannelRights(False, True)


async def test_no_more_than_25_stored_messages_are_given(house: House) -> None:
    await policy(house, "select", "true")
    await house.sql("select realtime.send('{}', n::text, 'many', true) from generate_series(1, 30) as n")

    found = await house.channel("many", replay=ReplayQuery(0, 1000))

    assert len(found.replayed) == 25


async def test_a_function_can_refuse_by_what_the_caller_is_in(house: House) -> None:
    members = await house.table("room text, who uuid")
    await house.sql(
        f"insert into {members} values ('room', '{ALICE}'); create policy own on {members} using (who = auth.uid())"
    )
    await policy(
        house,
        "select",
        f"exists (select from {members} where room = realtime.topic() and who = (select auth.uid()))",
    )

    assert (await house.channel("room")).can_read_broadcast
    assert not (await house.channel("room", claims_of(str(uuid.uuid4())))).can_read_broadcast


async def test_probes_never_stay_and_are_never_published(house: House) -> None:
    await policy(house, "select", "true")
    await policy(house, "insert", "true")
    slot = f"probe_{uuid.uuid4().hex[:8]}"
    await house.value("select pg_create_logical_replication_slot($1, 'pgoutput', true)", slot)
    before = await house.value("select count(*) from realtime.messages")

    answers = await asyncio.gather(
        *(house.channel(f"room {number}", replay=ReplayQuery(0)) for number in range(8)),
        *(house.may_write(f"room {number}") for number in range(8)),
    )
    read = "select count(*) from pg_logical_slot_get_binary_changes($1, null, null, 'proto_version', '1', 'publication_names', 'supabase_realtime_messages_publication') where get_byte(data, 0) = 73"
    published = await house.value(read, slot)
    await house.sql("select realtime.send('{}', 'e', 'room', true)")
    published_then = await house.value(read, slot)
    await house.value("select pg_drop_replication_slot($1)", slot)

    assert all(answers)
    assert await house.value("select count(*) from realtime.messages") == before + 1
    assert (published, published_then) == (0, 1)


async def test_a_topic_can_be_any_text(house: House) -> None:
    await policy(house, "select", "realtime.topic() = topic")
    topic = json.loads('"a\\"b\'; drop table x; -- \\u00fc \\ud83d\\ude00"')

    assert await house.channel(topic) == ChannelRights(True, True)

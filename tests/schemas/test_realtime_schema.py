"""Schema `realtime` as projects' SQL relies on it."""

import asyncpg
import pytest

from tests.schemas.callers import ME, become


@pytest.fixture
async def rooms(admin):
    """The platform's own role, in a transaction that is rolled back; no message is there."""
    await admin.execute("set local role supabase_realtime_admin; delete from realtime.messages")
    return admin


async def _messages(connection) -> list[asyncpg.Record]:
    return await connection.fetch("select * from realtime.messages order by inserted_at, event")


async def test_a_message_that_is_sent_gets_an_id_and_is_private(rooms):
    await rooms.execute("select realtime.send('{\"a\": 1}', 'shout', 'room')")
    (row,) = await _messages(rooms)
    assert (row["topic"], row["event"], row["extension"], row["private"]) == (
        "room",
        "shout",
        "broadcast",
        True,
    )
    assert row["payload"] == f'{{"a": 1, "id": "{row["id"]}"}}'


async def test_an_id_in_the_payload_is_kept_and_other_payloads_go_as_they_are(rooms):
    await rooms.execute(
        "select realtime.send('{\"id\": 7}', 'a', 'room', false), realtime.send('[1]', 'b', 'room')"
    )
    first, second = await _messages(rooms)
    assert (first["payload"], first["private"], second["payload"]) == ('{"id": 7}', False, "[1]")


async def test_bytes_are_sent_beside_the_payload(rooms):
    await rooms.execute("select realtime.send_binary('\\x00ff', 'raw', 'room', true)")
    (row,) = await _messages(rooms)
    assert (row["binary_payload"], row["payload"]) == (b"\x00\xff", None)


async def test_a_message_has_one_payload_at_most(rooms):
    with pytest.raises(asyncpg.CheckViolationError):
        await rooms.execute(
            "insert into realtime.messages (topic, extension, payload, binary_payload) values ('a', 'broadcast', '1', '')"
        )


async def test_sending_never_raises_but_warns(rooms):
    heard = []
    rooms.add_log_listener(lambda _, message: heard.append(message.message))
    await become(rooms, "anon")
    await rooms.execute("select realtime.send('{}', 'shout', 'room')")  # no policy lets anon insert
    assert [text.split(":")[0] for text in heard] == ["WarnSendingBroadcastMessage"]


async def test_a_policy_for_insert_lets_a_caller_send_to_its_topic(rooms):
    await rooms.execute(
        "create policy send on realtime.messages for insert to authenticated with check (realtime.topic() = 'mine')"
    )
    await become(rooms, "authenticated", sub=ME)
    await rooms.execute("select realtime.send('{}', 'a', 'mine'), realtime.send('{}', 'b', 'other')")
    await rooms.execute("reset role")
    assert [row["topic"] for row in await _messages(rooms)] == ["mine"]


async def test_a_trigger_broadcasts_changes_of_rows(rooms):
    await rooms.execute("reset role")
    await rooms.execute("""
        create table public.notes (id int primary key, text text);
        create function public.tell() returns trigger language plpgsql security definer as $$
        begin
          perform realtime.broadcast_changes('notes', tg_op, tg_op, tg_table_name, tg_table_schema, new, old);
          return null;
        end $$;
        create trigger tell after insert or update or delete on public.notes for each row execute function public.tell();
        insert into public.notes values (1, 'a');
        update public.notes set text = 'b';
        delete from public.notes;
    """)
    told = [
        (row["event"], *await rooms.fetchrow(
            "select $1::jsonb -> 'record' ->> 'text', $1::jsonb -> 'old_record' ->> 'text', $1::jsonb ->> 'table'",
            row["payload"],
        ))
        for row in sorted(await _messages(rooms), key=lambda row: "IUD".index(row["event"][0]))
    ]  # fmt: skip
    assert told == [
        ("INSERT", "a", None, "notes"),
        ("UPDATE", "b", "a", "notes"),
        ("DELETE", None, "b", "notes"),
    ]


@pytest.mark.parametrize(
    ("operation", "level", "words"),
    [
        ("TRUNCATE", "ROW", "Unexpected operation type"),
        ("INSERT", "STATEMENT", "can only be triggered for each row"),
    ],
)
async def test_other_triggers_are_refused(rooms, operation, level, words):
    with pytest.raises(asyncpg.RaiseError, match=words):
        await rooms.execute(
            f"select realtime.broadcast_changes('t', 'e', '{operation}', 'x', 'public', row(1), row(1), '{level}')"
        )


async def test_partitions_stand_ready_and_rows_of_the_default_one_move_into_new_ones(rooms):
    day = await rooms.fetchval("select to_char((now() at time zone 'utc')::date + 2, 'YYYY_MM_DD')")
    await rooms.execute(f"drop table realtime.messages_{day}")
    await rooms.execute(
        "insert into realtime.messages (topic, extension, event, inserted_at)"
        " values ('t', 'broadcast', 'kept', (now() at time zone 'utc')::date + 2)"
    )
    assert await rooms.fetchval("select count(*) from realtime.messages_default") == 1
    await rooms.execute("select realtime.keep_partitions()")
    assert await rooms.fetchval("select count(*) from realtime.messages_default") == 0
    assert await rooms.fetchval(f"select count(*) from realtime.messages_{day}") == 1


async def test_old_partitions_go(rooms):
    await rooms.execute("""
        create table realtime.messages_2020_01_01 partition of realtime.messages
          for values from ('2020-01-01') to ('2020-01-02')
    """)
    await rooms.execute("select realtime.keep_partitions()")
    assert await rooms.fetchval("select to_regclass('realtime.messages_2020_01_01')") is None
    assert await rooms.fetchval("select to_regclass('realtime.messages_default')") is not None


async def test_projects_may_make_policies_on_messages(project):
    await project.execute(
        "create policy read on realtime.messages for select to authenticated using (realtime.topic() = 'x')"
    )


async def test_the_publication_names_the_table_and_not_its_partitions(admin):
    assert await admin.fetch(
        "select schemaname || '.' || tablename as name from pg_publication_tables"
        " where pubname = 'supabase_realtime_messages_publication'"
    ) == [("realtime.messages",)]

"""Queues: what the functions of pgmq give, and that consumers at once neither lose nor double a message."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

from tests.workers.database.server import Server, connected, fresh_database, temporary_server

CONSUMERS = 100
MESSAGES = 2000

# Name, arguments, result of every function of the interface of pgmq 1.5.
INTERFACE = """
acquire_queue_lock|queue_name text|void
archive|queue_name text, msg_id bigint|boolean
archive|queue_name text, msg_ids bigint[]|SETOF bigint
convert_archive_partitioned|table_name text, partition_interval text DEFAULT '10000'::text, retention_interval text DEFAULT '100000'::text, leading_partition integer DEFAULT 10|void
create|queue_name text|void
create_non_partitioned|queue_name text|void
create_partitioned|queue_name text, partition_interval text DEFAULT '10000'::text, retention_interval text DEFAULT '100000'::text|void
create_unlogged|queue_name text|void
delete|queue_name text, msg_id bigint|boolean
delete|queue_name text, msg_ids bigint[]|SETOF bigint
detach_archive|queue_name text|void
drop_queue|queue_name text|boolean
drop_queue|queue_name text, partitioned boolean|boolean
format_table_name|queue_name text, prefix text|text
list_queues||SETOF pgmq.queue_record
metrics|queue_name text|pgmq.metrics_result
metrics_all||SETOF pgmq.metrics_result
pop|queue_name text|SETOF pgmq.message_record
purge_queue|queue_name text|bigint
read|queue_name text, vt integer, qty integer DEFAULT 1, conditional jsonb DEFAULT '{}'::jsonb|SETOF pgmq.message_record
read_with_poll|queue_name text, vt integer, qty integer DEFAULT 1, max_poll_seconds integer DEFAULT 5, poll_interval_ms integer DEFAULT 100, conditional jsonb DEFAULT '{}'::jsonb|SETOF pgmq.message_record
send|queue_name text, msg jsonb|SETOF bigint
send|queue_name text, msg jsonb, delay integer|SETOF bigint
send|queue_name text, msg jsonb, delay timestamp with time zone|SETOF bigint
send|queue_name text, msg jsonb, headers jsonb|SETOF bigint
send|queue_name text, msg jsonb, headers jsonb, delay integer|SETOF bigint
send|queue_name text, msg jsonb, headers jsonb, delay timestamp with time zone|SETOF bigint
send_batch|queue_name text, msgs jsonb[]|SETOF bigint
send_batch|queue_name text, msgs jsonb[], delay integer|SETOF bigint
send_batch|queue_name text, msgs jsonb[], delay timestamp with time zone|SETOF bigint
send_batch|queue_name text, msgs jsonb[], headers jsonb[]|SETOF bigint
send_batch|queue_name text, msgs jsonb[], headers jsonb[], delay integer|SETOF bigint
send_batch|queue_name text, msgs jsonb[], headers jsonb[], delay timestamp with time zone|SETOF bigint
set_vt|queue_name text, msg_id bigint, vt integer|SETOF pgmq.message_record
validate_queue_name|queue_name text|void
"""


@pytest.fixture(scope="session")
def roomy() -> Iterator[Server]:
    """A server with room for all consumers."""
    with temporary_server(settings={"max_connections": str(CONSUMERS + 20)}) as server:
        yield server


@pytest.fixture
async def database_url(roomy: Server) -> AsyncIterator[str]:
    """URL of a database with the extension, owned by a role that is no superuser."""
    async with connected(roomy.url()) as admin:
        await admin.execute(
            "do $$ begin create role projects login password 'p'; exception when duplicate_object then null; end $$"
        )
        async with fresh_database(roomy) as name:
            await admin.execute(f"alter database {name} owner to projects")
            url = roomy.url("projects", "p", name)
            async with connected(url) as connection:
                await connection.execute("create extension pgmq")
            yield url


@pytest.fixture
async def queue(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to a database with an empty queue `jobs`."""
    async with connected(database_url) as connection:
        await connection.execute("select pgmq.create('jobs')")
        yield connection


async def column(connection: asyncpg.Connection, query: str, *values: object) -> list[Any]:
    return [row[0] for row in await connection.fetch(query, *values)]


async def test_the_interface_is_that_of_the_original(queue: asyncpg.Connection):
    rows = await column(
        queue,
        "select proname || '|' || pg_get_function_arguments(oid) || '|' || pg_get_function_result(oid) from pg_proc"
        " where pronamespace = 'pgmq'::regnamespace and proname not like 'pgmq%'",
    )

    assert sorted(rows) == sorted(INTERFACE.split("\n")[1:-1])


async def test_types_have_the_columns_that_projects_look_for(queue: asyncpg.Connection):
    rows = await column(
        queue,
        "select c.relname || '.' || attname from pg_attribute join pg_class c on c.oid = attrelid"
        " where relnamespace = 'pgmq'::regnamespace and relkind = 'c' and attnum > 0 order by relname, attnum",
    )

    assert [row for row in rows if row.startswith("message_record")] == [
        f"message_record.{name}" for name in ("msg_id", "read_ct", "enqueued_at", "vt", "message", "headers")
    ]
    assert "metrics_result.queue_visible_length" in rows
    assert "queue_record.is_unlogged" in rows


async def test_every_function_fixes_its_search_path(queue: asyncpg.Connection):
    rows = await column(
        queue,
        "select proname from pg_proc where pronamespace = 'pgmq'::regnamespace"
        " and proconfig is distinct from '{\"search_path=pg_catalog, pg_temp\"}'",
    )

    assert rows == []


async def test_every_procedural_function_compiles(queue: asyncpg.Connection):
    await queue.fetch(
        "select plpgsql_validator(p.oid)::text from pg_proc p join pg_language l on l.oid = prolang"
        " where pronamespace = 'pgmq'::regnamespace and lanname = 'plpgsql'"
    )


async def test_a_message_that_is_read_is_hidden_until_its_time_is_over(queue: asyncpg.Connection):
    (id,) = await column(queue, "select pgmq.send('jobs', '{\"a\": 1}', '{\"h\": 2}'::jsonb)")

    read = await queue.fetch("select * from pgmq.read('jobs', 30, 5)")
    hidden = await queue.fetch("select * from pgmq.read('jobs', 30, 5)")
    await queue.execute("select pgmq.set_vt('jobs', $1, 0)", id)
    again = await queue.fetch("select * from pgmq.read('jobs', 30, 5)")

    assert (read[0]["msg_id"], read[0]["read_ct"], read[0]["message"], read[0]["headers"]) == (
        id,
        1,
        '{"a": 1}',
        '{"h": 2}',
    )
    assert hidden == []
    assert again[0]["read_ct"] == 2


@pytest.mark.parametrize(
    "call",
    [
        "pgmq.send('jobs', '1', 60)",
        "pgmq.send('jobs', '1', now() + interval '1 minute')",
        "pgmq.send('jobs', '1', '{}'::jsonb, 60)",
        "pgmq.send('jobs', '1', '{}'::jsonb, now() + interval '1 minute')",
        "pgmq.send_batch('jobs', array['1']::jsonb[], 60)",
        "pgmq.send_batch('jobs', array['1']::jsonb[], now() + interval '1 minute')",
        "pgmq.send_batch('jobs', array['1']::jsonb[], array['{}']::jsonb[], 60)",
        "pgmq.send_batch('jobs', array['1']::jsonb[], array['{}']::jsonb[], now() + interval '1 minute')",
        "pgmq.send(queue_name => 'jobs', msg => '1', delay => 60)",
    ],
)
async def test_a_delayed_message_is_hidden_at_first(queue: asyncpg.Connection, call: str):
    assert await column(queue, f"select {call}") == [1]

    assert await queue.fetch("select * from pgmq.read('jobs', 1, 1)") == []
    assert await queue.fetchval("select vt - enqueued_at between '59 s' and '61 s' from pgmq.q_jobs")


async def test_a_batch_keeps_its_order_and_headers(queue: asyncpg.Connection):
    ids = await column(
        queue,
        "select pgmq.send_batch('jobs', array['1', '2', '3']::jsonb[], array['{}', null, '{\"x\": 1}']::jsonb[])",
    )
    rows = await queue.fetch("select msg_id, message, headers from pgmq.read('jobs', 1, 10) order by msg_id")

    assert ids == [1, 2, 3]
    assert [tuple(row) for row in rows] == [(1, "1", "{}"), (2, "2", None), (3, "3", '{"x": 1}')]
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await queue.fetch("select pgmq.send_batch('jobs', array['1']::jsonb[], array[]::jsonb[])")


async def test_a_condition_chooses_messages(queue: asyncpg.Connection):
    await queue.execute("select pgmq.send_batch('jobs', array['{\"a\": 1}', '{\"a\": 2}']::jsonb[])")

    assert await column(queue, "select message from pgmq.read('jobs', 1, 5, '{\"a\": 2}')") == ['{"a": 2}']


async def test_polling_ends_with_a_message_or_with_its_time(queue: asyncpg.Connection, database_url: str):
    assert await queue.fetch("select * from pgmq.read_with_poll('jobs', 1, 1, 0, 10)") == []

    waiting = asyncio.create_task(queue.fetch("select * from pgmq.read_with_poll('jobs', 1, 1, 30, 10)"))
    async with connected(database_url) as sender:
        await sender.execute("select pgmq.send('jobs', '7')")
    rows = await waiting

    assert [row["message"] for row in rows] == ["7"]


async def test_messages_are_popped_deleted_and_archived(queue: asyncpg.Connection):
    await queue.execute("select pgmq.send_batch('jobs', array['1', '2', '3', '4', '5', '6']::jsonb[])")

    assert await column(queue, "select msg_id from pgmq.pop('jobs')") == [1]
    assert await queue.fetchval("select pgmq.delete('jobs', 2)") is True
    assert await queue.fetchval("select pgmq.delete('jobs', 2)") is False
    assert await column(queue, "select pgmq.delete('jobs', array[3, 99])") == [3]
    assert await queue.fetchval("select pgmq.archive('jobs', 4)") is True
    assert await queue.fetchval("select pgmq.archive('jobs', 4)") is False
    assert await column(queue, "select pgmq.archive('jobs', array[5, 99])") == [5]
    assert await column(queue, "select msg_id from pgmq.a_jobs order by 1") == [4, 5]
    assert await column(queue, "select msg_id from pgmq.q_jobs") == [6]


async def test_metrics_count_what_there_is_and_was(queue: asyncpg.Connection):
    empty = await queue.fetchrow("select * from pgmq.metrics('jobs')")
    await queue.execute(
        "select pgmq.send_batch('jobs', array['1', '2']::jsonb[]), pgmq.send('jobs', '3', 60)"
    )
    await queue.fetch("select * from pgmq.pop('jobs')")
    (full,) = await queue.fetch("select * from pgmq.metrics_all()")

    assert empty is not None
    assert (empty["queue_length"], empty["newest_msg_age_sec"], empty["total_messages"]) == (0, None, 0)
    assert (
        full["queue_name"],
        full["queue_length"],
        full["queue_visible_length"],
        full["total_messages"],
    ) == ("jobs", 2, 1, 3)
    assert full["oldest_msg_age_sec"] >= 0


async def test_queues_are_made_listed_purged_and_dropped(queue: asyncpg.Connection):
    await queue.execute(
        "select pgmq.create('jobs'), pgmq.create_unlogged('Fast-1'), pgmq.send('jobs', '1'), pgmq.send('fast-1', '2')"
    )
    listed = await queue.fetch(
        "select queue_name, is_unlogged, is_partitioned from pgmq.list_queues() order by 1"
    )

    assert {tuple(row) for row in listed} == {("jobs", False, False), ("Fast-1", True, False)}
    assert await queue.fetchval("select relpersistence = 'u' from pg_class where relname = 'q_fast-1'")
    assert await queue.fetchval("select pgmq.purge_queue('jobs')") == 1
    assert await queue.fetchval("select pgmq.drop_queue('FAST-1')") is True
    assert await queue.fetchval("select pgmq.drop_queue('fast-1')") is False
    assert await queue.fetchval("select pgmq.drop_queue('jobs', false)") is True
    assert await queue.fetchval("select count(*) from pg_tables where schemaname = 'pgmq'") == 1


@pytest.mark.parametrize("name", ["", "a b", "a;b", 'a"b', "x" * 48])
async def test_a_name_that_is_no_name_is_refused(queue: asyncpg.Connection, name: str):
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await queue.execute("select pgmq.create($1)", name)


async def test_the_longest_name_has_all_it_needs(queue: asyncpg.Connection):
    name = "x" * 47

    await queue.execute("select pgmq.create($1), pgmq.send($1, '1')", name)

    assert await queue.fetchval("select queue_length from pgmq.metrics($1)", name) == 1


async def test_partitioned_queues_say_what_they_need(queue: asyncpg.Connection):
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="pg_partman"):
        await queue.execute("select pgmq.create_partitioned('parts')")


async def test_a_hundred_consumers_get_every_message_once(queue: asyncpg.Connection, database_url: str):
    await queue.execute(
        "select pgmq.send_batch('jobs', array(select to_jsonb(n) from generate_series(1, $1::int) n))",
        MESSAGES,
    )
    got: Counter[int] = Counter()

    async def consume(number: int) -> None:
        async with connected(database_url) as own:
            while rows := await column(own, "select msg_id from pgmq.read('jobs', 600, 3)"):
                got.update(rows)
                if number % 3 == 0:
                    await own.fetch("select pgmq.delete('jobs', $1::bigint[])", rows)
                elif number % 3 == 1:
                    await own.fetch("select pgmq.archive('jobs', $1::bigint[])", rows)

    await asyncio.gather(*(consume(number) for number in range(CONSUMERS)))

    assert got == Counter(range(1, MESSAGES + 1))
    assert len(got) - await queue.fetchval("select count(*) from pgmq.q_jobs") > 0


async def test_a_hundred_consumers_pop_every_message_once_while_it_is_sent(
    queue: asyncpg.Connection, database_url: str
):
    got: Counter[int] = Counter()
    is_sent = False

    async def consume() -> None:
        async with connected(database_url) as own:
            while True:
                was_sent = is_sent
                rows = await column(own, "select msg_id from pgmq.pop('jobs')")
                got.update(rows)
                if not rows and was_sent:
                    return

    consumers = asyncio.gather(*(consume() for _ in range(CONSUMERS)))
    for _ in range(20):
        await queue.execute(
            "select pgmq.send_batch('jobs', array(select to_jsonb(n) from generate_series(1, 25) n))"
        )
    is_sent = True
    await consumers

    assert got == Counter(range(1, 501))


async def test_what_a_dead_consumer_had_read_comes_again_and_what_it_had_not_committed_at_once(
    queue: asyncpg.Connection, database_url: str
):
    await queue.execute("select pgmq.send_batch('jobs', array['1', '2']::jsonb[])")
    async with connected(database_url) as dying:
        transaction = dying.transaction()
        await transaction.start()
        assert await column(dying, "select msg_id from pgmq.read('jobs', 600, 1)") == [1]
        assert await column(queue, "select msg_id from pgmq.read('jobs', 600, 5)") == [2]
        dying.terminate()

    async with asyncio.timeout(60):
        while not (rows := await queue.fetch("select msg_id, read_ct from pgmq.read('jobs', 600, 5)")):
            await asyncio.sleep(0.01)

    assert [tuple(row) for row in rows] == [(1, 1)]

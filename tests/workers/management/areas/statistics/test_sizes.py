"""Sizes and use of tables, indexes, sequences and the database."""

import asyncpg
import pytest

from tests.workers.management.conftest import Client


async def test_tables_indexes_and_sequences_are_described(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute(f"select setval('public.{table}_id_seq', 32000)")

    tables = {row["name"]: row for row in await reader.run("statistics.tables", schema="public")}
    indexes = {row["name"]: row for row in await reader.run("statistics.indexes", schema="public")}
    sequences = {row["name"]: row for row in await reader.run("statistics.sequences")}

    described, index = tables[table], indexes[f"{table}_pkey"]
    assert described["rows"] == 20000
    assert described["bytes"] == described["table_bytes"] + described["index_bytes"]
    assert described["index_bytes"] == index["bytes"] > 0
    assert not described["autovacuum"]
    assert described["wraparound_age"] >= 0
    assert {row["schema"] for row in (*tables.values(), *indexes.values())} == {"public"}
    assert (index["table"], index["is_unique"], index["is_valid"]) == (table, True, True)
    assert index["definition"].startswith("CREATE UNIQUE INDEX")
    sequence = sequences[f"{table}_id_seq"]
    assert (sequence["type"], sequence["last"], sequence["end"]) == ("smallint", 32000, 32767)
    assert sequence["used"] == pytest.approx(31999 / 32766)


async def test_sequences_that_fall_are_measured_by_their_other_end(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute(
        f"create sequence public.{table}_down increment -1 minvalue -100 maxvalue 0 start 0; select setval('public.{table}_down', -75);"
        f" create sequence public.{table}_new"
    )
    try:
        sequences = {row["name"]: row for row in await reader.run("statistics.sequences")}
    finally:
        await admin.execute(f"drop sequence public.{table}_down, public.{table}_new")

    assert (sequences[f"{table}_down"]["used"], sequences[f"{table}_down"]["end"]) == (0.75, -100)
    assert (sequences[f"{table}_new"]["used"], sequences[f"{table}_new"]["last"]) == (0, None)


async def test_a_table_that_is_being_changed_is_listed_without_its_size(
    reader: Client, visitor: Client, table: str
) -> None:
    """To measure it would wait until the other transaction has ended."""
    other = await asyncpg.connect(visitor.superuser_url)
    await other.execute(f"begin; lock table public.{table} in access exclusive mode")
    try:
        tables = {row["name"]: row for row in await reader.run("statistics.tables")}
        await other.execute(f"rollback; begin; reindex index public.{table}_pkey")
        indexes = {row["name"]: row for row in await reader.run("statistics.indexes")}
        measured = {row["name"]: row for row in await reader.run("statistics.tables")}
    finally:
        await other.close()

    assert tables[table]["bytes"] is None
    assert tables[table]["rows"] == 20000
    assert indexes[f"{table}_pkey"]["bytes"] is None
    assert measured[table]["bytes"] is None


async def test_partitioned_tables_are_listed_by_their_partitions(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute(
        f"create table public.{table}_whole (id int) partition by range (id);"
        f" create table public.{table}_part partition of public.{table}_whole for values from (1) to (9)"
    )
    try:
        tables = {row["name"]: row for row in await reader.run("statistics.tables", schema="public")}
    finally:
        await admin.execute(f"drop table public.{table}_whole")

    assert f"{table}_whole" not in tables
    assert tables[f"{table}_part"]["autovacuum"]
    assert tables[f"{table}_part"]["rows"] is None


async def test_tables_that_are_read_whole_are_listed(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute("set max_parallel_workers_per_gather = 0")
    for number in range(60):
        await admin.execute(f"select count(*) from public.{table} where body = '{number}'")
    await admin.execute("select pg_stat_force_next_flush()")
    await admin.execute("select 1")

    rows = {row["name"]: row for row in await reader.run("statistics.missing_indexes")}

    assert rows[table]["sequential_scans"] >= 60
    assert rows[table]["rows_read"] >= 60 * 20000
    assert rows[table]["index_scans"] == 0


async def test_the_database_is_described(reader: Client, admin: asyncpg.Connection) -> None:
    await admin.execute("select pg_create_logical_replication_slot('looked_at', 'pgoutput')")
    try:
        database = await reader.run("statistics.database")
    finally:
        await admin.execute("select pg_drop_replication_slot('looked_at')")

    assert database["bytes"] > 0
    assert 0 <= database["wraparound_age"] < database["wraparound_limit"]
    assert 0 < database["cache_hit_rate"] <= 1
    assert 0 < database["connections_in_use"] <= database["max_connections"]
    assert "supabase_admin" in {row["role"] for row in database["connections"]}
    [slot] = [slot for slot in database["slots"] if slot["name"] == "looked_at"]
    assert (slot["plugin"], slot["is_active"], slot["is_temporary"]) == ("pgoutput", False, False)
    assert slot["kept_bytes"] >= 0


@pytest.mark.parametrize("name", ["tables", "indexes"])
@pytest.mark.parametrize("schema", ["", "x" * 64, "a\0b"])
async def test_names_that_do_not_fit_are_refused(reader: Client, name: str, schema: str) -> None:
    assert await reader.refused(f"statistics.{name}", schema=schema) == (400, "invalid_arguments")

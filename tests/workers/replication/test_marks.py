"""Marks of schema changes: where a batch says that the schema changed last."""

import pytest


async def _schema_lsn(replication_pool, table: str, count: int) -> tuple[int, int]:
    await replication_pool.admin.execute(f"insert into {table} values ({count})")
    batch = (await replication_pool.batches(table, count))[-1]
    return batch.schema_lsn, batch.lsn


@pytest.mark.parametrize(
    "statement",
    [
        "create policy p on {table} for select using (true)",
        "grant select on {table} to anon",
        "alter table {table} enable row level security",
        "create table public.{table}_more (id int)",
        "create function public.{table}_f() returns int language sql return 1",
    ],
)
async def test_a_change_of_schema_or_rights_is_marked(replication_pool, statement):
    table = await replication_pool.table("id int primary key")
    before, first = await _schema_lsn(replication_pool, table, 1)
    await replication_pool.admin.execute(statement.format(table=table))

    after, second = await _schema_lsn(replication_pool, table, 2)

    assert before < first < after < second


async def test_a_drop_is_marked(replication_pool):
    table = await replication_pool.table("id int primary key")
    await replication_pool.admin.execute(f"create policy p on {table} for select using (true)")
    before, first = await _schema_lsn(replication_pool, table, 1)
    await replication_pool.admin.execute(f"drop policy p on {table}")

    after, _ = await _schema_lsn(replication_pool, table, 2)

    assert before < first < after


async def test_a_policy_in_the_transaction_of_the_row_counts_for_the_row(replication_pool):
    table = await replication_pool.table("id int primary key")
    async with replication_pool.admin.transaction():
        await replication_pool.admin.execute(f"insert into {table} values (1)")
        await replication_pool.admin.execute(f"create policy p on {table} for select using (true)")

    batch = (await replication_pool.batches(table, 1))[0]

    assert batch.schema_lsn == batch.lsn


async def test_temporary_tables_and_rolled_back_changes_are_not_marked(replication_pool):
    table = await replication_pool.table("id int primary key")
    before, _ = await _schema_lsn(replication_pool, table, 1)
    await replication_pool.admin.execute("create temp table own (id int primary key, t text); drop table own")
    transaction = replication_pool.admin.transaction()
    await transaction.start()
    await replication_pool.admin.execute("create table public.never (id int)")
    await transaction.rollback()

    after, _ = await _schema_lsn(replication_pool, table, 2)

    assert after == before

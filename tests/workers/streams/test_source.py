"""What a stream reads of a table in the catalog, with a real Postgres."""

import pytest

from tests.workers.replication.replication_pool import ReplicationPool
from tests.workers.streams.running_streams import source_of, stream
from workers.database.connection_pool.pool import ConnectionPool
from workers.streams.model import TargetRejects
from workers.streams.reading import open_snapshot


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        ("a int, b text, primary key (a) include (b)", ("a",)),
        ("a int, b int generated always as (a + 1) stored, primary key (a, b)", ()),
        ("a int, b int, primary key (b, a)", ("b", "a")),
    ],
)
async def test_the_key_has_the_columns_that_tell_rows_apart(
    replication_pool: ReplicationPool, columns: str, key: tuple[str, ...]
):
    await replication_pool.admin.execute(
        f"drop table if exists public.keyed; create table public.keyed ({columns})"
    )

    assert (await source_of(replication_pool, stream("nats:", "keyed"))).key == key


async def test_a_table_whose_deletes_do_not_name_its_key_is_refused(replication_pool: ReplicationPool):
    await replication_pool.admin.execute("""
        create table public.other_identity (id int primary key, code int not null unique, part int not null, unique (part, id));
        alter table public.other_identity replica identity using index other_identity_code_key
    """)
    settings = stream("nats:", "other_identity")

    with pytest.raises(TargetRejects, match="replica identity"):
        await source_of(replication_pool, settings)

    await replication_pool.admin.execute(
        "alter table public.other_identity replica identity using index other_identity_part_id_key"
    )
    assert (await source_of(replication_pool, settings)).key == ("id",)


async def test_a_target_of_messages_at_another_address_has_to_be_filled_again(
    replication_pool: ReplicationPool,
):
    await replication_pool.admin.execute("create table public.moved (id int primary key)")
    targets = (
        "kafka://a:9092",
        "kafka://b:9092",
        "kafka://u:new@a:9092",
        "postgresql://u:p@a/d",
        "postgresql://u:p@b/d",
    )
    sources = [await source_of(replication_pool, stream(target, "moved")) for target in targets]
    prints = [source.fingerprint for source in sources]

    assert prints[0] == prints[2] != prints[1]
    assert prints[3] == prints[4]


async def test_long_rows_of_a_snapshot_come_few_at_a_time(replication_pool: ReplicationPool):
    await replication_pool.admin.execute("""
        create table public.long_rows (id int primary key, body text); grant select on public.long_rows to service_role;
        insert into public.long_rows select n, repeat('x', 1000000) from generate_series(1, 60) as n
    """)
    source = await source_of(replication_pool, stream("nats:", "long_rows"))
    database = await ConnectionPool.open(replication_pool.values_url, 1)
    try:
        async with open_snapshot(database, source) as snapshot:
            pages = [sum(len(row[1] or b"") for row in page) async for page in snapshot.pages()]
    finally:
        await database.close()

    assert sum(pages) == 60 * 1_000_002
    assert max(pages) < 20_000_000

"""A publication of all tables takes those of the platform too: each has a key, or says that its whole row identifies it."""

from tests.workers.database.server import Server, connected

_WITHOUT_IDENTITY = """
select c.oid::regclass::text as name from pg_class c
where c.relkind in ('r', 'p') and c.relpersistence = 'p' and c.relreplident = 'd'
  and c.relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema', 'pg_toast')
  and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)
order by 1
"""


async def test_every_table_of_the_platform_can_be_changed_under_a_publication_of_all_tables(
    migrated_server: Server,
) -> None:
    async with connected(migrated_server.url()) as connection:
        rows = await connection.fetch(_WITHOUT_IDENTITY)

    assert [row["name"] for row in rows] == []

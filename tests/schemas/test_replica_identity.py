"""A publication of all tables takes those of the platform too: each has a key, or says that its whole row identifies it."""

from schemas.database_logins import login_passwords
from schemas.settings.tree import Settings
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


async def test_rows_with_generated_columns_can_be_changed_in_a_publication_that_the_project_made_anew(
    migrated_server: Server,
) -> None:
    password = login_passwords(Settings())["postgres"].reveal()
    async with connected(migrated_server.url("postgres", password)) as connection:
        await connection.execute(
            "create table lines (id int primary key, body text, length int generated always as (length(body)) stored);"
            "alter table lines replica identity full; insert into lines values (1, 'a'), (2, 'b');"
            "alter publication supabase_realtime add table lines;"
        )
        first = await connection.fetchval("delete from lines where id = 1 returning id")
        await connection.execute("drop publication supabase_realtime")
        await connection.execute("create publication supabase_realtime for table lines")
        second = await connection.fetchval("delete from lines where id = 2 returning id")

    assert (first, second) == (1, 2)

"""What schema `storage` is made of, as lines of text, and rows to try it with."""

from collections.abc import Iterable

import asyncpg

_LINES = """
with tables as (
  select oid, relname::text as name from pg_class where relnamespace = 'storage'::regnamespace and relkind = 'r'
)
select name, 1 as part, attnum::text as place, concat_ws(' ',
  attname::text,
  format_type(atttypid, atttypmod) || case when collname = 'C' then ' collate "C"' else '' end,
  case when attnotnull then 'not null' end,
  case when attidentity = 'a' then 'identity' end,
  case when attgenerated = 's' then 'generated ' || pg_get_expr(adbin, adrelid) when adbin is not null
    then 'default ' || pg_get_expr(adbin, adrelid) end) as line
from tables
join pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped
left join pg_collation on pg_collation.oid = attcollation
left join pg_attrdef on adrelid = attrelid and adnum = attnum
union all
select name, 2, conname, conname || ' ' || pg_get_constraintdef(pg_constraint.oid)
from tables join pg_constraint on conrelid = tables.oid and contype in ('c', 'f', 'u')
union all
select name, 2, '', pg_get_constraintdef(pg_constraint.oid)
from tables join pg_constraint on conrelid = tables.oid and contype = 'p'
union all
select name, 3, indexrelid::regclass::text,
  regexp_replace(pg_get_indexdef(indexrelid), '^CREATE (UNIQUE )?INDEX (\\S+) ON storage\\.\\S+ USING ', '\\1\\2 ')
from tables join pg_index on indrelid = tables.oid
where not exists (select from pg_constraint where conindid = indexrelid and contype <> 'f')
union all
select name, 4, tgname, regexp_replace(pg_get_triggerdef(pg_trigger.oid), '^CREATE ', '') || ' ' || tgenabled::text
from tables join pg_trigger on tgrelid = tables.oid and not tgisinternal
"""


async def describe(connection: asyncpg.Connection) -> dict[str, list[str]]:
    """Give each table's columns in their order, then its constraints, indexes and triggers by name."""
    await connection.execute("set search_path = ''")  # so that every name is told with its schema
    rows = await connection.fetch(_LINES)
    rows.sort(
        key=lambda row: (
            row["part"],
            int(row["database_url"]) if row["part"] == 1 else 0,
            row["database_url"],
        )
    )
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["name"], []).append(row["line"])
    return found


async def add_objects(connection: asyncpg.Connection, bucket: str, names: Iterable[str]) -> None:
    """Insert objects, one after another in this order, each created a minute after the one before; and the bucket."""
    await connection.execute(
        "insert into storage.buckets (id, name) values ($1, $1) on conflict do nothing", bucket
    )
    await connection.execute(
        """
        insert into storage.objects (bucket_id, name, version, created_at, updated_at, last_accessed_at, metadata)
        select $1, name, 'v-' || name, moment, moment, moment, '{"size": 1}'
        from unnest($2::text[]) with ordinality as given (name, place),
          lateral (select timestamptz '2026-01-01 00:00:00.123456Z' + place * interval '1 minute') as moments (moment)
        """,
        bucket,
        list(names),
    )


async def allow_deletes(connection: asyncpg.Connection) -> None:
    """Let the rest of the transaction delete rows, as the service does."""
    await connection.execute("select set_config('storage.allow_delete_query', 'true', true)")


async def listed(connection: asyncpg.Connection, sql: str, *values: object) -> list[str]:
    """Give the names that a listing function tells; those of folders with `<>` around them."""
    rows = await connection.fetch(f"select name, id from {sql}", *values)
    return [row["name"] if row["id"] else f"<{row['name']}>" for row in rows]

"""What schema `auth` is made of, as lines of text, and rows to try it with."""

import uuid

import asyncpg

_LINES = """
with tables as (
  select oid, relname::text as name from pg_class where relnamespace = 'auth'::regnamespace and relkind = 'r'
)
select name, 1 as part, attnum::text as place, concat_ws(' ',
  attname::text,
  format_type(atttypid, atttypmod),
  case when attnotnull then 'not null' end,
  case when attgenerated = 's' then 'generated ' || pg_get_expr(adbin, adrelid) when adbin is not null
    then 'default ' || pg_get_expr(adbin, adrelid) end) as line
from tables
join pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped
left join pg_attrdef on adrelid = attrelid and adnum = attnum
union all
select name, 2, conname, pg_get_constraintdef(pg_constraint.oid)
from tables join pg_constraint on conrelid = tables.oid and contype <> 'n'
union all
select name, 3, indexrelid::regclass::text,
  regexp_replace(pg_get_indexdef(indexrelid), '^CREATE (UNIQUE )?INDEX (\\S+) ON auth\\.\\S+ USING ', '\\1\\2 ')
from tables join pg_index on indrelid = tables.oid
where not exists (select from pg_constraint where conindid = indexrelid and contype <> 'f')
union all
select name, 4, tgname, regexp_replace(pg_get_triggerdef(pg_trigger.oid), '^CREATE ', '') || ' ' || tgenabled::text
from tables join pg_trigger on tgrelid = tables.oid and not tgisinternal
order by name, part
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


async def add_user(connection: asyncpg.Connection, **columns: object) -> uuid.UUID:
    """Insert an account with these columns and give its id."""
    values = {"id": uuid.uuid4(), **columns}
    return await add(connection, "users", values)


async def add(connection: asyncpg.Connection, table: str, values: dict[str, object]) -> uuid.UUID:
    """Insert a row and give its id."""
    names = ", ".join(values)
    places = ", ".join(f"${number}" for number in range(1, len(values) + 1))
    return await connection.fetchval(
        f"insert into auth.{table} ({names}) values ({places}) returning id", *values.values()
    )

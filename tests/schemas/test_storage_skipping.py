"""`storage.search` passes over entries as it did when it gave and dropped them: compared with the function of before."""

from importlib import resources

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.schemas.callers import become
from tests.schemas.storage_tables import add_objects

BEFORE = "0015_search.sql"
_SEGMENTS = st.sampled_from(["a", "A", "b", "B", "ab", "a-", "a.", "a0", "é", "É", "\U0010ffff", ""])
_KEYS = st.lists(st.lists(_SEGMENTS, min_size=1, max_size=4).map("/".join), min_size=1, max_size=40)
_PREFIXES = st.sampled_from(["", "a/", "A/", "b/a/", "/", "a"])


@pytest.fixture
async def both(admin: asyncpg.Connection) -> asyncpg.Connection:
    """The superuser's connection, with the functions of before in a schema `before`."""
    text = resources.files("schemas").joinpath("migrations", "storage", BEFORE).read_text(encoding="utf-8")
    own = text.replace("storage.children", "before.children").replace("storage.search(", "before.search(")
    await admin.execute("create schema before authorization supabase_storage_admin")
    await admin.execute(own)
    await admin.execute("grant usage on schema before to public")
    return admin


async def found(connection: asyncpg.Connection, schema: str, *values: object) -> list[tuple[object, ...]]:
    rows = await connection.fetch(
        f"select * from {schema}.search($1, $2, $3, 1, $4, $5, $6, $7)",
        *values,
    )
    return [tuple(row.values()) for row in rows]


async def compare(connection: asyncpg.Connection, *values: object) -> list[tuple[object, ...]]:
    """Give what both functions tell, which must be the same."""
    now, before = await found(connection, "storage", *values), await found(connection, "before", *values)
    assert now == before, values
    return now


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    keys=_KEYS,
    prefix=_PREFIXES,
    search=st.sampled_from(["", "a", "A", "a/", "b"]),
    limit=st.integers(0, 5),
    order=st.sampled_from(["asc", "desc"]),
    column=st.sampled_from(["name", "created_at"]),
)
@pytest.mark.asyncio(loop_scope="session")
async def test_any_page_of_any_keys_is_what_it_was(both, keys, prefix, search, limit, order, column):
    names = [key for key in dict.fromkeys(keys) if key]
    point = both.transaction()
    await point.start()
    try:
        await add_objects(both, "some", names)
        for offset in (*range(len(names) + 2), 2**31 - 1):
            await compare(both, prefix, "some", limit, offset, search, column, order)
    finally:
        await point.rollback()


@pytest.mark.parametrize("role", ["anon", "authenticated", "service_role"])
@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_what_policies_hide_is_not_counted(both, role, order):
    names = [f"f/{number:03}" for number in range(300)]
    names += [f"f/{number:03}/x" for number in range(100, 140)] + ["F/050", "f/A", "F/a", "f/a/b"]
    await add_objects(both, "some", names)
    await both.execute(
        "create policy odd on storage.objects for select to authenticated using (name ~ '[02468]$')"
    )
    await become(both, role)
    sizes = [
        len(await compare(both, "f/", "some", 10, offset, "", "name", order))
        for offset in (0, 1, 49, 50, 51, 52, 99, 100, 101, 139, 200, 290, 340, 341, 342, 343)
    ]

    assert (sum(sizes) > 0) == (role != "anon")


async def test_a_deep_page_of_one_folder_reads_each_row_once(both):
    await both.execute("insert into storage.buckets (id, name) values ('big', 'big')")
    await both.execute(
        "insert into storage.objects (bucket_id, name) "
        "select 'big', format('f/%s', number) from generate_series(10000, 15999) as number"
    )
    await both.execute("analyze storage.objects")
    read = "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relid = 'storage.objects'::regclass"
    start = await both.fetchval(read)
    entries = await both.fetch("select name from storage.search('f/', 'big', 10, 1, 5000)")

    assert [row["name"] for row in entries] == [str(number) for number in range(15000, 15010)]
    assert await both.fetchval(read) - start <= 5030  # a batch may read one row more than it returns

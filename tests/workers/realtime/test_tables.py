"""TABLE: columns and key by privilege, row security, recognised policies, the position of the answer."""

import asyncio
import uuid

import asyncpg
import pytest

from schemas import realtime
from schemas.errors import Unavailable
from schemas.realtime import (
    AllOf,
    AnyOf,
    ClaimRule,
    ConstantRule,
    EveryRow,
    NoRow,
    Rule,
    SqlRule,
    TableGrant,
    TableQuery,
)
from tests.workers.database.server import connected
from tests.workers.realtime.realtime_pool import RealtimePool
from workers.realtime.tables import ROLES_S, describe_table

SUB = ClaimRule("owner", ["sub"], "uuid")
COLUMNS = (
    "id int8 primary key, owner uuid, public boolean, title text, org int8, small int2, price numeric, kind varchar(20),"
    " code char(4), tags text[], at timestamptz, loose text collate realtime_test_loose"
)


@pytest.fixture(scope="module")
async def collation(realtime_pool: RealtimePool) -> None:
    # The embedded server has no ICU: a collation that is not deterministic can only be written into the catalog.
    await realtime_pool.sql("create collation if not exists public.realtime_test_loose (locale = 'C')")
    await realtime_pool.sql(
        "update pg_collation set collisdeterministic = false where collname = 'realtime_test_loose'"
    )


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        ("true", EveryRow()),
        ("false", NoRow()),
        ("owner = auth.uid()", SUB),
        ("auth.uid() = owner", SUB),
        ("(select auth.uid()) = owner", SUB),
        ("(select (select auth.uid())) = owner", SUB),
        ("owner = (auth.jwt() ->> 'sub')::uuid", SUB),
        ("owner = (select (auth.jwt() ->> 'sub')::uuid)", SUB),
        ("owner::text = (auth.jwt() ->> 'sub')", ClaimRule("owner", ["sub"], "text")),
        ("owner = (current_setting('request.jwt.claims', true)::json ->> 'sub')::uuid", SUB),
        ("owner = (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid", SUB),
        ("title = auth.uid()::text", ClaimRule("title", ["sub"], "uuid")),
        ("title = auth.email()", ClaimRule("title", ["email"], "text")),
        ("kind = (auth.jwt() ->> 'kind')", ClaimRule("kind", ["kind"], "text")),
        (
            "title = (auth.jwt() -> 'app_metadata' ->> 'tenant')",
            ClaimRule("title", ["app_metadata", "tenant"], "text"),
        ),
        ("title = ((select auth.jwt()) -> 'a' -> 'b' ->> 'c')", ClaimRule("title", ["a", "b", "c"], "text")),
        ("org = (auth.jwt() ->> 'org')::int8", ClaimRule("org", ["org"], "number")),
        ("small = (auth.jwt() ->> 'org')::int", ClaimRule("small", ["org"], "number")),
        ("price = (auth.jwt() ->> 'price')::numeric", ClaimRule("price", ["price"], "number")),
        ("org::text = (auth.jwt() ->> 'org')", ClaimRule("org", ["org"], "text")),
        ("auth.role() = 'authenticated'", EveryRow()),
        ("auth.role() = 'service_role'", NoRow()),
        ("(auth.jwt() ->> 'role') = 'authenticated'", EveryRow()),
        ("auth.role() in ('anon', 'authenticated')", EveryRow()),
        ("public", ConstantRule("public", "true", "bool")),
        ("not public", ConstantRule("public", "false", "bool")),
        ("public = true", ConstantRule("public", "true", "bool")),
        ("public is true", ConstantRule("public", "true", "bool")),
        ("public is false", ConstantRule("public", "false", "bool")),
        ("title = 'it''s'", ConstantRule("title", "it's", "text")),
        ("title = 'a\\b'", ConstantRule("title", "a\\b", "text")),
        ("kind = 'a'", ConstantRule("kind", "a", "text")),
        ("org = 5", ConstantRule("org", "5", "number")),
        ("org = -5", ConstantRule("org", "-5", "number")),
        ("small = 5::int8", ConstantRule("small", "5", "number")),
        ("price = 1.50", ConstantRule("price", "1.50", "number")),
        ("org = 1.5", ConstantRule("org", "1.5", "number")),
        ("owner = 'A0000000-0000-4000-8000-000000000000'", ConstantRule("owner", "a0000000-0000-4000-8000-000000000000", "uuid")),
        (
            "title in ('a', 'b')",
            AnyOf([ConstantRule("title", "a", "text"), ConstantRule("title", "b", "text")]),
        ),
        ("kind in ('a', 'b')", AnyOf([ConstantRule("kind", "a", "text"), ConstantRule("kind", "b", "text")])),
        ("org in (1, 2)", AnyOf([ConstantRule("org", "1", "number"), ConstantRule("org", "2", "number")])),
        ("title = any(array['a'])", ConstantRule("title", "a", "text")),
        ("owner = auth.uid() and public", AllOf([SUB, ConstantRule("public", "true", "bool")])),
        ("owner = auth.uid() or public", AnyOf([SUB, ConstantRule("public", "true", "bool")])),
        ("auth.role() = 'authenticated' and owner = auth.uid()", SUB),
        ("auth.role() = 'anon' or owner = auth.uid()", SUB),
        ("true or owner = auth.uid()", EveryRow()),
        ("owner = auth.uid() and exists (select 1 from pg_class where relname = title)", AllOf([SUB, SqlRule()])),
        ("owner = auth.uid() and length(title) > 3", AllOf([SUB, SqlRule()])),
    ],
)  # fmt: skip
async def test_a_policy_is_recognised(
    realtime_pool: RealtimePool, collation: None, policy: str, rule: Rule
) -> None:
    table = await realtime_pool.table(COLUMNS, policy)

    assert (await realtime_pool.described(table)).rule == rule


@pytest.mark.parametrize(
    "policy",
    [
        "owner <> auth.uid()",
        "not (owner = auth.uid())",
        "owner = auth.uid() or length(title) > 3",
        "owner is not distinct from auth.uid()",
        "auth.uid() is not null",
        "public is not true",
        "public is null",
        "title like 'a%'",
        "lower(title) = auth.email()",
        "title = lower(auth.email())",
        "title = 'a' collate \"POSIX\"",
        "loose = 'a'",
        "code = 'a'",
        "code = (auth.jwt() ->> 'code')",
        "auth.uid() = any (tags::uuid[])",
        "title = any (tags)",
        "owner = (select owner from pg_class limit 1)",
        "owner in (select auth.uid())",
        "at = '2026-01-01'",
        "org = (auth.jwt() ->> 'org')::int4",
        "small = (auth.jwt() ->> 'org')::int2",
        "price = (auth.jwt() ->> 'price')::numeric(4, 1)",
        "org = 1 + 1 + small",
        "org::float8 = 5",
        "title = (auth.jwt() ->> 'role')",
        "title = (auth.jwt() ->> lower('X'))",
        "title = (auth.jwt() #>> '{a,b}')",
        "title = current_setting('request.jwt.claims', true)",
        "title = current_user",
        "(auth.jwt() ->> 'aal') = 'aal2'",
        "case when public then true else false end",
        "coalesce(public, true)",
    ],
)
async def test_what_is_not_recognised_is_asked_by_sql(
    realtime_pool: RealtimePool, collation: None, policy: str
) -> None:
    table = await realtime_pool.table(COLUMNS, policy)

    rule = (await realtime_pool.described(table)).rule

    assert rule == SqlRule()


async def test_an_operator_of_the_project_is_not_taken_for_one_of_postgres(
    realtime_pool: RealtimePool,
) -> None:
    await realtime_pool.sql(
        "create or replace function public.always(uuid, uuid) returns boolean language sql immutable as 'select true'"
    )
    await realtime_pool.sql(
        "create operator public.= (leftarg = uuid, rightarg = uuid, function = public.always)"
    )
    try:
        table = await realtime_pool.table(
            COLUMNS.replace(", loose text collate realtime_test_loose", ""),
            "owner operator(public.=) auth.uid()",
        )

        assert (await realtime_pool.described(table)).rule == SqlRule()
    finally:
        await realtime_pool.sql("drop operator public.= (uuid, uuid) cascade")


@pytest.mark.parametrize(
    "definition",
    [
        "create or replace function auth.uid() returns uuid language sql stable as $$ select null::uuid $$",
        "alter function auth.uid() owner to postgres",
        "alter function auth.uid() set search_path = ''",
        "alter function auth.uid() security definer",
        "alter function auth.uid() volatile",
        "revoke execute on function auth.uid() from public",
    ],
)
async def test_a_function_that_is_not_our_own_any_more_is_not_trusted(
    realtime_pool: RealtimePool, definition: str
) -> None:
    table = await realtime_pool.table("id int8 primary key, owner uuid", "owner = auth.uid()")
    async with connected(realtime_pool.url) as other:
        transaction = other.transaction()
        await transaction.start()
        original = await other.fetchval("select pg_get_functiondef('auth.uid()'::regprocedure)")
        await transaction.rollback()
    try:
        await realtime_pool.sql(definition)

        assert (await realtime_pool.described(table)).rule == SqlRule()
    finally:
        await realtime_pool.sql(
            f"{original}; alter function auth.uid() owner to supabase_auth_admin; alter function auth.uid() security invoker;"
            " alter function auth.uid() reset all; grant execute on function auth.uid() to public"
        )
    assert (await realtime_pool.described(table)).rule == SUB


async def test_permissive_policies_are_alternatives_and_restrictive_ones_all_hold(
    realtime_pool: RealtimePool,
) -> None:
    table = await realtime_pool.table(COLUMNS.rpartition(",")[0], "owner = auth.uid()", "public")
    await realtime_pool.sql(f"create policy only_5 on public.{table} as restrictive using (org = 5)")

    rule = (await realtime_pool.described(table)).rule

    alternatives = AnyOf([SUB, ConstantRule("public", "true", "bool")])
    assert rule == AllOf([ConstantRule("org", "5", "number"), alternatives])


async def test_restrictive_policies_alone_let_nobody_see_a_row(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key")
    await realtime_pool.sql(f"create policy r on public.{table} as restrictive using (true)")

    assert (await realtime_pool.described(table)).rule == NoRow()


async def test_policies_hold_for_their_roles_and_for_reading_only(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key, owner uuid")
    await realtime_pool.sql(
        f"create policy a on public.{table} for select to authenticated using (owner = auth.uid())"
    )
    await realtime_pool.sql(f"create policy b on public.{table} for all to service_role, anon using (true)")
    await realtime_pool.sql(f"create policy c on public.{table} for update using (true)")
    await realtime_pool.sql(f"create policy d on public.{table} for insert with check (true)")

    assert (await realtime_pool.described(table)).rule == SUB
    assert (await realtime_pool.described(table, "anon")).rule == EveryRow()


async def test_a_policy_for_a_role_holds_for_its_members(realtime_pool: RealtimePool) -> None:
    role = f"member_{uuid.uuid4().hex[:8]}"
    await realtime_pool.sql(f"create role {role} in role authenticated")
    table = await realtime_pool.table("id int primary key")
    await realtime_pool.sql(f"create policy a on public.{table} for select to authenticated using (true)")

    assert (await realtime_pool.described(table, role)).rule == EveryRow()


async def test_whoever_bypasses_row_security_sees_everything(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key")

    found = await realtime_pool.described(table, "service_role")

    assert (found.rule, found.row_security) == (EveryRow(), False)


async def test_an_owner_is_bound_by_policies_only_where_they_are_forced(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key")
    await realtime_pool.sql(
        f"grant create on schema public to authenticated; alter table public.{table} owner to authenticated"
    )

    assert (await realtime_pool.described(table)).rule == EveryRow()

    await realtime_pool.sql(f"alter table public.{table} force row level security")
    assert (await realtime_pool.described(table)).rule == NoRow()
    await realtime_pool.sql("revoke create on schema public from authenticated")


async def test_without_row_security_everybody_sees_every_row(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key", "false", row_security=False)

    found = await realtime_pool.described(table)

    assert (found.rule, found.row_security, found.is_published) == (EveryRow(), False, True)


async def test_columns_and_key_are_those_the_role_may_select(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("b int, a text, secret text, tags int[], primary key (a, b)")
    await realtime_pool.sql(
        f"revoke select on public.{table} from anon; grant select (b, tags) on public.{table} to anon"
    )

    whole, part = await realtime_pool.described(table), await realtime_pool.described(table, "anon")

    assert whole.columns == [("b", "int4"), ("a", "text"), ("secret", "text"), ("tags", "_int4")]
    assert (whole.key, whole.can_see_key) == (["a", "b"], True)
    assert part.columns == [("b", "int4"), ("tags", "_int4")]
    assert (part.key, part.can_see_key) == (["a", "b"], False)


async def test_a_role_that_may_not_use_the_schema_sees_no_column(realtime_pool: RealtimePool) -> None:
    schema = f"s_{uuid.uuid4().hex[:8]}"
    await realtime_pool.sql(
        f"create schema {schema}; create table {schema}.t (id int primary key); grant select on {schema}.t to anon"
    )

    assert (await realtime_pool.described("t", "anon", schema)).columns == []


async def test_an_unpublished_table_says_so(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key", is_published=False)

    assert not (await realtime_pool.described(table)).is_published


@pytest.mark.parametrize(("table", "role"), [("none", "anon"), ("pg_class", "nobody_at_all")])
async def test_what_is_not_there_shows_nothing(realtime_pool: RealtimePool, table: str, role: str) -> None:
    found = await realtime_pool.described(table, role)

    assert (found.columns, found.rule, found.is_published) == ([], NoRow(), False)


async def test_an_enum_is_compared_by_its_labels(realtime_pool: RealtimePool) -> None:
    name = f'"Mood {uuid.uuid4().hex[:6]}"'
    await realtime_pool.sql(f"create type public.{name} as enum ('sad', 'ok')")
    table = await realtime_pool.table(f"id int primary key, mood public.{name}", "mood = 'ok'")

    assert (await realtime_pool.described(table)).rule == ConstantRule("mood", "ok", "text")


async def test_the_answer_knows_what_was_committed_before_its_position(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key")
    before = (await realtime_pool.described(table)).at
    await realtime_pool.sql(f"create policy a on public.{table} using (true)")
    lsn = await realtime_pool.value("select (pg_current_wal_lsn() - '0/0')::int8")

    found = await realtime_pool.ask(
        realtime.TABLE, TableQuery("anon", "public", table, least_lsn=lsn), TableGrant
    )

    assert (found.rule, found.valid_s) == (EveryRow(), ROLES_S)
    assert before < lsn <= found.at


async def test_a_schema_change_that_waits_for_its_client_holds_up_nobody(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key")
    async with connected(realtime_pool.url) as other, other.transaction():
        await other.execute(f"comment on table public.{table} is 'x'")

        found = await realtime_pool.described(table)

        assert found.at > 0


async def test_a_schema_change_on_its_way_is_waited_for(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key")
    async with connected(realtime_pool.url) as other, connected(realtime_pool.url) as third:
        await third.execute("select pg_advisory_lock(77)")
        changed = asyncio.ensure_future(
            other.execute(f"comment on table public.{table} is 'x'; select pg_advisory_lock(77)")
        )
        await _until_waiting(third)

        asked = TableQuery("anon", "public", table)
        found = await describe_table(realtime_pool.pool, asked, realtime_pool.numbers, settle_s=0.05)
        with pytest.raises(Unavailable):
            await describe_table(
                realtime_pool.pool,
                TableQuery("anon", "public", table, 1),
                realtime_pool.numbers,
                settle_s=0.05,
            )
        waiting = asyncio.ensure_future(
            describe_table(realtime_pool.pool, asked, realtime_pool.numbers, settle_s=30)
        )
        await third.execute("select pg_advisory_unlock(77)")
        await changed

        assert found.at == 0
        assert (await waiting).at > 0


async def _until_waiting(connection: asyncpg.Connection) -> None:
    async with asyncio.timeout(60):
        while not await connection.fetchval(
            "select exists (select from pg_locks where locktype = 'advisory' and objid = 77 and not granted)"
        ):
            await asyncio.sleep(0.01)


async def test_where_changes_are_not_marked_the_answer_holds_for_a_while(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key")
    await realtime_pool.sql("alter event trigger headwater_mark_drops disable")
    try:
        assert (await realtime_pool.described(table)).valid_s == 1.0
    finally:
        await realtime_pool.sql("alter event trigger headwater_mark_drops enable always")

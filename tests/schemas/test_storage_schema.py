"""Schema `storage`: what it is made of, who may do what with it, and that its questions find their indexes."""

from pathlib import Path

import pytest

from tests.schemas.callers import API_ROLES, become, refused
from tests.schemas.conftest import PASSWORD
from tests.schemas.storage_tables import add_objects, describe
from tests.workers.database.server import connected

WANTED = Path(__file__).with_name("storage_schema.txt")
OPEN = {"buckets", "objects"}
MULTIPART = {"s3_multipart_uploads", "s3_multipart_uploads_parts"}
ROWS = {"SELECT", "INSERT", "UPDATE", "DELETE"}
# Tables of ours that the service role works with
SERVED = {"emptyings": ROWS, "quotas": ROWS, "usage": {"SELECT"}, "usage_in_all": {"SELECT"}}

# What the service asks with, and the index that answers
QUESTIONS = {
    "select from storage.objects where bucket_id = $1 and name collate \"C\" >= $2 order by name collate \"C\"": (
        "idx_objects_bucket_id_name"
    ),
    "select from storage.objects where bucket_id = $1 and storage.folded(name) collate \"C\" >= $2": (
        "idx_objects_bucket_id_name_folded"
    ),
    "select from storage.objects where version = $1": "objects_version_idx",
    "select from storage.buckets where name = $1": "bname",
    "select from storage.s3_multipart_uploads where bucket_id = $1 and key >= $2": "idx_multipart_uploads_list",
    "select from storage.s3_multipart_uploads_parts where upload_id = $1 order by part_number": (
        "s3_multipart_uploads_parts_upload_id_idx"
    ),
    "select from storage.tus_uploads where version = $1": "tus_uploads_version_key",
    "delete from storage.tus_uploads where expires_at < now()": "tus_uploads_expires_at_idx",
    "select from storage.tombstones order by id limit 100": "tombstones_pkey",
    "select from storage.events_outbox order by id limit 100": "events_outbox_pkey",
}  # fmt: skip

_OTHER_INDEXES = """
select other.indexrelid::regclass::text
from pg_index as wanted join pg_index as other using (indrelid)
where wanted.indexrelid = $1::text::regclass and other.indexrelid <> wanted.indexrelid
  and not exists (select from pg_constraint where conindid = other.indexrelid)
"""

# Functions that projects and clients call; those of triggers belong to the platform
CALLED = {
    "allow_any_operation(expected_operations text[])",
    "allow_only_operation(expected_operation text)",
    "can_insert_object(bucketid text, name text, owner uuid, metadata jsonb)",
    "children(bucket text, prefix text, search text, is_descending boolean, wanted bigint, skipped bigint DEFAULT 0)",
    "counted_size(metadata jsonb)",
    "extension(name text)",
    "filename(name text)",
    "folded(text)",
    "foldername(name text)",
    "get_common_prefix(p_key text, p_prefix text, p_delimiter text)",
    "get_size_by_bucket()",
    "list_multipart_uploads_with_delimiter(bucket_id text, prefix_param text, delimiter_param text, "
    "max_keys integer DEFAULT 100, next_key_token text DEFAULT ''::text, next_upload_token text DEFAULT ''::text)",
    "list_objects_with_delimiter(_bucket_id text, prefix_param text, delimiter_param text, "
    "max_keys integer DEFAULT 100, start_after text DEFAULT ''::text, next_token text DEFAULT ''::text, "
    "sort_order text DEFAULT 'asc'::text)",
    "operation()",
    "prefix_end(prefix text)",
    "room_for(bucket text, object text)",
    "search(prefix text, bucketname text, limits integer DEFAULT 100, levels integer DEFAULT 1, "
    "offsets integer DEFAULT 0, search text DEFAULT ''::text, sortcolumn text DEFAULT 'name'::text, "
    "sortorder text DEFAULT 'asc'::text)",
    "search_by_timestamp(p_prefix text, p_bucket_id text, p_limit integer, p_level integer, p_start_after text, "
    "p_sort_order text, p_sort_column text, p_sort_column_after text)",
    "search_v2(prefix text, bucket_name text, limits integer DEFAULT 100, levels integer DEFAULT 1, "
    "start_after text DEFAULT ''::text, sort_order text DEFAULT 'asc'::text, sort_column text DEFAULT 'name'::text, "
    "sort_column_after text DEFAULT ''::text)",
}  # fmt: skip


def _closed(role: str) -> set[str]:
    """Give the tables that a role may not even read."""
    return set(_wanted()) - OPEN - MULTIPART - (set(SERVED) if role == "service_role" else set())


def _wanted() -> dict[str, list[str]]:
    """Read the list: a table begins in the first column, its lines are marked or indented."""
    tables: dict[str, list[str]] = {}
    for line in WANTED.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if line.startswith((" ", "+")):
            tables[next(reversed(tables))].append(line[2:])
        else:
            tables[line] = []
    return tables


# What it is made of


async def test_the_tables_are_those_of_the_list(admin):
    rows = await admin.fetch("select tablename::text as name from pg_tables where schemaname = 'storage'")

    assert {row["name"] for row in rows} == set(_wanted())


@pytest.mark.parametrize("table", _wanted())
async def test_a_table_has_its_columns_constraints_and_indexes(admin, table):
    assert (await describe(admin))[table] == _wanted()[table]


async def test_buckets_have_their_types(admin):
    labels = await admin.fetchval("select enum_range(null::storage.buckettype)::text")

    assert labels == "{STANDARD,ANALYTICS,VECTOR}"


# Who may do what


async def test_everything_belongs_to_the_role_of_the_service(admin):
    owners = await admin.fetchval(
        """
        select array_agg(distinct owner::regrole::text) from (
          select relowner from pg_class where relnamespace = 'storage'::regnamespace
          union all select proowner from pg_proc where pronamespace = 'storage'::regnamespace
          union all select typowner from pg_type where typnamespace = 'storage'::regnamespace
        ) as owned (owner)
        """
    )

    assert owners == ["supabase_storage_admin"]


async def test_rows_are_closed_by_row_security_without_a_policy(admin):
    open_tables = await admin.fetchval(
        """
        select array(select relname::text from pg_class
        where relnamespace = 'storage'::regnamespace and relkind = 'r' and (not relrowsecurity or relforcerowsecurity))
        """
    )

    assert open_tables == []
    assert await admin.fetchval("select count(*) from pg_policies where schemaname = 'storage'") == 0


@pytest.mark.parametrize("role", [*API_ROLES, "authenticator", "supabase_auth_admin", "public"])
async def test_tables_are_granted_by_role(admin, role):
    """No TRUNCATE, which policies do not cover; nothing of what is the platform's own."""
    rows = await admin.fetch(
        """
        select relname::text as name, array_agg(privilege_type) as rights
        from pg_class, aclexplode(relacl)
        where relnamespace = 'storage'::regnamespace and relkind in ('r', 'S')
          and case $1 when 'public' then grantee = 0 else grantee = to_regrole($1) end
        group by 1
        """,
        role,
    )

    expected: dict[str, set[str]] = {}
    if role in API_ROLES:
        expected = dict.fromkeys(OPEN, ROWS)
        expected |= dict.fromkeys(MULTIPART, ROWS if role == "service_role" else {"SELECT"})
        expected |= SERVED if role == "service_role" else {}
    assert {row["name"]: set(row["rights"]) for row in rows} == expected


async def test_tables_are_granted_in_full_to_role_postgres_which_grants_them_on(admin):
    """Told from the grants themselves: role postgres is a member of the owner as well."""
    rows = await admin.fetch(
        """
        select relname::text as name, array_agg(privilege_type) as rights, bool_and(is_grantable) as gives_on
        from pg_class, aclexplode(relacl)
        where relnamespace = 'storage'::regnamespace and relkind = 'r' and grantee = 'postgres'::regrole
        group by 1
        """
    )

    assert {row["name"] for row in rows} == set(_wanted())
    assert all(row["gives_on"] and set(row["rights"]) > ROWS for row in rows)


@pytest.mark.parametrize("role", API_ROLES)
async def test_a_role_of_the_interface_cannot_truncate_nor_see_what_is_the_platforms(admin, role):
    await become(admin, role)

    for sql in (
        "truncate storage.objects",
        "truncate storage.buckets cascade",
        *(f"select from storage.{table}" for table in _closed(role)),
        "insert into storage.tombstones (bucket_id, version, reason) values ('b', 'v', 'deleted')",
        "insert into storage.events_outbox (event, payload) values ('x', '{}')",
        "select nextval('storage.events_outbox_id_seq')",
        "create table storage.own ()",
        "create policy own on storage.objects using (true)",
        "alter table storage.objects disable row level security",
    ):
        assert await refused(admin, sql), sql


async def test_functions_that_are_called_run_as_the_caller_and_the_others_are_closed(admin):
    rows = await admin.fetch(
        """
        select proname || '(' || pg_get_function_arguments(oid) || ')' as name, prosecdef as is_definer,
          array(select role from unnest($1::text[]) as role where has_function_privilege(role, oid, 'execute')) as roles
        from pg_proc where pronamespace = 'storage'::regnamespace and prorettype <> 'trigger'::regtype
        """,
        API_ROLES,
    )

    assert {row["name"] for row in rows if row["roles"] == API_ROLES} == CALLED
    assert [row["name"] for row in rows if row["is_definer"] or len(row["roles"]) not in (0, 3)] == []


async def test_functions_that_write_what_callers_may_not_fix_their_search_path(admin):
    rows = await admin.fetch(
        """
        select proname::text as name, proconfig::text as settings from pg_proc
        where pronamespace = 'storage'::regnamespace and prosecdef and prorettype = 'trigger'::regtype
        """
    )

    assert {row["name"] for row in rows} == {
        "bury_deleted_objects", "bury_replaced_version", "bury_all_objects", "count_changed_objects", "forget_usage",
        "note_new_objects", "tell_changed_object", "tell_deleted_objects", "tell_bucket",
    }  # fmt: skip
    assert {row["settings"] for row in rows} == {'{"search_path=pg_catalog, pg_temp"}'}


@pytest.mark.parametrize(
    "sql",
    [
        "create policy own on storage.objects for select to authenticated using (owner_id = auth.uid()::text)",
        "create policy own on storage.buckets for all using (true)",
        "alter table storage.objects enable row level security",
        "alter table storage.objects owner to postgres",
        "grant select on storage.objects to reporter",
        "grant all on storage.buckets to reporter with grant option",
        "create index own on storage.objects ((metadata ->> 'mimetype'))",
        "comment on table storage.buckets is 'x'",
        "create trigger own after insert on storage.objects for each row execute function "
        "suppress_redundant_updates_trigger()",
        "create table public.files (id uuid references storage.objects on delete cascade)",
        "grant execute on function storage.search(text, text, int, int, int, text, text, text) to reporter",
        "create view public.sizes as select * from storage.get_size_by_bucket()",
        "truncate storage.objects",
    ],
)
async def test_role_postgres_may_do_what_migrations_of_projects_do(project, sql):
    await project.execute("create role reporter nologin")
    await project.execute(sql)


async def test_policies_of_a_project_are_dropped_again(project):
    await project.execute("create policy own on storage.objects using (true)")
    await project.execute(
        'drop policy if exists "own" on storage.objects; drop policy if exists x on storage.buckets'
    )

    assert await project.fetchval("select count(*) from pg_policies where schemaname = 'storage'") == 0


@pytest.mark.parametrize("maker", ["postgres", "supabase_admin"])
async def test_what_is_made_later_is_granted_but_for_truncate(admin, maker):
    await admin.execute(f"set local role {maker}; create table storage.later (id bigserial); reset role")
    for role in API_ROLES:
        rights = [
            right
            for right in [*ROWS, "TRUNCATE"]
            if await admin.fetchval("select has_table_privilege($1, 'storage.later', $2)", role, right)
        ]
        assert set(rights) == ROWS, role


async def test_what_the_service_makes_later_is_role_postgres_s_too(admin):
    await admin.execute(
        "set local role supabase_storage_admin; create table storage.later (id bigserial); reset role"
    )
    for role in API_ROLES:
        assert not await admin.fetchval("select has_table_privilege($1, 'storage.later', 'select')", role)
    assert await admin.fetchval(
        "select has_table_privilege('postgres', 'storage.later', 'select with grant option')"
    )


async def test_the_service_works_as_every_role_of_the_interface(migrated_server, database_url):
    async with connected(migrated_server.url("supabase_storage_admin", PASSWORD, database_url)) as connection:
        await add_objects(connection, "b", ["a.txt"])
        seen = {}
        for role in API_ROLES:
            await connection.execute("select set_config('role', $1, false)", role)
            seen[role] = await connection.fetchval("select count(*) from storage.objects")
            await connection.execute("reset role")
        own = await connection.fetchval("select count(*) from storage.events_outbox")

    assert seen == {"anon": 0, "authenticated": 0, "service_role": 1}
    assert own == 2


# How it is asked


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_question_of_the_service_has_its_index(admin, question):
    """As a prepared statement has it that was asked often: planned without its values.

    Of an empty table any index costs nothing, so the others are not there.
    """
    for name in await admin.fetch(_OTHER_INDEXES, f"storage.{QUESTIONS[question]}"):
        await admin.execute(f"drop index {name[0]}")
    await admin.execute("set local enable_seqscan = off; set local plan_cache_mode = force_generic_plan")
    await admin.execute(f"prepare question as {question}")
    try:
        count = await admin.fetchval(
            "select cardinality(parameter_types) from pg_prepared_statements where name = 'question'"
        )
        values = f"({', '.join(['null'] * count)})" if count else ""
        plan = "\n".join(row[0] for row in await admin.fetch(f"explain execute question {values}"))
    finally:
        await admin.execute("deallocate question")

    assert f" {QUESTIONS[question]} " in plan


@pytest.mark.parametrize("referred", ["buckets", "s3_multipart_uploads"])
async def test_who_refers_to_a_row_is_found_by_an_index(admin, referred):
    """So that the end of a bucket or an upload does not read whole tables."""
    without = await admin.fetch(
        """
        select conrelid::regclass::text, conname from pg_constraint
        where contype = 'f' and confrelid = ('storage.' || $1)::regclass
          and not exists (
            select from pg_index where indrelid = conrelid and indkey[0] = conkey[1] and indpred is null
          )
        """,
        referred,
    )

    assert without == []

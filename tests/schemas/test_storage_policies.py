"""Policies on buckets and objects as projects write them, for two users, nobody and the service role."""

import asyncpg
import pytest

from tests.schemas.callers import ME, OTHER, become, refused
from tests.schemas.storage_tables import add_objects, allow_deletes

CALLERS = {
    "me": ("authenticated", {"sub": ME, "app_metadata": {"team": "red"}}),
    "other": ("authenticated", {"sub": OTHER}),
    "anon": ("anon", {}),
    "service": ("service_role", {}),
}
NAMES = [f"{ME}/mine.txt", f"{OTHER}/theirs.txt", "shared.txt", "red/plan.txt"]

# What each of them sees by a policy
SEEN = {
    "bucket_id = 'b'": {"me": 4, "other": 4, "anon": 4},
    "bucket_id = 'else'": {"me": 0, "other": 0, "anon": 0},
    "(storage.foldername(name))[1] = auth.uid()::text": {"me": 1, "other": 1, "anon": 0},
    "(storage.foldername(name))[1] = (select auth.uid()::text)": {"me": 1, "other": 1, "anon": 0},
    "owner_id = auth.uid()::text": {"me": 2, "other": 1, "anon": 0},
    "owner = auth.uid()": {"me": 2, "other": 1, "anon": 0},
    "auth.role() = 'authenticated'": {"me": 4, "other": 4, "anon": 0},
    "(storage.foldername(name))[1] = auth.jwt() -> 'app_metadata' ->> 'team'": {
        "me": 1,
        "other": 0,
        "anon": 0,
    },
    "storage.extension(name) = 'txt' and storage.filename(name) = 'shared.txt'": {
        "me": 1,
        "other": 1,
        "anon": 1,
    },
    "storage.allow_only_operation('object.list')": {"me": 4, "other": 4, "anon": 4},
    "storage.allow_any_operation(array['storage.object.upload'])": {"me": 0, "other": 0, "anon": 0},
    "exists (select from storage.buckets where id = bucket_id and public)": {"me": 0, "other": 0, "anon": 0},
}


@pytest.fixture
async def rows(admin):
    """Role postgres, which writes the policies, with objects of two users."""
    await add_objects(admin, "b", NAMES)
    await admin.execute(
        """
        update storage.objects set owner = $1, owner_id = $1::uuid::text where name ~ 'mine|shared';
        """,
        ME,
    )
    await admin.execute(
        "update storage.objects set owner = $1, owner_id = $1::uuid::text where name ~ 'theirs'", OTHER
    )
    await admin.execute("set local role postgres; set local storage.operation = 'storage.object.list'")
    return admin


async def _as_each(connection, sql: str, callers=CALLERS) -> dict[str, object]:
    """Give the value of a question for each caller."""
    found = {}
    for name in callers:
        role, claims = CALLERS[name]
        await become(connection, role, **claims)
        found[name] = await connection.fetchval(sql)
        await connection.execute("set local role postgres")
    return found


async def test_without_a_policy_only_the_service_role_sees_rows(rows):
    for table, count in (("objects", 4), ("buckets", 1)):
        found = await _as_each(rows, f"select count(*) from storage.{table}")
        assert found == {"me": 0, "other": 0, "anon": 0, "service": count}


@pytest.mark.parametrize("policy", SEEN)
async def test_a_policy_shows_its_rows(rows, policy):
    await rows.execute(f"create policy p on storage.objects for select using ({policy})")
    for sql in (
        "select count(*) from storage.objects",
        "select count(*) from storage.list_objects_with_delimiter('b', '', '')",
        "select coalesce(sum(size), 0)::int from storage.get_size_by_bucket()",
    ):
        assert await _as_each(rows, sql) == {**SEEN[policy], "service": 4}, sql


@pytest.mark.parametrize("policy", SEEN)
async def test_listings_show_what_the_policy_shows(rows, policy):
    await rows.execute(f"create policy p on storage.objects for select using ({policy})")
    for listing in (
        "storage.search('', 'b')",
        "storage.search('', 'b', sortcolumn => 'created_at')",
        "storage.search_v2('', 'b')",
        "storage.search_v2('', 'b', sort_column => 'updated_at')",
        "storage.list_objects_with_delimiter('b', '', '/', sort_order => 'desc')",
    ):
        found = await _as_each(rows, f"select count(*) from {listing}")
        assert found == {**SEEN[policy], "service": 4}, listing


async def test_a_user_writes_into_the_folder_of_its_own(rows):
    await rows.execute(
        """
        create policy "own folder" on storage.objects for all to authenticated
        using (bucket_id = 'b' and (storage.foldername(name))[1] = auth.uid()::text)
        with check (bucket_id = 'b' and (storage.foldername(name))[1] = auth.uid()::text)
        """
    )
    await become(rows, "authenticated", sub=ME)
    await allow_deletes(rows)

    await rows.execute("insert into storage.objects (bucket_id, name) values ('b', $1)", f"{ME}/new.txt")
    assert await rows.execute("update storage.objects set metadata = '{}'") == "UPDATE 2"
    assert await refused(rows, f"insert into storage.objects (bucket_id, name) values ('b', '{OTHER}/x')")
    assert await refused(rows, f"update storage.objects set name = '{OTHER}/moved.txt'")
    assert await rows.execute("delete from storage.objects") == "DELETE 2"
    await become(rows, "anon")
    assert await refused(rows, f"insert into storage.objects (bucket_id, name) values ('b', '{ME}/x')")


async def test_a_refused_row_says_that_row_security_did_it(rows):
    await become(rows, "authenticated", sub=ME)
    with pytest.raises(
        asyncpg.InsufficientPrivilegeError, match="new row violates row-level security policy"
    ):
        await rows.execute("insert into storage.objects (bucket_id, name) values ('b', 'x')")


async def test_what_is_uploaded_may_be_checked_before_a_byte_is_stored(rows):
    await rows.execute(
        """
        create policy images on storage.objects for insert to authenticated with check (
          metadata ->> 'mimetype' like 'image/%' and (metadata ->> 'contentLength')::int <= 100
          and user_metadata ->> 'department' = 'x')
        """
    )
    await become(rows, "authenticated", sub=ME)
    sql = """
        insert into storage.objects (bucket_id, name, metadata, user_metadata)
        values ('b', 'i', '{"mimetype": "%s", "contentLength": %d}', '{"department": "x"}')
        """

    assert not await refused(rows, sql % ("image/png", 100))
    assert await refused(rows, sql % ("image/png", 101))
    assert await refused(rows, sql % ("text/plain", 1))


async def test_an_upsert_needs_to_see_and_to_change(rows):
    upsert = """
        insert into storage.objects (bucket_id, name, version) values ('b', '{}', '1')
        on conflict (name, bucket_id) do update set version = excluded.version returning *
        """
    answers = []
    for command in ("insert with check (true)", "select using (true)", "update using (true)"):
        kind = command.split()[0]
        await rows.execute(f"create policy {kind}s on storage.objects for {command}")
        await become(rows, "authenticated", sub=ME)
        answers.append([await refused(rows, upsert.format(name)) for name in ("new.txt", "shared.txt")])
        await rows.execute("set local role postgres")

    assert answers[0] == [True, True]
    assert answers[1][1] is True
    assert answers[2] == [False, False]


async def test_buckets_are_shown_and_made_by_policies(rows):
    await rows.execute("create policy seen on storage.buckets for select to authenticated using (true)")
    await rows.execute(
        "create policy made on storage.buckets for insert with check (auth.role() = 'authenticated')"
    )
    seen = await _as_each(rows, "select count(*) from storage.buckets")
    sql = "insert into storage.buckets (id, name, owner, owner_id) values ('n', 'n', auth.uid(), auth.uid()::text)"
    refusals = {}
    for name, (role, claims) in CALLERS.items():
        await become(rows, role, **claims)
        async with rows.transaction():
            refusals[name] = await refused(rows, f"savepoint one; {sql}; rollback to one")
        await rows.execute("set local role postgres")

    assert seen == {"me": 1, "other": 1, "anon": 0, "service": 1}
    assert refusals == {"me": False, "other": False, "anon": True, "service": False}


# Whether an insert would be allowed


async def test_a_possible_insert_is_undone_and_says_so(rows):
    await rows.execute(
        "create policy made on storage.objects for insert to authenticated with check (owner = auth.uid())"
    )
    await become(rows, "authenticated", sub=ME)
    transaction = rows.transaction()
    await transaction.start()
    with pytest.raises(asyncpg.PostgresError) as caught:
        await rows.execute("select storage.can_insert_object('b', 'x', $1, '{}')", ME)
    await transaction.rollback()
    await rows.execute("reset role")

    assert (caught.value.sqlstate, caught.value.message) == ("PT200", "ROLLBACK")
    assert await rows.fetchval("select count(*) from storage.objects") == 4


async def test_an_impossible_insert_is_refused(rows):
    await become(rows, "authenticated", sub=ME)

    assert await refused(rows, f"select storage.can_insert_object('b', 'x', '{ME}', '{{}}')")

"""What happens by itself to rows of schema `storage`: guards, tombstones, events."""

import json

import asyncpg
import pytest

from tests.schemas.callers import ME, become
from tests.schemas.storage_tables import add_objects, allow_deletes

REFUSAL = "Direct deletion from storage tables is not allowed. Use the Storage API instead."


@pytest.fixture
async def owner(admin):
    """The service's own role, with a few objects; events so far are forgotten."""
    await admin.execute("set local role supabase_storage_admin")
    await add_objects(admin, "b", ["a.txt", "dir/x.txt", "dir/y.txt"])
    await admin.execute("insert into storage.buckets (id, name) values ('c', 'c')")
    await admin.execute("delete from storage.events_outbox")
    return admin


async def _tombstones(connection) -> list[tuple[str, ...]]:
    rows = await connection.fetch(
        "select bucket_id, name, version, reason from storage.tombstones order by id"
    )
    return [tuple(row) for row in rows]


async def _events(connection) -> list[tuple[str, dict[str, object]]]:
    rows = await connection.fetch("select event, payload from storage.events_outbox order by id")
    return [(row["event"], json.loads(row["payload"])) for row in rows]


async def _set(connection, name: str, value: str) -> None:
    await connection.execute("select set_config($1, $2, true)", name, value)


# Guards


@pytest.mark.parametrize("role", ["postgres", "supabase_storage_admin", "service_role", "authenticated"])
@pytest.mark.parametrize("sql", ["delete from storage.objects where false", "delete from storage.buckets"])
@pytest.mark.parametrize("setting", [None, "", "false", "1"])
async def test_rows_are_not_deleted_behind_the_services_back(owner, role, sql, setting):
    await owner.execute(f"reset role; set local role {role}")
    if setting is not None:
        await _set(owner, "storage.allow_delete_query", setting)
    with pytest.raises(asyncpg.InsufficientPrivilegeError) as caught:
        await owner.execute(sql)

    assert (caught.value.message, caught.value.sqlstate) == (REFUSAL, "42501")
    assert "orphaned object" in caught.value.hint


async def test_the_setting_of_the_service_allows_deletes(owner):
    await allow_deletes(owner)

    assert await owner.execute("delete from storage.objects") == "DELETE 3"
    assert await owner.execute("delete from storage.buckets") == "DELETE 2"


async def test_a_bucket_with_objects_stays(owner):
    await allow_deletes(owner)

    with pytest.raises(asyncpg.ForeignKeyViolationError, match="objects_bucketId_fkey"):
        await owner.execute("delete from storage.buckets where id = 'b'")


@pytest.mark.parametrize(
    "sql",
    [
        "insert into storage.buckets (id, name) values ('long', $1)",
        "update storage.buckets set name = $1 where id = 'c'",
    ],
)
async def test_names_of_buckets_have_a_hundred_characters_at_most(owner, sql):
    await owner.execute(sql, "ü" * 100)
    await owner.execute("update storage.buckets set name = 'c' where id = 'c'")

    with pytest.raises(
        asyncpg.RaiseError, match=r'^bucket name "ü+" is too long \(101 characters\)\. Max is 100\.$'
    ):
        await owner.execute(sql.replace("'long'", "'longer'"), "ü" * 101)


async def test_a_change_of_an_object_is_dated(owner):
    await owner.execute("update storage.objects set user_metadata = '{}', updated_at = '2000-01-01'")

    assert await owner.fetchval("select bool_and(updated_at = now()) from storage.objects")


async def test_the_parts_of_a_key_follow_its_name(owner):
    await owner.execute("update storage.objects set name = 'p/q/r.txt' where name = 'a.txt'")

    assert await owner.fetchval("select path_tokens from storage.objects where name = 'p/q/r.txt'") == [
        "p",
        "q",
        "r.txt",
    ]


# Tombstones


async def test_deleted_objects_leave_their_versions(owner):
    await allow_deletes(owner)
    await owner.execute("insert into storage.objects (bucket_id, name) values ('b', 'by-hand.txt')")
    await owner.execute("delete from storage.objects where name <> 'a.txt'")

    assert sorted(await _tombstones(owner)) == [
        ("b", "dir/x.txt", "v-dir/x.txt", "deleted"),
        ("b", "dir/y.txt", "v-dir/y.txt", "deleted"),
    ]


async def test_an_overwritten_version_is_left_behind(owner):
    await owner.execute(
        """
        insert into storage.objects (bucket_id, name, version) values ('b', 'a.txt', 'v2'), ('b', 'new.txt', 'v3')
        on conflict (bucket_id, name) do update set version = excluded.version
        """
    )
    await owner.execute("update storage.objects set metadata = '{}', version = 'v2' where name = 'a.txt'")
    await owner.execute("update storage.objects set version = null where name = 'a.txt'")
    await owner.execute("update storage.objects set version = 'v4' where name = 'a.txt'")

    assert await _tombstones(owner) == [
        ("b", "a.txt", "v-a.txt", "replaced"),
        ("b", "a.txt", "v2", "replaced"),
    ]


async def test_a_renamed_object_keeps_its_blob_and_one_that_changes_the_bucket_leaves_it(owner):
    await owner.execute("update storage.objects set name = 'b.txt' where name = 'a.txt'")
    renamed = await _tombstones(owner)
    await owner.execute("update storage.objects set bucket_id = 'c' where name = 'b.txt'")

    assert renamed == []
    assert await _tombstones(owner) == [("b", "b.txt", "v-a.txt", "replaced")]


async def test_what_is_rolled_back_loses_no_blob(owner):
    await allow_deletes(owner)
    transaction = owner.transaction()
    await transaction.start()
    await owner.execute("delete from storage.objects")
    await transaction.rollback()

    assert (await _tombstones(owner), await _events(owner)) == ([], [])


async def test_a_caller_who_deletes_leaves_tombstones_it_cannot_see(owner):
    await owner.execute("create policy own on storage.objects using (name like 'dir/%')")
    await become(owner, "authenticated", sub=ME)
    await allow_deletes(owner)
    await owner.execute("delete from storage.objects")
    await owner.execute("reset role")

    assert sorted(row[1] for row in await _tombstones(owner)) == ["dir/x.txt", "dir/y.txt"]


async def test_objects_that_go_by_a_key_of_the_project_leave_tombstones(owner):
    await owner.execute("reset role; set local role postgres")
    await owner.execute(
        """
        create table public.albums (id text primary key);
        insert into public.albums values ('b');
        alter table storage.objects add column album text references public.albums on delete cascade;
        update storage.objects set album = 'b'
        """
    )
    await allow_deletes(owner)
    await owner.execute("delete from public.albums; reset role")

    assert len(await _tombstones(owner)) == 3


async def test_tombstones_are_written_where_other_triggers_are_off(admin, owner):
    await admin.execute("reset role; set local session_replication_role = replica")
    await admin.execute("delete from storage.objects where name = 'a.txt'")
    await admin.execute("update storage.objects set version = 'v2' where name = 'dir/x.txt'")

    assert [row[1:] for row in await _tombstones(admin)] == [
        ("a.txt", "v-a.txt", "deleted"), ("dir/x.txt", "v-dir/x.txt", "replaced"),
    ]  # fmt: skip
    assert await _events(admin) == []


@pytest.mark.parametrize("sql", ["truncate storage.objects", "truncate storage.buckets cascade"])
async def test_truncated_objects_leave_their_versions(owner, sql):
    await owner.execute(f"reset role; set local role postgres; {sql}; reset role")

    assert {row[3] for row in await _tombstones(owner)} == {"truncated"}
    assert len(await _tombstones(owner)) == 3


# Events


@pytest.mark.parametrize(
    ("operation", "created", "overwritten", "way"),
    [
        ("storage.object.upload", "Post", "Put", "standard"),
        ("storage.object.upload_signed", "Post", "Put", "standard"),
        ("storage.object.upload_update", "Put", "Put", "standard"),
        ("storage.tus.upload.part", "Post", "Put", "resumable"),
        ("storage.s3.upload.complete_multipart", "Put", "Put", "s3"),
        ("storage.object.copy", "Copy", "Copy", None),
        ("storage.s3.object.copy", "Copy", "Copy", None),
        ("", "Post", "Put", None),
    ],
)
async def test_how_an_object_came_to_be_is_told(owner, operation, created, overwritten, way):
    await _set(owner, "storage.operation", operation)
    await _set(owner, "request.headers", '{"x-request-id": "r1"}')
    for version in ("v1", "v2"):
        await owner.execute(
            """
            insert into storage.objects (bucket_id, name, version, metadata) values ('b', 'n', $1, '{"size": 3}')
            on conflict (bucket_id, name) do update set version = excluded.version
            """,
            version,
        )

    told = {"bucketId": "b", "name": "n", "metadata": {"size": 3}, "uploadType": way, "reqId": "r1"}
    assert await _events(owner) == [
        (f"ObjectCreated:{created}", {**told, "version": "v1"}),
        (f"ObjectCreated:{overwritten}", {**told, "version": "v2"}),
    ]


async def test_a_move_is_told_of_both_keys(owner):
    await _set(owner, "storage.operation", "storage.object.move")
    await owner.execute(
        "update storage.objects set name = 'm', bucket_id = 'c', version = 'v2' where name = 'a.txt'"
    )

    (gone, old), (come, new) = await _events(owner)
    assert (gone, old["bucketId"], old["name"], old["version"]) == (
        "ObjectRemoved:Move",
        "b",
        "a.txt",
        "v-a.txt",
    )
    assert (come, new["bucketId"], new["name"], new["version"]) == ("ObjectCreated:Move", "c", "m", "v2")
    assert old["uploadType"] is new["uploadType"] is None


@pytest.mark.parametrize(
    ("sql", "events"),
    [
        ("update storage.objects set metadata = '{}' where name = 'a.txt'", ["ObjectUpdated:Metadata"]),
        ("update storage.objects set user_metadata = '{}' where name = 'a.txt'", ["ObjectUpdated:Metadata"]),
        ("update storage.objects set last_accessed_at = now(), owner_id = 'x'", []),
        ("delete from storage.objects where name like 'dir/%'", ["ObjectRemoved:Delete"] * 2),
        ("insert into storage.buckets (id, name) values ('d', 'd')", ["Bucket:Created"]),
        ("insert into storage.buckets (id, name) values ('c', 'c') on conflict do nothing", []),
        ("update storage.buckets set public = true", []),
        ("delete from storage.buckets where id = 'c'", ["Bucket:Deleted"]),
    ],
)
async def test_other_changes_are_told(owner, sql, events):
    await allow_deletes(owner)
    await owner.execute(sql)

    assert [event for event, _ in await _events(owner)] == events


async def test_events_tell_the_row(owner):
    await allow_deletes(owner)
    await owner.execute(
        "delete from storage.objects where name = 'a.txt'; delete from storage.buckets where id = 'c'"
    )

    assert await _events(owner) == [
        ("ObjectRemoved:Delete", {"bucketId": "b", "name": "a.txt", "version": "v-a.txt", "metadata": {"size": 1},
                                  "uploadType": None, "reqId": None}),
        ("Bucket:Deleted", {"bucketId": "c", "name": "c", "reqId": None}),
    ]  # fmt: skip


async def test_the_changes_of_a_caller_are_told(owner):
    await owner.execute("create policy all_may on storage.objects for insert with check (true)")
    await become(owner, "anon")
    await owner.execute("insert into storage.objects (bucket_id, name) values ('b', 'x')")
    await owner.execute("reset role")

    assert [event for event, _ in await _events(owner)] == ["ObjectCreated:Post"]

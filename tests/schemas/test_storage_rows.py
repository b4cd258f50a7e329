"""Rows as people and dumps write them, what may stand in them, and that the files of the series run again over them."""

import asyncpg
import pytest

from tests.schemas.callers import ME
from tests.schemas.storage_tables import add_objects, describe, listed
from tests.workers.database.server import connected
from workers.database.migrations.migrate import read_migrations


@pytest.mark.parametrize(
    "sql",
    [
        "insert into storage.buckets (id, name) values ('avatars', 'avatars')",
        "insert into storage.buckets (id, name, public) values ('avatars', 'avatars', true) on conflict (id) do nothing",
        "INSERT INTO storage.buckets (id, name) VALUES ('a', 'a'), ('b', 'b') ON CONFLICT DO NOTHING;",
        """
        insert into "storage"."buckets" ("id", "name", "owner", "created_at", "updated_at", "public",
          "avif_autodetection", "file_size_limit", "allowed_mime_types", "owner_id")
        values ('docs', 'docs', null, '2024-01-01 00:00:00+00', '2024-01-01 00:00:00+00', false, false, 5242880,
          '{image/png,image/jpeg}', null);
        """,
        """
        insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
        values ('media', 'media', true, 52428800, array['image/*', 'video/mp4'])
        on conflict (id) do update set public = excluded.public, file_size_limit = excluded.file_size_limit,
          allowed_mime_types = excluded.allowed_mime_types
        """,
        "insert into storage.buckets (id, name, type) values ('typed', 'typed', 'STANDARD')",
        f"""
        insert into storage.buckets (id, name) values ('avatars', 'avatars');
        insert into storage.objects (bucket_id, name, owner, metadata)
        values ('avatars', '{ME}/face.png', '{ME}', '{{"mimetype": "image/png", "size": 12}}');
        update storage.buckets set public = true where id = 'avatars'
        """,
        f"""
        SET session_replication_role = replica;
        INSERT INTO "storage"."objects" ("id", "bucket_id", "name", "owner", "created_at", "updated_at",
          "last_accessed_at", "metadata", "version", "owner_id", "user_metadata")
        VALUES ('{ME}', 'none', 'a.png', NULL, now(), now(), now(), '{{}}', '{ME}', NULL, NULL);
        INSERT INTO "storage"."s3_multipart_uploads" ("id", "in_progress_size", "upload_signature", "bucket_id", "key",
          "version", "owner_id", "created_at", "user_metadata") VALUES ('u', 0, 's', 'none', 'k', 'v', NULL, now(), NULL);
        INSERT INTO "storage"."migrations" ("id", "name", "hash", "executed_at")
        VALUES (0, 'create-migrations-table', 'e18db593bcde2aca2a408c4d1100f6abba2195df', '2024-01-01 00:00:00');
        RESET ALL;
        """,
    ],
)
async def test_rows_written_by_hand_and_by_dumps_are_taken(project, sql):
    await project.execute(sql)


async def test_a_bucket_has_its_defaults(project):
    row = await project.fetchrow("insert into storage.buckets (id, name) values ('a', 'a') returning *")

    assert dict(row) | {"created_at": None, "updated_at": None} == {
        "id": "a", "name": "a", "owner": None, "created_at": None, "updated_at": None, "public": False,
        "avif_autodetection": False, "file_size_limit": None, "allowed_mime_types": None, "owner_id": None,
        "type": "STANDARD", "versioning_status": "DISABLED",
    }  # fmt: skip
    assert row["created_at"] == row["updated_at"]


async def test_an_object_has_its_defaults(project):
    await project.execute("insert into storage.buckets (id, name) values ('a', 'a')")
    row = await project.fetchrow(
        "insert into storage.objects (bucket_id, name) values ('a', 'x/y') returning *"
    )

    told = {name: value for name, value in row.items() if value is not None and not name.endswith("_at")}
    assert told == {
        "id": row["id"], "bucket_id": "a", "name": "x/y", "path_tokens": ["x", "y"], "is_delete_marker": False,
        "is_versioned": False,
    }  # fmt: skip
    assert row["created_at"] == row["updated_at"] == row["last_accessed_at"]


@pytest.mark.parametrize(
    ("sql", "refusal"),
    [
        ("insert into storage.buckets (id, name) values ('b', 'x')", asyncpg.UniqueViolationError),
        ("insert into storage.buckets (id, name) values ('x', 'b')", asyncpg.UniqueViolationError),
        ("insert into storage.buckets (id) values ('x')", asyncpg.NotNullViolationError),
        ("update storage.buckets set versioning_status = 'ENABLED'", asyncpg.CheckViolationError),
        ("update storage.buckets set versioning_status = 'x'", asyncpg.CheckViolationError),
        ("insert into storage.objects (bucket_id, name) values ('b', 'a.txt')", asyncpg.UniqueViolationError),
        ("insert into storage.objects (bucket_id, name) values ('none', 'x')", asyncpg.ForeignKeyViolationError),
        ("update storage.objects set path_tokens = '{x}'", asyncpg.GeneratedAlwaysError),
        ("insert into storage.tombstones (bucket_id, version, reason) values ('b', 'v', 'x')", asyncpg.CheckViolationError),
        ("insert into storage.tus_uploads (bucket_id, key, version, upload_length, expires_at) "
         "values ('b', 'k', 'v', -1, now())", asyncpg.CheckViolationError),
        ("insert into storage.tus_uploads (bucket_id, key, version, upload_length, upload_offset, expires_at) "
         "values ('b', 'k', 'v', 1, 2, now())", asyncpg.CheckViolationError),
        ("insert into storage.s3_access_keys values ('key1', 'sealed', '{}')", asyncpg.CheckViolationError),
        ("insert into storage.s3_access_keys values ('key1', 'sealed', '[]')", asyncpg.CheckViolationError),
        ("insert into storage.s3_access_keys values ('k/1', 'sealed', '{\"role\": \"anon\"}')",
         asyncpg.CheckViolationError),
    ],
)  # fmt: skip
async def test_what_cannot_be_is_refused(admin, sql, refusal):
    await add_objects(admin, "b", ["a.txt"])
    with pytest.raises(refusal):
        await admin.execute(sql)


async def test_keys_are_told_apart_by_every_sign(admin):
    keys = ["a", "A", "a/", "/a", "a//b", "a/b", "é", "e\u0301"]
    await add_objects(admin, "b", keys)

    assert sorted(await listed(admin, "storage.list_objects_with_delimiter('b', '', '')")) == sorted(keys)


async def test_a_resumable_upload_of_unknown_length_has_no_end(admin):
    row = await admin.fetchrow(
        """
        insert into storage.tus_uploads (bucket_id, key, version, upload_offset, expires_at)
        values ('gone', 'k', 'v', 5, now()) returning upload_length, upload_offset, upsert
        """
    )

    assert tuple(row) == (None, 5, False)


async def test_a_key_pair_has_the_claims_of_who_uses_it(admin):
    row = await admin.fetchrow(
        """
        insert into storage.s3_access_keys (access_key_id, secret, claims)
        values ('625729a08b95bf1b7ff351a663f3a23c', 'sealed', '{"role": "authenticated", "sub": "1"}')
        returning claims ->> 'role', revoked_at
        """
    )

    assert tuple(row) == ("authenticated", None)


async def test_the_parts_go_with_their_upload(admin):
    await add_objects(admin, "b", [])
    await admin.execute(
        """
        insert into storage.s3_multipart_uploads (id, bucket_id, key, version, upload_signature)
        values ('u', 'b', 'k', 'v', 's');
        insert into storage.s3_multipart_uploads_parts (upload_id, part_number, bucket_id, key, etag, version)
        values ('u', 1, 'b', 'k', 'e', 'v');
        delete from storage.s3_multipart_uploads
        """
    )

    assert await admin.fetchval("select count(*) from storage.s3_multipart_uploads_parts") == 0


async def test_sizes_are_summed_by_bucket(admin):
    await add_objects(admin, "b", ["1", "2", "3", "4"])
    await add_objects(admin, "empty", [])
    await add_objects(admin, "unknown", ["x"])
    for name, metadata in (("2", '{"size": 3000000000}'), ("3", None), ("4", '{"size": "big"}')):
        await admin.execute("update storage.objects set metadata = $2 where name = $1", name, metadata)
    await admin.execute("update storage.objects set metadata = null where name = 'x'")
    rows = await admin.fetch("select * from storage.get_size_by_bucket()")

    assert {row["bucket_id"]: row["size"] for row in rows} == {"b": 3000000001, "unknown": 0}
    assert list(rows[0].keys()) == ["size", "bucket_id"]


async def test_the_files_run_again_on_a_database_with_objects(migrated_server, database_url):
    async with connected(migrated_server.url(database=database_url)) as connection:
        await add_objects(connection, "b", ["a.txt", "dir/x.txt"])
        before = await describe(connection), await _rows(connection)
        for migration in read_migrations():
            if migration.series == "storage":
                async with connection.transaction():
                    await connection.execute(migration.sql)
        after = await describe(connection), await _rows(connection)

    assert after == before


async def _rows(connection) -> list[object]:
    tables = ("buckets", "objects", "events_outbox", "tombstones")
    return [await connection.fetch(f"select * from storage.{table} order by id") for table in tables]

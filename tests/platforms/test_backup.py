"""A platform saved and brought back, into a new one and over one that has something."""

import asyncio
import json
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.s3_server import KEY, S3Server, running_s3
from tests.platform import Platform, headwater, platform
from tests.workers.database.server import temporary_server

pytestmark = [pytest.mark.process_group("backup"), pytest.mark.timeout(300)]

_SCHEMA = (
    "create role keeper nologin; create table public.notes (id int primary key, text text);"
    "alter table public.notes enable row level security; create policy all_see on public.notes for select using (true);"
    "grant select on public.notes to keeper; insert into public.notes select n, 'note ' || n from generate_series(1, 500) n;"
    "alter database postgres set work_mem = '5MB';"
    "create schema shop; grant create, usage on schema shop to keeper;"
    "create table shop.orders (id serial primary key, note int references public.notes);"
    "insert into shop.orders (note) values (1), (2); grant keeper to postgres; alter table shop.orders owner to keeper;"
    "alter role keeper set work_mem = '6MB'; comment on role keeper is 'keeps; everything';"
    "create function public.welcome() returns trigger language plpgsql as 'begin return new; end';"
    "create trigger welcome after insert on auth.users for each row execute function public.welcome();"
    "create policy mine on storage.objects for select to authenticated using (owner_id = 'x');"
    "create extension pg_cron; create extension pgmq;"
    "create extension postgres_fdw with schema extensions;"
    "create server inside foreign data wrapper postgres_fdw options (host '10.0.0.5', dbname 'x'); grant usage on foreign server inside to keeper;"
    "create user mapping for postgres server inside options (user 'far', password 'secret');"
    "create server outside foreign data wrapper postgres_fdw options (host 'db.example.com');"
    "create user mapping for postgres server outside options (user 'far', password 'secret');"
    "create foreign table public.far_away (id int) server inside; create view public.farther as select id from public.far_away;"
)
_CALLS = (
    "select cron.schedule('nightly', '0 3 * * *', 'select 1');"
    "select pgmq.create('jobs'); select pgmq.send('jobs', '{\"a\": 1}'); select vault.create_secret('s3cret', 'key')"
)


_OF_POSTGRES = (
    "select headwater.publish_all_tables('every_table', null);"
    "comment on publication every_table is 'all of them';"
    "create publication notes_only for table public.notes;"
    "create table public.changes (tag text); create function public.note_change() returns event_trigger language plpgsql as"
    " 'begin insert into public.changes values (tg_tag); end';"
    "select headwater.create_event_trigger('note_changes', 'ddl_command_end', null, 'public.note_change'::regproc)"
)
"""What only a superuser may own, given to role postgres as migrations do."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A backup of a platform with rows, a user and objects."""
    folder = tmp_path_factory.mktemp("backup") / "first"
    with platform(environment={"HEADWATER_NET_ALLOW": "10.0.0.5"}) as one:
        one.psql(_SCHEMA)
        one.psql(_OF_POSTGRES)
        one.psql(_CALLS)
        _call(
            one,
            "POST",
            "/auth/v1/admin/users",
            {"email": "a@example.com", "password": "a long password", "email_confirm": True},
        )
        _call(one, "POST", "/storage/v1/bucket", {"name": "open", "public": True})
        for number in range(20):
            _put(one, f"o{number}", b"object %d" % number * 1000)
        done = one.command("backup", str(folder))
        assert done.returncode == 0, done.stderr
        yield folder


def test_manifest_tells_what_is_saved(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())

    assert manifest["blobs"] == 20
    assert manifest["blob_bytes"] == sum(len(b"object %d" % number * 1000) for number in range(20))
    assert {"database.dump", "roles.sql", "blobs.jsonl"} == manifest["files"].keys()
    assert "keeper" in (saved / "roles.sql").read_text()


def test_backup_is_restored_into_a_new_platform(saved: Path) -> None:
    with platform() as one:
        assert one.command("admin", "add", "ada@example.com", "--rights", "owner").returncode == 0
        done = one.command("restore", str(saved))
        assert done.returncode == 0, done.stderr
        assert (
            "foreign server inside: '10.0.0.5' is at a private address. It was restored with the host refused.invalid"
            in done.stderr
        )
        assert "host '10.0.0.5', dbname 'x'" in done.stderr or "dbname 'x', host '10.0.0.5'" in done.stderr
        assert "secret" not in done.stdout + done.stderr

        assert one.get("/health/ready")[0] == 200
        assert "ada@example.com" in one.command("admin", "list").stdout
        one.wait_for_catalog("notes")
        assert one.get("/rest/v1/notes?id=eq.500")[1] == b'[{"id":500,"text":"note 500"}]'
        assert one.get("/storage/v1/object/public/open/o7") == (200, b"object 7" * 1000)
        assert _sign_in(one) == 200
        assert "5MB" in one.psql("show work_mem")
        _still_belongs_to_postgres(one)
        _all_is_there(one)
        _put(one, "later", b"x")
        again = one.command("restore", str(saved))
        assert again.returncode == 2
        assert "--force" in again.stderr

        forced = one.command("restore", str(saved), "--force")
        assert forced.returncode == 0, forced.stderr
        one.wait_for_catalog("notes")
        assert one.get("/storage/v1/object/public/open/later")[0] in (400, 404)


def _all_is_there(one: Platform) -> None:
    """What is restored by ways of its own: jobs, secrets, queues, what hangs on the platform's tables, owners, roles."""
    asked = {
        "select jobname || ' ' || username from cron.job": "nightly postgres",
        "select name from vault.secrets": "key",  # it opens with the first platform's vault.key
        "select sum(objects) from storage.usage": "20",
        "select count(*) from pg_trigger where tgenabled = 'A' and tgrelid = 'storage.objects'::regclass": "7",
        "select message from pgmq.read('jobs', 0)": '{"a": 1}',
        "select tgname from pg_trigger where tgrelid = 'auth.users'::regclass and tgname = 'welcome'": "welcome",
        "select string_agg(concat_ws(' ', srvname, srvowner::regrole, srvoptions, srvacl), '; ' order by srvname) from pg_foreign_server": (
            "inside postgres {host=refused.invalid} {postgres=U/postgres,keeper=U/postgres}; outside postgres {host=db.example.com}"
        ),
        "select string_agg(srvname || ' ' || usename, ', ' order by srvname) from pg_user_mappings": "inside postgres, outside postgres",
        "select view_definition like '%far_away%' from information_schema.views where table_name = 'farther'": "t",
        "select policyname from pg_policies where schemaname = 'storage' and policyname = 'mine'": "mine",
        "select tableowner from pg_tables where tablename = 'orders'": "keeper",
        "select max(id) || ' of ' || nextval('shop.orders_id_seq') from shop.orders": "2 of 3",
        "select rolconfig::text || shobj_description(oid, 'pg_authid') from pg_roles where rolname = 'keeper'": (
            "{work_mem=6MB}keeps; everything"
        ),
    }
    for sql, expected in asked.items():
        done = one.command("psql", "-Atc", sql)
        assert done.stdout.strip() == expected, (sql, done.stdout, done.stderr)


def _still_belongs_to_postgres(one: Platform) -> None:
    """Publications and event triggers came back as they were, and role postgres is no superuser for it."""
    owners = (
        "select string_agg(name || ' ' || owner::regrole, ', ' order by name) from (select pubname, pubowner from pg_publication"
        " union all select evtname, evtowner from pg_event_trigger) as of (name, owner)"
        " where name in ('every_table', 'notes_only', 'note_changes')"
    )
    told = one.psql(owners)
    assert "every_table postgres, note_changes postgres, notes_only postgres" in told, told
    assert "all of them" in one.psql(
        "select obj_description(oid) from pg_publication where pubname = 'every_table'"
    )
    assert (
        "f"
        in one.psql("select 'super: ' || rolsuper from pg_roles where rolname = 'postgres'").partition(
            "super: "
        )[2]
    )
    assert "CREATE VIEW" in one.psql(
        "create view public.seen as select 1 as one; select tag from public.changes"
    )


async def test_backup_is_restored_on_an_outside_server_and_store_and_saved_from_there(
    saved: Path, tmp_path: Path
) -> None:
    with running_s3() as s3, temporary_server() as database:
        outside = {
            "HEADWATER_DB_URL": database.url(),
            "HEADWATER_DB_PASSWORD": "a password of the login roles",
            "HEADWATER_STORAGE_BACKEND": "s3",
            "HEADWATER_STORAGE_S3_BUCKET": s3.bucket,
            "HEADWATER_STORAGE_S3_ENDPOINT": s3.url,
            "HEADWATER_STORAGE_S3_FORCE_PATH_STYLE": "true",
            "HEADWATER_STORAGE_S3_ACCESS_KEY_ID": "somebody",
            "HEADWATER_STORAGE_S3_SECRET_ACCESS_KEY": KEY,
        }
        await asyncio.to_thread(_restore_outside, saved, tmp_path / "second", outside, s3)


def _restore_outside(saved: Path, second: Path, outside: dict[str, str], s3: S3Server) -> None:
    with platform(environment=outside) as one:
        done = headwater("restore", str(saved), "--data", str(one.data), environment=outside)
        assert done.returncode == 0, done.stderr

        one.wait_for_catalog("notes")
        assert one.get("/rest/v1/notes?id=eq.500")[1] == b'[{"id":500,"text":"note 500"}]'
        assert one.get("/storage/v1/object/public/open/o7") == (200, b"object 7" * 1000)
        assert _sign_in(one) == 200
        assert len(s3.names("")) == 20
        again = headwater("backup", str(second), "--data", str(one.data), environment=outside)
        assert again.returncode == 0, again.stderr
    first, later = (json.loads((each / "manifest.json").read_text()) for each in (saved, second))

    assert (later["blobs"], later["blob_bytes"]) == (first["blobs"], first["blob_bytes"])
    assert later["migrations"] == first["migrations"]
    assert "keeper" in (second / "roles.sql").read_text()


def test_damaged_backup_is_refused_before_anything_changes(saved: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(saved, broken)
    with (broken / "database.dump").open("r+b") as file:
        file.seek(2000)
        file.write(b"damage")
    with platform() as one:
        done = one.command("restore", str(broken))

        assert done.returncode == 2
        assert "damaged" in done.stderr
        assert one.psql("select 1")


def test_folder_with_something_in_it_is_refused(saved: Path) -> None:
    done = headwater("backup", str(saved), "--data", "/nowhere")

    assert done.returncode == 2
    assert "not empty" in done.stderr


def _call(one: Platform, method: str, path: str, body: object) -> None:
    _send(one, method, path, json.dumps(body).encode(), "application/json")


def _put(one: Platform, key: str, data: bytes) -> None:
    _send(one, "POST", f"/storage/v1/object/open/{key}", data, "text/plain")


def _send(one: Platform, method: str, path: str, data: bytes, kind: str) -> None:
    key = one.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": kind}
    with urllib.request.urlopen(
        urllib.request.Request(one.url + path, data, headers, method=method), timeout=30
    ):
        pass


def _sign_in(one: Platform) -> int:
    body = json.dumps({"email": "a@example.com", "password": "a long password"}).encode()
    headers = {"apikey": one.values["ANON_KEY"], "Content-Type": "application/json"}
    asked = urllib.request.Request(f"{one.url}/auth/v1/token?grant_type=password", body, headers)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return int(answer.status)

"""The interface of the official command line on real Postgres: rights, refs, SQL, migrations, types; the bounds of its bodies."""

import json
import re
import uuid
from dataclasses import replace
from typing import Any

import asyncpg
import msgspec
import pytest

from schemas.database_logins import login_passwords
from schemas.http import Request, Response
from schemas.keys.secret import Secret
from tests.workers.management.conftest import Client
from tests.workers.rest.bodies import Inline
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.sessions.urls import login_url
from workers.management.areas.project.service_settings import official_change
from workers.management.interface.errors import ManagementError
from workers.management.interface.rights import Right
from workers.management.spellings.project_api.elsewhere import NOT_SERVED
from workers.management.spellings.project_api.endpoints import ENDPOINTS
from workers.management.worker import ManagementWorker


@pytest.fixture
def api(visitor: Client) -> Client:
    """A client without a session of a worker whose settings name the database."""
    worker = visitor.worker
    settings = worker.configuration
    db = msgspec.structs.replace(settings.db, url=Secret(visitor.superuser_url))
    return replace(
        visitor,
        worker=ManagementWorker.create(
            worker.database, msgspec.structs.replace(settings, db=db), worker.pools
        ),
    )


async def _with_token(api: Client, rights: Right, *, may_write: bool = True) -> Client:
    person = await api.signed_in(f"{uuid.uuid4().hex}@example.com", rights)
    created = await person.run("tokens.create", name="cli", rights=rights.value, may_write=may_write)
    return replace(api, token=created["secret"], headers={})


async def _ref(client: Client) -> str:
    [project] = json.loads((await client.send("GET", "/v1/projects")).body)
    return str(project["ref"])


async def _get(client: Client, path: str) -> Any:
    response = await client.send("GET", path)
    assert response.status == 200, response
    return json.loads(response.body)


async def test_without_a_token_nothing_is_there(api: Client) -> None:
    for path in ("/v1/projects", "/v1/nothing", "/v2/projects/x/config"):
        assert (await api.send("GET", path)).status == 401


async def test_the_project_has_a_ref_and_other_refs_are_not_there(api: Client) -> None:
    reader = await _with_token(api, Right.READER)
    ref = await _ref(reader)

    assert re.fullmatch(r"[a-z]{20}", ref)
    assert (await _get(reader, f"/v1/projects/{ref}"))["ref"] == ref
    for method, path in [
        (endpoint.method, endpoint.path) for endpoint in ENDPOINTS if "{ref}" in endpoint.path
    ]:
        other = re.sub(r"\{\w+\}", "hello", path.replace("{ref}", "abcdefghijklmnopqrst"))
        assert (await reader.send(method, other)).status == 404, other


async def test_what_changes_needs_a_developer_whose_token_may_write(api: Client) -> None:
    ref = await _ref(await _with_token(api, Right.READER))
    files = b'--x\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{"entrypoint_path":"a.ts","name":"a"}\r\n--x--\r\n'
    requests: list[tuple[str, str, str, bytes]] = [
        ("POST", f"/v1/projects/{ref}/functions/deploy?slug=a", "multipart/form-data; boundary=x", files),
        ("DELETE", f"/v1/projects/{ref}/functions/a", "", b""),
        ("POST", f"/v1/projects/{ref}/secrets", "", b'[{"name":"A","value":"1"}]'),
        ("DELETE", f"/v1/projects/{ref}/secrets", "", b'["A"]'),
        ("POST", f"/v1/projects/{ref}/database/query", "", b'{"query":"select 1"}'),
        ("POST", f"/v1/projects/{ref}/database/migrations", "", b'{"query":"select 1"}'),
        ("PUT", f"/v1/projects/{ref}/database/migrations", "", b'{"query":"select 1"}'),
        ("PATCH", f"/v1/projects/{ref}/config/auth", "", b'{"site_url":"https://evil.example"}'),
        ("POST", f"/v1/projects/{ref}/cli/login-role", "", b'{"read_only":false}'),
        ("DELETE", f"/v1/projects/{ref}/cli/login-role", "", b""),
    ]
    for rights, may_write, code in [
        (Right.READER, True, "no_right"),
        (Right.OWNER, False, "read_only_token"),
    ]:
        client = await _with_token(api, rights, may_write=may_write)
        for method, path, content_type, body in requests:
            response = await _send(client, method, path, content_type, body)
            assert (response.status, json.loads(response.body)["code"]) == (403, code), path


async def _send(client: Client, method: str, target: str, content_type: str, body: bytes) -> Response:
    path, _, query = target.partition("?")
    headers = [("authorization", f"Bearer {client.token}"), ("content-type", content_type)]
    request = Request("request-2", method, path, query=query, headers=headers, body=body)
    try:
        return await client.worker.answer(request, Inline(body))
    except ManagementError as error:
        return error.response()


async def test_secret_keys_are_shown_to_owners_who_may_write_and_ask(api: Client) -> None:
    for rights, may_write, shown in [
        (Right.OWNER, True, True),
        (Right.OWNER, False, False),
        (Right.DEVELOPER, True, False),
        (Right.READER, True, False),
    ]:
        client = await _with_token(api, rights, may_write=may_write)
        ref = await _ref(client)
        plain = {key["name"]: key["api_key"] for key in await _get(client, f"/v1/projects/{ref}/api-keys")}
        response = await _send(client, "GET", f"/v1/projects/{ref}/api-keys?reveal=true", "", b"")
        revealed = {key["name"]: key["api_key"] for key in json.loads(response.body)}

        assert plain["anon"] == revealed["anon"] is not None
        assert (plain["secret"], plain["service_role"]) == (None, None)
        assert (revealed["secret"] is not None, revealed["service_role"] is not None) == (shown, shown)


async def test_sql_is_run_and_its_last_rows_come_back(api: Client) -> None:
    developer = await _with_token(api, Right.DEVELOPER)
    ref = await _ref(developer)

    async def run(query: str, **more: object) -> Any:
        body = json.dumps({"query": query, **more}).encode()
        response = await _send(developer, "POST", f"/v1/projects/{ref}/database/query", "", body)
        assert response.status == 201, response
        return json.loads(response.body)

    assert await run("create table public.queried (id int); insert into public.queried values (1), (2)") == []
    assert await run("select count(*) from public.queried where id >= $1", parameters=[2]) == [{"count": 1}]
    assert await run("select current_user, session_user") == [
        {"current_user": "postgres", "session_user": "headwater_developer"}
    ]
    values = "select 9007199254740993 as big, 1.5::numeric as exact, '{\"a\": [1]}'::jsonb as json, 'NaN'::float8 as nan, null as none"
    assert await run(values) == [
        {"big": "9007199254740993", "exact": "1.5", "json": {"a": [1]}, "nan": None, "none": None}
    ]
    assert await run("vacuum public.queried") == []
    await run("drop table public.queried")


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("selec 1", 400, "42601"),
        ("select 'open", 400, "42601"),
        ("", 400, "invalid_arguments"),
        ("select 1\0", 400, "invalid_arguments"),
        ("select generate_series(1, 5000)", 413, "too_many_rows"),
        ("select repeat('x', 20000000)", 413, "too_many_rows"),
        ("select pg_read_file('/etc/passwd')", 403, "42501"),
        ("set role supabase_admin", 403, "42501"),
        (
            "reset role; select * from headwater.administrator_tokens; delete from headwater.administrator_audit",
            403,
            "42501",
        ),
    ],
)
async def test_sql_that_fails_is_answered_with_its_error(
    api: Client, query: str, status: int, code: str
) -> None:
    developer = await _with_token(api, Right.DEVELOPER)
    path = f"/v1/projects/{await _ref(developer)}/database/query"

    response = await _send(developer, "POST", path, "", json.dumps({"query": query}).encode())

    assert (response.status, json.loads(response.body)["code"]) == (status, code)


async def test_a_reading_query_cannot_write(api: Client) -> None:
    reader = await _with_token(api, Right.READER, may_write=False)
    ref = await _ref(reader)
    for path, body in [
        ("query", {"query": "create table public.never (id int)", "read_only": True}),
        ("query/read-only", {"query": "set transaction read write; create table public.never (id int)"}),
        ("query/read-only", {"query": "commit; create table public.never (id int)"}),
    ]:
        response = await _send(
            reader, "POST", f"/v1/projects/{ref}/database/{path}", "", json.dumps(body).encode()
        )
        assert response.status in (400, 403), response

    rows = await _send(
        reader, "POST", f"/v1/projects/{ref}/database/query/read-only", "", b'{"query":"select 1 as a"}'
    )
    assert (rows.status, json.loads(rows.body)) == (201, [{"a": 1}])


async def test_a_reading_query_runs_as_the_role_of_readers_and_returns_values_by_type(api: Client) -> None:
    developer = await _with_token(api, Right.DEVELOPER)
    path = f"/v1/projects/{await _ref(developer)}/database/query/read-only"
    query = """select current_user as role, current_setting('transaction_read_only') as reads, $1::int + 1 as number,
      $2::boolean as truth, array[1, null, 3] as list, '\\x0aff'::bytea as bytes, timestamptz '2024-01-02 03:04:05Z' is not null as at"""
    body = json.dumps({"query": query, "parameters": [41, False]}).encode()

    response = await _send(developer, "POST", path, "", body)

    assert response.status == 201, response
    assert json.loads(response.body) == [
        {
            "role": "supabase_read_only_user",
            "reads": "on",
            "number": 42,
            "truth": False,
            "list": [1, None, 3],
            "bytes": {"type": "Buffer", "data": [10, 255]},
            "at": True,
        }
    ]
    both = await developer.refused("sql.run", sql="select 1", as_reader=True, view_as={"role": "anon"})
    assert both == (400, "invalid_arguments")


async def test_a_long_value_is_returned_whole(api: Client) -> None:
    developer = await _with_token(api, Right.DEVELOPER)
    path = f"/v1/projects/{await _ref(developer)}/database/query"

    response = await _send(developer, "POST", path, "", b'{"query": "select repeat(\'x\', 3000000) as long"}')

    assert json.loads(response.body) == [{"long": "x" * 3_000_000}]


async def test_a_migration_is_applied_whole_or_not_at_all(api: Client) -> None:
    developer = await _with_token(api, Right.DEVELOPER)
    ref = await _ref(developer)
    path = f"/v1/projects/{ref}/database/migrations"
    broken = b'{"query": "create table public.half (id int); select 1/0", "name": "half"}'
    whole = b'{"query": "set role anon; reset role; create table public.whole (id int)", "name": "whole"}'

    refused = await _send(developer, "POST", path, "", broken)
    applied = await _send(developer, "POST", path, "", whole)
    recorded = await _send(developer, "PUT", path, "", b'{"query": "select 1/0", "name": "recorded"}')

    assert (refused.status, applied.status, recorded.status) == (400, 200, 200)
    assert {migration["name"] for migration in await _get(developer, path)} >= {"recorded"}
    assert "half" not in {migration["name"] for migration in await _get(developer, path)}
    types = (await _get(developer, f"/v1/projects/{ref}/types/typescript"))["types"]
    assert re.search(r"\bwhole\"?: *\{", types)
    assert not re.search(r"\bhalf\"?: *\{", types)


async def test_types_of_a_schema_that_is_not_there_are_refused(api: Client) -> None:
    reader = await _with_token(api, Right.READER)

    response = await _send(
        reader, "GET", f"/v1/projects/{await _ref(reader)}/types/typescript?included_schemas=nothing", "", b""
    )

    assert response.status == 400


async def test_a_login_lasts_minutes_and_has_one_role(api: Client) -> None:
    developer = await _with_token(api, Right.DEVELOPER)
    path = f"/v1/projects/{await _ref(developer)}/cli/login-role"

    opened = json.loads((await _send(developer, "POST", path, "", b'{"read_only": false}')).body)
    again = json.loads((await _send(developer, "POST", path, "", b'{"read_only": false}')).body)

    assert opened["role"] == again["role"] == "cli_login_postgres"
    assert 0 < opened["ttl_seconds"] <= 600
    pool = await ConnectionPool.open(login_url(api.superuser_url, again["role"], again["password"]), 1)
    async with pool.transaction() as transaction:
        [[user]] = await transaction.rows("select current_user::text")
        [[roles]] = await transaction.rows(
            "select string_agg(roleid::regrole::text, ' ') from pg_auth_members where member = session_user::regrole"
        )
    await pool.close()
    assert (user, roles) == (b"cli_login_postgres", b"postgres")
    assert again["password"] not in json.dumps(login_passwords(api.worker.configuration), default=str)
    assert (await _send(developer, "DELETE", path, "", b"")).status == 200


async def test_settings_are_read_and_equal_ones_may_be_written(api: Client) -> None:
    developer = await _with_token(api, Right.DEVELOPER)
    ref = await _ref(developer)
    for path in ("config/auth", "postgrest", "config/storage", "config/realtime", "config/database/postgres"):
        current = await _get(developer, f"/v1/projects/{ref}/{path}")
        same = await _send(developer, "PATCH", f"/v1/projects/{ref}/{path}", "", json.dumps(current).encode())

        assert same.status == 200, same


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("postgrest", {"max_rows": 7, "db_pool": 3}, 409),
        ("config/auth", {"jwt_issuer": "x"}, 409),
        ("config/auth", {"no_such_name": 1}, 409),
        ("config/storage", {"features": {"imageTransformation": {"enabled": "x"}}}, 409),
        ("config/realtime", {"suspend": True}, 409),
        ("config/database/postgres", {"max_connections": 7}, 501),
    ],
)
async def test_settings_of_the_start_are_named_and_nothing_changes(
    api: Client, path: str, body: dict[str, object], status: int
) -> None:
    developer = await _with_token(api, Right.DEVELOPER)
    url = f"/v1/projects/{await _ref(developer)}/{path}"
    before = await _get(developer, url)

    answer = await _send(developer, "PATCH", url, "", json.dumps(body).encode())

    assert (answer.status, json.loads(answer.body)["code"]) == (status, "settings_from_file")
    assert await _get(developer, url) == before


@pytest.mark.parametrize(
    ("area", "name", "value", "change"),
    [
        (
            "auth",
            "uri_allow_list",
            "http://a, http://b",
            ("auth.additional_redirect_urls", ["http://a", "http://b"]),
        ),
        ("auth", "disable_signup", True, ("auth.enable_signup", False)),
        ("auth", "sessions_timebox", 2, ("auth.sessions.timebox", 7200)),
        ("auth", "mailer_templates_invite_content", "<p>", ("auth.email.template.invite.content", "<p>")),
        ("auth", "no_such_name", 1, None),
        ("api", "db_schema", "public, other", ("api.schemas", ["public", "other"])),
        ("api", "db_pool", 3, None),
    ],
)
def test_official_names_are_keys(
    area: str, name: str, value: object, change: tuple[str, object] | None
) -> None:
    assert official_change(area, name, value) == change


async def test_what_is_not_served_says_where_to_go(api: Client) -> None:
    reader = await _with_token(api, Right.READER)
    ref = await _ref(reader)
    for sentence, lines in NOT_SERVED.items():
        for line in lines:
            *methods, path = line.split()
            target = re.sub(r"\{\w+\}", "x", path.replace("{ref}", ref))
            for method in methods:
                response = await reader.send(method, target)
                assert response.status == 501, (method, target)
                assert sentence in json.loads(response.body)["message"]

    assert (await reader.send("DELETE", "/v1/profile")).status == 405
    assert (await reader.send("GET", f"/v1/projects/{ref}/nothing")).status == 404
    assert (await reader.send("GET", "/v1/")).status == 404


async def test_findings_of_the_advisors_have_the_members_of_the_official_interface(api: Client) -> None:
    developer = await _with_token(api, Right.DEVELOPER)
    ref, name = await _ref(developer), f"open_{uuid.uuid4().hex[:8]}"
    sql = f"create table public.{name} (id int)"
    await _send(
        developer, "POST", f"/v1/projects/{ref}/database/query", "", json.dumps({"query": sql}).encode()
    )
    reader = await _with_token(api, Right.READER)
    try:
        security = await _get(reader, f"/v1/projects/{ref}/advisors/security")
        performance = await _get(reader, f"/v1/projects/{ref}/advisors/performance")
        of_sql = await _send(reader, "GET", f"/v1/projects/{ref}/advisors/security?lint_type=sql", "", b"")
    finally:
        drop = json.dumps({"query": f"drop table public.{name}"}).encode()
        await _send(developer, "POST", f"/v1/projects/{ref}/database/query", "", drop)

    lints = {(lint["name"], lint["metadata"].get("name")): lint for lint in security["lints"]}
    open_table = lints["rls_disabled_in_public", name]
    assert open_table.pop("description")
    assert name in open_table.pop("detail")
    assert open_table == {
        "name": "rls_disabled_in_public",
        "title": "Served table without row level security",
        "level": "ERROR",
        "facing": "EXTERNAL",
        "categories": ["SECURITY"],
        "remediation": f"alter table public.{name} enable row level security;",
        "metadata": {"schema": "public", "name": name, "type": "table"},
        "cache_key": f"rls_disabled_in_public_public_{name}",
    }
    setting = lints["auth_leaked_password_protection", None]
    assert setting["remediation"] == "set auth.password.hibp.enabled = true"
    assert {lint["name"] for lint in json.loads(of_sql.body)["lints"]} == {
        lint["name"] for lint in security["lints"] if lint["metadata"]["type"] != "setting"
    }
    assert ("no_primary_key", name) in {
        (lint["name"], lint["metadata"]["name"]) for lint in performance["lints"]
    }
    assert {category for lint in performance["lints"] for category in lint["categories"]} == {"PERFORMANCE"}


async def test_buckets_are_listed_beyond_a_page(api: Client) -> None:
    connection = await asyncpg.connect(api.superuser_url)
    await connection.execute(
        "insert into storage.buckets (id, name) select 'b' || n, 'b' || n from generate_series(1000, 1119) n"
    )
    reader = await _with_token(api, Right.READER)
    try:
        buckets = await _get(reader, f"/v1/projects/{await _ref(reader)}/storage/buckets")
    finally:
        await connection.execute(
            "set storage.allow_delete_query = true; delete from storage.buckets where id like 'b1%'"
        )
        await connection.close()

    assert [bucket["id"] for bucket in buckets if bucket["id"].startswith("b1")] == [
        f"b{n}" for n in range(1000, 1120)
    ]
    assert set(buckets[0]) == {"id", "name", "owner", "created_at", "updated_at", "public"}


async def test_bodies_are_bounded_and_must_be_json(api: Client) -> None:
    developer = await _with_token(api, Right.DEVELOPER)
    ref = await _ref(developer)

    deep = await _send(developer, "POST", f"/v1/projects/{ref}/secrets", "", b"[" * 100_000)
    wrong = await _send(developer, "POST", f"/v1/projects/{ref}/secrets", "", b'{"A": "1"}')
    reserved = await _send(
        developer, "POST", f"/v1/projects/{ref}/secrets", "", b'[{"name":"SUPABASE_URL","value":"1"}]'
    )
    eszip = await _send(
        developer, "POST", f"/v1/projects/{ref}/functions?slug=a", "application/vnd.denoland.eszip", b"ESZIP2"
    )

    assert [response.status for response in (deep, wrong, reserved, eszip)] == [400, 400, 400, 415]
    assert "--use-api" in json.loads(eszip.body)["hint"]

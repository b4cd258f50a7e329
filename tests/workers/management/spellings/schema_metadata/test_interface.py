"""The interface by itself: who may use it, bad and hostile input, limits, what sessions leave behind, audit rows, roles."""

import json
from typing import Any

import pytest

from schemas.caller import AnonymousCaller, Caller, RejectedCaller, TokenFault, UserCaller
from tests.workers.database.server import connected
from tests.workers.management.spellings.schema_metadata.conftest import Ours
from tests.workers.management.spellings.schema_metadata.reference import Reference
from tests.workers.management.spellings.schema_metadata.test_writes_against_reference import without_ids
from workers.management.interface.identity.store import fetch
from workers.management.operations.audit_log import AuditRow
from workers.management.spellings.schema_metadata import query

HOSTILE = "x\"'; drop schema shop cascade; --\n$$ü"


@pytest.mark.parametrize(
    ("caller", "status"),
    [
        (AnonymousCaller(), 403),
        (UserCaller(b'{"role": "authenticated", "sub": "x"}'), 403),
        (UserCaller(b'{"role": "postgres"}'), 403),
        (UserCaller(b"{}"), 403),
        (RejectedCaller(TokenFault.CLAIMS, "JWT expired"), 401),
        (UserCaller(b'{"role": "service_role"}'), 200),
    ],
)
async def test_the_secret_key_alone_passes(ours: Ours, caller: Caller, status: int) -> None:
    other = Ours(ours.worker, ours.superuser_url, caller)

    for method, path in (("GET", "/schemas"), ("POST", "/query"), ("GET", "/"), ("GET", "/nowhere")):
        answered, body = await other.send(method, path, {"query": "select 1"} if method == "POST" else None)
        if status != 200:
            assert answered == status
            assert body.keys() == {"error"}
    assert (await other.send("GET", "/schemas"))[0] == status


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        ("GET", "/tables?limit=x", None, 400, "querystring/limit must be integer"),
        ("GET", "/tables?limit=-1", None, 400, "querystring/limit must not be negative"),
        ("GET", "/tables?limit=99999999999999999999", None, 400, "querystring/limit must be integer"),
        ("GET", "/tables?include_columns=maybe", None, 400, "querystring/include_columns must be boolean"),
        ("GET", "/tables/x", None, 404, "Not found"),
        ("GET", "/extensions/%00", None, 404, "Not found"),
        ("GET", "/tables?included_schemas=a%00", None, 400, "querystring/included_schemas must not contain a NUL character"),
        ("GET", "/tables/99999999999999999999", None, 404, "Cannot find a table with ID 99999999999999999999"),
        ("GET", "/nowhere", None, 404, "Not found"),
        ("PUT", "/tables", {}, 404, "Not found"),
        ("POST", "/tables/5", {}, 404, "Not found"),
        ("PATCH", "/tables", {}, 404, "Not found"),
        ("POST", "/types", {}, 404, "Not found"),
        ("GET", "/generators/cobol", None, 404, "Not found"),
        ("POST", "/tables", None, 400, "body must be object"),
        ("POST", "/tables", [], 400, "body must be object"),
        ("POST", "/tables", {}, 400, "body must have required property 'name'"),
        ("POST", "/tables", {"name": {}}, 400, "body/name must be string"),
        ("POST", "/tables", {"name": "a\0b"}, 400, "body/name must not contain a NUL character"),
        ("POST", "/columns", {"table_id": "x", "name": "a", "type": "int"}, 400, "body/table_id must be integer"),
        ("POST", "/columns", {"table_id": 1, "name": "a", "type": "int"}, 404, "Cannot find a table with ID 1"),
        ("POST", "/table-privileges", {}, 400, "body must be array"),
        ("POST", "/column-privileges", [{"column_id": "1", "grantee": "x", "privilege_type": "ALL"}], 400,
         'body/0/column_id must match pattern "^(\\d+)\\.(\\d+)$"'),
        ("POST", "/column-privileges", [{"column_id": "1.1", "grantee": "x", "privilege_type": "ALL"}], 404,
         "Cannot find a column with ID 1.1"),
        ("POST", "/query", {"query": "copy shop.customers to stdout"}, 400, "COPY from stdin and to stdout have no form here"),
        ("POST", "/query", {"query": "copy shop.customers from stdin"}, 400, "COPY from stdin and to stdout have no form here"),
        ("POST", "/query", {"query": "select 1", "parameters": 5}, 400, "parameters must be an array"),
        ("POST", "/query?statementTimeoutSecs=x'", {"query": "select 1"}, 400,
         "querystring/statementTimeoutSecs must be a number of seconds"),
        ("POST", "/query/deparse", {"ast": 5}, 400, "ast must be a parse tree: an object with `version` and `stmts`"),
    ],
)  # fmt: skip
async def test_bad_input_is_answered_with_its_place(
    ours: Ours, method: str, path: str, body: Any, status: int, message: str
) -> None:
    assert await ours.send(method, path, body) == (status, {"error": message})


async def test_bytes_that_are_no_json(ours: Ours) -> None:
    for raw in (b"{", b"\xff", b'{"query": "\xff"}', b"[" * 100_000):
        response = await ours.respond("POST", "/query", raw=raw)
        assert response.status == 400
        assert b"not valid JSON" in response.body


async def test_bodies_over_the_limit(ours: Ours) -> None:
    response = await ours.respond("POST", "/query", raw=b" " * (3 * 1024 * 1024 + 1))

    assert response.status == 413
    assert json.loads(response.body) == {"error": "the body is longer than 3145728 bytes"}


async def test_hostile_names_are_names(ours: Ours) -> None:
    for kind in (
        "tables",
        "functions",
        "policies",
        "types",
        "indexes",
        "table-privileges",
        "column-privileges",
    ):
        for name in ("included_schemas", "excluded_schemas"):
            status, answer = await ours.send("GET", f"/{kind}?{name}={HOSTILE.encode().hex()}%27%3B--")
            assert (status, type(answer)) == (200, list)
    made = await ours.good("POST", "/tables", {"name": HOSTILE, "schema": "public", "comment": HOSTILE})
    column = await ours.good(
        "POST",
        "/columns",
        {"table_id": made["id"], "name": HOSTILE, "type": "text", "default_value": HOSTILE},
    )
    policy = await ours.good("POST", "/policies", {"name": HOSTILE, "table": HOSTILE})
    dropped = await ours.good("DELETE", f"/tables/{made['id']}")

    assert (made["name"], made["comment"], column["name"], policy["name"]) == (HOSTILE,) * 4
    assert column["default_value"].startswith(("'", "E'"))
    assert dropped["columns"][0]["name"] == HOSTILE
    assert "shop" in {schema["name"] for schema in await ours.good("GET", "/schemas")}


async def test_parts_of_sql_cannot_become_second_statements(ours: Ours) -> None:
    table = await ours.good("POST", "/tables", {"name": "victim"})
    attacks = [
        ("/columns", {"table_id": table["id"], "name": "a", "type": "public.x; drop table public.victim"}),
        ("/columns", {"table_id": table["id"], "name": "a", "type": "int4", "check": "true); drop table public.victim; --"}),
        ("/policies", {"name": "p", "table": "victim", "definition": "true); drop table public.victim; --"}),
        ("/functions", {"name": "f", "definition": "", "return_type": "void as ''; drop table public.victim; --"}),
    ]  # fmt: skip

    for path, body in attacks:
        status, answer = await ours.send("POST", path, body)
        assert status == 400, answer
    assert await ours.good("GET", f"/tables/{table['id']}")
    await ours.good("DELETE", f"/tables/{table['id']}")


async def test_what_postgres_may_not_do_is_answered_with_its_message(ours: Ours) -> None:
    answers = [
        await ours.send("POST", "/roles", {"name": "chief", "is_superuser": True}),
        await ours.send("POST", "/query", {"query": "alter system set work_mem = '1MB'"}),
        await ours.send("POST", "/publications", {"name": "all_of_it"}),
        await ours.send("POST", "/query", {"query": "select rolpassword from pg_authid"}),
        await ours.send("POST", "/query", {"query": "select * from headwater.administrator_tokens; delete from headwater.administrators"}),
    ]  # fmt: skip

    assert {status for status, _ in answers} == {400}
    assert answers[0][1] == {"error": "permission denied to create role"}
    assert answers[1][1]["message"] == 'permission denied to set parameter "work_mem"'
    assert "superuser" in answers[2][1]["error"]
    assert answers[3][1]["message"] == "permission denied for table pg_authid"
    assert answers[4][1]["code"] == "42501"


async def test_a_query_leaves_nothing_for_the_next_session(ours: Ours) -> None:
    text = (
        "create temp table left_behind (x int); set search_path = shop; set app.secret = 'x'; listen news; "
        "prepare p as select 1; select pg_advisory_lock(7); begin; select 1 as a"
    )
    before = await ours.good(
        "POST",
        "/query",
        {"query": "select pg_backend_pid() as pid, current_user as role, session_user as login"},
    )
    await ours.good("POST", "/query", {"query": text})
    after = await ours.good("POST", "/query", {"query": (
        "select to_regclass('pg_temp.left_behind') as t, current_setting('search_path') as path, "
        "current_setting('app.secret', true) as secret, pg_try_advisory_lock(7) as free, pg_backend_pid() as pid")})  # fmt: skip

    assert after[0]["pid"] != before[0]["pid"]
    assert (before[0]["role"], before[0]["login"]) == ("postgres", "headwater_developer")
    assert {**after[0], "pid": 0} == {
        "t": None,
        "path": '"$user", public, extensions',
        "secret": None,
        "free": True,
        "pid": 0,
    }
    assert (await ours.good("POST", "/query", {"query": "reset role; select current_user as r"})) == [
        {"r": "postgres"}
    ]
    assert await ours.good("GET", "/tables?included_schemas=shop&limit=1")


async def test_time_limits_of_queries(ours: Ours) -> None:
    late = await ours.send(
        "POST", "/query?queryTimeoutSecs=0.2", {"query": "set statement_timeout = 0; select pg_sleep(60)"}
    )

    status, cancelled = await ours.send(
        "POST", "/query?statementTimeoutSecs=0.2&queryTimeoutSecs=0", {"query": "select pg_sleep(60)"}
    )

    assert late == (408, {"error": "Query read timeout", "message": "Query read timeout"})
    assert (status, cancelled["message"], cancelled["code"]) == (
        400,
        "canceling statement due to statement timeout",
        "57014",
    )
    async with connected(ours.superuser_url) as connection:
        running = "select count(*) from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid() and state = 'active'"
        while await connection.fetchval(running):
            pass


async def test_limits_of_results(ours: Ours, theirs: Reference, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "MAX_RESULT_BYTES", 100_000)
    status, answer = await ours.send(
        "POST", "/query", {"query": "select repeat('x', 1000) from generate_series(1, 1000000)"}
    )
    _, expected = await theirs.send(
        "POST", "/query", {"query": "select repeat('x', 1000) from generate_series(1, 1000000)"}
    )
    monkeypatch.setattr(query, "MAX_RESULT_ROWS", 10)
    rows = await ours.send("POST", "/query", {"query": "select 1 as a from generate_series(1, 11)"})

    assert status == 400
    assert answer.keys() | {"formattedError"} == expected.keys() | {"formattedError"}
    assert answer["code"] == expected["code"] == "RESULT_SIZE_EXCEEDED"
    assert rows[1]["error"] == "Query result length (11 rows) exceeded the configured limit (10 rows)"


async def test_every_write_leaves_an_audit_row(ours: Ours) -> None:
    made = await ours.good("POST", "/tables", {"name": "audited"})
    await ours.good("PATCH", f"/tables/{made['id']}", {"comment": "x"})
    await ours.send("POST", "/tables", {"name": "audited"})
    await ours.good("DELETE", f"/tables/{made['id']}")
    await ours.good("POST", "/roles", {"name": "audited_role", "password": "very secret"})
    await ours.send(
        "POST", "/query", {"query": "alter role audited_role password 'very secret'; select 1 / 0"}
    )
    await ours.good("GET", "/tables")

    rows = await fetch(await ours.worker.database.own(), "audit", AuditRow, None, None, 6)
    told = [(row.operation, row.outcome) for row in reversed(rows)]
    assert told == [
        ("pg.tables.create", "done"), ("pg.tables.change", "done"), ("pg.tables.create", "42P07"),
        ("pg.tables.remove", "done"), ("pg.roles.create", "done"), ("pg.query", "22012"),
    ]  # fmt: skip
    assert {(row.actor, row.request_id, row.address) for row in rows} == {
        ("secret key", "request-1", "127.0.0.1")
    }
    assert "very secret" not in str(rows)
    change = rows[4]
    assert (change.before["comment"], change.after["comment"]) == (None, "x")
    assert change.arguments == {"id": str(made["id"]), "body": {"comment": "x"}}


async def test_roles_are_written_as_by_the_reference(ours: Ours, theirs: Reference) -> None:
    """Roles belong to all databases of a server, so both write the same one in turn."""
    whole = {
        "name": 'r "one"', "can_login": True, "can_create_db": True, "inherit_role": False, "connection_limit": 5,
        "password": "p'w", "valid_until": "2031-01-01 00:00:00+00", "member_of": ["anon"], "members": ["authenticated"],
        "admins": ["service_role"], "config": {"search_path": "public, shop", "statement_timeout": "5s"},
    }  # fmt: skip
    changes: list[dict[str, Any]] = [
        {"name": "r two", "can_login": False, "connection_limit": -1, "valid_until": "infinity"},
        {
            "config": [
                {"op": "replace", "path": "work_mem", "value": "8MB"},
                {"op": "remove", "path": "search_path"},
            ]
        },
        {"can_bypass_rls": True, "is_replication_role": False, "password": "other"},
        {"name": "postgres"},
        {},
    ]
    told: list[list[Any]] = []
    for side in (ours, theirs):
        answers = [await side.send("POST", "/roles", whole), await side.send("POST", "/roles", whole)]
        id = answers[0][1]["id"]
        answers += [await side.send("PATCH", f"/roles/{id}", change) for change in changes]
        answers.append(await side.send("DELETE", f"/roles/{id}"))
        answers.append(await side.send("POST", "/roles", {"name": "pg_bad"}))
        told.append([(status, without_ids(answer)) for status, answer in answers])

    assert told[0] == told[1]


async def test_rights_on_columns_are_granted_and_revoked(ours: Ours) -> None:
    """The reference needs a superuser for it (pg_authid)."""
    table = await ours.good("POST", "/tables", {"name": "granted"})
    column = await ours.good("POST", "/columns", {"table_id": table["id"], "name": 'odd "c"', "type": "int4"})
    entry = {"column_id": column["id"], "grantee": "anon", "privilege_type": "UPDATE"}
    await ours.good(
        "DELETE",
        "/table-privileges",
        [{"relation_id": table["id"], "grantee": "anon", "privilege_type": "ALL"}],
    )
    granted = await ours.good("POST", "/column-privileges", [{**entry, "is_grantable": True}])
    revoked = await ours.good("DELETE", "/column-privileges", [entry])
    await ours.good("DELETE", f"/tables/{table['id']}")

    expected = {"grantor": "postgres", "grantee": "anon", "privilege_type": "UPDATE", "is_grantable": True}
    assert [column["column_name"] for column in granted] == ['odd "c"']
    assert expected in granted[0]["privileges"]
    assert expected not in revoked[0]["privileges"]


async def test_a_new_body_keeps_what_a_function_is(ours: Ours) -> None:
    """The reference loses STRICT and settings whose values need quotes."""
    [plus] = [
        value
        for value in await ours.good("GET", "/functions?included_schemas=public")
        if value["name"] == "plus"
    ]
    changed = await ours.good("PATCH", f"/functions/{plus['id']}", {"definition": "select a - b"})
    [atomic] = [
        value
        for value in await ours.good("GET", "/functions?included_schemas=public")
        if value["name"] == "atomic"
    ]
    rewritten = await ours.good("PATCH", f"/functions/{atomic['id']}", {"definition": "select $1 + 2"})

    kept = plus["complete_statement"].replace("select a + b", "select a - b").splitlines()
    assert sorted(changed["complete_statement"].splitlines()) == sorted(kept)
    assert rewritten["definition"] == "select $1 + 2"


async def test_a_change_of_an_identity_keeps_its_generation(ours: Ours) -> None:
    """The reference turns ALWAYS into BY DEFAULT with every change of such a column."""
    table = await ours.good("POST", "/tables", {"name": "identified"})
    body = {
        "table_id": table["id"],
        "name": "id",
        "type": "int8",
        "is_identity": True,
        "identity_generation": "ALWAYS",
    }
    column = await ours.good("POST", "/columns", body)
    changed = await ours.good("PATCH", f"/columns/{column['id']}", {"comment": "x"})
    await ours.good("DELETE", f"/tables/{table['id']}")

    assert changed["identity_generation"] == "ALWAYS"


async def test_a_foreign_table_without_a_handler_breaks_no_list(ours: Ours) -> None:
    async with connected(ours.superuser_url) as connection:
        await connection.execute(
            "create foreign data wrapper nothing; create server nowhere foreign data wrapper nothing; "
            "create foreign table shop.unreadable (a int) server nowhere; "
            "alter foreign table shop.unreadable owner to postgres"
        )
    tables = await ours.good("GET", "/foreign-tables")

    assert [
        column["is_updatable"]
        for table in tables
        if table["name"] == "unreadable"
        for column in table["columns"]
    ] == [False]
    assert await ours.good("GET", "/columns")
    async with connected(ours.superuser_url) as connection:
        await connection.execute("drop foreign data wrapper nothing cascade")


@pytest.mark.parametrize(
    ("step", "body"),
    [
        ("parse", {"query": "select 1" + "+1" * 125_000}),
        ("parse", {"query": "select " + "(" * 100_000}),
        ("parse", {"query": "select '" + "x" * 300_000 + "'"}),
        ("format", {"query": "x" * 300_000}),
        ("deparse", {"ast": {"version": 170004, "stmts": [{"stmt": {"CreateStmt": {}}}]}}),
        ("deparse", {"ast": {"version": 170004, "stmts": [{"stmt": {"SelectStmt": {"targetList": [{}]}}}]}}),
        ("deparse", {"ast": {"stmts": "x"}}),
    ],
)  # fmt: skip
async def test_what_crashes_a_parser_is_answered(ours: Ours, step: str, body: dict[str, Any]) -> None:
    status, answer = await ours.send("POST", f"/query/{step}", body)

    assert status == 400
    assert answer.keys() == {"error"}
    assert await ours.good("POST", "/query", {"query": "select 1 as a"}) == [{"a": 1}]


async def test_half_a_character_is_rejected(ours: Ours) -> None:
    for raw in (
        b'{"query": "select \'\\ud800\'"}',
        b'{"query": "select $1::text", "parameters": ["\\udc00"]}',
    ):
        response = await ours.respond("POST", "/query", raw=raw)
        assert response.status in (200, 400)
    response = await ours.respond("POST", "/tables", raw=b'{"name": "\\ud800"}')
    assert response.status == 400


async def test_names_in_paths_are_decoded(ours: Ours, theirs: Reference) -> None:
    for name in ("uuid%2Dossp", "no%20such%27one"):
        assert await ours.send("GET", f"/extensions/{name}") == await theirs.send(
            "GET", f"/extensions/{name}"
        )

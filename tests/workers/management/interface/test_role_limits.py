"""Roles of administrators: what is left of a developer's rights, by area and table, whichever way a request comes."""

import dataclasses
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from tests.workers.management.conftest import Client
from workers.management.interface.rights import Right
from workers.management.operations import operation_table

SUPPORT = {"rows": "none", "catalog": "read", "users": "change", "platform": "read", "saved_views": "read"}


@pytest.fixture
async def tables(worker: tuple[Any, str]) -> AsyncIterator[tuple[str, str]]:
    """Two tables, of which the second refers to the first."""
    connection = await asyncpg.connect(worker[1])
    first, second = (f"t_{uuid.uuid4().hex[:8]}" for _ in range(2))
    await connection.execute(f"create table public.{first} (id int primary key, name text)")
    await connection.execute(
        f"create table public.{second} (id int primary key, of int references public.{first})"
    )
    await connection.execute(
        f"insert into public.{first} values (1, 'hidden-name'); insert into public.{second} values (1, 1)"
    )
    for table in (first, second):
        await connection.execute(f"grant select on public.{table} to supabase_read_only_user")
        await connection.execute(f"alter table public.{table} owner to postgres")
    yield first, second
    await connection.execute(f"drop table public.{first}, public.{second}")
    await connection.close()


async def _limited(
    owner: Client, visitor: Client, areas: dict[str, str], tables: list[Any] | None = None
) -> Client:
    """Return a client of a developer with a new role."""
    name = f"role {uuid.uuid4().hex[:8]}"
    await owner.run("roles.save", name=name, areas=areas, tables=tables or [])
    email = f"{uuid.uuid4().hex}@example.com"
    client = await visitor.signed_in(email, Right.DEVELOPER)
    administrator = (await client.run("account.me"))["administrator_id"]
    changed = await owner.run("administrators.change", id=administrator, rights="developer", role=name)
    assert changed["role"] == name
    return client


async def test_every_operation_of_an_area_that_is_not_named_is_refused(
    owner: Client, visitor: Client
) -> None:
    client = await _limited(owner, visitor, {})
    own = ("account", "factors", "tokens", "connections", "docs")
    for operation in operation_table().all():
        if operation.name.startswith(own):
            continue
        query = "arguments={}" if operation.takes_body else ""
        response = await client.send("POST", f"/operations/{operation.name}", {}, query=query)
        # Arguments are read first, for the level depends on them; what lacks some is refused for that.
        assert response.status in (400, 403), operation.name
    assert (await client.run("account.me"))["role"]["areas"] == {}


async def test_levels_are_the_rights_of_a_reader_or_developer_in_their_area(
    owner: Client, visitor: Client
) -> None:
    client = await _limited(
        owner, visitor, {"rows": "none", "snippets": "read", "saved_views": "change", "sql": "read"}
    )

    view = {"schema": "public", "table": uuid.uuid4().hex, "name": "ours", "content": {}, "is_shared": True}
    assert await client.run("saved_views.save", **view)
    assert await client.run("snippets.list")
    assert await client.refused("snippets.save", name="a", text="select 1") == (403, "no_right")
    [result] = (await client.run("sql.run", sql="select current_user::text"))["results"]
    assert result["rows"] == [["supabase_read_only_user"]]
    assert await client.refused("sql.run", sql="select 1", read_only=False) == (403, "no_right")
    assert await client.refused("rows.list", table="anything") == (403, "no_right")
    assert await client.refused("roles.save", name="mine", areas={"sql": "change"}) == (403, "no_right")


async def test_levels_of_tables_replace_that_of_rows(
    owner: Client, visitor: Client, tables: tuple[str, str]
) -> None:
    first, second = tables
    client = await _limited(owner, visitor, SUPPORT, [{"table": second, "level": "read"}])

    page = await client.send("POST", "/operations/rows.list", {"table": second, "labels": ["of"]})
    assert page.status == 200
    assert b"hidden-name" not in page.body
    for name, more in (
        ("rows.list", {}),
        ("rows.read", {"key": {"id": 1}}),
        ("rows.export", {}),
        ("rows.delete", {"expected": 1, "rows": [{"key": {"id": 1}}]}),
    ):
        assert await client.refused(name, table=first, **more) == (403, "no_right"), name
    update = {"table": second, "updates": [{"key": {"id": 1}, "values": {"of": None}}]}
    assert await client.refused("rows.update", **update) == (403, "no_right")
    assert await client.refused("sql.run", sql=f"select * from {first}") == (403, "no_right")


async def test_a_role_that_names_tables_has_no_others_of_the_platform(
    owner: Client, visitor: Client, tables: tuple[str, str]
) -> None:
    first, second = tables
    closed = [{"table": first, "level": "none"}, {"schema": "auth", "table": "sessions", "level": "read"}]
    client = await _limited(owner, visitor, {"rows": "change"}, closed)

    assert await client.run("rows.list", table=second)
    assert await client.run("rows.list", schema="auth", table="sessions")
    # Frequent values of every column stand in pg_stats.
    for schema, table in (("pg_catalog", "pg_stats"), ("headwater_jobs", "runs"), ("auth", "users")):
        assert await client.refused("rows.list", schema=schema, table=table) == (403, "no_right")
    job = {"schedule": "* * * * *", "command": f"delete from public.{first}"}
    assert await client.refused("rows.insert", schema="cron", table="job", rows=[job]) == (403, "no_right")


async def test_tokens_and_agents_have_the_limits_and_a_change_holds_at_once(
    owner: Client, visitor: Client
) -> None:
    client = await _limited(owner, visitor, {"catalog": "read"})
    role = (await client.run("account.me"))["role"]["name"]
    token = (await client.run("tokens.create", name=uuid.uuid4().hex, rights="developer", may_write=True))[
        "secret"
    ]
    program = dataclasses.replace(visitor, token=token)

    assert await program.run("catalog.schemas")
    assert await program.refused("sql.run", sql="select 1") == (403, "no_right")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_sql", "arguments": {"query": "select 1"}}}  # fmt: skip
    agent = dataclasses.replace(
        program, headers={"content-type": "application/json", "mcp-protocol-version": "2025-06-18"}
    )
    answer = await agent.send("POST", "/mcp", call)
    assert json.loads(answer.body)["result"]["isError"], answer
    await owner.run("roles.save", name=role, areas={"sql": "read"})
    assert await program.run("sql.run", sql="select 1")
    assert await program.refused("catalog.schemas") == (403, "no_right")
    assert await owner.refused("roles.remove", name=role) == (409, "role_in_use")


async def test_a_role_stays_until_it_is_taken_away(owner: Client, visitor: Client) -> None:
    client = await _limited(owner, visitor, {})
    me = (await client.run("account.me"))["administrator_id"]

    kept = await owner.run("administrators.change", id=me, rights="developer", disabled=False)
    assert kept["role"]
    assert await owner.refused("administrators.change", id=me, rights="developer", role="none such") == (
        404,
        "not_found",
    )
    assert await owner.refused("administrators.change", id=me, rights="owner", role=kept["role"]) == (
        400,
        "invalid_arguments",
    )
    assert (await owner.run("administrators.change", id=me, rights="developer", role=None))["role"] is None
    assert await client.run("catalog.schemas")
    assert (await owner.run("roles.remove", name=kept["role"]))["name"] == kept["role"]


@pytest.mark.parametrize(
    "role",
    [
        {"name": " a", "areas": {}},
        {"name": "a", "areas": {"Rows": "read"}},
        {"name": "a", "areas": {"rows": "own"}},
        {"name": "a", "areas": {"sql": "read"}, "tables": [{"table": "t", "level": "none"}]},
        {"name": "a", "areas": {"schema": "change"}, "tables": [{"table": "t", "level": "none"}]},
        {"name": "a", "areas": {"branches": "change"}, "tables": [{"table": "t", "level": "none"}]},
        {
            "name": "a",
            "areas": {},
            "tables": [{"table": "t", "level": "none"}, {"table": "t", "level": "read"}],
        },
    ],
)
async def test_a_role_that_does_not_limit_is_refused(owner: Client, role: dict[str, Any]) -> None:
    assert await owner.refused("roles.save", **role) == (400, "invalid_arguments")

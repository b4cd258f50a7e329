"""Searching users: filters, orders, pages that hold every user once, hostile input."""

import json
import uuid
from typing import Any

import pytest

from tests.workers.management.conftest import Client
from tests.workers.management.operations.users.conftest import Project


async def _insert(project: Project, mark: str, number: int, **columns: str) -> list[str]:
    """Insert users by SQL, as an import does; `columns` are expressions of `n`."""
    names = "".join(f", {name}" for name in columns)
    values = "".join(f", {value}" for value in columns.values())
    rows = await project.admin.fetch(
        f"insert into auth.users (id, aud, role, email, raw_user_meta_data{names})"
        f" select gen_random_uuid(), 'authenticated', 'authenticated', '{mark}-' || n || '@example.org',"
        f" jsonb_build_object('mark', '{mark}'){values} from generate_series(1, {number}) n returning id::text"
    )
    return [row["id"] for row in rows]


async def _pages(client: Client, **query: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = await client.run("users.search", cursor=cursor, **query)
        rows += page["rows"]
        if page["next"] is None:
            return rows
        assert len(page["rows"]) == query["limit"]
        cursor = page["next"]


@pytest.mark.parametrize("is_ascending", [True, False])
@pytest.mark.parametrize("sort", ["created_at", "last_sign_in_at"])
@pytest.mark.parametrize("limit", [1, 3, 7])
async def test_pages_hold_every_user_once_and_in_order(
    project: Project, reader: Client, sort: str, is_ascending: bool, limit: int
) -> None:
    mark = uuid.uuid4().hex
    # Two users share each moment, and every fifth has none.
    moment = "case when n % 5 <> 0 then timestamptz '2026-01-01' + (n / 2) * interval '1 second' end"
    ids = await _insert(project, mark, 11, **{sort: moment})

    rows = await _pages(
        reader, sort=sort, is_ascending=is_ascending, limit=limit, user_metadata={"mark": mark}
    )

    assert sorted(row["id"] for row in rows) == sorted(ids)
    moments = [row[sort] for row in rows]
    assert moments[-2:] == [None, None]
    assert moments[:-2] == sorted(moments[:-2], reverse=not is_ascending)


async def test_each_filter_selects_its_users(project: Project, developer: Client, reader: Client) -> None:
    mark = uuid.uuid4().hex
    phone = f"4915{uuid.uuid4().int % 10**9:09}"
    created = await developer.run(
        "users.create",
        email=f"{mark}_x@example.org",
        phone=phone,
        email_confirm=True,
        user_metadata={"full_name": f"Ann %{mark}", "deep": {"a": [1, 2], "b": "c"}},
        app_metadata={"plan": mark},
    )
    other = await developer.run("users.create", email=f"{mark}yx@example.org")
    user_id, other_id = created["user"]["id"], other["user"]["id"]

    async def ids(**query: object) -> list[str]:
        return [row["id"] for row in (await reader.run("users.search", **query))["rows"]]

    assert await ids(id=user_id) == [user_id]
    assert await ids(email=mark.upper()) == [other_id, user_id]
    assert await ids(email=f"{mark}_") == [user_id]
    assert await ids(phone=f"+{phone[:4]} {phone[4:]}") == [user_id]
    assert await ids(contains=f"{mark[5:]}_X@") == [user_id]
    assert await ids(contains=f"ann %{mark}") == [user_id]
    assert await ids(contains=f"ann _{mark}") == []
    assert await ids(user_metadata={"deep": {"a": [2]}}, email=mark) == [user_id]
    assert await ids(app_metadata={"plan": mark}) == [user_id]
    assert await ids(provider="phone", email=mark) == [user_id]
    assert await ids(provider="github", email=mark) == []
    assert await ids(state="confirmed", email=mark) == [user_id]
    assert await ids(state="unconfirmed", email=mark) == [other_id]
    await developer.run("users.ban", id=other_id, duration="1h")
    assert await ids(state="banned", email=mark) == [other_id]
    [summary] = (await reader.run("users.search", id=user_id))["rows"]
    assert summary["providers"] == ["email", "phone"]
    assert summary["name"] == f"Ann %{mark}"
    assert "deep" not in json.dumps(summary)


async def test_states_of_users_without_address(project: Project, reader: Client) -> None:
    status, session = await project.auth("POST", "/signup", {})
    if status != 200:
        [user_id] = await _insert(project, uuid.uuid4().hex, 1, is_anonymous="true", created_at="now()")
    else:
        user_id = session["user"]["id"]

    anonymous = (await reader.run("users.search", state="anonymous", id=user_id))["rows"]

    assert [row["is_anonymous"] for row in anonymous] == [True]


async def test_the_estimate_is_that_of_the_planner(project: Project, reader: Client) -> None:
    mark = uuid.uuid4().hex
    await _insert(project, mark, 500, created_at="now()")
    await project.admin.execute("analyze auth.users")
    total = await project.admin.fetchval("select count(*) from auth.users where deleted_at is null")

    everyone = await reader.run("users.search", limit=1)
    one = await reader.run("users.search", id=str(uuid.uuid4()))

    assert abs(everyone["estimate"] - total) <= total * 0.1
    assert one["estimate"] <= 1


async def test_the_beginning_of_an_address_uses_an_index(project: Project) -> None:
    await project.admin.execute("set enable_seqscan = off")
    try:
        plan = await project.admin.fetch(
            "explain select from auth.users where deleted_at is null and lower(email) like 'ann%'"
        )
    finally:
        await project.admin.execute("reset enable_seqscan")

    assert "users_email_pattern_idx" in " ".join(row[0] for row in plan)


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 1001},
        {"id": "x"},
        {"cursor": "x"},
        {"cursor": "WzFd"},
        {"email": "a\0b"},
        {"contains": "\ud800"},
        {"email": "x" * 321},
        {"sort": "email"},
        {"user_metadata": []},
        {"user_metadata": {"a": "\0"}},
        {"state": "dead"},
    ],
    ids=str,
)
async def test_a_malformed_query_is_refused(reader: Client, query: dict[str, object]) -> None:
    assert await reader.refused("users.search", **query) == (400, "invalid_arguments")


async def test_a_cursor_is_of_one_order(project: Project, reader: Client) -> None:
    await _insert(project, uuid.uuid4().hex, 2, created_at="now()")
    page = await reader.run("users.search", limit=1)

    refused = await reader.refused("users.search", limit=1, cursor=page["next"], sort="last_sign_in_at")

    assert refused == (400, "invalid_arguments")


@pytest.mark.parametrize(
    "text", ["'; drop table auth.users; --", "\\", "%", "_", "$1", '"', "' or '1'='1", "{}", "\n"]
)
async def test_signs_of_sql_are_only_text(project: Project, reader: Client, text: str) -> None:
    for name in ("email", "phone", "contains", "provider"):
        rows = (await reader.run("users.search", **{name: f"{text}{uuid.uuid4().hex}"}))["rows"]
        assert rows == [], name
    assert await project.admin.fetchval("select count(*) from auth.users") >= 0


async def test_functions_of_a_tenant_do_not_run(project: Project, reader: Client) -> None:
    """A function `lower(varchar)` in `public` fits the column better than that of Postgres, which takes text."""
    user = (await project.sign_up())["user"]
    await project.admin.execute("""
        create function public.lower(varchar) returns text language plpgsql as $$
          begin raise exception 'code of a tenant runs'; end $$;
    """)
    try:
        by_email = await reader.run("users.search", email=user["email"])
        by_part = await reader.run("users.search", contains=user["email"][3:])
    finally:
        await project.admin.execute("drop function public.lower(varchar)")

    assert [row["id"] for row in by_email["rows"] + by_part["rows"]] == [user["id"]] * 2

"""Statistics of statements, plans, reset; what hostile objects of a project cannot do; which texts are shown."""

import uuid
from typing import Any

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.management.conftest import Client
from workers.management.areas.statistics.texts import CONSTANT, first_word, is_query, without_constants


async def _statement_of(client: Client, text: str) -> dict[str, Any]:
    """Return the statistics of the statement that contains a text."""
    [row] = [
        row
        for row in await client.run("statistics.statements", order="calls", limit=1000)
        if text in row["text"]
    ]
    return dict(row)


async def test_statements_are_counted_without_their_constants(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    for secret in ("hunter2", "swordfish"):
        await admin.execute(f"select count(*) from public.{table} where body = '{secret}'")

    row = await _statement_of(reader, f"{table} where")

    assert row["calls"] == 2
    assert row["rows"] == 2
    assert row["text"] == f"select count(*) from public.{table} where body = $1"
    assert row["role"] == "supabase_admin"
    assert row["total_ms"] >= row["max_ms"] >= row["mean_ms"] >= row["min_ms"] > 0


async def test_statements_are_ordered_and_of_one_role(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute(f"select count(*) from public.{table} where body = 'a'")
    await admin.execute(f"set role postgres; select max(id) from public.{table} where body = 'a'; reset role")

    for order, field in (
        ("total_time", "total_ms"),
        ("mean_time", "mean_ms"),
        ("calls", "calls"),
        ("rows", "rows"),
    ):
        values = [row[field] for row in await reader.run("statistics.statements", order=order, limit=20)]
        assert values == sorted(values, reverse=True), order
    of_postgres = await reader.run("statistics.statements", role="postgres", limit=1000)

    assert {row["role"] for row in of_postgres} == {"postgres"}
    assert [row for row in of_postgres if f"{table} where" in row["text"]]
    assert sum(row["share"] for row in of_postgres) <= 1.0001
    assert len(await reader.run("statistics.statements", limit=1)) == 1


async def test_a_statement_is_planned_without_running(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute(f"select count(*) from public.{table} where id = 7 and body = 'b'")
    row = await _statement_of(reader, f"{table} where")

    plan = await reader.run("statistics.plan", id=row["id"])

    assert plan["text"] == row["text"]
    assert f"public.{table}" in str(plan["explained"]["plan"])
    assert plan["explained"]["execution_ms"] is None
    assert (await _statement_of(reader, f"{table} where"))["calls"] == 1
    for unknown in ("1", "99999999999999999999", "1; drop", ""):
        assert await reader.refused("statistics.plan", id=unknown) == (404, "not_found")
    for path in ([""], ["a\0b"], ["x"] * 21):
        assert await reader.refused("statistics.plan", id="1", search_path=path) == (400, "invalid_arguments")


async def test_a_statement_without_parameters_is_planned(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute(f"select max(id), count(*) from public.{table}")
    row = await _statement_of(reader, f"select max(id), count(*) from public.{table}")

    plan = await reader.run("statistics.plan", id=row["id"])

    assert plan["explained"]["plan"]["type"] == "Aggregate"


async def test_names_without_a_schema_are_looked_up_along_the_path(
    developer: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute(f"set search_path = public; select max(id) from {table} where body = 'b'")
    row = await _statement_of(developer, f"{table} where")

    planned = await developer.run("statistics.plan", id=row["id"])
    error = await developer.error("statistics.plan", id=row["id"], search_path=["auth"])

    assert f"public.{table}" in str(planned["explained"])
    assert error["code"] == "no_plan"
    assert "does not exist" in error["message"]


async def test_a_plan_calls_functions_of_the_project_in_a_session_that_cannot_write(
    reader: Client, developer: Client, admin: asyncpg.Connection, table: str
) -> None:
    """The planner calls functions that are declared immutable. One that writes fails, whoever asks for the plan."""
    await admin.execute(
        f"""set role postgres; create function public.f_{table}() returns int language plpgsql immutable security definer as
        $$ begin perform public.w_{table}(); return 1; end $$;
        create function public.w_{table}() returns void language sql volatile security definer as
        'insert into public.{table} (body) values (''written'')'; reset role"""
    )
    try:
        await admin.execute(f"select count(*) from public.{table} where id = public.f_{table}()")
        row = await _statement_of(reader, f"where id = public.f_{table}()")
        before = await admin.fetchval(f"select count(*) from public.{table}")
        for client in (reader, developer):
            assert await client.refused("statistics.plan", id=row["id"]) == (409, "no_plan")
        assert await admin.fetchval(f"select count(*) from public.{table}") == before
    finally:
        await admin.execute(f"drop function public.f_{table}(), public.w_{table}()")


async def test_a_plan_needs_rights_on_the_tables_and_a_query(
    reader: Client, owner: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute(f"update public.{table} set body = 'y' where id = 1")
    await admin.execute("set pg_stat_statements.track_utility = on")
    await admin.execute(f"comment on table public.{table} is 'a secret'")
    update = await _statement_of(reader, f"update public.{table}")
    utility = await _statement_of(reader, f"comment on table public.{table}")

    assert utility["text"] == f"comment on table public.{table} is {CONSTANT}"
    assert await owner.refused("statistics.plan", id=utility["id"]) == (409, "no_plan")
    assert await reader.refused("statistics.plan", id=update["id"]) == (409, "no_plan")
    plan = await owner.run("statistics.plan", id=update["id"])
    assert plan["explained"]["plan"]["type"] == "ModifyTable"
    assert (await _statement_of(reader, f"update public.{table}"))["calls"] == 1


async def test_a_text_with_comments_is_planned_for_developers_alone(
    reader: Client, developer: Client, admin: asyncpg.Connection, table: str
) -> None:
    """A comment stays in the recorded text, and may say anything."""
    await admin.execute(f"select min(id) /* for 'ada' */ from public.{table} where id > 3")
    row = await _statement_of(reader, f"public.{table} where")

    assert "ada" not in row["text"]
    assert await reader.refused("statistics.plan", id=row["id"]) == (403, "no_right")
    assert "/* for 'ada' */" in (await developer.run("statistics.plan", id=row["id"]))["text"]


async def test_constants_of_utility_statements_are_not_shown(
    owner: Client, admin: asyncpg.Connection
) -> None:
    role = f"r_{uuid.uuid4().hex}"
    await admin.execute("set pg_stat_statements.track_utility = on")
    await admin.execute(f"/* do not show */ create role {role} password 'do not show'")
    await admin.execute(f"drop role {role}")

    rows = await owner.run("statistics.statements", limit=1000)

    assert "do not show" not in str(rows)
    assert f"create role {role} password {CONSTANT}" in {row["text"].strip() for row in rows}


async def test_the_statistics_are_reset_by_role_postgres_alone(
    owner: Client, developer: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute(f"select count(*) from public.{table} where body = 'a'")
    assert (await _statement_of(owner, f"{table} where"))["calls"] == 1

    assert await developer.run("statistics.reset") == {"done": True}

    rows = await owner.run("statistics.statements", limit=1000)
    assert not [row for row in rows if table in row["text"]]
    signature = "extensions.pg_stat_statements_reset"
    for role in ("anon", "authenticated", "service_role"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await admin.execute(f"set local role {role}; select {signature}()")
    [routine] = await admin.fetch(
        "select oid::regprocedure as name from pg_proc where proname = 'pg_stat_statements_reset'"
    )
    await admin.execute(f"revoke execute on function {routine['name']} from postgres")
    try:
        error = await owner.error("statistics.reset")
    finally:
        await admin.execute(f"grant execute on function {routine['name']} to postgres")
    assert error["code"] == "no_right_of_postgres"
    assert "grant execute" in error["hint"]


@pytest.mark.parametrize(
    "arguments", [{"limit": 0}, {"limit": 10**9}, {"order": "name"}, {"role": "a\0"}, {"role": ""}]
)
async def test_queries_that_do_not_fit_are_refused(reader: Client, arguments: dict[str, object]) -> None:
    assert await reader.refused("statistics.statements", **arguments) == (400, "invalid_arguments")


async def test_objects_of_a_project_are_not_called_by_the_statistics(
    reader: Client, admin: asyncpg.Connection
) -> None:
    """A project replaces what the statistics read by functions, operators and views of its names that report who called them."""
    spy = "begin insert into public.called values (current_user); return {}; end"
    await admin.execute(
        f"""
        set role postgres;
        create table public.called (by name);
        create function public.pg_stat_statements(bool) returns setof public.called language plpgsql as
          $$ begin insert into public.called values (current_user); return; end $$;
        create function public.spy(name, text) returns bool language plpgsql as $$ {spy.format("true")} $$;
        create operator public.= (leftarg = name, rightarg = text, function = public.spy);
        create view public.pg_stat_activity as select 1 as pid;
        create function public.pg_blocking_pids(int) returns int[] language plpgsql as $$ {spy.format("'{}'")} $$;
        reset role
        """
    )
    names = (
        "statements",
        "running",
        "locks",
        "tables",
        "indexes",
        "missing_indexes",
        "sequences",
        "database",
    )
    try:
        for name in names:
            await reader.run(f"statistics.{name}")

        assert await admin.fetchval("select count(*) from public.called") == 0
    finally:
        await admin.execute(
            "drop view public.pg_stat_activity; drop function public.pg_blocking_pids(int);"
            " drop operator public.= (name, text); drop function public.spy(name, text);"
            " drop function public.pg_stat_statements(bool); drop table public.called"
        )


async def test_without_the_extension_the_answer_names_it(reader: Client, admin: asyncpg.Connection) -> None:
    await admin.execute("alter function extensions.pg_stat_statements(bool) rename to hidden_statements")
    try:
        assert await reader.refused("statistics.statements") == (409, "no_statement_statistics")
    finally:
        await admin.execute("alter function extensions.hidden_statements(bool) rename to pg_stat_statements")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("select 1", "select"),
        ("-- a\n/* b\n */ ( SELECT 1)", "select"),
        ("CREATE ROLE x", "create"),
        ("", ""),
        ("-- only", ""),
        ("/* open", ""),
    ],
)
def test_the_first_word_stands_behind_comments(text: str, word: str) -> None:
    assert first_word(text) == word
    assert is_query(text) is (word == "select")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("select 1, $1, a$b from t", "select 1, $1, a$b from t"),
        ("select 'it''s secret', 2", "select '...', 2"),
        (r"select E'it\'s secret', e'\\', x", "select '...', '...', x"),
        ("select U&'secret', b'01', X'ff', N'secret'", "select '...', '...', '...', '...'"),
        ("do $$ secret $x$ $$", "do '...'"),
        ("do $body$ secret $$ secret $body$", "do '...'"),
        ("select \"a 'name'\", 'secret'", "select \"a 'name'\", '...'"),
        ("select 1 -- it's\n, 'secret'", "select 1  \n, '...'"),
        ("select /* it's */ 'secret'", "select   '...'"),
        ("select 'cut off secr", "select '...'"),
        ("select $a$ cut off secr", "select '...'"),
        (r"select E'cut off \ ".rstrip(), "select '...'"),
        (
            "alter role r password 'secret' valid until 'infinity'",
            "alter role r password '...' valid until '...'",
        ),
    ],
)
def test_constants_and_comments_are_not_shown(text: str, shown: str) -> None:
    assert without_constants(text) == shown


@given(
    st.text(alphabet="abcde \n", max_size=20),
    st.sampled_from(["'{}'", "E'{}'", "$${}$$", "$t${}$t$", "/*{}*/", "--{}\n"]),
)
def test_what_stands_in_a_constant_or_comment_is_never_shown(filling: str, form: str) -> None:
    hidden = f"SECRET{filling.replace(chr(10), '')}"

    assert "SECRET" not in without_constants(f"select a, {form.format(hidden)}, b")


@given(st.text(alphabet="-/* \n(select'\"$aE\\", max_size=80))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(without_constants(text), str)

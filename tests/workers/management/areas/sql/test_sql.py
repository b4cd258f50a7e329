"""SQL of persons: results, errors with their place, limits, transactions, cancel, explain, streams, warnings."""

import asyncio
import json
import uuid
from dataclasses import replace

import asyncpg
import pytest

from schemas.settings.tree import Settings
from tests.workers.management.conftest import Client
from workers.database.connection_pool.pool import ConnectionPool
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.backends.platform_pools import PlatformPools
from workers.management.interface.rights import Right
from workers.management.worker import ManagementWorker


@pytest.fixture
async def developer(visitor: Client) -> Client:
    """A client of a new developer."""
    return await visitor.signed_in(f"{uuid.uuid4().hex}@developer.test", Right.DEVELOPER)


@pytest.fixture
async def reader(visitor: Client) -> Client:
    """A client of a new reader."""
    return await visitor.signed_in(f"{uuid.uuid4().hex}@reader.test", Right.READER)


@pytest.fixture
async def table(developer: Client) -> str:
    """A new table of five rows in public."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    await developer.run(
        "sql.run",
        sql=f"create table {name} (id int primary key, note text);"
        f"insert into {name} select n, 'note ' || n from generate_series(1, 5) n",
        read_only=False,
    )
    return name


async def test_results_of_several_statements(developer: Client, table: str) -> None:
    answer = await developer.run(
        "sql.run",
        sql=f"select id, note from {table} order by id limit 2;\n\nupdate {table} set note = null where id = 1;"
        " select 1::numeric(5,2) as n, null::varchar(7), array[1,2], '{\"a\": 1}'::jsonb",
        read_only=False,
    )

    first, second, third = answer["results"]
    assert [column["name"] for column in first["columns"]] == ["id", "note"]
    assert [column["type"] for column in first["columns"]] == ["integer", "text"]
    assert first["rows"] == [["1", "note 1"], ["2", "note 2"]]
    assert (first["line"], second["line"], second["tag"]) == (1, 3, "UPDATE 1")
    assert [column["type"] for column in third["columns"]] == [
        "numeric(5,2)",
        "character varying(7)",
        "integer[]",
        "jsonb",
    ]
    assert third["rows"] == [["1.00", None, "{1,2}", '{"a": 1}']]
    assert answer["transaction"] == "committed"


async def test_an_error_names_statement_line_and_column(developer: Client, table: str) -> None:
    error = await developer.error(
        "sql.run", sql=f"select 1;\n-- a comment\nselect id,\n  nothing_here from {table}", read_only=False
    )

    assert (error["code"], error["statement"], error["line"], error["column"]) == ("42703", 1, 4, 3)
    assert error["results"][0]["rows"] == [["1"]]
    assert error["outcome"] == "rolled back"


async def test_several_statements_happen_together_or_not_at_all(developer: Client, table: str) -> None:
    text = f"delete from {table} where id = 1; select 1/0"

    error = await developer.error("sql.run", sql=text, read_only=False)
    after = await developer.run("sql.run", sql=f"select count(*) from {table}")
    await developer.error("sql.run", sql=text, read_only=False, single_transaction=False)
    alone = await developer.run("sql.run", sql=f"select count(*) from {table}")

    assert error["code"] == "22012"
    assert after["results"][0]["rows"] == [["5"]]
    assert alone["results"][0]["rows"] == [["4"]]


async def test_a_text_with_its_own_transactions_is_left_alone(developer: Client, table: str) -> None:
    text = (
        f"begin; delete from {table} where id = 1; rollback; begin; delete from {table} where id = 2; commit"
    )

    answer = await developer.run("sql.run", sql=text, read_only=False)
    left = await developer.run(
        "sql.run", sql=f"begin; delete from {table}; savepoint s; rollback to s", read_only=False
    )
    rows = await developer.run("sql.run", sql=f"select id from {table} order by id")

    assert answer["transaction"] == "committed"
    assert left["transaction"] == "rolled back: the text left it open"
    assert rows["results"][0]["rows"] == [["1"], ["3"], ["4"], ["5"]]


async def test_what_needs_to_be_alone_runs_alone(developer: Client, table: str) -> None:
    answer = await developer.run("sql.run", sql=f"vacuum {table}", read_only=False)

    assert answer["results"][0]["tag"] == "VACUUM"


async def test_limits_of_rows_bytes_and_cells(developer: Client) -> None:
    rows = await developer.run("sql.run", sql="select n from generate_series(1, 100000) n", max_rows=10)
    size = await developer.run(
        "sql.run", sql="select repeat('x', 1000) from generate_series(1, 1000)", max_bytes=10_000
    )
    cell = await developer.run(
        "sql.run", sql="select repeat('é', 5000000) as long, 1 as behind", max_cell=100
    )

    assert (len(rows["results"][0]["rows"]), rows["results"][0]["is_truncated"]) == (10, True)
    assert len(size["results"][0]["rows"]) == 10
    assert size["results"][0]["is_truncated"]
    [[long, behind]] = cell["results"][0]["rows"]
    assert long == "é" * 100
    assert behind == ""  # the row is longer than what is read of one, so what stands behind is not known
    assert cell["results"][0]["shortened"] == [
        {"row": 0, "column": 0, "bytes": 10_000_000},
        {"row": 0, "column": 1, "bytes": -1},
    ]


async def test_a_statement_that_may_write_runs_to_its_end_behind_the_limit(developer: Client) -> None:
    sequence = f"s_{uuid.uuid4().hex[:12]}"

    answer = await developer.run(
        "sql.run",
        sql=f"create sequence {sequence}; select nextval('{sequence}') from generate_series(1, 50)",
        max_rows=3,
        read_only=False,
    )
    value = await developer.run("sql.run", sql=f"select last_value from {sequence}")

    assert answer["results"][1]["rows"] == [["1"], ["2"], ["3"]]
    assert answer["results"][1]["is_truncated"]
    assert value["results"][0]["rows"] == [["50"]]


async def test_notices_are_in_the_result_of_their_statement(developer: Client) -> None:
    text = "select 1; do $$ begin raise warning 'mind the gap' using hint = 'step'; end $$"

    answer = await developer.run("sql.run", sql=text)

    assert answer["results"][0]["notices"] == []
    [notice] = answer["results"][1]["notices"]
    assert (notice["severity"], notice["message"], notice["hint"]) == ("WARNING", "mind the gap", "step")


async def test_copy_in_both_directions(developer: Client, table: str) -> None:
    await developer.run("sql.run", sql=f"copy {table} from stdin;\n6\tsix\n7\t\\N\n\\.\n", read_only=False)
    out = await developer.run("sql.run", sql=f"copy (select * from {table} where id > 5) to stdout")
    without = await developer.error("sql.run", sql=f"copy {table} (id) from stdin;", read_only=False)

    assert out["results"][0]["rows"] == [["6\tsix"], ["7\t\\N"]]
    assert "\\." in without["message"]


async def test_parameters(developer: Client) -> None:
    answer = await developer.run(
        "sql.run", sql="select $1::int + 1 as n, $2::text as t", parameters=["41", None]
    )

    assert answer["results"][0]["rows"] == [["42", None]]
    assert await developer.refused("sql.run", sql="select 1; select $1", parameters=["1"]) == (
        400,
        "invalid_arguments",
    )


async def test_a_reader_reads(reader: Client, developer: Client, table: str) -> None:
    answer = await reader.run("sql.run", sql=f"select current_user, count(*) from {table}")

    assert answer["results"][0]["rows"] == [["supabase_read_only_user", "5"]]
    assert await reader.refused("sql.run", sql=f"delete from {table}", read_only=False) == (403, "no_right")
    assert (await reader.error("sql.run", sql=f"delete from {table}"))["code"] in ("25006", "42501")
    assert await reader.refused("sql.run", sql="select 1", view_as={"role": "anon"}) == (403, "no_right")
    del developer


async def test_a_token_that_only_reads_runs_what_reads(developer: Client, table: str) -> None:
    created = await developer.run("tokens.create", name="look", rights="developer")
    program = Client(developer.worker, developer.superuser_url, token=created["secret"], headers={})

    assert (await program.run("sql.run", sql="select 1"))["transaction"] == "read only"
    assert await program.refused("sql.run", sql=f"delete from {table}", read_only=False) == (
        403,
        "read_only_token",
    )


async def test_sql_as_a_caller(developer: Client, owner: Client) -> None:
    text = "select current_user, current_setting('request.jwt.claims')::json ->> 'sub', auth.uid()"
    user = str(uuid.uuid4())
    await _as_superuser(
        developer,
        f"insert into auth.users (id, email, raw_app_meta_data) values ('{user}', 'v@x.test', '{{\"plan\": \"pro\"}}')",
    )

    anonymous = await developer.run("sql.run", sql="select current_user", view_as={"role": "anon"})
    claims = await developer.run(
        "sql.run", sql=text, view_as={"role": "authenticated", "claims": {"sub": user}}
    )
    known = await developer.run(
        "sql.run", sql="select auth.jwt() -> 'app_metadata' ->> 'plan', auth.uid()", view_as={"user_id": user}
    )

    assert anonymous["results"][0]["rows"] == [["anon"]]
    assert claims["results"][0]["rows"] == [["authenticated", user, user]]
    assert known["results"][0]["rows"] == [["pro", user]]
    missing = await developer.refused("sql.run", sql="select 1", view_as={"user_id": str(uuid.uuid4())})
    assert missing == (404, "not_found")
    del owner


async def _as_superuser(client: Client, sql: str) -> None:
    connection = await asyncpg.connect(client.superuser_url)
    await connection.execute(sql)
    await connection.close()


async def test_a_run_that_writes_is_audited_with_its_text_and_one_that_reads_is_not(owner: Client) -> None:
    mark = uuid.uuid4().hex
    await owner.run("sql.run", sql=f"select '{mark} read'")
    await owner.run("sql.run", sql=f"select '{mark} wrote'", read_only=False)
    await owner.error("sql.run", sql=f"select '{mark} failed' from nowhere", read_only=False)

    rows = (await owner.run("audit.list", operation="sql.run", limit=10))["rows"]
    texts = [(row["outcome"], row["arguments"]["sql"]) for row in rows if mark in json.dumps(row)]

    assert texts == [("42P01", f"select '{mark} failed' from nowhere"), ("done", f"select '{mark} wrote'")]


async def test_a_run_is_cancelled_by_its_id_and_only_by_its_owner(developer: Client, visitor: Client) -> None:
    other = await visitor.signed_in(f"{uuid.uuid4().hex}@other.test", Right.OWNER)
    running = asyncio.create_task(
        developer.error("sql.run", sql="select pg_sleep(50)", id="run 1", read_only=False)
    )
    while not (
        await developer.run(
            "sql.run", sql="select pid from pg_stat_activity where query like 'select pg_sleep(50)%'"
        )
    )["results"][0]["rows"]:
        pass

    assert (await other.run("sql.cancel", id="run 1"))["sessions"] == 0
    assert (await developer.run("sql.cancel", id="run 1"))["sessions"] == 1
    assert (await running)["code"] == "57014"
    assert (await developer.run("sql.cancel", id="run 1"))["sessions"] == 0


async def test_a_run_is_cancelled_from_another_process_by_the_names_of_sessions_alone(
    developer: Client,
) -> None:
    """Another worker has no object in common with the one that runs the text."""
    pools: list[ConnectionPool] = []
    database = developer.worker.database

    async def open_pool(login: str) -> ConnectionPool:
        pools.append(await ConnectionPool.open(database.url_of(login), 1))
        return pools[-1]

    other = replace(
        developer,
        worker=ManagementWorker.create(
            ManagementDatabase(open_pool, database.url_of), Settings(), PlatformPools(None)
        ),
    )
    running = asyncio.create_task(developer.error("sql.run", sql="select pg_sleep(51)", id="run 2"))
    while not (await other.run("sql.cancel", id="run 2"))["sessions"]:
        assert not running.done()

    error = await running
    for pool in pools:
        await pool.close()

    assert (error["code"], error["outcome"]) == ("57014", "read only")


async def test_the_time_limit(developer: Client) -> None:
    error = await developer.error("sql.run", sql="select 1;\nselect pg_sleep(30)", timeout_s=0.2)

    assert (error["code"], error["statement"], error["line"]) == ("57014", 1, 2)
    assert await developer.refused("sql.run", sql="select 1", timeout_s=1e9) == (400, "invalid_arguments")


async def test_explain_is_a_tree(developer: Client, table: str) -> None:
    plan = (
        await developer.run("sql.explain", sql=f"select * from {table} a join {table} b on a.id = b.id + 1")
    )["plan"]
    analyzed = await developer.run("sql.explain", sql=f"delete from {table}", analyze=True, read_only=False)
    rows = await developer.run("sql.run", sql=f"select count(*) from {table}")

    assert plan["children"]
    assert {child["relation"] for child in _leaves(plan)} == {f"public.{table}"}
    assert plan["actual_ms"] is None
    assert analyzed["execution_ms"] > 0
    assert _leaves(analyzed["plan"])[0]["actual_rows"] == 5
    assert rows["results"][0]["rows"] == [["5"]]
    assert (await developer.error("sql.explain", sql=f"delete from {table}", analyze=True))["code"] == "25006"
    failed = await developer.error("sql.explain", sql="select\n  nothing")
    assert (failed["line"], failed["column"]) == (2, 3)


def _leaves(node: dict) -> list[dict]:  # type: ignore[type-arg]
    return [leaf for child in node["children"] for leaf in _leaves(child)] or [node]


async def test_a_stream_has_every_row_with_types(developer: Client) -> None:
    body = await developer.stream(
        "sql.stream",
        sql="select n, n % 2 = 0 as even, n::numeric / 4 as part, 'a\nb' as text,"
        " json_build_object('n', n) as doc, null as nothing, 'NaN'::float8 as nan"
        " from generate_series(1, 30000) n",
    )

    rows = [json.loads(line) for line in body.splitlines()]
    assert len(rows) == 30000
    assert rows[2] == {
        "n": 3,
        "even": False,
        "part": 0.75,
        "text": "a\nb",
        "doc": {"n": 3},
        "nothing": None,
        "nan": "NaN",
    }
    assert await developer.stream("sql.stream", sql="select 1 where false") == b""
    assert (await developer.error("sql.stream", sql="select 1/0"))["code"] == "22012"
    assert (await developer.error("sql.stream", sql="create table x ()"))["code"] == "25006"


async def test_a_text_is_looked_through(developer: Client, table: str) -> None:
    await developer.run("sql.run", sql=f"analyze {table}", read_only=False)

    answer = await developer.run(
        "sql.check",
        sql=f"select 1;\ndelete from {table};\ndrop table if exists public.{table}, other cascade",
    )

    assert answer["statements"] == 3
    first, second = answer["warnings"]
    assert (first["kind"], first["line"], first["objects"]) == (
        "delete_without_where",
        2,
        [{"name": table, "rows": 5}],
    )
    assert second["kind"] == "drop"
    assert second["objects"] == [{"name": f"public.{table}", "rows": 5}, {"name": "other", "rows": None}]


@pytest.mark.parametrize("sql", ["", ";", "-- nothing", "select 'open", "\\d users", "select $$x"])
async def test_texts_that_are_no_statements_are_refused(developer: Client, sql: str) -> None:
    assert (await developer.refused("sql.run", sql=sql))[0] == 400


async def test_nul_and_half_characters_are_refused(developer: Client) -> None:
    assert (await developer.refused("sql.run", sql="select 'a\0b'"))[0] == 400

"""Changes and texts applied as migrations: what runs, what is recorded, which file appears, and what is refused."""

import dataclasses
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.workers.management.conftest import Client
from workers.management.interface.rights import Right
from workers.project.migration_file import write_migration


@pytest.fixture
async def database(owner: Client) -> AsyncIterator[asyncpg.Connection]:
    """A superuser's connection; the history of tests of other modules is dropped before the test, its own and schemas `made_...` after."""
    connection = await asyncpg.connect(owner.superuser_url)
    try:
        await connection.execute("drop schema if exists supabase_migrations cascade")
        yield connection
    finally:
        names = await connection.fetch("select nspname from pg_namespace where nspname ~ '^made_'")
        for (name,) in names:
            await connection.execute(f'drop schema "{name}" cascade')
        await connection.execute("drop schema if exists supabase_migrations cascade")
        await connection.close()


@pytest.fixture
def schema(database: asyncpg.Connection) -> str:
    """The name of a schema that does not exist yet and is dropped after the test."""
    return f"made_{uuid.uuid4().hex[:8]}"


@pytest.fixture
def project(owner: Client, tmp_path: Path) -> Client:
    """The owner at a worker that knows a project folder."""
    settings = dataclasses.replace(owner.worker.settings, project_folder=tmp_path)
    return dataclasses.replace(owner, worker=dataclasses.replace(owner.worker, settings=settings))


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "migrations").glob("*"))


async def test_the_access_of_a_text_is_shown_and_nothing_is_changed(
    owner: Client, database: asyncpg.Connection, schema: str
) -> None:
    await database.execute(
        f"create schema {schema} authorization postgres; grant usage on schema {schema} to anon; set role postgres;"
        f"create table {schema}.notes (id int primary key, is_open bool); insert into {schema}.notes values (1, true), (2, false);"
        f"alter table {schema}.notes enable row level security; grant select on {schema}.notes to anon;"
        f"create policy reads on {schema}.notes to anon using (is_open); reset role"
    )
    text = f"alter policy reads on {schema}.notes using (true)"

    shown = await owner.run("migrations.access", text=text)
    refused = await owner.refused("migrations.access", text=f"alter policy reads on {schema}.notes using (")
    not_tried = await owner.refused("migrations.access", text="vacuum")

    assert shown["alarms"] == [f"anon gains select on {schema}.notes"]
    assert [(row["gained"], row["gained_examples"][0]["key"]) for row in shown["rows"]] == [(1, "id=2")]
    assert (refused, not_tried) == ((400, "42601"), (409, "migration_rejected"))
    using = await database.fetchval("select qual from pg_policies where schemaname = $1", schema)
    assert using == "is_open"


async def test_a_change_is_applied_recorded_and_saved(
    project: Client, database: asyncpg.Connection, schema: str, tmp_path: Path
) -> None:
    changes = [
        {"change": "create_schema", "schema": schema},
        {
            "change": "create_table", "schema": schema, "table": "notes",
            "columns": [
                {"name": "id", "type": "bigint", "identity": "always"},
                {"name": "body", "type": "text", "is_nullable": False, "comment": "what's said"},
                {"name": "words", "type": "integer", "generated": "length(body)"},
            ],
            "primary_key": ["id"],
        },
        {"change": "create_policy", "schema": schema, "table": "notes", "name": "all", "using": "true"},
    ]  # fmt: skip
    planned = await project.run("schema.plan", changes=changes)

    applied = (await project.run("schema.apply", name="Add notes!", changes=changes))["migration"]

    [row] = await database.fetch(
        "select * from supabase_migrations.schema_migrations where version = $1", applied["version"]
    )
    assert row["statements"] == planned["statements"]
    assert (row["version"], row["name"]) == (applied["version"], "Add_notes")
    assert applied["file"] == {
        "path": f"supabase/migrations/{applied['version']}_Add_notes.sql", "is_written": True, "reason": None,
    }  # fmt: skip
    assert _files(tmp_path) == [f"{applied['version']}_Add_notes.sql"]
    assert (tmp_path / "migrations" / _files(tmp_path)[0]).read_text() == planned["text"]
    owner = await database.fetchval(
        f"select pg_get_userbyid(relowner) from pg_class where oid = '{schema}.notes'::regclass"
    )
    assert owner == "postgres"
    [listed] = (await project.run("migrations.list"))["migrations"]
    assert listed == {"version": applied["version"], "name": "Add_notes", "state": "applied"}


async def test_a_plan_changes_nothing(project: Client, database: asyncpg.Connection, schema: str) -> None:
    changes = [{"change": "create_schema", "schema": schema}]
    for is_tried in (False, True):
        planned = await project.run("schema.plan", changes=changes, is_tried=is_tried)
        assert planned["statements"] == [f'create schema "{schema}"']

    assert not await database.fetchval("select count(*) from pg_namespace where nspname = $1", schema)
    assert await database.fetchval("select to_regnamespace('supabase_migrations')") is None


async def test_a_trial_reports_rewrites_and_locks(
    project: Client, database: asyncpg.Connection, schema: str
) -> None:
    await database.execute(
        f"create schema {schema}; create table {schema}.t (id int, v varchar(5)); insert into {schema}.t values (1);"
        f"alter table {schema}.t owner to postgres; alter schema {schema} owner to postgres"
    )
    change = {"change": "alter_column", "schema": schema, "table": "t", "column": "id", "type": "bigint"}
    wider = {"change": "alter_column", "schema": schema, "table": "t", "column": "v", "type": "varchar(9)"}

    rewriting = await project.run("schema.plan", changes=[change], is_tried=True)
    keeping = await project.run("schema.plan", changes=[wider], is_tried=True)

    assert rewriting["trial"] == {
        "rewritten": [f"{schema}.t"],
        "locks": {f"{schema}.t": "AccessExclusiveLock"},
    }
    assert "rewrite" in {warning["code"] for warning in rewriting["warnings"]}
    assert keeping["trial"]["rewritten"] == []
    assert "rewrite" not in {warning["code"] for warning in keeping["warnings"]}


async def test_a_failure_leaves_nothing(
    project: Client, database: asyncpg.Connection, schema: str, tmp_path: Path
) -> None:
    text = f"create schema {schema};\ncreate table {schema}.t (id int);\nselect 1 / 0;"

    response = await project.send("POST", "/operations/migrations.apply", {"name": "x", "text": text})

    assert response.status == 400
    assert b'"code":"22012"' in response.body
    assert b"statement 3, line 3" in response.body
    assert not await database.fetchval("select count(*) from pg_namespace where nspname = $1", schema)
    assert not await database.fetchval("select count(*) from supabase_migrations.schema_migrations")
    assert not (tmp_path / "migrations").exists()


async def test_an_index_made_concurrently_runs_by_itself(
    project: Client, database: asyncpg.Connection, schema: str
) -> None:
    create = [
        {"change": "create_schema", "schema": schema},
        {
            "change": "create_table",
            "schema": schema,
            "table": "t",
            "columns": [{"name": "id", "type": "int"}],
        },
    ]
    index = {
        "change": "create_index", "schema": schema, "table": "t", "name": "by_id",
        "parts": [{"column": "id", "is_descending": True}], "concurrently": True,
    }  # fmt: skip
    await project.run("schema.apply", name="create", changes=create)

    assert await project.refused("schema.plan", changes=[*create, index]) == (400, "invalid_arguments")
    assert (await project.run("schema.plan", changes=[index]))["needs_no_transaction"] is True
    await project.run("schema.apply", name="index", changes=[index])

    assert await database.fetchval(
        f"select indisvalid from pg_index where indexrelid = '{schema}.by_id'::regclass"
    )
    versions = [row["version"] for row in (await project.run("migrations.list"))["migrations"]]
    assert len(set(versions)) == 2
    assert versions == sorted(versions)


@pytest.mark.parametrize(
    "change",
    [
        {"change": "add_column", "table": "t", "column": {"name": "c", "type": "int); drop table t; --"}},
        {"change": "add_column", "table": "t", "column": {"name": "c", "type": "int default 5"}},
        {"change": "add_column", "table": "t", "column": {"name": "c", "type": "int", "default": "1), add column d int default (2"}},
        {"change": "add_column", "table": "t", "column": {"name": "c", "type": "int", "default": "$x$ 1"}},
        {"change": "add_column", "table": "t", "column": {"name": "c", "type": "int", "default": "1 -- "}},
        {"change": "add_check", "table": "t", "check": "true; drop table t"},
        {"change": "create_view", "name": "v", "query": "delete from t"},
        {"change": "create_view", "name": "v", "query": "select 1; drop table t"},
        {"change": "create_function", "definition": "drop table t"},
        {"change": "create_function", "definition": "create function f() returns int language sql as 'select 1'; drop table t"},
        {"change": "create_policy", "table": "t", "name": "p", "roles": []},
        {"change": "create_policy", "table": "t", "name": "p", "command": "insert", "using": "true"},
        {"change": "create_table", "table": "x" * 64, "columns": []},
        {"change": "drop_table", "table": "a\0b"},
        {"change": "unknown"},
    ],
)  # fmt: skip
async def test_a_text_that_is_not_of_its_kind_is_refused(project: Client, change: dict[str, Any]) -> None:
    assert await project.refused("schema.plan", changes=[change]) == (400, "invalid_arguments")


async def test_postgres_names_the_place_of_a_syntax_error(project: Client) -> None:
    change = {"change": "add_check", "table": "t", "check": "a = = 1"}

    response = await project.send("POST", "/operations/schema.plan", {"changes": [change]})

    assert response.status == 400
    assert b'"code":"42601"' in response.body
    statement = 'alter table "public"."t" add check (a = = 1)'
    assert f'"position":{len(statement) - len("= 1)") + 1}'.encode() in response.body


async def test_hostile_names_stay_names(project: Client, database: asyncpg.Connection, schema: str) -> None:
    hostile = "a\"; drop table x; --\n'$$"
    changes = [
        {"change": "create_schema", "schema": schema},
        {"change": "create_table", "schema": schema, "table": hostile, "columns": [{"name": hostile, "type": "text"}], "comment": "'); drop"},
        {"change": "create_policy", "schema": schema, "table": hostile, "name": hostile, "using": f"'{hostile.replace(chr(39), chr(39) * 2)}' <> ''"},
        {"change": "set_comment", "on": "policy", "schema": schema, "of": hostile, "name": hostile, "comment": hostile},
    ]  # fmt: skip

    await project.run("schema.apply", name=hostile, changes=changes)

    relation = await project.run("catalog.relation", schema=schema, name=hostile)
    assert [column["name"] for column in relation["columns"]] == [hostile]
    assert [(item["name"], item["comment"]) for item in relation["policies"]] == [(hostile, hostile)]


async def test_what_loses_data_needs_a_confirmation(
    project: Client, visitor: Client, database: asyncpg.Connection, schema: str
) -> None:
    await database.execute(f"create schema {schema} authorization postgres; create table {schema}.t (id int)")
    await database.execute(f"alter table {schema}.t owner to postgres")
    drop = [{"change": "drop_table", "schema": schema, "table": "t"}]
    own = await project.worker.database.own()
    async with own.transaction() as transaction:
        await transaction.rows(
            "update headwater.administrator_sessions set confirmed_at = now() - interval '1 hour'"
        )

    assert await project.refused("schema.apply", name="drop", changes=drop) == (403, "needs_confirmation")
    confirmed = await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.DEVELOPER)
    applied = await confirmed.run("schema.apply", name="drop", changes=drop)

    assert [warning["code"] for warning in applied["warnings"]] == ["data_loss", "lock"]
    assert applied["migration"]["file"]["is_written"] is False
    assert "headwater migration fetch" in applied["migration"]["file"]["reason"]


async def test_a_reader_cannot_try(visitor: Client, database: asyncpg.Connection, schema: str) -> None:
    reader = await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.READER)
    changes = [{"change": "create_schema", "schema": schema}]

    assert (await reader.run("schema.plan", changes=changes))["statements"]
    assert await reader.refused("schema.plan", changes=changes, is_tried=True) == (403, "no_right")


async def test_drift_is_listed_and_repaired(
    project: Client, database: asyncpg.Connection, schema: str, tmp_path: Path
) -> None:
    applied = await project.run("migrations.apply", name="one", text=f"create schema {schema};")
    [file] = (tmp_path / "migrations").iterdir()
    file.write_text(f"create schema {schema}; select 2;")
    (tmp_path / "migrations" / "20990101000000_later.sql").write_text("select 1;")
    (tmp_path / "migrations" / "20000101000000_early.sql").write_text("select 0;")

    listed = {row["name"]: row["state"] for row in (await project.run("migrations.list"))["migrations"]}
    assert listed == {"one": "changed", "later": "pending", "early": "late"}
    assert await project.refused("migrations.apply", name="two", text="select 1") == (
        409,
        "pending_migrations",
    )
    await project.run("migrations.repair", status="applied", versions=["20000101000000", "20990101000000"])
    second = await project.run("migrations.apply", name="two", text="select 1")
    assert second["version"] == "20990101000001"
    await project.run("migrations.repair", status="reverted", versions=[applied["version"]])
    states = {row["name"]: row["state"] for row in (await project.run("migrations.list"))["migrations"]}
    assert states == {"one": "late", "later": "applied", "early": "applied", "two": "applied"}
    shown = await project.run("migrations.get", version=applied["version"])
    assert (shown["statements"], shown["file"]) == ([], f"create schema {schema}; select 2;")
    assert await project.refused("migrations.repair", status="reverted", versions=["1"]) == (404, "not_found")
    assert await project.refused("migrations.repair", status="applied", versions=["x"]) == (
        400,
        "invalid_arguments",
    )


async def test_missing_files_are_written_and_hostile_names_stay_in_the_folder(
    project: Client, owner: Client, database: asyncpg.Connection, schema: str, tmp_path: Path
) -> None:
    applied = await owner.run(
        "migrations.apply", name="far away", text=f"-- c\ncreate schema {schema};\nselect 1"
    )
    await database.execute(
        "insert into supabase_migrations.schema_migrations (version, name, statements) values"
        " ('20200101000000', '../../../evil', array['select 1']), ('../evil', 'x', array['select 1']),"
        " ('20200101000001', 'rows', array['copy t from stdin'])"
    )

    fetched = await project.run("migrations.fetch")

    assert _files(tmp_path) == ["20200101000000_evil.sql", f"{applied['version']}_far_away.sql"]
    assert len(fetched["notices"]) == 2
    text = (tmp_path / "migrations" / f"{applied['version']}_far_away.sql").read_text()
    assert text == f"-- c\ncreate schema {schema};\n\nselect 1;\n"
    assert (await project.run("migrations.fetch"))["files"] == []


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    write_migration(tmp_path, "1_a.sql", "one")
    for name in ("1_a.sql", "../x.sql", "a/b.sql"):
        with pytest.raises((FileExistsError, FileNotFoundError)):
            write_migration(tmp_path, name, "two")
    with pytest.raises(FileNotFoundError):
        write_migration(tmp_path / "none", "1_a.sql", "one")

    assert (tmp_path / "migrations" / "1_a.sql").read_text() == "one"
    assert _files(tmp_path) == ["1_a.sql"]


async def test_pending_files_are_applied_in_order_until_one_fails(
    project: Client, database: asyncpg.Connection, schema: str, tmp_path: Path
) -> None:
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "20260101000000_schema.sql").write_text(f"create schema {schema};")
    (folder / "20260101000001_table.sql").write_text(f"create table {schema}.notes (id int);")
    (folder / "20260101000002_broken.sql").write_text(f"insert into {schema}.nothing values (1);")

    first = await project.run("migrations.apply_pending", up_to="20260101000000")
    response = await project.send("POST", "/operations/migrations.apply_pending", {})
    states = (await project.run("migrations.list"))["migrations"]
    (folder / "20260101000002_broken.sql").write_text(f"insert into {schema}.notes values (1);")
    last = await project.run("migrations.apply_pending")

    assert first["files"] == ["20260101000000_schema.sql"]
    assert response.status == 400
    assert "20260101000001_table.sql" in json.loads(response.body)["hint"]
    assert [state["state"] for state in states] == ["applied", "applied", "pending"]
    assert last["files"] == ["20260101000002_broken.sql"]
    assert await database.fetchval(f"select count(*) from {schema}.notes") == 1


async def test_without_a_folder_nothing_is_pending(owner: Client) -> None:
    assert await owner.refused("migrations.apply_pending") == (409, "no_project_folder")


async def test_more_objects_are_renamed_and_commented(
    project: Client, database: asyncpg.Connection, schema: str
) -> None:
    await database.execute(f"create schema {schema} authorization postgres")
    await project.run(
        "migrations.apply",
        name="objects",
        text=f"create type {schema}.mood as enum ('calm'); create view {schema}.shown as select 1 as one;"
        f"create table {schema}.notes (id int constraint positive check (id > 0)); create sequence {schema}.numbers;"
        f"create function {schema}.twice(a int) returns int language sql as 'select 2 * a'",
    )
    changes = [
        {"change": "rename_object", "on": "type", "schema": schema, "name": "mood", "to": "feeling"},
        {"change": "rename_object", "on": "view", "schema": schema, "name": "shown", "to": 'odd " view'},
        {"change": "rename_object", "on": "constraint", "schema": schema, "of": "notes", "name": "positive", "to": "over_zero"},
        {"change": "set_comment", "on": "sequence", "schema": schema, "name": "numbers", "comment": "what's next"},
        {"change": "set_comment", "on": "function", "schema": schema, "name": "twice", "arguments": "integer", "comment": "doubles"},
    ]  # fmt: skip
    planned = await project.run("schema.plan", changes=changes)
    await project.run("schema.apply", name="rename", changes=changes)

    assert [warning["code"] for warning in planned["warnings"]].count("name") == 1
    assert await database.fetchval(f"select to_regtype('{schema}.feeling') is not null")
    assert await database.fetchval("select to_regclass($1) is not null", f'{schema}."odd "" view"')
    comment = f"select obj_description('{schema}.twice(int)'::regprocedure)"
    assert await database.fetchval(comment) == "doubles"
    [function] = await project.run("catalog.functions", schemas=[schema])
    assert function["identity_arguments"] == "a integer"
    refused = [{"change": "rename_object", "on": "trigger", "schema": schema, "name": "x", "to": "y"}]
    assert (await project.refused("schema.plan", changes=refused))[0] == 400

import asyncpg
import pytest

from workers.project.errors import ScriptFailed, SplitRejected
from workers.project.project_folder import Script
from workers.project.script_runner import ProjectConnection, run_script


async def nothing(_):
    """Write nothing down."""


async def run(project, sql, write=nothing, **options):
    await run_script(project, Script("supabase/migrations/1_x.sql", sql), write, **options)


async def tables(project):
    sql = "select array(select tablename::text from pg_tables where schemaname = 'public' order by 1)"
    return await project.connection.fetchval(sql)


async def test_a_file_is_run_as_role_postgres_with_what_is_written_about_it(project):
    seen = []

    async def write(texts):
        seen.extend([*texts, await tables(project)])

    await run(project, "create table a (); create table b ();", write)

    assert seen == ["create table a ()", "create table b ()", ["a", "b"]]
    assert await project.connection.fetchval(
        "select tableowner = 'postgres' from pg_tables where tablename = 'a'"
    )


async def test_a_statement_that_fails_is_shown_with_its_place_and_undoes_the_file(project):
    sql = "create table a ();\n\n-- two\ninsert into a\n  values (1, nonsense);\n"

    with pytest.raises(ScriptFailed) as failed:
        await run(project, sql)

    assert str(failed.value).splitlines() == [
        'supabase/migrations/1_x.sql, statement 2, line 5: column "nonsense" does not exist (42703)',
        "",
        "    values (1, nonsense)",
        "               ^",
        "",
        "Nothing of the file was kept.",
    ]
    assert await tables(project) == []


async def test_detail_and_hint_of_the_server_are_shown(project):
    sql = "create table a (id int primary key); insert into a values (1); insert into a values (1);"

    with pytest.raises(ScriptFailed, match=r"Detail: Key \(id\)=\(1\) already exists") as failed:
        await run(project, sql)

    assert failed.value.number == 3


async def test_what_is_written_about_a_file_is_undone_with_it(project):
    await project.connection.execute("create table written (text text)")

    async def write(texts):
        await project.connection.execute("insert into written values ($1)", texts[0])
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await run(project, "create table a ()", write)

    assert await tables(project) == ["written"]
    assert await project.connection.fetchval("select count(*) from written") == 0


async def test_no_setting_of_a_file_reaches_the_next(project):
    await run(project, "set search_path = ''; set role anon; select set_config('x.y', '1', false);")
    await run(project, "create table a ();")

    assert await tables(project) == ["a"]
    assert await project.connection.fetchval("select current_user") == "postgres"


async def test_a_file_with_its_own_transactions_works_and_tells_what_stayed(project):
    await run(project, "begin; create table a (); commit; create table b ();")

    with pytest.raises(ScriptFailed, match="committed its statements up to 3"):
        await run(project, "begin; create table c (); commit; create table d (); select 1/0;")

    assert await tables(project) == ["a", "b", "c"]


async def test_an_index_is_made_concurrently_when_it_is_alone(project):
    await run(project, "create table a (id int);")
    await run(project, "-- alone\ncreate index concurrently one on a (id);")
    await run(project, "vacuum a")

    assert await project.connection.fetchval(
        "select indisvalid from pg_index where indexrelid = 'one'::regclass"
    )


async def test_among_others_an_index_is_made_plainly(project):
    await run(
        project,
        "create table a (id int); CREATE INDEX CONCURRENTLY one ON a (id); drop index concurrently one;",
    )

    assert await tables(project) == ["a"]


LOADING = """
create table a (id int);
create procedure load() language plpgsql as $$ begin for i in 1..3 loop insert into a values (i); commit; end loop; end $$;
"""


async def test_code_that_ends_transactions_itself_runs_outside_of_one(project):
    await run(project, LOADING)
    await run(
        project,
        "insert into a values (0); call load(); do $$ begin insert into a values (4); commit; end $$; vacuum analyze a;"
        "insert into a values (5);",
    )

    assert await project.connection.fetchval("select array_agg(id order by id) from a") == [0, 1, 2, 3, 4, 5]


async def test_a_file_that_fails_after_such_code_tells_what_stayed(project):
    await run(project, LOADING)

    with pytest.raises(ScriptFailed, match="committed its statements up to 2; the rest was undone"):
        await run(project, "insert into a values (0); call load(); insert into a values (6); select 1/0;")

    assert await project.connection.fetchval("select array_agg(id order by id) from a") == [0, 1, 2, 3]


async def test_code_that_ends_no_transaction_stays_in_the_one_of_its_file(project):
    await run(project, LOADING)

    with pytest.raises(ScriptFailed, match="Nothing of the file was kept"):
        await run(project, "do $$ begin insert into a values (7); end $$; select 1/0;")

    assert await project.connection.fetchval("select count(*) from a") == 0


async def test_rows_of_a_copy_are_written(project):
    await run(
        project,
        "create table a (id int, t text); copy a (id, t) from stdin;\n1\tx;'\n2\t\\N\n\\.\ninsert into a values (3);",
    )

    assert [tuple(row) for row in await project.connection.fetch("select * from a order by id")] == [
        (1, "x;'"), (2, None), (3, None),
    ]  # fmt: skip


async def test_a_wrong_row_of_a_copy_is_told(project):
    with pytest.raises(ScriptFailed, match='invalid input syntax for type integer: "x"') as failed:
        await run(project, "create table a (id int);\ncopy a from stdin;\n1\nx\n\\.\n")

    assert "COPY a, line 2" in str(failed.value)
    assert await tables(project) == []


async def test_roles_that_exist_are_kept_where_that_is_asked(project):
    await run(project, "create role anon; create table a ();", keep_roles=True)

    assert await tables(project) == ["a"]
    with pytest.raises(ScriptFailed, match="already exists"):
        await run(project, "create role anon;")


async def test_a_file_that_cannot_be_split_runs_nothing(project):
    with pytest.raises(SplitRejected):
        await run(project, "create table a (); select 'x")

    assert await tables(project) == []


async def test_a_file_of_nothing_is_written_down(project):
    seen = []

    async def write(texts):
        seen.append(texts)

    await run(project, "-- nothing yet\n", write)

    assert seen == [[]]


class _Lost:
    """A connection that is lost with its first statement."""

    def __init__(self):
        self.is_lost = False

    async def execute(self, text, **_):
        if self.is_lost:
            raise asyncpg.InterfaceError("connection is closed")
        if text == "select 1":
            self.is_lost = True
            raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")

    def is_in_transaction(self):
        return True

    def is_closed(self):
        return self.is_lost


async def test_a_connection_that_is_lost_is_reported_with_the_statement():
    with pytest.raises(ScriptFailed, match=r"a\.sql"):
        await run_script(ProjectConnection(_Lost()), Script("a.sql", "select 1;"), nothing)

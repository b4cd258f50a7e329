"""Attack: SQL that an administrator may run reaches what the rights do not allow, or leaves something behind for others."""

import concurrent.futures
import json
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from tests.attacks.probe import run_sql, superuser_url
from tests.platform import Platform


@dataclass
class Program:
    """A program with a token of an administrator."""

    url: str
    token: str

    def call(self, name: str, **arguments: object) -> tuple[int, dict[str, Any]]:
        """Run an operation; return status and answer."""
        request = urllib.request.Request(
            f"{self.url}/management/v1/operations/{name}",
            json.dumps(arguments).encode(),
            {"authorization": f"Bearer {self.token}", "content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def rows(self, sql: str) -> list[list[str | None]]:
        """Return the rows of a query that reads."""
        status, answer = self.call("sql.run", sql=sql)
        assert status == 200, answer
        rows: list[list[str | None]] = answer["results"][-1]["rows"]
        return rows


def _program(target: Platform, rights: str, *, may_write: bool = True) -> Program:
    words = ["admin", "token", f"t{uuid.uuid4().hex[:8]}", "--rights", rights]
    done = target.command(*words, *(["--write"] if may_write else []))
    assert done.returncode == 0, done.stderr
    return Program(target.url, done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def developer(target: Platform) -> Program:
    """A program with the rights of a developer."""
    return _program(target, "developer")


@pytest.fixture(scope="module")
def reader(target: Platform) -> Program:
    """A program with the rights of a reader."""
    return _program(target, "reader")


_BECOME_OTHERS = (
    "set role {0}",
    "reset role; set role {0}",
    "set role none; set role {0}",
    "set session authorization {0}",
    "select set_config('role', '{0}', false)",
    "do $$ begin execute 'reset role'; execute 'set role {0}'; end $$",
)


@pytest.mark.parametrize("sql", _BECOME_OTHERS)
def test_a_text_becomes_no_other_role(developer: Program, reader: Program, sql: str) -> None:
    for role in ("supabase_admin", "headwater_management", "supabase_replication_admin"):
        status, answer = developer.call("sql.run", sql=sql.format(role), read_only=False)
        assert (status, answer["code"]) == (403, "42501"), answer
    for role in ("postgres", "service_role", "headwater_developer"):
        status, answer = reader.call("sql.run", sql=sql.format(role))
        assert (status, answer["code"]) == (403, "42501"), answer


_REACH_THE_MACHINE = (
    "copy (select 1) to program 'cat > /tmp/mine'",
    "copy (select 1) to '/tmp/mine'",
    "create temp table t (line text); copy t from '/etc/passwd'",
    "create temp table t (line text); copy t from program 'id'",
    "select pg_read_file('/etc/passwd')",
    "select pg_ls_dir('/')",
    "select lo_import('/etc/passwd')",
    "alter system set work_mem = '1GB'",
    "create function f() returns int language c as '/tmp/x.so', 'f'",
    "load '/tmp/x.so'",
    "alter role headwater_management password 'mine'",
    "alter role supabase_admin password 'mine'",
)


@pytest.mark.parametrize("sql", _REACH_THE_MACHINE)
def test_a_text_of_a_developer_does_not_reach_the_machine(developer: Program, sql: str) -> None:
    status, answer = developer.call("sql.run", sql=sql, read_only=False)

    assert (status, answer["code"]) == (403, "42501"), answer


@pytest.fixture(scope="module")
def writes(developer: Program) -> str:
    """A function that writes with the rights of its owner, and its table."""
    text = """create table public.guarded (id int);
    create function public.write_guarded() returns int security definer language sql
      as 'insert into public.guarded values (1) returning id';
    create procedure public.commit_and_write() language plpgsql
      as 'begin commit; insert into public.guarded values (1); end';
    grant execute on all functions in schema public to public"""
    status, answer = developer.call("sql.run", sql=text, read_only=False)
    assert status == 200, answer
    return "public.guarded"


_WRITE_ALL_THE_SAME = (
    "select public.write_guarded()",
    "set transaction read write; select public.write_guarded()",
    "set transaction_read_only = off; select public.write_guarded()",
    "select set_config('transaction_read_only', 'off', false); select public.write_guarded()",
    "set default_transaction_read_only = off; commit; select public.write_guarded()",
    "commit; select public.write_guarded()",
    "/* quiet */ commit /* now */; select public.write_guarded()",
    "end; select public.write_guarded()",
    "rollback; begin read write; select public.write_guarded()",
    "commit and chain; set transaction read write; select public.write_guarded()",
    "savepoint s; rollback to s; set transaction read write; select public.write_guarded()",
    "do $$ begin commit; perform public.write_guarded(); end $$",
    "call public.commit_and_write()",
    "prepare p as select public.write_guarded(); execute p",
    "prepare transaction 'x'",
    "explain analyze select public.write_guarded()",
    "create temp view v as select public.write_guarded(); select * from v",
    "with w as (insert into public.guarded values (1) returning 1) select * from w",
    "select 1; insert into public.guarded values (1)",
    "reset role; alter role headwater_reader set search_path = 'evil'",
    "reset role; alter role headwater_reader password 'mine'",
)


@pytest.mark.parametrize("sql", _WRITE_ALL_THE_SAME)
def test_a_run_that_reads_cannot_write(developer: Program, reader: Program, writes: str, sql: str) -> None:
    for program in (reader, developer):
        status, answer = program.call("sql.run", sql=sql, read_only=True)
        assert status in (400, 403), answer
        assert answer["code"] in ("25006", "25001", "2D000", "42501", "25P02"), answer

    assert developer.rows(f"select count(*) from {writes}") == [["0"]]


@pytest.mark.parametrize(
    "sql", ["commit; drop table {0}", "rollback\\;drop table {0}", "commit;;;drop table {0}"]
)
def test_explain_and_streams_take_one_statement(
    developer: Program, reader: Program, writes: str, sql: str
) -> None:
    for name, arguments in (("sql.explain", {"analyze": True}), ("sql.stream", {})):
        status, _ = reader.call(name, sql=sql.format(writes), **arguments)
        assert status == 400

    assert developer.rows(f"select count(*) from {writes}") == [["0"]]


_LEFT_BEHIND = """
set search_path = evil; set work_mem = '64kB'; listen evil; notify evil;
create temp table pg_temp.users (id int);
prepare evil as select 1;
select pg_advisory_lock(4711), set_config('request.jwt.claims', '{"sub": "evil"}', false);
begin; declare evil_cursor cursor with hold for select 1; lock table public.guarded;
set session characteristics as transaction read only; set role anon; set statement_timeout = 1
"""


def test_a_text_leaves_nothing_behind(developer: Program, writes: str) -> None:
    settings = "select current_user, current_setting('search_path'), current_setting('statement_timeout'),"
    settings += " current_setting('work_mem'), current_setting('request.jwt.claims', true)"
    before = developer.rows(settings)

    status, answer = developer.call("sql.run", sql=_LEFT_BEHIND, read_only=False)

    assert status == 200, answer
    assert answer["transaction"] == "rolled back: the text left it open"
    _wait_until_gone(developer)
    for _ in range(4):
        assert developer.rows(settings) == before
        assert developer.rows(
            "select count(*) from pg_locks where locktype = 'advisory' and objid = 4711"
        ) == [["0"]]
        assert developer.rows("select count(*) from pg_prepared_statements") == [["0"]]
        assert developer.rows("select count(*) from pg_cursors where is_holdable") == [["0"]]
        assert developer.rows("select pg_my_temp_schema()") == [["0"]]
        assert developer.rows(f"select count(*) from {writes}") == [["0"]]


def test_a_prepared_transaction_is_not_left_behind(developer: Program, writes: str) -> None:
    text = f"begin; insert into {writes} values (1); prepare transaction 'evil'"
    status, _ = developer.call("sql.run", sql=text, read_only=False)

    assert status == 400
    assert developer.rows("select count(*) from pg_prepared_xacts") == [["0"]]
    assert developer.rows(f"select count(*) from {writes}") == [["0"]]


_STAYS = """
set statement_timeout = 0; set client_connection_check_interval = 0; set application_name = 'somebody else';
do $$ begin
  loop
    begin perform pg_sleep(100); exception when query_canceled then null; end;
  end loop;
end $$
"""


def test_a_text_that_does_not_want_to_stop_is_stopped(developer: Program) -> None:
    status, answer = developer.call("sql.run", sql=_STAYS, read_only=False, timeout_s=0.5)

    assert (status, answer["code"]) == (504, "timeout"), answer
    while developer.rows("select 1 from pg_stat_activity where application_name = 'somebody else'"):
        pass  # a terminated backend needs a moment to exit; the test's time limit ends this


def test_a_text_that_ends_its_session_is_an_error_of_the_text(developer: Program, reader: Program) -> None:
    for program in (developer, reader):
        status, answer = program.call(
            "sql.run", sql="set role none; select pg_terminate_backend(pg_backend_pid()); select 2"
        )
        assert (status, answer["code"], answer["statement"]) == (400, "57P01", 1), answer

    assert developer.rows("select 1") == [["1"]]


_END = "select pg_terminate_backend(pid) from pg_stat_activity where usename in ({})"


def test_a_text_does_not_end_sessions_of_superusers(developer: Program, reader: Program) -> None:
    for program in (developer, reader):
        status, answer = program.call("sql.run", sql=_END.format("'supabase_admin'"))
        assert (status, answer["code"]) == (403, "42501"), answer


def test_a_reader_ends_no_session_of_the_platform(reader: Program) -> None:
    for login in ("headwater_management", "authenticator", "headwater_scheduler"):
        status, answer = reader.call("sql.run", sql=_END.format(f"'{login}'"))
        assert (status, answer["code"]) == (403, "42501"), answer


def test_requests_do_not_notice_that_idle_sessions_of_the_platform_were_ended(
    developer: Program, reader: Program
) -> None:
    # Role `postgres` may do this (pg_signal_backend), as it may on the platform that we follow.
    for _ in range(20):
        status, answer = developer.call("sql.run", sql=_END.format("'headwater_management', 'authenticator'"))
        assert status == 200, answer
        assert reader.rows("select 1") == [["1"]]


def test_floods_are_bounded(developer: Program) -> None:
    text = (
        "do $$ begin for n in 1..20000 loop raise notice '%', repeat('x', 10000); end loop; end $$;"
        " select repeat('x', 100000000); select repeat('x', 1000) from generate_series(1, 1000000)"
    )
    status, answer = developer.call("sql.run", sql=text)

    assert status == 200, answer
    assert len(json.dumps(answer)) < 4 * 1024 * 1024


def test_many_texts_at_once_do_not_take_every_connection(developer: Program, target: Platform) -> None:
    with concurrent.futures.ThreadPoolExecutor(24) as threads:
        calls = [
            threads.submit(developer.call, "sql.run", sql="select pg_sleep(7)", timeout_s=20)
            for _ in range(24)
        ]
        statuses = sorted(call.result()[0] for call in calls)

    assert set(statuses) == {200, 503}
    assert run_sql(target.values["DB_URL"], "select 1").returncode == 0


def test_a_reader_acts_as_no_role_that_passes_policies(developer: Program, reader: Program) -> None:
    status, answer = reader.call("sql.run", sql="select 1", view_as={"role": "service_role"})

    assert (status, answer["code"]) == (403, "no_right")
    for role in ("postgres", "supabase_admin", "headwater_developer", "none", "authenticator"):
        status, answer = developer.call("sql.run", sql="select 1", view_as={"role": role})
        assert status in (400, 403), (role, answer)


def _wait_until_gone(program: Program) -> None:
    """Wait until no other session of a text is left."""
    others = "select 1 from pg_stat_activity where application_name like 'headwater sql %' and pid <> pg_backend_pid()"
    while program.rows(others):
        pass  # the test's time limit ends this


_SPOIL_THE_LOGIN = (
    "set role none; alter role current_user password 'mine'",
    "set role none; alter role current_user set default_transaction_read_only = on",
    "set role none; alter role current_user in database postgres set search_path = 'evil'",
    "do $$ begin execute 'reset role'; execute 'alter role current_user password null'; end $$",
)


@pytest.mark.parametrize("sql", _SPOIL_THE_LOGIN)
def test_a_developer_shuts_nobody_out_of_the_login_for_sql(
    developer: Program, target: Platform, sql: str
) -> None:
    assert developer.call("sql.run", sql=sql, read_only=False)[0] == 200

    status, answer = _program(target, "developer").call(
        "sql.run", sql="create table public.after_it (id int); drop table public.after_it", read_only=False
    )
    assert status == 200, answer
    path = "select current_setting('search_path'), current_setting('default_transaction_read_only')"
    assert developer.rows(path) == [['"$user", public', "off"]]


def _end_sessions(target: Platform, login: str) -> None:
    """End all sessions of a login, so that its pool must connect again."""
    done = run_sql(
        superuser_url(target),
        f"select pg_terminate_backend(pid) from pg_stat_activity where usename = '{login}'",
    )
    assert done.returncode == 0, done.stderr


def _make(developer: Program, sql: str) -> None:
    status, answer = developer.call("sql.run", sql=sql, read_only=False)
    assert status == 200, answer


def test_a_pool_whose_login_lost_its_password_opens_connections_again(
    developer: Program, target: Platform
) -> None:
    _make(developer, "create table public.edited (id int primary key)")
    _make(developer, "set role none; alter role current_user password 'mine'")
    _end_sessions(target, "headwater_developer")

    status, answer = developer.call("rows.insert", schema="public", table="edited", rows=[{"id": 1}])

    assert status == 200, answer


def test_sessions_that_begin_at_once_restore_the_login_together(developer: Program, target: Platform) -> None:
    _make(developer, "set role none; alter role current_user password 'mine'")

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: developer.call("sql.run", sql="select 1"), range(16)))

    assert [answer for status, answer in answers if status != 200] == []


_SPOILING_TRIGGER = """
create table public.calm (id int primary key);
create table public.watched (id int primary key);
create function public.spoil() returns trigger language plpgsql as $$ begin
  execute 'reset role';
  execute 'set role none';
  execute 'alter role headwater_developer password ''mine''';
  execute 'alter role headwater_developer set statement_timeout = 1';
  return new;
end $$;
create trigger spoil before insert on public.watched for each row execute function public.spoil()
"""


_SETTINGS_OF_THE_LOGIN = "select rolconfig from pg_roles where rolname = 'headwater_developer'"


def test_a_trigger_in_a_session_of_the_pool_shuts_nobody_out(developer: Program, target: Platform) -> None:
    _make(developer, _SPOILING_TRIGGER)
    status, answer = developer.call("rows.insert", schema="public", table="watched", rows=[{"id": 1}])
    assert status == 200, answer
    assert "{statement_timeout=1," in run_sql(superuser_url(target), _SETTINGS_OF_THE_LOGIN).stdout
    _end_sessions(target, "headwater_developer")

    status, answer = developer.call("rows.insert", schema="public", table="calm", rows=[{"id": 1}])

    assert status == 200, answer
    assert developer.rows("select current_user") == [["postgres"]]


def test_a_caller_of_the_interfaces_shuts_nobody_out(developer: Program, target: Platform) -> None:
    _make(developer, "create table public.listed (id int primary key)")
    caller = {"role": "service_role"}
    text = "reset role; set role none; alter role current_user password 'mine'"
    status, answer = developer.call("sql.run", sql=text, read_only=False, view_as=caller)
    assert status == 200, answer
    _end_sessions(target, "headwater_viewer")

    for operation, arguments in (
        ("rows.list", {"schema": "public", "table": "listed"}),
        ("sql.run", {"sql": "select 1"}),
    ):
        status, answer = developer.call(operation, view_as=caller, **arguments)
        assert status == 200, (operation, answer)

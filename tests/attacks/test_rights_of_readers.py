"""Attack: a reader (SQL of an administrator's reader or agent) reads secrets of the platform; and what readers rely on, they read.

The role of readers has rights table by table (migration management/0008).
"""

import uuid
from collections.abc import Iterator

import psycopg
import pytest

from tests.attacks.probe import run_sql, superuser_url
from tests.attacks.test_secret_search import login_of
from tests.platform import Platform

_READER, _COPIER = "supabase_read_only_user", "supabase_etl_admin"
_REFUSED = (
    "select rolpassword from pg_authid",
    "select passwd from pg_shadow",
    "select umoptions from pg_user_mapping",
    "select stavalues1 from pg_statistic",
    "select subconninfo from pg_subscription",
    "select 1 from headwater.administrators",
    "select 1 from headwater.stored_settings",
    "select 1 from headwater.idempotent_answers",
    "select 1 from vault.secrets",
    "select 1 from vault.decrypted_secrets",
    "select encrypted_password from auth.users",
    "select * from auth.users",
    "select u::text from auth.users as u",
    "select 1 from auth.users where encrypted_password > '$'",
    "select token_hash from auth.one_time_tokens",
    "select secret from auth.mfa_factors",
    "select client_secret from auth.custom_oauth_providers",
    "select secret from storage.s3_access_keys",
    "select password from hostile_reading.http_headwater_login",
    "select 1 from hostile_reading.closed",
    "insert into hostile_reading.made values (1)",
    "grant pg_read_all_data to current_user",
    "reset role; grant pg_read_all_data to current_user",
)
_READ = (
    "select id, email, raw_user_meta_data, last_sign_in_at, xmin from auth.users",
    "select count(*) from auth.users",
    "select id, user_id, aal, ip from auth.sessions",
    "select * from auth.identities",
    "select * from auth.audit_log_entries",
    "select id, token_type, relates_to from auth.one_time_tokens",
    "select * from storage.objects",
    "select * from storage.buckets",
    "select * from realtime.messages",
    "select * from cron.job",
    "select * from net._http_response",
    "select * from hostile_reading.made",
    "select * from hostile_reading.made_as",
    "select * from hostile_reading.shown",
    "select * from hostile_reading.kept",
    "select last_value from hostile_reading.numbers",
    "select * from hostile_reading.of_another",
    "select * from hostile_reading.parts_1",
    "select * from auth.of_the_project",
    "select * from pg_catalog.pg_stat_activity",
    "select min(applied_at) from headwater.migrations",
)
_PROJECT = """
set client_min_messages = warning;
create schema hostile_reading;
create table hostile_reading.made (id int);
create table hostile_reading.made_as as select 1 as id;
create view hostile_reading.shown as select * from hostile_reading.made;
create materialized view hostile_reading.kept as select * from hostile_reading.made;
create sequence hostile_reading.numbers;
create table hostile_reading.parts (id int) partition by list (id);
create table hostile_reading.parts_1 partition of hostile_reading.parts for values in (1);
create table hostile_reading.closed (id int);
revoke select on hostile_reading.closed from supabase_read_only_user;
create table auth.of_the_project (id int);
create role hostile_maker; grant hostile_maker to postgres; grant create, usage on schema hostile_reading to hostile_maker;
set role hostile_maker; create table hostile_reading.of_another (id int); reset role;
create extension if not exists pg_cron; create extension if not exists pg_net;
drop extension if exists http;
create extension http with schema hostile_reading;
"""
_END = """
set client_min_messages = warning; drop table auth.of_the_project; drop schema hostile_reading cascade; drop role hostile_maker
"""
_SECRETS = """
select format('%s.%s.%s', n.nspname, c.relname, a.attname)
from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where n.nspname in ('auth', 'storage', 'realtime', 'supabase_functions') and c.relkind in ('r', 'p') and not c.relispartition
"""
_UNREADABLE = f"{_SECRETS} and not has_column_privilege('{_READER}', c.oid, a.attnum, 'select')"
_SECRET_BY_NAME = f"{_SECRETS} and a.attname ~ '(secret|password|_token|^token|hash|_code$|verifier|hmac|session_data|challenge_data)'"
_NO_SECRETS = {
    "auth.sessions.refresh_token_counter",
    "auth.one_time_tokens.token_type",
    "auth.known_networks.network_hash",
    "auth.saml_assertions.assertion_hash",
    "auth.oauth_clients.token_endpoint_auth_method",
    "auth.custom_oauth_providers.token_url",
    "storage.migrations.hash",
    "storage.objects.path_tokens",
}
"""Columns whose names say secret, and hold none."""


@pytest.fixture(scope="module")
def project(target: Platform) -> Iterator[Platform]:
    """The platform with objects of a project of every kind."""
    done = run_sql(target.values["DB_URL"], _PROJECT, check=False)
    assert "ERROR" not in done.stderr, done.stderr
    yield target
    run_sql(target.values["DB_URL"], _END)


def _as_reader(target: Platform, sql: str) -> str:
    done = run_sql(login_of(target, _READER), f"set role {_READER}; {sql}", check=False)
    return done.stderr


@pytest.mark.parametrize("sql", _REFUSED)
def test_a_reader_reads_no_secret(project: Platform, sql: str) -> None:
    error = _as_reader(project, sql)

    assert "permission denied" in error or "read-only transaction" in error, error or "it was allowed"


def test_a_reader_reads_what_is_the_projects_and_what_is_no_secret(project: Platform) -> None:
    assert {sql: error for sql in _READ if "ERROR" in (error := _as_reader(project, sql))} == {}


def test_a_program_that_copies_the_project_reads_what_readers_read(project: Platform) -> None:
    """Role supabase_etl_admin is a member of theirs; it has no password until the operator gives it one."""
    with psycopg.connect(superuser_url(project), autocommit=True) as copier:
        copier.execute(f"set session authorization {_COPIER}")
        answers = {sql: _answer(copier, sql) for sql in (*_REFUSED, *_READ)}

    assert {sql for sql in _REFUSED if "permission denied" not in answers[sql]} == set()
    assert {sql: answers[sql] for sql in _READ if answers[sql]} == {}


def _answer(connection: psycopg.Connection[tuple[object, ...]], sql: str) -> str:
    """Return the error of a statement, empty without one."""
    try:
        for statement in sql.split("; "):
            connection.execute(statement)
    except psycopg.Error as error:
        return str(error)
    return ""


def test_every_column_of_the_platform_that_holds_a_secret_is_closed_to_readers(target: Platform) -> None:
    """A new table or column needs a line in a migration: a grant, or its name among those that stay closed."""
    named = set(run_sql(superuser_url(target), _SECRET_BY_NAME).stdout.split())
    unreadable = set(run_sql(superuser_url(target), _UNREADABLE).stdout.split())

    assert named - unreadable - _NO_SECRETS == set()
    assert {name for name in unreadable if name.split(".")[1] in ("users", "objects", "buckets")} == {
        "auth.users.encrypted_password", "auth.users.confirmation_token", "auth.users.recovery_token",
        "auth.users.email_change_token_new", "auth.users.email_change_token_current", "auth.users.phone_change_token",
        "auth.users.reauthentication_token",
    }  # fmt: skip


def test_an_object_that_is_replaced_gets_no_rights_of_the_platforms(project: Platform) -> None:
    """The event trigger grants by the superuser: the project cannot lead it to a table of the platform."""
    name = f"h{uuid.uuid4().hex[:8]}"
    done = run_sql(
        project.values["DB_URL"],
        f"create schema {name}; create view {name}.administrators as select 1 as id; drop schema {name} cascade",
        check=False,
    )

    assert "ERROR" not in done.stderr
    assert "permission denied" in _as_reader(project, "select 1 from headwater.administrators")

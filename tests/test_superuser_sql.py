"""No code of a tenant can run in a superuser's session: what such a session says, and who may open one."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sql_of_superusers import faults_of
from workers.database.migration_files import Migration, read_migrations
from workers.sql.files import read_statements

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted(
    path for folder in ("services", "broker", "schemas", "workers") for path in (ROOT / folder).rglob("*.py")
)

OPENS_SUPERUSERS = "workers/database/superuser.py"
OPENS_OTHERS = {
    "workers/database/cache.py": "the interface's login",
    "workers/database/leader.py": "the scheduler's login, and that of the reader of the log",
    "workers/database/pipeline.py": "the interface's login, and those of the pools",
    "workers/database/script.py": "logins of jobs",
    "workers/project/door.py": "a project's own login",
    "workers/replication/conversions.py": "the interface's login",
    "workers/replication/session.py": "the login of the reader of the log",
}
"""Who else opens connections, and as whom: never with the URL of a superuser."""
_CONNECT = {
    ("asyncpg", "connect"),
    ("asyncpg", "create_pool"),
    ("psycopg", "connect"),
    ("PGconn", "connect_start"),
    ("PGconn", "connect"),
}
SAID_BY_SUPERUSERS = (
    ("workers", "examine.sql"),
    ("workers.database", "superuser.sql"),
    ("workers.database", "migrate.sql"),
    ("workers.database", "assertions.sql"),
    ("workers.database", "upgrade.sql"),
    ("workers.replication", "slot.sql"),
)
"""Files of statements that go to superuser sessions."""


@pytest.mark.parametrize("migration", read_migrations(), ids=str)
def test_a_migration_says_nothing_in_a_superusers_session_that_a_tenant_could_bend(
    migration: Migration,
) -> None:
    faults = [
        fault for part in migration.parts for fault in faults_of(part.sql, is_superuser=part.role is None)
    ]
    assert faults == []


@pytest.mark.parametrize(("package", "file"), SAID_BY_SUPERUSERS)
def test_statements_of_superusers_are_qualified(package: str, file: str) -> None:
    faults = {
        name: found
        for name, text in read_statements(package, file).items()
        if (found := faults_of(text, is_superuser=True))
    }
    assert faults == {}


def _calls(program: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(program.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            name = (
                owner.id
                if isinstance(owner, ast.Name)
                else owner.attr
                if isinstance(owner, ast.Attribute)
                else ""
            )
            yield name, node.func.attr


def test_connections_are_opened_in_few_places() -> None:
    opening = {str(program.relative_to(ROOT)) for program in PROGRAMS if _CONNECT & set(_calls(program))}
    assert opening == {OPENS_SUPERUSERS, *OPENS_OTHERS}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("select json_build_object('a', 1)", "function json_build_object stands without its schema"),
        ("select * from pg_class", "relation pg_class stands without its schema"),
        ("set local role x", "changes the role: set or reset role"),
        ("reset role", "changes the role: set or reset role"),
        ("set session authorization x", "changes the role: set or reset session_authorization"),
        ("select pg_catalog.set_config('role', 'x', true)", "changes the role by set_config"),
        ("update auth.users set id = id", "changes rows of auth.users, which may have triggers"),
        ("do $$ begin perform unnest('{}'::text[]); end $$", "function unnest stands without its schema"),
        (
            "do $$ begin execute 'select * from pg_class'; end $$",
            "relation pg_class stands without its schema",
        ),
        (
            "do $$ begin execute pg_catalog.format('alter role %I; set role %I', 'a', 'b'); end $$",
            "changes the role",
        ),
        (
            "create function a.b() returns trigger language plpgsql as 'begin end'",
            "function a.b has no search_path",
        ),
        (
            "create function a.b() returns int language plpgsql security definer set search_path = '' as 'begin end'",
            "function a.b has the path",
        ),
    ],
)
def test_a_fault_is_found(text: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults_of(text, is_superuser=True)), faults_of(
        text, is_superuser=True
    )


def test_nothing_is_found_where_nothing_is() -> None:
    text = (
        "with a as (select 1 as n) select pg_catalog.count(*), coalesce(n, 2) from a;"
        "create function a.b() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as "
        "$$ begin perform count(*); return new; end $$"
    )
    assert faults_of(text, is_superuser=True) == []

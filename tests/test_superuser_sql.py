"""No code of a tenant can run in a superuser's session: what such a session says, and who may open one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sql_of_superusers import faults_of
from workers.database.migrations.files import SystemMigration, read_migrations
from workers.sql.files import read_statements

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted(
    path for folder in ("services", "broker", "schemas", "workers") for path in (ROOT / folder).rglob("*.py")
)

OPENS_SUPERUSERS = "workers/database/sessions/superuser.py"
OPENS_OTHERS = {
    "workers/database/schema_cache/cache.py": "the interface's login",
    "workers/database/connection_pool/silence_watch.py": "the login of the pool that it watches",
    "workers/database/connection_pool/stall_watch.py": "the login of the pool that it watches",
    "workers/database/sessions/leadership.py": "the scheduler's login, and that of the reader of the log",
    "workers/database/protocol/connecting.py": "the interface's login, and those of the pools",
    "workers/database/sessions/script.py": "logins of jobs",
    "workers/management/spellings/schema_metadata/query_session.py": "the login for SQL of administrators, a member of role postgres",
    "workers/project/project_connection.py": "a project's own login",
    "workers/replication/conversions.py": "the interface's login",
    "workers/database/sessions/replication.py": "the login of the reader of the log, and physical replication, where no SQL runs",
    "workers/streams/targets/postgres_target.py": "the login that the operator names, in a database that is not the platform's",
}
"""Who else opens connections, and as whom: never with the URL of a superuser."""
_CONNECT = {
    ("asyncpg", "connect"),
    ("asyncpg", "create_pool"),
    ("psycopg", "connect"),
    ("AsyncConnection", "connect"),
    ("PGconn", "connect_start"),
    ("PGconn", "connect"),
}
SAID_BY_SUPERUSERS = (
    ("workers", "database_facts.sql"),
    ("workers", "database_use.sql"),
    ("workers.database.sessions", "superuser.sql"),
    ("workers.database.sessions", "throwaway_logins.sql"),
    ("workers.database.migrations", "migrate.sql"),
    ("workers.database.migrations", "settings_state.sql"),
    ("workers.database.migrations", "platform_claim.sql"),
    ("workers.database.migrations", "upgrade.sql"),
    ("workers.replication", "slot.sql"),
    ("workers.project", "replace_database.sql"),
    ("workers.project", "carried_rows.sql"),
    ("workers.backup.continuous", "slots.sql"),
    ("workers.branches", "check_database.sql"),
    ("workers.branches", "copy_database.sql"),
    ("workers.branches", "prepare_copy.sql"),
    ("workers.database.replicas", "replicas.sql"),
    ("workers.sealing", "stored_settings.sql"),
)
"""Files of statements that go to superuser sessions."""


@pytest.mark.parametrize("migration", read_migrations(), ids=str)
def test_a_migration_says_nothing_in_a_superusers_session_that_a_tenant_could_bend(
    migration: SystemMigration,
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


SPEAK_AS_SUPERUSERS = {
    "workers/backup/fill_database.py": ("superuser",),
    "workers/database/replicas/facts.py": ("primary", "connection"),
    "workers/backup/database_properties.py": ("superuser",),
    "workers/backup/restore.py": ("connection",),
    "workers/backup/continuous/archiver.py": ("superuser",),
    "workers/backup/continuous/commands.py": ("connection",),
    "workers/backup/continuous/slots.py": ("superuser",),
    "workers/backup/job_rows.py": ("superuser",),
    "workers/backup/save.py": ("connection",),
    "workers/branches/check_database.py": ("superuser",),
    "workers/branches/copy_database.py": ("superuser",),
    "workers/branches/masking.py": ("superuser",),
    "workers/branches/prepare_copy.py": ("superuser",),
    "workers/database/migrations/settings_state.py": ("connection",),
    "workers/database/migrations/migrate.py": ("connection", "superuser"),
    "workers/database/migrations/platform_claim.py": ("connection",),
    "workers/database/sessions/superuser.py": ("connection",),
    "workers/database/sessions/throwaway_logins.py": ("superuser",),
    "workers/database/migrations/upgrade.py": ("connection", "superuser"),
    "workers/database_facts.py": ("connection",),
    "workers/database_use.py": ("connection",),
    "workers/project/diff/shadow_comparison.py": ("aside",),
    "workers/project/databases_for_tests.py": ("aside",),
    "workers/project/carried_rows.py": ("connection", "source", "target"),
    "workers/project/replace_database.py": ("aside", "connection", "other"),
    "workers/replication/retire.py": ("connection",),
    "workers/sealing/seal_again.py": ("superuser",),
}
"""Programs that hold superuser sessions, and what they call them."""
TOOLS = {
    "workers/backup/fill_database.py": "pg_dump with the settings of a superuser's session, pg_restore as a throwaway login",
    "workers/backup/save.py": "pg_dump with the settings of a superuser's session",
    "workers/backup/postgres_tools.py": "pg_restore as a reader of files",
    "services/supervisor/postgres/major_upgrade/copy.py": "pg_dump of a stopped platform's database; pg_restore in parts, rows as their owners",
    "services/supervisor/postgres/major_upgrade/tools.py": "psql with texts of the platform, and with roles as pg_dumpall writes them",
    "services/supervisor/postgres/major_upgrade/upgrade.py": "pg_dumpall of roles",
    "services/supervisor/project/work.py": "looks for pg_dump alone",
    "services/cli/dump.py": "tools as the project's own login",
    "services/cli/psql.py": "psql as the project's own login",
    "services/cli/test.py": "psql with the files of the user, as the project's own login or that of a URL",
    "services/cli/main.py": "the name of the command psql: it runs no tool",
}
"""Who runs the tools of libpq."""
_TOOL = {"pg_dump", "pg_dumpall", "pg_restore", "psql", "pg_basebackup"}
_ASKS = {"execute", "fetch", "fetchrow", "fetchval"}


def _strings(program: Path, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the SQL that a program spells where it speaks to one of these connections; what is filled in is a name."""
    for node in ast.walk(ast.parse(program.read_text())):
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKS
        ):
            continue
        owner = node.func.value
        name = (
            owner.id
            if isinstance(owner, ast.Name)
            else owner.attr
            if isinstance(owner, ast.Attribute)
            else ""
        )
        match node.args:
            case [ast.Constant(value=str(text)), *_] if name in names:
                yield text
            case [ast.JoinedStr(values=parts), *_] if name in names:
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)


@pytest.mark.parametrize("program", SPEAK_AS_SUPERUSERS)
def test_what_programs_say_in_superuser_sessions_is_qualified(program: str) -> None:
    said = list(_strings(ROOT / program, SPEAK_AS_SUPERUSERS[program]))
    assert [fault for text in said for fault in faults_of(text, is_superuser=True)] == []


def test_all_programs_that_hold_superuser_sessions_are_read() -> None:
    opening = re.compile(
        r"\b(connect_as_superuser|open_as_superuser|connect_with_fixed_settings)\(|\bsuperuser: asyncpg"
    )
    holding = {str(program.relative_to(ROOT)) for program in PROGRAMS if opening.search(program.read_text())}
    assert holding - {"workers/project/project_connection.py"} <= set(SPEAK_AS_SUPERUSERS)


def test_tools_of_libpq_run_in_few_places() -> None:
    running = {
        str(program.relative_to(ROOT))
        for program in PROGRAMS
        if any(f'"{tool}"' in (text := program.read_text()) for tool in _TOOL)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in _TOOL
    }
    assert running == set(TOOLS)


def _calls(text: str) -> Iterator[tuple[str, str]]:
    if not any(f".{name}" in text for _, name in _CONNECT):
        return  # to parse it would take most of the time
    for node in ast.walk(ast.parse(text)):
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
    opening = {
        str(program.relative_to(ROOT)) for program in PROGRAMS if _CONNECT & set(_calls(program.read_text()))
    }
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
        ("select id from auth.users", "reads auth.users, whose indexes may run code"),
        ("select from pg_catalog.pg_class join storage.objects on true", "reads storage.objects"),
        ("select realtime.keep_partitions()", "calls realtime.keep_partitions, which may have been replaced"),
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

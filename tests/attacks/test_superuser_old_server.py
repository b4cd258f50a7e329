"""Before Postgres 16 a role with CREATEROLE grants itself any role but a superuser, also those that run programs."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.settings.tree import Settings
from tests.attacks.probe import run_sql
from tests.workers.database.server import Server, temporary_server
from workers.database.migrations.migrate import MigrationError, migrate

_PROGRAMS = Path("/usr/lib/postgresql/15/bin")

pytestmark = pytest.mark.skipif(not (_PROGRAMS / "initdb").exists(), reason="the machine has no Postgres 15")

_ATTACKS = {
    "a role that runs programs": "grant pg_execute_server_program to postgres",
    "a role that reads files": "grant pg_read_server_files to postgres",
    "a role that writes files": "grant pg_write_server_files to postgres",
    "another login's password": "alter role headwater_scheduler password 'x'",
    "the password of a role that replicates": "alter role supabase_replication_admin password 'x'",
    "a new role's memberships": "create role hostile_new in role pg_execute_server_program",
}


@pytest.fixture(scope="module")
def old_server() -> Iterator[Server]:
    """A server of Postgres 15."""
    with temporary_server(programs=_PROGRAMS) as server:
        yield server


@pytest.mark.parametrize("attack", _ATTACKS)
async def test_role_postgres_of_an_old_server_takes_no_rights(old_server: Server, attack: str) -> None:
    with contextlib.suppress(MigrationError):  # to refuse the server is an answer, too
        await migrate(old_server.url(), Settings())
    url = old_server.url("postgres", Settings().db.password.reveal())
    done = run_sql(url, f"begin; {_ATTACKS[attack]}; rollback", check=False)
    assert re.search("permission denied|must (be|have)|authentication failed", done.stderr), done.stderr

"""Role postgres makes servers of postgres_fdw reach closed networks, files of the machine, or this server as another role."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.platform import Platform

_SERVER = "create server far foreign data wrapper postgres_fdw options ({options})"
_HOSTS = (
    "127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "127.0.0.1.", "localhost", "LOCALHOST.", "a.localhost", "0.0.0.0",
    "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "64:ff9b::7f00:1", "2002:7f00:1::", "::1%lo", "10.0.0.1", "172.16.0.1", "192.168.1.1",
    "169.254.169.254", "fd00::1", "fe80::1", "metadata.google.internal", "db", "/tmp", "@abstract", "", "example.com,10.0.0.1",
    "example.com,", " 127.0.0.1", "127.0.0.1 ", "ｌocalhost",
)  # fmt: skip
_REFUSED = [
    *(f"host '{host}', port '1'" for host in _HOSTS),
    "port '1'",
    "host 'example.com', hostaddr '127.0.0.1'",
    "host 'example.com,example.org', hostaddr '1.1.1.1,10.0.0.1'",
    "hostaddr '1.1.1.1,'",
    "host '127.0.0.1,127.0.0.1', port '{port},1'",
    "host 'example.com', service 'x'",
    "host 'example.com', passfile '/etc/passwd'",
    "host 'example.com', sslkey '/etc/passwd'",
    "host 'example.com', sslcert '/etc/passwd'",
    "host 'example.com', sslrootcert '/etc/passwd'",
    "host 'example.com', sslcrl '/etc/passwd'",
    "host 'example.com', use_scram_passthrough 'true'",
    "host 'example.com', sslkeylogfile '/tmp/x'",
]
_ALLOWED = [
    "host 'db.example.com', dbname 'x', sslmode 'verify-full', sslrootcert 'system'",
    "host '1.1.1.1,8.8.8.8', port '5432,6543'",
    "host '2606:4700:4700::1111'",
    "host 'example.com', hostaddr '1.1.1.1'",
    "host 'localhost', port '{port}'",
]


@pytest.fixture
async def project(target: Platform) -> AsyncIterator[asyncpg.Connection]:
    """A session of role postgres in which postgres_fdw is there, in a transaction that is rolled back."""
    connection = await asyncpg.connect(target.values["DB_URL"])
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("create extension if not exists postgres_fdw with schema extensions")
    yield connection
    await transaction.rollback()
    await connection.close()


async def _result(project: asyncpg.Connection, *statements: str) -> str:
    """Return the error of statements, or nothing; what they did is undone."""
    port = await project.fetchval("select current_setting('port')")
    inner = project.transaction()
    await inner.start()
    try:
        for statement in statements:
            await project.execute(statement.replace("{port}", port))
    except asyncpg.PostgresError as error:
        return f"{error.sqlstate} {error}"
    else:
        return ""
    finally:
        await inner.rollback()


async def test_servers_name_public_hosts_and_no_files(project: asyncpg.Connection) -> None:
    refused = {options: await _result(project, _SERVER.replace("{options}", options)) for options in _REFUSED}
    allowed = {options: await _result(project, _SERVER.replace("{options}", options)) for options in _ALLOWED}
    by_change = await _result(
        project,
        _SERVER.replace("{options}", "host 'example.com'"),
        "set local session_replication_role = replica",
        "alter server far options (set host '127.0.0.1', add port '1')",
    )

    # HV00D: an option that this version of Postgres does not have
    assert [options for options, error in refused.items() if not error.startswith(("42501", "HV00D"))] == []
    assert {options: error for options, error in allowed.items() if error} == {}
    assert by_change.startswith("42501 foreign server far: '127.0.0.1' is at a private address")


@pytest.mark.parametrize(
    "user",
    [
        "options (user 'supabase_admin', password 'x')",
        "options (user 'supabase_replication_admin', password 'x')",
        "options (user 'nobody', password 'x')",
        "options (password 'x')",
    ],
)
async def test_no_mapping_makes_another_role_of_this_server(project: asyncpg.Connection, user: str) -> None:
    own = _SERVER.replace("{options}", "host '127.0.0.1', port '{port}'")
    elsewhere = _SERVER.replace("{options}", "host 'example.com', port '{port}'")
    mapping = f"create user mapping for public server far {user}"
    as_oneself = "create user mapping for postgres server far options (user 'postgres', password 'x')"

    assert (await _result(project, own, mapping)).startswith("42501 foreign server far: a user mapping")
    assert (
        await _result(project, elsewhere, mapping, "alter server far options (set host '127.0.0.1')")
    ).startswith("42501")
    assert (
        await _result(
            project,
            own,
            as_oneself,
            "alter user mapping for postgres server far options (set user 'supabase_admin')",
        )
    ).startswith("42501")
    assert await _result(project, own, as_oneself) == ""
    assert await _result(project, elsewhere, mapping) == ""


@pytest.mark.parametrize("option", ["password_required 'false'", "sslkey '/x'", "sslcert '/x'"])
async def test_a_mapping_needs_its_password_and_names_no_files(
    project: asyncpg.Connection, option: str
) -> None:
    mapping = f"create user mapping for postgres server far options (user 'x', {option})"

    assert (await _result(project, _SERVER.replace("{options}", "host 'example.com'"), mapping)).startswith(
        "42501"
    )


_SESSION_OF_DBLINK = "select * from extensions.dblink($1, 'select session_user::text') as seen (name text)"


async def test_dblink_opens_sessions_of_known_passwords_alone(
    project: asyncpg.Connection, target: Platform, tmp_path: Path
) -> None:
    """Its connection string is read in C, so no rule of ours sees it: what is left is what Postgres itself refuses."""
    await project.execute("create extension if not exists dblink with schema extensions")
    port, secret = (
        await project.fetchval("select current_setting('port')"),
        urlsplit(target.values["DB_URL"]).password,
    )
    own = f"port={port} dbname=postgres user=postgres"
    passwords, log = tmp_path / "passwords", tmp_path / "keys"
    passwords.write_text(f"*:*:*:*:{secret}")
    passwords.chmod(0o604)
    refused = {
        f"{own}": "password",
        f"host=127.0.0.1 {own} passfile={passwords}": "password",
        f"host=127.0.0.1 {own} service=x": "password",
        f"host=127.0.0.1 {own} password={secret} service=x": "definition of service",
        f"host=127.0.0.1 {own} password={secret} sslmode=require sslkey=/etc/passwd sslcert=/etc/passwd": "sslmode|SSL",
        f"host=127.0.0.1 {own} password={secret} require_auth=none": "authentication method",
        f"host=127.0.0.1 port={port} dbname=postgres user=supabase_admin password={secret}": "authentication failed",
        f"host=127.0.0.1 port={port} dbname=postgres user=authenticator password={secret}": "authentication failed",
        f"hostaddr=127.0.0.1 port={port} dbname=postgres user=supabase_replication_admin password=x": "authentication failed",
    }
    answers = {}
    for words in refused:
        transaction = project.transaction()
        await transaction.start()
        with pytest.raises(asyncpg.PostgresError) as error:
            await project.fetchval(_SESSION_OF_DBLINK, words)
        answers[words] = f"{error.value} {error.value.detail}"
        await transaction.rollback()

    assert {words: answer for words, answer in answers.items() if not re.search(refused[words], answer)} == {}
    known = f"host=127.0.0.1 {own} password={secret}"
    for more in ("", f" hostaddr=127.0.0.1 passfile={passwords}", f" sslkeylogfile={log}"):
        assert await project.fetchval(_SESSION_OF_DBLINK, known + more) == "postgres"
    assert not log.exists()  # the embedded server has no TLS
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await project.execute("select extensions.dblink_connect_u($1)", own)
